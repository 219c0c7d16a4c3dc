"""A chat-completions endpoint on a port of this machine, that behaves as it is told."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DRIPPING_S = 10.0
Reply = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class ChatServer:
    """`reply` answers each request; `bodies` are those that came, `headers` theirs."""

    reply: Reply
    url: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)


@contextmanager
def chat_server(reply: Reply) -> Iterator[ChatServer]:
    server = ChatServer(reply)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            server.bodies.append(json.loads(self.rfile.read(length)))
            server.headers.append({key.lower(): value for key, value in self.headers.items()})
            server.reply(self)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # as the base
            """Not to stderr."""

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """A client that hangs up early is part of the tests."""

    http = Quiet(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    server.url = f"http://127.0.0.1:{http.server_address[1]}/v1"
    try:
        yield server
    finally:
        server.released.set()
        http.shutdown()
        thread.join()
        http.server_close()


def saying(content: object) -> Reply:
    """A well-formed completion with this content: a text, or a value as JSON."""
    text = content if isinstance(content, str) else json.dumps(content)
    return sending({"choices": [{"message": {"role": "assistant", "content": text}}]})


def sending(body: object, *, status: int = 200) -> Reply:
    """This body: bytes as they are, anything else as JSON."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()

    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(raw)))
        handler.end_headers()
        handler.wfile.write(raw)

    return reply


def half_of(body: bytes) -> Reply:
    """The connection ends in the middle of the body."""

    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body[: len(body) // 2])
        handler.wfile.flush()
        handler.connection.close()
        handler.close_connection = True

    return reply


def endless(handler: BaseHTTPRequestHandler) -> None:
    """Bytes until the client has enough."""
    handler.send_response(200)
    handler.end_headers()
    for _ in range(10_000):
        handler.wfile.write(b"x" * 65_536)


def dripping(handler: BaseHTTPRequestHandler) -> None:
    """A byte now and then: no single wait is long."""
    handler.send_response(200)
    handler.end_headers()
    until = time.monotonic() + DRIPPING_S
    while time.monotonic() < until:
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.05)
