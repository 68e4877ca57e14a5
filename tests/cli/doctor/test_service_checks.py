"""Doctor finds a service that does not run, and processes of it that hang."""

import json
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.service import Service, ServiceError, eventually

# The background may be slow, so a service waits two minutes before it ends a process.
IMPATIENT = """
from dataclasses import replace
from productrecs.cli.processes import serve
patient = serve.background_roles
serve.background_roles = lambda settings: [
    replace(role, hung_after=14.0) for role in patient(settings)
]
"""

# Nor does one wait half a minute for its API.
IMPATIENT_FOR_API = """
from productrecs.cli.processes import serve
patient = serve.ProcessRole
serve.ProcessRole = lambda *parts, **_: patient(*parts, hung_after=10.0)
"""


def findings(service: Service) -> list[str]:
    """Return what doctor says is wrong with the service."""
    return [
        one["message"]
        for one in doctor(service)
        if one["level"] == "wrong" and one["subject"] == "service"
    ]


def doctor(service: Service) -> list[dict[str, str]]:
    try:
        said = service.run("doctor", "--json")
    except ServiceError as error:
        said = str(error).partition("failed: ")[2]
    found: list[dict[str, str]] = json.loads(said.splitlines()[0])
    return found


def process(service: Service, name: str) -> int:
    """Return the id of a process of the service, which bears the name of its role."""
    found = [pid for pid, said in service.processes().items() if said.startswith(name)]
    assert len(found) == 1, (name, service.processes())
    return found[0]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """Give a running service that waits less for its background."""
    service = impatient_service(tmp_path, IMPATIENT, {}).prepare()
    with service:
        yield service


def impatient_service(folder: Path, code: str, variables: dict[str, str]) -> Service:
    """Return a service whose processes run `code` when they start."""
    start = folder / "start"
    start.mkdir()
    (start / "sitecustomize.py").write_text(code)
    return Service(folder / "data", variables=variables, broken=start)


@pytest.mark.timeout(300)
def test_processes_that_hang_are_found_and_restarted(service: Service) -> None:
    merchant = service.register()
    eventually(lambda: not findings(service), 60)
    names = ("writer", "worker", "indexer")
    before = {name: process(service, name) for name in names}
    for pid in before.values():
        os.kill(pid, signal.SIGSTOP)

    hanging: set[str] = set()

    def are_found() -> bool:
        for said in findings(service):
            hanging.update(name for name in names if f"process {name} (" in said)
        return hanging == {*names}

    eventually(are_found, 90)
    eventually(lambda: not before.keys() - restarted(service, before), 120)
    eventually(lambda: merchant.order("o-1", "a").status == 200, 60)
    assert service.log_path.read_text("utf-8").count('"process hung"') == len(names)


def restarted(service: Service, before: dict[str, int]) -> set[str]:
    now = service.processes().items()
    return {
        name
        for name, old in before.items()
        if any(said.startswith(name) and pid != old for pid, said in now)
    }


def test_a_service_that_does_not_run_is_found(service: Service) -> None:
    eventually(lambda: not findings(service), 60)
    service.kill()
    assert findings(service) == ["the service is not running"]

    service.start()
    eventually(lambda: not findings(service), 60)
    service.stop()
    assert findings(service) == ["the service is not running"]


@pytest.mark.timeout(300)
def test_systemd_hears_when_it_serves_and_while_it_is_well(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        variables = {"NOTIFY_SOCKET": str(tmp_path / "notify")}
        service = impatient_service(tmp_path, IMPATIENT_FOR_API, variables).prepare()
        service.launch()
        try:
            assert heard(systemd, 60) == "READY=1"
            assert service.client().ask("GET", "/health/live").status == 200
            assert heard(systemd, 60) == "WATCHDOG=1"
            os.kill(process(service, "api"), signal.SIGSTOP)
            eventually(lambda: heard(systemd, 4) is None, 60)
            assert heard(systemd, 60) == "WATCHDOG=1"  # it was restarted
            service.stop()
            eventually(lambda: heard(systemd, 6) == "STOPPING=1", 60)
        finally:
            service.kill()


def heard(systemd: socket.socket, seconds: float) -> str | None:
    systemd.settimeout(seconds)
    try:
        return systemd.recv(100).decode()
    except TimeoutError:
        return None


def test_a_mail_server_that_does_not_answer_is_found(tmp_path: Path) -> None:
    variables = {
        "PRODUCTRECS_SMTP_HOST": "127.0.0.1",
        "PRODUCTRECS_SMTP_PORT": "1",
        "PRODUCTRECS_SMTP_FROM": "recs@shop.example",
        "PRODUCTRECS_BASE_URL": "http://127.0.0.1:1",
    }
    service = Service(tmp_path / "data", variables=variables).prepare()

    (found,) = [one for one in doctor(service) if one["subject"] == "mail"]

    assert found["level"] == "wrong"
    assert "the mail server 127.0.0.1:1 cannot be used" in found["message"]


def test_callers_with_a_key_that_no_store_has_are_found(tmp_path: Path) -> None:
    key = "pk_OfAnotherInstallation"
    page = {"Origin": "https://shop.example"}
    with Service(tmp_path / "data").prepare() as service:
        assert keys_finding(service)["level"] == "ok"
        for headers in (page, page, {}):
            reply = service.client().ask("GET", f"/v1/trending?key={key}", headers=headers)
            assert reply.status == 401

        eventually(lambda: keys_finding(service)["message"].startswith("3 calls"), 60)

        found = keys_finding(service)
    assert found["level"] == "note"
    assert "pk_OfAno... from https://shop.example" in found["message"]
    assert "pk_OfAno... from 127.0.0.1" in found["message"]
    assert key not in found["message"]


def keys_finding(service: Service) -> dict[str, str]:
    (found,) = [one for one in doctor(service) if one["subject"] == "keys"]
    return found
