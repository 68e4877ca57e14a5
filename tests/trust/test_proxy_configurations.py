"""Shipped proxy configurations: `doctor` finds nothing wrong behind them, plain or TLS."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.support.project import ROOT
from tests.support.service import HOST, Service, eventually, free_port
from tests.trust.test_smuggling import is_open

pytestmark = pytest.mark.trust
DEPLOY: Final = ROOT / "deploy"


class Certificate(NamedTuple):
    """A self-signed certificate of 127.0.0.1 and its key."""

    certificate: Path
    key: Path


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is missing: apt-get install openssl")
    folder = tmp_path_factory.mktemp("certificate")
    made = Certificate(folder / "proxy.crt", folder / "proxy.key")
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=proxy",
    ]
    command += ["-addext", f"subjectAltName=IP:{HOST}"]
    files = ["-keyout", str(made.key), "-out", str(made.certificate)]
    subprocess.run([*command, *files], check=True, capture_output=True)
    return made


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("service")).prepare() as service:
        yield service


def nginx(folder: Path, port: int, target: int, tls: Certificate | None) -> list[str]:
    """Write the shipped nginx server blocks with other addresses; return the command."""
    shipped = (DEPLOY / "nginx" / "productrecs.conf").read_text()
    blocks = shipped.replace("127.0.0.1:8000", f"{HOST}:{target}")
    blocks = blocks.replace("listen 80;", f"listen {HOST}:{free_port()};")
    if tls is None:
        blocks = re.sub(r" *ssl_certificate.*\n", "", blocks)
    else:
        blocks = blocks.replace("/etc/ssl/recs.example.com.pem", str(tls.certificate))
        blocks = blocks.replace("/etc/ssl/recs.example.com.key", str(tls.key))
    listen = f"listen {HOST}:{port} ssl;" if tls else f"listen {HOST}:{port};"
    blocks = blocks.replace("listen 443 ssl;", listen)
    user = "user root;" if os.geteuid() == 0 else ""
    paths = "client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f;"
    paths += " uwsgi_temp_path u; scgi_temp_path s; access_log off;"
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; error_log stderr; {user}\n"
        f"events {{}}\nhttp {{\n{paths}\n{blocks}\n}}\n"
    )
    return ["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", "stderr"]


def caddy(folder: Path, port: int, target: int, tls: Certificate | None) -> list[str]:
    """Write the shipped Caddyfile with other addresses; return the command."""
    scheme = "https" if tls else "http"
    site = f"{scheme}://{HOST}:{port} {{\n"
    if tls:
        site += f"\ttls {tls.certificate} {tls.key}\n"
    shipped = (DEPLOY / "caddy" / "Caddyfile").read_text()
    text = shipped.replace("recs.example.com {\n", site)
    text = text.replace("127.0.0.1:8000", f"{HOST}:{target}")
    head = "{\n\tadmin off\n\tauto_https disable_redirects\n}\n"
    (folder / "Caddyfile").write_text(head + text)
    file = str(folder / "Caddyfile")
    return ["caddy", "run", "--adapter", "caddyfile", "--config", file]


def haproxy(folder: Path, port: int, target: int, tls: Certificate | None) -> list[str]:
    """Write the shipped HAProxy configuration with other addresses; return the command."""
    text = (DEPLOY / "haproxy" / "haproxy.cfg").read_text()
    text = re.sub(r".*stats socket.*\n", "", text)
    bind = f"bind {HOST}:{port}"
    if tls:
        joined = folder / "proxy.pem"
        joined.write_text(tls.certificate.read_text() + tls.key.read_text())
        bind += f" ssl crt {joined}"
    text = text.replace('bind "${BIND-:80}"', bind)
    text = re.sub(r" *server api[23] .*\n", "", text)
    text = text.replace("192.0.2.11:8000", f"{HOST}:{target}")
    (folder / "haproxy.cfg").write_text(text)
    return ["haproxy", "-db", "-f", str(folder / "haproxy.cfg")]


Configure = Callable[[Path, int, int, Certificate | None], list[str]]
CONFIGURATIONS: Final[tuple[Configure, ...]] = (nginx, caddy, haproxy)


@contextlib.contextmanager
def running(command: list[str], port: int, folder: Path) -> Iterator[None]:
    """Run a proxy in a folder until it is no longer needed."""
    program = shutil.which(command[0], path=os.environ["PATH"] + ":/usr/sbin")
    if program is None:
        pytest.skip(f"{command[0]} is missing: apt-get install {command[0]}")
    environment = {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(
            [program, *command[1:]],
            cwd=folder,
            stdout=output,
            stderr=output,
            env=environment,
        )
    try:
        eventually(lambda: is_open(port) or process.poll() is not None, 30)
        assert process.poll() is None, (folder / "output").read_text()
        yield
    finally:
        process.terminate()
        process.wait(20)


def doctor_results(service: Service, base: str, trusted: Certificate) -> list[str]:
    """Return what `productrecs doctor` says of the address and the proxy."""
    environment = {
        **os.environ,
        "PRODUCTRECS_BASE_URL": base,
        "SSL_CERT_FILE": str(trusted.certificate),
    }
    command = [sys.executable, "-m", "productrecs", "doctor", "--json"]
    result = subprocess.run(
        [*command, "--data", str(service.folder)],
        env=environment,
        stdout=subprocess.PIPE,
        check=False,
    )
    return [
        f"{found['level']} {found['message']}"
        for found in json.loads(result.stdout)
        if found["subject"] in {"address", "proxy"}
    ]


@pytest.mark.parametrize("is_tls", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("configure", CONFIGURATIONS, ids=lambda one: one.__name__)
def test_the_doctor_finds_nothing_wrong_behind_the_shipped_configuration(
    configure: Configure,
    service: Service,
    certificate: Certificate,
    tmp_path: Path,
    *,
    is_tls: bool,
) -> None:
    port = free_port()
    tls = certificate if is_tls else None
    command = configure(tmp_path, port, service.port, tls)
    base = f"{'https' if is_tls else 'http'}://{HOST}:{port}"

    with running(command, port, tmp_path):
        expected = [f"ok {base} leads to the service"]
        # HAProxy answers 503 until two health checks have passed.
        eventually(lambda: doctor_results(service, base, certificate) == expected, 20)


def test_control_the_doctor_finds_a_proxy_that_passes_forged_addresses_on(
    service: Service, certificate: Certificate, tmp_path: Path
) -> None:
    port = free_port()
    command = nginx(tmp_path, port, service.port, certificate)
    file = tmp_path / "nginx.conf"
    file.write_text(re.sub(r".*X-Forwarded-For.*\n", "", file.read_text()))

    with running(command, port, tmp_path):
        found = doctor_results(service, f"https://{HOST}:{port}", certificate)

    assert any("anybody may pretend to be somebody else" in result for result in found)
