"""Programs written for the official agent SDK, driving Dormouse by one setting: the path of the executable.

python_agent.py BINARY ADDRESS FOLDER: the simulator at ADDRESS answers by a script that run wrote, one case after the
other, so that the cases run in this order. One line a case.
"""

import asyncio
import os
import sys
from pathlib import Path

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    ResultMessage,
    TextBlock,
    create_sdk_mcp_server,
    query,
    tool,
)

BINARY, ADDRESS, FOLDER = sys.argv[1:4]
FOLDER = Path(FOLDER)
ENVIRONMENT = {
    "ANTHROPIC_BASE_URL": ADDRESS,
    "ANTHROPIC_API_KEY": "any",
    "ANTHROPIC_MODEL": "claude-opus-4-6",
    "DORMOUSE_HOME": str(FOLDER / "home"),
    "HOME": str(FOLDER),
}
failures = 0


def options(**more):
    return ClaudeAgentOptions(
        cli_path=BINARY, cwd=str(FOLDER / "project"), env=ENVIRONMENT, extra_args={"bare": None}, **more
    )


async def texts(messages):
    """Words of the model, and the result; the state of the session may come behind it."""
    words, last = [], None
    async for message in messages:
        if isinstance(message, ResultMessage):
            last = message
        if isinstance(message, AssistantMessage):
            words += [block.text for block in message.content if isinstance(block, TextBlock)]
    return words, last


async def case(name, work):
    global failures
    try:
        await asyncio.wait_for(work(), 60)
        print(f"ok    agent sdk: {name}", flush=True)
    except BaseException as error:  # an assertion, a timeout, or an error of the SDK
        failures += 1
        print(f"FAIL  agent sdk: {name}: {type(error).__name__}: {error}", flush=True)


async def a_query_with_a_tool():
    words, last = await texts(query(prompt="What do the notes say?", options=options(allowed_tools=["Read"])))
    assert words == ["It says: whisper."], words
    assert last and not last.is_error, last
    assert last.result == "It says: whisper." and last.session_id and last.usage, last


async def a_permission_callback():
    asked = []

    async def may(name, given, _context):
        asked.append((name, given["command"]))
        if "secret" in given["command"]:
            return PermissionResultDeny(message="not that one")
        return PermissionResultAllow(updated_input={"command": "touch allowed"})

    async with ClaudeSDKClient(options=options(can_use_tool=may)) as client:
        await client.query("make two files")
        words, last = await texts(client.receive_response())
    assert asked == [("Bash", "touch secret"), ("Bash", "touch other")], asked
    assert words == ["One of two."], (words, last)
    project = FOLDER / "project"
    assert (project / "allowed").exists() and not (project / "secret").exists()


async def a_hook_callback():
    seen = []

    async def before(given, _call, _context):
        seen.append(given["tool_input"]["command"])
        return {
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "deny",
                "permissionDecisionReason": "the freezer is closed",
            }
        }

    hooks = {"PreToolUse": [HookMatcher(matcher="Bash", hooks=[before])]}
    async with ClaudeSDKClient(options=options(hooks=hooks, permission_mode="bypassPermissions")) as client:
        await client.query("open the freezer")
        words, last = await texts(client.receive_response())
    assert seen == ["touch frozen"], seen
    assert words == ["It is closed."], (words, last)
    assert not (FOLDER / "project" / "frozen").exists()


async def a_server_in_this_process():
    calls = []

    @tool("count", "Counts what is in the larder.", {"what": str})
    async def count(given):
        calls.append(given["what"])
        return {"content": [{"type": "text", "text": "seven"}]}

    server = create_sdk_mcp_server(name="larder", tools=[count])
    wishes = options(mcp_servers={"larder": server}, allowed_tools=["mcp__larder__count"])
    async with ClaudeSDKClient(options=wishes) as client:
        await client.query("How many nuts?")
        words, last = await texts(client.receive_response())
    assert calls == ["nuts"], (calls, words, last)
    assert words == ["Seven nuts."], (words, last)


async def model_and_mode_change():
    async with ClaudeSDKClient(options=options()) as client:
        await client.query("first")
        await texts(client.receive_response())
        await client.set_model("claude-haiku-4-5")
        await client.set_permission_mode("acceptEdits")
        await client.query("second")
        words, last = await texts(client.receive_response())
    assert words == ["Two."], (words, last)
    assert "claude-haiku-4-5" in (last.model_usage or {}), last


async def an_interrupt():
    async with ClaudeSDKClient(options=options(permission_mode="bypassPermissions")) as client:
        await client.query("wait")
        async for message in client.receive_messages():
            if isinstance(message, AssistantMessage):
                break
        await client.interrupt()
        _words, last = await texts(client.receive_response())
    assert last and last.subtype == "error_during_execution", last


async def main():
    await case("a query with a tool", a_query_with_a_tool)
    await case("a permission callback", a_permission_callback)
    await case("a hook callback", a_hook_callback)
    await case("a server of tools in the program", a_server_in_this_process)
    await case("another model and mode on the way", model_and_mode_change)
    await case("an interrupt", an_interrupt)
    sys.exit(1 if failures else 0)


os.makedirs(FOLDER / "project", exist_ok=True)
asyncio.run(main())
