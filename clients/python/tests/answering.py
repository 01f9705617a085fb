"""A server that answers each request by the next of its answers, and remembers what was asked."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Seen:
    method: str
    path: str
    headers: Message
    body: bytes


Answer = Callable[["Handler", Seen], None]


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def handle_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        seen = Seen(self.command, self.path, self.headers, body)
        self.server.seen.append(seen)
        answers = self.server.answers
        answers[min(len(self.server.seen), len(answers)) - 1](self, seen)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, answers: list[Answer]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = answers
        self.seen: list[Seen] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


@contextmanager
def answering(*answers: Answer) -> Iterator[Server]:
    server = Server(list(answers))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def reply(status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> Answer:
    def answer(handler: Handler, _: Seen) -> None:
        handler.send_response(status)
        for name, value in (headers or {}).items():
            handler.send_header(name, value)
        if status != 204:
            handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def reply_json(status: int, value: Any, headers: dict[str, str] | None = None) -> Answer:
    return reply(status, json.dumps(value).encode(), {"Content-Type": "application/json", **(headers or {})})


def problem(status: int, code: str, headers: dict[str, str] | None = None, **members: Any) -> Answer:
    body = {"type": f"urn:service:voice:problem:{code}", "title": "Title", "status": status, "request_id": "req-1"}
    return reply_json(status, body | members, headers)


def hang_up(handler: Handler, _: Seen) -> None:
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)


def stay_silent(handler: Handler, _: Seen) -> None:
    time.sleep(1)
    hang_up(handler, _)


def stream(*chunks: str) -> Answer:
    """Sends parts of an event stream, and then ends the connection in the middle of the response."""

    def answer(handler: Handler, _: Seen) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for chunk in chunks:
            content = chunk.encode()
            handler.wfile.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")
            handler.wfile.flush()
        hang_up(handler, _)

    return answer
