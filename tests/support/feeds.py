"""Which host has feeds for tests? One on this machine, which answers what a test says."""

import http.server
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self

HOST: Final = "127.0.0.1"


@dataclass(frozen=True)
class Answer:
    """What a path answers; a `length` that is not the body's ends the connection early."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    length: int | None = None
    is_trickled: bool = False  # a byte at a time, until the caller gives up


class FeedHost:
    """Answers what `answers` has for a path, 304 to its own ETag, and 404 otherwise."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.requests: list[tuple[str, dict[str, str]]] = []
        host = self

        class _Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                host.answer(self)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = http.server.ThreadingHTTPServer((HOST, 0), _Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.address = f"{HOST}:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        """Start to answer."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self._server.shutdown()
        self._server.server_close()

    def url(self, path: str = "/feed.csv") -> str:
        """Return the address of a path."""
        return f"http://{self.address}{path}"

    def put(self, body: str | bytes, path: str = "/feed.csv", **headers: str) -> str:
        """Let a path answer a file; return its address."""
        content = body.encode() if isinstance(body, str) else body
        self.answers[path] = Answer(content, headers=headers)
        return self.url(path)

    def answer(self, request: http.server.BaseHTTPRequestHandler) -> None:
        """Record a request and answer it."""
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.requests.append((request.path, headers))
        found = self.answers.get(request.path, Answer(status=404))
        etag = {name.lower(): value for name, value in found.headers.items()}.get("etag")
        if etag is not None and headers.get("if-none-match") == etag:
            found = Answer(status=304)
        request.send_response(found.status)
        for name, value in found.headers.items():
            request.send_header(name, value)
        length = len(found.body) if found.length is None else found.length
        request.send_header("Content-Length", str(length))
        request.end_headers()
        if not found.is_trickled:
            request.wfile.write(found.body)
            return
        try:
            for _ in range(10_000):
                request.wfile.write(b"x")
                request.wfile.flush()
                time.sleep(0.02)
        except OSError:
            return
