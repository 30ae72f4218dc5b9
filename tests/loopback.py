"""HTTP server on loopback whose answers are the JSON that a function gives."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

Json = dict[str, Any]
# status and body of an answer
Answer = tuple[int, Json]


class JsonServer(ThreadingHTTPServer):
    """Answers each POST, and keeps what it was asked.

    Args:
        answer: Gives the answer to a body; it is called after the request was added to `asked`.
    """

    def __init__(self, answer: Callable[[Json], Answer]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.asked: list[tuple[str, Json]] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


Server = TypeVar("Server", bound="JsonServer")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: JsonServer

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append((self.path, asked))
        status, answer = self.server.answer(asked)
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def running(server: Server) -> Iterator[Server]:
    """Run a server as long as the context lasts."""
    # a client may keep its connection open
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
