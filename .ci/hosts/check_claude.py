"""Compares what Claude Code sent with the plugin and without it: check_claude.py FOLDER_WITH FOLDER_WITHOUT. A line a case."""

import json
import pathlib
import sys

RULE = "never edit anything below src/legacy"
SQL = "Migrations are never edited after they ran"
MARK = "hook additional context"


def load(folder):
    files = sorted(pathlib.Path(folder).glob("*.json"))
    return [json.loads(file.read_text()) for file in files]


def blocks(record):
    """Texts of the conversation, results of tools included, each with the number of its message."""

    def texts(content):
        if isinstance(content, str):
            yield content
            return
        for block in content:
            yield from texts(block["text"] if block["type"] == "text" else block.get("content") or [])

    messages = enumerate(record["body"]["messages"])
    return [(at, text) for at, message in messages for text in texts(message["content"])]


def injected(record):
    return [(at, text) for at, text in blocks(record) if MARK in text]


def holds(record, words):
    return any(words.lower() in text.lower() for _, text in injected(record))


def rate(records):
    read = sum(record["usage"].get("cache_read_input_tokens", 0) for record in records)
    prompt = sum(sum(record["usage"].values()) for record in records)
    return 100 * read / prompt


def stable(records):
    """Every injected text of a request is in the next one of the conversation, at the same place, to the byte."""
    for before, after in zip(records, records[1:]):
        later = blocks(after)
        if any(text not in later for text in injected(before)):
            return False
    return True


plugin, plain = load(sys.argv[1]), load(sys.argv[2])
# told, France, SQL read, its result, staging, arithmetic, the compaction, after it
told, france, sql, read, staging, maths, compaction, after = plugin[:8]
session = [france, sql, read, staging, maths]
cases = [
    ("both runs made the same requests", len(plugin) == len(plain) == 8),
    ("every request was answered", all(record["status"] == 200 for record in plugin + plain)),
    ("the session in which the rule was told begins without it", not holds(told, RULE)),
    ("the rule is in the first request of the next session", holds(france, RULE)),
    ("it is there once, also after the session was resumed", sum(RULE in text.lower() for _, text in injected(maths)) == 1),
    ("a fact is absent where it does not matter", not holds(france, "since the move") and not holds(read, "since the move")),
    ("it is in the turn where it matters", holds(staging, "since the move")),
    ("and only once in the turn after", sum("since the move" in text for _, text in injected(maths)) == 1),
    ("a rule with a trigger is absent until its file is touched", not holds(sql, SQL + "; a new one follows")),
    ("and there when it is", holds(read, SQL)),
    ("injected bytes stay the same", stable(session)),
    ("a compaction of the host keeps the rule", holds(after, RULE)),
    ("without the plugin nothing is injected", not any(injected(record) for record in plain)),
    ("cache hits differ by at most one per cent", abs(rate(plugin) - rate(plain)) <= 1),
]
for name, ok in cases:
    print(f"{'ok    ' if ok else 'FAIL  '}claude code with the plugin: {name}")
tokens = lambda records: sum(sum(record["usage"].values()) for record in records)
print(f"cache hits {rate(plugin):.2f} % with the plugin, {rate(plain):.2f} % without; "
      f"{tokens(plugin):,} prompt tokens with it, {tokens(plain):,} without")
sys.exit(not all(ok for _, ok in cases))
