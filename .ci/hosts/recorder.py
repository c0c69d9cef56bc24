"""Stands between a client and the simulator and keeps every exchange: recorder.py UPSTREAM FOLDER

Prints its address, then writes `NNN.json` for each model request: path, body, and the usage that the reply reports.
"""

import http.client
import http.server
import json
import re
import sys
import threading
import urllib.parse

upstream = urllib.parse.urlsplit(sys.argv[1])
folder = sys.argv[2]
lock = threading.Lock()
number = 0


def usage(text):
    """The figures of a reply, streamed or whole: the first of each name is the one that counts the prompt."""
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    found = {name: re.search(rf'"{name}":\s*(\d+)', text) for name in names}
    return {name: int(match.group(1)) for name, match in found.items() if match}


class Relay(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def relay(self):
        global number
        length = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(length)
        # Numbered on arrival: a client may have several requests under way.
        with lock:
            number += 1
            mine = number
        connection = http.client.HTTPConnection(upstream.hostname, upstream.port, timeout=60)
        skipped = ("host", "content-length", "connection", "accept-encoding", "transfer-encoding")
        headers = {name: value for name, value in self.headers.items() if name.lower() not in skipped}
        connection.request(self.command, self.path, body, headers)
        reply = connection.getresponse()
        content = reply.read()
        if self.path.split("?")[0].endswith("/messages"):
            record = {
                "number": mine,
                "status": reply.status,
                "body": json.loads(body),
                "usage": usage(content.decode("utf-8", "replace")),
            }
            with open(f"{folder}/{mine:03}.json", "w") as file:
                json.dump(record, file)
        self.send_response(reply.status)
        for name, value in reply.getheaders():
            if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                self.send_header(name, value)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_HEAD = relay


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Relay)
print(f'{{"listening":"http://127.0.0.1:{server.server_address[1]}"}}', flush=True)
server.serve_forever()
