"""The agent on a real small model: agent.py DORMOUSE UPSTREAM WORK

A relay stands between the agent and llama.cpp's server. The model calls no tools by itself, so the relay has it fill a
JSON schema (`response_format`) with the name of a tool and an input, and hands that on as a call. Names, paths and
commands are the model's own. Summaries and notes go through as they are. Every request is kept for the checks.
"""

import json
import os
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

dormouse, upstream, work = sys.argv[1:4]
REQUESTS = 40  # calls that the whole run makes at least
ROUNDS = 14  # requests of one turn, so that three turns make forty
WINDOW = 8192
RULE = "Always indent with tabs in this repository, and never touch vendor/legacy.c."

kept = []  # (kind, request, answer)
lock = threading.Lock()


def ask(body):
    data = json.dumps(body).encode()
    request = urllib.request.Request(upstream + "/v1/chat/completions", data, {"content-type": "application/json"})
    return json.load(urllib.request.urlopen(request, timeout=600))


def plain(messages):
    """Messages that the model's template knows: calls and results become text."""
    out = []
    for message in messages:
        role, text = message["role"], message.get("content") or ""
        if isinstance(text, list):
            text = "\n".join(part.get("text", "") for part in text)
        for call in message.get("tool_calls", []):
            text += f"\n{call['function']['name']} {call['function']['arguments']}"
        if role == "tool":
            role, text = "user", "Result:\n" + text
        if out and out[-1]["role"] == role:
            out[-1]["content"] += "\n" + text
        else:
            out.append({"role": role, "content": text or "-"})
    return out


def answered(body):
    messages = plain(body["messages"])
    last = messages[-1]["content"]
    tools = {tool["function"]["name"]: tool["function"] for tool in body.get("tools", [])}
    written = "<summary>" in last or "<section title=" in last or "<append title=" in last
    if written or not tools:
        request = {"messages": messages, "max_tokens": min(body.get("max_tokens", 250), 250), "temperature": 0.7}
        reply = ask(request)
        return "text", reply, reply["choices"][0]["message"]["content"], None
    # Read and the other tools in turns, or the model would make the same call forever.
    names = sorted(tools)
    number = sum(kind in ("call", "malformed") for kind, _, _ in kept)
    offered = {names[number // 2 % len(names)]} if number % 2 else {"Read"}
    shapes = []
    for name in sorted(offered):
        properties = {}
        for member, schema in tools[name]["parameters"].get("properties", {}).items():
            if schema.get("type") in ("string", "integer", "number", "boolean"):
                properties[member] = {"type": schema["type"]}
        if "file_path" in properties:
            properties["file_path"] = {"enum": ["src/parse.c", "src/print.c", "src/store.c", "src/nowhere.c"]}
        for member in ("offset", "limit"):
            properties.pop(member, None)
        needed = tools[name]["parameters"].get("required", [])
        inner = {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}
        shapes.append({"type": "object", "properties": {"tool": {"const": name}, "input": inner}, "required": ["tool", "input"]})
    shape = {"anyOf": shapes}
    request = {
        "messages": messages,
        "max_tokens": 100,
        "temperature": 0.8,
        "response_format": {"type": "json_schema", "json_schema": {"name": "call", "schema": shape}},
    }
    reply = ask(request)
    text = reply["choices"][0]["message"]["content"]
    try:
        call = json.loads(text)
        return "call", reply, None, (call["tool"], json.dumps(call["input"]))
    except (ValueError, KeyError, TypeError):
        # Cut off at the limit: handed on as it is, because the agent has to answer that, too.
        return "malformed", reply, None, ("Bash", text)


class Relay(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        try:
            kind, reply, text, call = answered(body)
        except urllib.error.HTTPError as error:
            data = error.read()
            with lock:
                kept.append(("refused", body, data.decode()))
            self.send_response(error.code)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            return
        with lock:
            kept.append((kind, body, text or call))
            number = len(kept)
        print(f"{number:3} {kind:9} prompt {reply['usage']['prompt_tokens']:5} {str(call or text)[:90]!r}", flush=True)
        delta = {"role": "assistant"}
        if text is not None:
            delta["content"] = text
        else:
            function = {"name": call[0], "arguments": call[1]}
            delta["tool_calls"] = [{"index": 0, "id": f"call_{number}", "type": "function", "function": function}]
        chunk = {"id": f"chat_{number}", "object": "chat.completion.chunk", "model": body["model"]}
        reason = "tool_calls" if call else "stop"
        events = [
            {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
            {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
            {**chunk, "choices": [], "usage": reply["usage"]},
        ]
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for event in events:
            self.wfile.write(b"data: " + json.dumps(event).encode() + b"\n\n")
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True


relay = ThreadingHTTPServer(("127.0.0.1", 0), Relay)
threading.Thread(target=relay.serve_forever, daemon=True).start()

project = os.path.join(work, "project")
os.makedirs(os.path.join(project, "src"))
for name in ("parse", "print", "store"):
    with open(os.path.join(project, "src", name + ".c"), "w") as file:
        for line in range(30):
            file.write(f"int {name}_{line}(int x) {{ return x + {line}; }}\n")
with open(os.path.join(project, "README.md"), "w") as file:
    file.write("# toy\n\nA toy repository: three files of small functions.\n")
subprocess.run(["git", "init", "--quiet", project], check=True)

environment = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "TMPDIR")}
environment |= {
    "HOME": work,
    "DORMOUSE_PROVIDER": "llama.cpp",
    "DORMOUSE_LOCAL_BASE_URL": f"http://127.0.0.1:{relay.server_port}/v1",
    "DORMOUSE_MODEL": "smollm2",
}
settings = ["--set", f"context.window={WINDOW}", "--set", "extract.one_shot=true"]


def turn(prompt, *options):
    command = [dormouse, *settings, "--mode", "sandbox", *options, "--output-format", "json", "--max-turns", str(ROUNDS)]
    run = subprocess.run([*command, "-p", prompt], cwd=project, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    result = json.loads(run.stdout) if run.stdout.startswith("{") else {}
    print(f"turn ends with code {run.returncode}: {result.get('subtype')}, {result.get('num_turns')} requests", flush=True)
    if run.returncode not in (0, 6):
        print(run.stderr[-2000:])
    return run.returncode


begun = time.time()
codes = [turn(RULE + " Read src/parse.c and say what it does.")]
prompts = ["Read src/print.c, then search for functions that return x.", "List the files and read src/store.c.", "Go on: find the longest file."]
while sum(kind in ("call", "malformed") for kind, _, _ in kept) < REQUESTS and len(codes) < 8:
    codes.append(turn(prompts[len(codes) % len(prompts)], "--continue"))
calls = sum(kind in ("call", "malformed") for kind, _, _ in kept)
before = len(kept)
codes.append(turn("How do we indent here?"))
second = kept[before][1] if len(kept) > before else {}

logs = subprocess.run([dormouse, "stats", "--here", "--json"], cwd=project, env=environment, capture_output=True, text=True)
stats = json.loads(logs.stdout)
open_calls = answered_calls = 0
for folder, _, names in os.walk(os.path.join(work, ".dormouse", "projects")):
    for name in (name for name in names if name.endswith(".jsonl")):
        asked, given = set(), set()
        with open(os.path.join(folder, name)) as log:
            for line in map(json.loads, log):
                content = (line.get("message") or {}).get("content")
                for block in content if isinstance(content, list) else []:
                    if block.get("type") == "tool_use":
                        asked.add(block["id"])
                    if block.get("type") == "tool_result":
                        given.add(block["tool_use_id"])
        answered_calls += len(asked & given)
        open_calls += len(asked - given)
acted = stats["acted"]
compactions = {by: acted["compactions_" + by] for by in ("model", "notes", "offline")}
told = json.dumps(second, ensure_ascii=False)
checks = {
    f"{calls} calls by schema, at least {REQUESTS}": calls >= REQUESTS,
    f"{answered_calls} calls answered, {open_calls} not": open_calls == 0 and answered_calls > 0,
    f"compactions {compactions}, at least 3": sum(compactions.values()) >= 3,
    "every turn ended or met its limit": all(code in (0, 6) for code in codes),
    "the second session is told the rule of the first": "indent with tabs" in told,
}
kinds = {kind: sum(known == kind for known, _, _ in kept) for kind in ("call", "malformed", "text", "refused")}
print(f"requests {kinds}; {time.time() - begun:.0f} s")
for check, holds in checks.items():
    print("ok   " if holds else "FAIL ", check)
sys.exit(not all(checks.values()))
