"""A receiver of webhooks on this machine: records requests, answers as the path says."""

import contextlib
import http.server
import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

HOST: Final = "127.0.0.1"


@dataclass(frozen=True)
class Received:
    """One request."""

    path: str
    headers: Mapping[str, str]  # names in lower case
    body: bytes

    @property
    def message(self) -> dict[str, Any]:
        """The body's JSON."""
        found: dict[str, Any] = json.loads(self.body)
        return found


class WebhookReceiver:
    """Answers `/500` with 500, `/slow` after `release`, and others with 204."""

    def __init__(self) -> None:
        self.requests: list[Received] = []
        self.statuses: dict[str, int] = {}  # by path, before the rule above
        self._released = threading.Event()
        receiver = self

        class _Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                receiver.answer(self)

            do_GET = do_POST  # noqa: N815 - the library's name

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = http.server.ThreadingHTTPServer((HOST, 0), _Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.base = f"http://{HOST}:{self._server.server_address[1]}"

    def answer(self, request: http.server.BaseHTTPRequestHandler) -> None:
        """Record a request, and answer it."""
        body = request.rfile.read(int(request.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.requests.append(Received(request.path, headers, body))
        name = request.path.strip("/")
        if name.startswith("slow"):
            self._released.wait(30)
        status = self.statuses.get(request.path, int(name) if name.isdecimal() else 204)
        with contextlib.suppress(OSError):
            request.send_response(status)
            if status in {301, 307}:
                request.send_header("Location", f"{self.base}/moved")
            if status in {429, 503}:
                request.send_header("Retry-After", "3600")
            request.end_headers()

    def release(self) -> None:
        """Answer slow requests from now on."""
        self._released.set()

    def of(self, path: str) -> list[Received]:
        """Return the requests of a path, in order."""
        return [request for request in self.requests if request.path == path]

    def close(self) -> None:
        """Listen no more."""
        self.release()
        self._server.shutdown()
        self._server.server_close()


@contextlib.contextmanager
def receiving() -> Iterator[WebhookReceiver]:
    """Yield a receiver, and close it."""
    receiver = WebhookReceiver()
    try:
        yield receiver
    finally:
        receiver.close()
