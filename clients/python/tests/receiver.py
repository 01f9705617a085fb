"""Receives one webhook: prints its port, reads the secret from standard input, and prints what it verified."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, HTTPServer

from trunkline import verify_webhook

received: list[tuple[bytes, dict[str, str]]] = []


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        received.append((self.rfile.read(int(self.headers["content-length"])), dict(self.headers)))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


server = HTTPServer(("127.0.0.1", 0), Handler)
server.timeout = 60
print(server.server_address[1], flush=True)
secret = input()
server.handle_request()
body, headers = received[0]
print(f"verified {verify_webhook(body, headers, secret).type}", flush=True)
