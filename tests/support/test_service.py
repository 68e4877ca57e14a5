"""The client of the tests: no call breaks off on a connection that the service gives up."""

from __future__ import annotations

import http.server
import threading
import time
from typing import TYPE_CHECKING

from tests.support.service import HOST, Client

if TYPE_CHECKING:
    import pytest


class _OneCall(http.server.BaseHTTPRequestHandler):
    """Closes a connection when its second call arrives, as an idle timeout may."""

    protocol_version = "HTTP/1.1"
    calls = 0

    def do_GET(self) -> None:
        """Answer the first call of a connection alone."""
        self.calls += 1
        if self.calls > 1:
            self.close_connection = True
            return
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_told: object) -> None:
        """Say nothing."""


def test_a_call_after_a_pause_takes_a_new_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with http.server.ThreadingHTTPServer((HOST, 0), _OneCall) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        client, now = Client(server.server_port), time.monotonic()
        assert client.ask("GET", "/").status == 204
        monkeypatch.setattr(time, "monotonic", lambda: now + 20)
        try:
            assert client.ask("GET", "/").status == 204
        finally:
            monkeypatch.undo()
            client.close()
            server.shutdown()
