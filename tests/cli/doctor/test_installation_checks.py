"""`productrecs doctor`: requests its base URL and checks the proxy's headers."""

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from productrecs.cli.doctor import installation_checks
from productrecs.cli.doctor.check_result import CheckLevel
from productrecs.cli.doctor.installation_checks import (
    ObservedProbeRequest,
    check_address_and_proxy,
    check_forwarded_headers,
    replication_result,
)
from productrecs.core.clock import DAY_MS, system_ms
from productrecs.core.timestamps import iso
from productrecs.settings import Settings
from productrecs.storage.sql.dialects import ReplicationStatus
from tests.support.service import Service as RunningService

BASE = "https://recs.example.com"
WELL = ObservedProbeRequest("https", "recs.example.com", "203.0.113.7")


class _Service(BaseHTTPRequestHandler):
    """A service behind a proxy that names another host."""

    def do_GET(self) -> None:
        seen = {"scheme": None, "host": "inside:8000", "client": None}
        body = json.dumps({"ok": True, "seen": seen}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body if self.path == "/recs/health/live?seen=true" else b"{}")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Service) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_the_proxy_check_requests_below_the_base_url_and_reports_what_it_saw(
    address: str, tmp_path: Path
) -> None:
    settings = replace(Settings(data=tmp_path), base_url=f"{address}/recs")

    there, host = check_address_and_proxy(settings)

    assert (there.level, there.message) == (
        CheckLevel.OK,
        f"{address}/recs leads to the service",
    )
    assert host.level is CheckLevel.NOTE
    assert "reach the service with the host 'inside:8000'" in host.message


@pytest.mark.parametrize(
    ("skew_ms", "is_found"), [(2 * DAY_MS, True), (-2 * DAY_MS, True), (2_000, False)]
)
def test_a_clock_that_differs_from_the_proxys_is_found(
    address: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    skew_ms: int,
    *,
    is_found: bool,
) -> None:
    now_ms = system_ms() + skew_ms
    monkeypatch.setattr(installation_checks, "system_ms", lambda: now_ms)
    settings = replace(Settings(data=tmp_path), base_url=f"{address}/recs")

    found = [one for one in check_address_and_proxy(settings) if one.subject == "clock"]

    assert [one.level for one in found] == [CheckLevel.WRONG] * is_found
    for one in found:
        assert one.message.startswith(f"the clock says {iso(now_ms)}, but that of")


def test_a_proxy_with_correct_headers_gives_no_finding() -> None:
    assert list(check_forwarded_headers(BASE, WELL)) == []
    assert (
        list(
            check_forwarded_headers(
                "http://127.0.0.1:8000", ObservedProbeRequest(None, "127.0.0.1:8000", None)
            )
        )
        == []
    )


@pytest.mark.parametrize(
    ("seen", "level", "header"),
    [
        (WELL._replace(host="127.0.0.1:8000"), CheckLevel.NOTE, "proxy_set_header Host"),
        (WELL._replace(scheme=None), CheckLevel.NOTE, "X-Forwarded-Proto"),
        (WELL._replace(scheme="claimed"), CheckLevel.NOTE, "X-Forwarded-Proto"),
        (WELL._replace(client=None), CheckLevel.NOTE, "X-Forwarded-For"),
        (WELL._replace(client="192.0.2.99"), CheckLevel.WRONG, "X-Forwarded-For"),
    ],
)
def test_a_wrong_proxy_header_is_reported_with_its_remedy(
    seen: ObservedProbeRequest, level: CheckLevel, header: str
) -> None:
    (found,) = check_forwarded_headers(BASE, seen)

    assert found.level is level
    assert header in (found.remedy or "")


@pytest.mark.parametrize(
    ("found", "level", "words"),
    [
        (ReplicationStatus("on", "", 0, 0), CheckLevel.OK, "backups are the only copy"),
        (ReplicationStatus("on", "two", 2, 1), CheckLevel.OK, "waits for 1 of 2 standbys"),
        (ReplicationStatus("on", "", 2, 0), CheckLevel.NOTE, "follow asynchronously"),
        (
            ReplicationStatus("local", "two", 1, 1),
            CheckLevel.NOTE,
            "promoted standby may lack",
        ),
        (
            ReplicationStatus("off", "two", 1, 1),
            CheckLevel.WRONG,
            "loses acknowledged events",
        ),
        (ReplicationStatus("on", "two", 0, 0), CheckLevel.WRONG, "writes wait"),
    ],
)
def test_a_replication_that_may_lose_acknowledged_writes_is_reported(
    found: ReplicationStatus, level: CheckLevel, words: str
) -> None:
    result = replication_result(found)

    assert result.level is level
    assert words in result.message


def test_it_reaches_the_real_service_at_its_base_url(tmp_path: Path) -> None:
    with RunningService(tmp_path / "service", command="api").prepare() as service:
        base = f"http://127.0.0.1:{service.port}"
        settings = replace(Settings(data=tmp_path), base_url=base)

        results = list(check_address_and_proxy(settings))

    assert [(one.level, one.message) for one in results] == [
        (CheckLevel.OK, f"{base} leads to the service")
    ]
