"""The public conformance suite of MCP against the server of the merchant's assistant.

It runs where `MCP_CONFORMANCE` names the folder of an installed
`@modelcontextprotocol/conformance` (0.2 or newer, with Node 22). Its scenarios of
resources, prompts and tools of a reference server do not apply; a check that needs such a
tool says that it is not testable.
"""

import http.server
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from productrecs.application import create_application
from productrecs.core.clock import system_ms
from productrecs.services import build_services
from productrecs.settings import Settings
from productrecs.tenancy.users.dashboard_user import Role
from tests.api.inside import Inside
from tests.dashboard.conftest import Office
from tests.support.assistant import Assistant
from tests.support.dashboard import add_store
from tests.support.service import Service, free_port

PACKAGE = os.environ.get("MCP_CONFORMANCE", "")
FIRST, PRESENT = "2025-11-25", "2026-07-28"
NOT_TESTABLE = "Not testable"
SCENARIOS = [  # the name, the revision, and how many checks pass at least
    ("server-initialize", FIRST, 2),
    ("ping", FIRST, 2),
    ("tools-list", FIRST, 3),
    ("dns-rebinding-protection", FIRST, 2),
    ("tools-list", PRESENT, 4),
    ("server-stateless", PRESENT, 20),
    ("http-header-validation", PRESENT, 14),
    ("dns-rebinding-protection", PRESENT, 2),
]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Give the address of a relay that adds a token: the suite has no setting for one."""
    port = free_port()
    base_url = f"http://127.0.0.1:{port}"
    place = Service(tmp_path_factory.mktemp("conformance")).prepare()
    services = build_services(Settings(data=place.folder, base_url=base_url))
    services = replace(services, clock=system_ms)
    with Inside(create_application(services, draining=[])) as inside:
        office = Office(services, inside, system_ms())
        store = add_store(services, "conformance.example")
        assistant = Assistant.of(office, store, Role.EDITOR)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), relay_to(assistant))
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"{base_url}/dashboard/mcp"
        server.shutdown()
        server.server_close()


def relay_to(assistant: Assistant) -> type[http.server.BaseHTTPRequestHandler]:
    lock = threading.Lock()  # the application is asked by one thread at a time

    class _Relay(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            # Without white space around values, as the service's own parser reads them.
            sent = {name.lower(): text.strip() for name, text in self.headers.items()}
            sent["authorization"] = f"Bearer {assistant.token}"
            with lock:
                reply = assistant.client.ask(self.command, self.path, body, sent)
            self.send_response(reply.status)
            for name, value in reply.headers:
                if name not in {"content-length", "connection", "date", "server"}:
                    self.send_header(name, value)
            self.send_header("content-length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

        do_GET = do_DELETE = do_POST  # noqa: N815 - the library's names

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return _Relay


def checks_of(address: str, scenario: str, revision: str, folder: Path) -> list[Any]:
    program = Path(PACKAGE) / "dist" / "index.js"
    words = ["server", "--url", address, "--scenario", scenario, "-o", str(folder)]
    done = subprocess.run(
        [shutil.which("node") or "node", str(program), *words, "--spec-version", revision],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    (found,) = list(folder.rglob("checks.json")) or pytest.fail(done.stdout + done.stderr)
    checks: list[Any] = json.loads(found.read_text())
    return checks


@pytest.mark.skipif(
    not PACKAGE, reason="MCP_CONFORMANCE does not name @modelcontextprotocol/conformance"
)
@pytest.mark.parametrize(("scenario", "revision", "least"), SCENARIOS)
def test_the_public_conformance_suite_finds_nothing(
    address: str, tmp_path: Path, scenario: str, revision: str, least: int
) -> None:
    checks = checks_of(address, scenario, revision, tmp_path)

    failed = [
        (check["id"], check.get("errorMessage"))
        for check in checks
        if check["status"] == "FAILURE"
        and not str(check.get("errorMessage")).startswith(NOT_TESTABLE)
    ]
    assert failed == []
    assert sum(check["status"] == "SUCCESS" for check in checks) >= least
