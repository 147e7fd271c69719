"""A receiver of Workspace Ledger webhooks with Python's standard library, to run and to start from.

    WEBHOOK_SECRET=<secret> python3 examples/receiver.py

It prints one line for each event that it meets for the first time. While the ledger runs on this
machine, register http://127.0.0.1:8787/ as the webhook's URL. PORT=0 takes a free port.
"""

import hashlib
import hmac
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

if not os.environ.get("WEBHOOK_SECRET"):
    sys.exit("Set WEBHOOK_SECRET to the secret of the webhook.")
SECRET = os.environ["WEBHOOK_SECRET"].encode()
BODY_BYTES_MOST = 10 * 1024 * 1024

# The same event may come more than once: after a timeout, or when you have it sent again. Keep the
# keys where your own data is, written in the same transaction as what the event makes you do.
known = set()


def is_genuine(body: bytes, headers) -> bool:
    """Compares in constant time. While the ledger's secret is being rotated, the second header is
    signed with the older one."""
    expected = "sha256=" + hmac.new(SECRET, body, hashlib.sha256).hexdigest()
    given = (
        headers.get("X-Service-Signature", ""),
        headers.get("X-Service-Signature-Previous", ""),
    )
    return any([hmac.compare_digest(expected.encode(), each.encode()) for each in given])


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 10

    def do_POST(self):
        length = int(self.headers.get("Content-Length", 0))
        if not 0 <= length <= BODY_BYTES_MOST:
            self.close_connection = True
            return self.answer(413)
        # The raw bytes: a body that is parsed and written again has another signature.
        body = self.rfile.read(length)
        if not is_genuine(body, self.headers):
            return self.answer(401)
        event = json.loads(body)
        if event["event"] != "commitment.state_changed":
            return self.answer(204)
        commitment = event["commitment"]
        key = (commitment["id"], event["event"], event["timestamp"])
        if key not in known:
            known.add(key)
            move = f"{commitment['previousState']} -> {commitment['currentState']}"
            print(f"{commitment['id']} {move}: {commitment['title']}", flush=True)
        # Anything but 2xx makes the ledger try again: after 30 s, 2 min, 10 min, 1 h and 6 h.
        # Anything slow belongs after the answer: the ledger waits up to 10 seconds for it.
        self.answer(204)

    def answer(self, status: int):
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8787"))), Receiver)
    print(f"receiving on http://127.0.0.1:{server.server_port}/", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
