"""Compares the book of the gateway with the requests that Claude Code has to make. One line per case."""

import json
import re
import sys

report = json.load(sys.stdin)
relations = report["relations"]
whole = [
    ("every request was understood", "not_understood" not in relations),
    ("the usage of every reply was read", report["unpriced"] == 0 and float(report["cost_usd"]) > 0),
]
session = [
    ("every request was answered whole", report["failed"] == 0 and report["requests"] == 5),
    ("one conversation before the compaction and one after it", report["conversation_count"] == 2),
    ("the first prompt begins it", relations.get("new") == 1),
    ("the history that was compacted restarts the session", relations.get("restarts") == 1),
    ("the tool loop, the resumed process and the compaction go on", relations.get("continues") == 3),
]
agents = [
    ("every request was answered whole", report["failed"] == 0 and report["requests"] >= 4),
    ("the session and each of its two agents are conversations", report["conversation_count"] >= 3),
    ("none was taken for another", not {"edits", "branches"} & set(relations)),
]
name, kind, *metrics = sys.argv[1:]
rewrites = dict(re.findall(r'dormouse_rewrites_total\{kind="(\w+)"\} (\d+)', "".join(metrics)))
reads = [
    ("every request was answered whole", report["failed"] == 0 and report["requests"] == 4),
    ("one conversation, which goes on behind the read", report["conversation_count"] == 1 and relations.get("continues") == 3),
    ("a result was distilled", int(rewrites.get("distil", 0)) >= 1),
    ("its text was read by the gateway's tool", rewrites.get("read") == "1"),
]
cases = whole + {"session": session, "agents": agents, "reads": reads}[kind]
for case, holds in cases:
    print(f"{'ok    ' if holds else 'FAIL  '}claude code, {name}, {kind}: {case}")
print(json.dumps({key: report[key] for key in ("requests", "relations", "cost_usd", "cost_untouched_usd", "cache_hit_rate")}))
sys.exit(not all(holds for _, holds in cases))
