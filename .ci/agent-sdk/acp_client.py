"""An editor's side of the Agent Client Protocol by the client of a registry, with `dormouse acp` as the agent.

acp_client.py BINARY ADDRESS FOLDER: the simulator at ADDRESS answers by a script, one case after the other. One line a case.
"""

import asyncio
import os
import sys
from pathlib import Path

from acp import PROTOCOL_VERSION, spawn_agent_process, text_block
from acp.schema import AllowedOutcome, RequestPermissionResponse

BINARY, ADDRESS, FOLDER = sys.argv[1:4]
FOLDER = Path(FOLDER)
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "ANTHROPIC_BASE_URL": ADDRESS,
    "ANTHROPIC_API_KEY": "any",
    "ANTHROPIC_MODEL": "claude-opus-4-6",
    "DORMOUSE_HOME": str(FOLDER / "home"),
    "HOME": str(FOLDER),
}


class Editor:
    """An editor that keeps what it is told."""

    def __init__(self):
        self.words, self.kinds, self.asked = "", [], []
        self.running = asyncio.Event()

    async def session_update(self, session_id, update, **_more):
        self.kinds.append(update.session_update)
        if update.session_update == "agent_message_chunk":
            self.words += update.content.text
        if update.session_update == "tool_call_update" and update.status == "in_progress":
            self.running.set()

    async def request_permission(self, session_id, tool_call, options, **_more):
        self.asked.append(tool_call.title)
        chosen = next(option for option in options if option.kind == "allow_once")
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen.option_id))

    def on_connect(self, _agent):
        pass


async def main():
    editor = Editor()
    async with spawn_agent_process(editor, BINARY, "acp", "--set", "simple=true", env=ENVIRONMENT) as (agent, _process):
        welcome = await agent.initialize(protocol_version=PROTOCOL_VERSION)
        assert welcome.protocol_version == PROTOCOL_VERSION, welcome
        opened = await agent.new_session(cwd=str(FOLDER / "project"), mcp_servers=[])
        first = await agent.prompt(session_id=opened.session_id, prompt=[text_block("make one")])
        assert first.stop_reason == "end_turn", first
        assert editor.words == "Made." and editor.asked == ["Bash touch edited"], (editor.words, editor.asked)
        assert (FOLDER / "project" / "edited").exists()
        assert "usage_update" in editor.kinds and "tool_call" in editor.kinds, editor.kinds
        print("ok    acp: a session with a permission", flush=True)
        editor.running.clear()
        waiting = asyncio.create_task(agent.prompt(session_id=opened.session_id, prompt=[text_block("wait")]))
        await editor.running.wait()
        await agent.cancel(session_id=opened.session_id)
        second = await waiting
        assert second.stop_reason == "cancelled", second
        print("ok    acp: a cancel", flush=True)


try:
    asyncio.run(asyncio.wait_for(main(), 90))
except BaseException as error:  # an assertion, a timeout, or an error of the client
    print(f"FAIL  acp: {type(error).__name__}: {error}", flush=True)
    sys.exit(1)
