"""Compares the book of the gateway with the requests that Claude Code has to make. One line per case."""

import json
import sys

report = json.load(sys.stdin)
relations = report["relations"]
cases = [
    ("every request was answered whole", report["failed"] == 0 and report["requests"] == 5),
    ("every request was understood", "not_understood" not in relations),
    ("one conversation before the compaction and one after it", report["conversation_count"] == 2),
    ("the first prompt begins it", relations.get("new") == 1),
    ("the history that was compacted restarts the session", relations.get("restarts") == 1),
    ("the tool loop, the resumed process and the compaction go on", relations.get("continues") == 3),
    ("the usage of every reply was read", report["unpriced"] == 0 and float(report["cost_usd"]) > 0),
]
for name, holds in cases:
    print(f"{'ok    ' if holds else 'FAIL  '}claude code: {name}")
print(json.dumps({key: report[key] for key in ("requests", "relations", "cost_usd", "cache_hit_rate")}))
sys.exit(not all(holds for _, holds in cases))
