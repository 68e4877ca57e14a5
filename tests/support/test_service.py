"""Service under test: its client keeps no dead connection, its errors keep their reason."""

import http.server
import threading
import time
from pathlib import Path

import pytest

from tests.support.nursery import Program
from tests.support.service import HOST, Client, Service, ServiceError


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


@pytest.mark.parametrize(
    ("ended", "reason"),
    [(None, "the service did not become ready"), (1, "the service ended with 1")],
)
def test_a_failed_start_says_why_even_without_a_log(
    tmp_path: Path, ended: int | None, reason: str
) -> None:
    program = Program(pid=0, status=tmp_path / "status", returncode=ended)
    service = Service(tmp_path, _process=program)

    with pytest.raises(ServiceError, match=rf"{reason}.*\n\(no log at .*service.log\)"):
        service.wait_ready(until=0)
