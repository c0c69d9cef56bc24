"""Looks for words in the results of tools in recorded requests: check_recall.py FOLDER WORDS"""

import json
import pathlib
import sys

folder, words = sys.argv[1:]
bodies = [json.loads(file.read_text())["body"] for file in sorted(pathlib.Path(folder).glob("*.json"))]
messages = [message["content"] for body in bodies for message in body["messages"] if isinstance(message["content"], list)]
results = [block for content in messages for block in content if block.get("type") == "tool_result"]
sys.exit(not any(words in json.dumps(result.get("content")) for result in results))
