"""Compares a run of an agent with the same run through the gateway: compare.py WORKLOAD ALONE THROUGH"""

import glob
import json
import os
import sys

workload, alone, through = sys.argv[1:]
facts = json.load(open(workload))["facts"]


def read(folder):
    log = [json.loads(line) for line in open(os.path.join(folder, "log.jsonl"))]
    whole = [row for row in log if row["status"] == 200]
    last = [row for row in whole if row["kind"] == "main"][-1]
    state = json.load(open(os.path.join(folder, "state.json")))
    return {
        "cost": sum(row["uncached"] + 1.25 * row["write"] + 0.1 * row["read"] for row in whole),
        "rejected": len(log) - len(whole),
        "steps": state["done"],
        "of": state["total"],
        "compactions": sum(row["kind"] == "compaction" for row in whole),
        "peak": max(row["prompt"] for row in whole),
        "shown": set(last["facts_list"]) | set(last["facts_kept"]),
    }


def by_one_call(folder, shown):
    """Facts that one search finds, in the folders that the last prompt names; only its first 8,000 characters count."""
    prompt = open(os.path.join(folder, "last_main.txt")).read()
    places = [path for path in glob.glob(os.path.join(folder, "gateway/gateway/results/*")) if path in prompt]
    found = set()
    for fact in facts:
        if fact["token"] in shown or not fact.get("query"):
            continue
        lines = []
        for place in places:
            for name in sorted(os.listdir(place)):
                text = open(os.path.join(place, name), errors="replace").read()
                words = fact["query"].split()
                lines += [f"{name}:{line}" for line in text.splitlines() if all(word in line for word in words)]
        if fact["token"] in "\n".join(lines)[:8000]:
            found.add(fact["token"])
    return found


without, within = read(alone), read(through)
fetched = by_one_call(through, within["shown"])
reach = len(within["shown"] | fetched)
name = os.path.basename(alone)
ratio = within["cost"] / without["cost"]
print(
    f"{name}: {without['cost'] / 1000:.0f}k alone, {within['cost'] / 1000:.0f}k through the gateway ({ratio:.2f}); facts "
    f"{len(without['shown'])} alone, {len(within['shown'])} shown and {len(fetched)} by one call through it, of {len(facts)}; "
    f"steps {within['steps']}/{within['of']}; rejected {without['rejected']} and {within['rejected']}; compactions "
    f"{without['compactions']} and {within['compactions']}; longest prompt {without['peak'] / 1000:.0f}k and {within['peak'] / 1000:.0f}k"
)
cases = [
    ("costs at most three quarters", ratio <= 0.75),
    ("reaches as many facts, and four in five", reach >= len(without["shown"]) and reach >= 0.8 * len(facts)),
    ("does all steps", within["steps"] == within["of"]),
    ("has no request rejected", within["rejected"] == 0),
]
for case, holds in cases:
    print(f"{'ok    ' if holds else 'FAIL  '}{name}: {case}")
sys.exit(not all(holds for _, holds in cases))
