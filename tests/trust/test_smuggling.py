"""Request smuggling: nobody behind a proxy gets another client's reply.

nginx, Caddy, HAProxy and Apache stand in front of the real service and reuse connections to
it. An attacker sends requests that could be read in two ways; visitors ask beside them, and
each checks that the reply is its own. The control is a service that mistakes a body for a
request, behind every proxy that passes such a body on with its `Upgrade`. HAProxy does not:
it takes the header away, which a test of its own shows.
"""

import contextlib
import http.client
import http.server
import os
import shutil
import socket
import subprocess
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar, Final, NamedTuple

import pytest

from tests.support.service import HOST, Service, eventually, free_port
from tests.trust.load import at_once

BROKEN: Final = Path(__file__).parent / "broken" / "careless_upgrade"
SECONDS: Final = 8.0
VISITORS: Final = 4
_AS_ROOT: Final = os.geteuid() == 0

NGINX: Final = """
daemon off; pid {folder}/pid; error_log {folder}/log; {user}
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    map $http_upgrade $connection_upgrade {{ default upgrade; '' ''; }}
    upstream service {{ server 127.0.0.1:{service}; keepalive 8; }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://service;
            proxy_http_version 1.1;
            proxy_set_header Host $host;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection $connection_upgrade;
        }}
    }}
}}
"""
CADDY: Final = """
{{
    admin off
    auto_https off
}}
http://:{port} {{
    bind 127.0.0.1
    reverse_proxy 127.0.0.1:{service}
}}
"""
HAPROXY: Final = """
defaults
    mode http
    timeout connect 5s
    timeout client 10s
    timeout server 10s
    timeout tunnel 10s
    http-reuse always
frontend shop
    bind 127.0.0.1:{port}
    default_backend service
backend service
    server one 127.0.0.1:{service}
"""
APACHE: Final = """
ServerRoot {folder}
ServerName localhost
Listen 127.0.0.1:{port}
PidFile {folder}/pid
ErrorLog {folder}/log
DefaultRuntimeDir {folder}
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule proxy_module /usr/lib/apache2/modules/mod_proxy.so
LoadModule proxy_http_module /usr/lib/apache2/modules/mod_proxy_http.so
{apache_user}
ProxyPreserveHost on
ProxyPass / http://127.0.0.1:{service}/ upgrade=ANY
"""


class Proxy(NamedTuple):
    """A program of Debian, its settings and how it is started."""

    package: str
    program: str
    settings: str
    arguments: tuple[str, ...]
    passes_upgrades: bool = True  # of requests that have a body


PROXIES: Final = (
    Proxy(
        "nginx", "nginx", NGINX, ("-p", "{folder}", "-c", "{file}", "-e", "{folder}/log")
    ),
    Proxy("caddy", "caddy", CADDY, ("run", "--adapter", "caddyfile", "--config", "{file}")),
    Proxy("haproxy", "haproxy", HAPROXY, ("-db", "-f", "{file}"), passes_upgrades=False),
    Proxy("apache2", "apache2", APACHE, ("-DFOREGROUND", "-f", "{file}")),
)

WHOLE: Final = b"GET /smuggled HTTP/1.1\r\nHost: a\r\nX-Request-Id: smuggled\r\n\r\n"
PREFIX: Final = b"GET /smuggled HTTP/1.1\r\nX-Swallows: "
"""The next request on the connection becomes a header of it."""


def attacks() -> Iterator[tuple[bytes, ...]]:
    """Yield requests in the pieces that they are sent in."""
    for inner in (WHOLE, PREFIX):
        length = b"Content-Length: %d" % len(inner)
        chunks = b"%x\r\n%b\r\n0\r\n\r\n" % (len(inner), inner)
        for protocol in (b"foo", b"h2c", b"websocket"):
            upgrade = (b"Connection: Upgrade", b"Upgrade: " + protocol)
            for method in (b"GET", b"POST"):
                yield head(*upgrade, length, method=method), inner
                yield (head(*upgrade, length, method=method) + inner,)
            yield head(*upgrade, b"Transfer-Encoding: chunked") + chunks, b""
        for lines in (
            (length, b"Transfer-Encoding: chunked"),
            (length, b"Transfer-Encoding : chunked"),
            (length, b"Transfer-Encoding: xchunked"),
            (length, b"Transfer-Encoding:\x0bchunked"),
            (length, b"Transfer-Encoding:\r\n chunked"),
            (b"Content-Length: 0", length),
            (b"Content-Length : 0", length),
            (b"Transfer-Encoding: chunked, identity",),
            (b"Expect: 100-continue", length),
            (b"Expect: y 100-continue", length),
            (b"Connection: content-length", length),
            (b"Host: b", length),
            (b"A: b\nContent-Length: 0", length),
        ):
            yield head(*lines), b"0\r\n\r\n" + inner
            yield head(*lines), inner
        chunked = head(b"Transfer-Encoding: chunked")
        yield chunked, b"0\r\nHost: b\r\nX-Request-Id: smuggled\r\n\r\n" + inner
        yield chunked, b"1;a=\nx\r\nx\r\n0\r\n\r\n" + inner
        yield chunked, b"5\r\nhelloX0\r\n\r\n" + inner


def head(*lines: bytes, method: bytes = b"POST") -> bytes:
    """Return the head of a request to an address that answers."""
    first = method + b" /health/live HTTP/1.1"
    return b"\r\n".join((first, b"Host: a", *lines, b"", b""))


@contextlib.contextmanager
def started(proxy: Proxy, service: int, folder: Path) -> Iterator[int]:
    """Start a proxy in front of a port; give its own."""
    program = shutil.which(proxy.program, path=os.environ["PATH"] + ":/usr/sbin")
    if program is None:
        pytest.skip(f"{proxy.package} is missing: apt-get install {proxy.package}")
    folder.mkdir()
    port, file = free_port(), folder / "settings"
    file.write_text(
        proxy.settings.format(
            folder=folder,
            port=port,
            service=service,
            user="user root;" if _AS_ROOT else "",
            apache_user="User www-data\nGroup www-data" if _AS_ROOT else "",
        )
    )
    arguments = [one.format(folder=folder, file=file) for one in proxy.arguments]
    environment = {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    with (folder / "said").open("wb") as said:
        running = subprocess.Popen(
            [program, *arguments], stdout=said, stderr=said, env=environment
        )
    try:
        eventually(lambda: is_open(port) or running.poll() is not None, 30)
        assert running.poll() is None, (folder / "said").read_text()
        yield port
    finally:
        running.terminate()
        running.wait(20)


def is_open(port: int) -> bool:
    """Whether somebody listens there."""
    with contextlib.suppress(OSError), socket.create_connection((HOST, port), 1):
        return True
    return False


class Street:
    """An attacker and visitors, at one port; counts what became of the visits."""

    def __init__(self, port: int) -> None:
        """Begin with nobody."""
        self._port = port
        self.own = 0
        self.others: Counter[str] = Counter()
        self.rounds = 0

    def visit(self, until: threading.Event) -> None:
        """Ask again and again, and look whose reply it is."""
        client = http.client.HTTPConnection(HOST, self._port, 10)
        with contextlib.closing(client):
            while not until.is_set():
                self._visit_once(client)

    def _visit_once(self, client: http.client.HTTPConnection) -> None:
        mine = uuid.uuid4().hex
        try:
            client.request("GET", "/health/live", headers={"X-Request-Id": mine})
            reply = client.getresponse()
            reply.read()
        except (OSError, http.client.HTTPException) as error:
            self.others[repr(error)] += 1
            client.close()
            return
        whose = reply.getheader("x-request-id")
        if reply.status == http.HTTPStatus.OK and whose == mine:
            self.own += 1
        else:
            self.others[f"{reply.status} {'its own' if whose == mine else whose}"] += 1

    def attack(self, until: threading.Event) -> None:
        """Send every attack, again and again."""
        while not until.is_set():
            for pieces in attacks():
                if until.is_set():
                    return
                with contextlib.suppress(OSError):
                    self._send(pieces)
            self.rounds += 1

    def _send(self, pieces: tuple[bytes, ...]) -> None:
        with socket.create_connection((HOST, self._port), 1) as connection:
            connection.settimeout(0.1)
            for piece in pieces:
                connection.sendall(piece)
                time.sleep(0.005)
            connection.recv(65_536)

    def live(self, seconds: float, is_enough: Callable[[], bool]) -> None:
        """Let all do what they do for some time, or until that is enough."""
        visitors = [self.visit] * VISITORS
        with at_once(self.attack, *visitors):
            until = time.monotonic() + seconds
            while time.monotonic() < until and not is_enough():
                time.sleep(0.1)


@pytest.fixture(scope="module")
def service_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Start the service; give its port."""
    with Service(tmp_path_factory.mktemp("strict"), command="api").prepare() as service:
        yield service.port


@pytest.fixture(scope="module")
def careless_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Start the control; give its port."""
    folder = tmp_path_factory.mktemp("careless")
    with Service(folder, command="api", broken=BROKEN).prepare() as service:
        yield service.port


@pytest.mark.trust
@pytest.mark.parametrize("proxy", PROXIES, ids=lambda proxy: proxy.package)
def test_no_client_gets_the_reply_to_another(
    proxy: Proxy, service_port: int, tmp_path: Path
) -> None:
    with started(proxy, service_port, tmp_path / "proxy") as port:
        street = Street(port)
        street.live(10 * SECONDS, lambda: street.rounds > 2 and street.own > 1_000)

    print(f"{proxy.package}: {street.own} visits, {street.rounds} rounds of attacks")  # noqa: T201 - the figures
    assert street.rounds > 2
    assert street.own > 1_000
    assert not street.others


class _Noting(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    seen: ClassVar[list[tuple[str | None, bytes]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.seen.append((self.headers["upgrade"], body))
        self.send_response(http.HTTPStatus.OK)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.mark.trust
@pytest.mark.parametrize("proxy", PROXIES, ids=lambda proxy: proxy.package)
def test_attacks_arrive_and_only_haproxy_takes_their_upgrade_away(
    proxy: Proxy, tmp_path: Path
) -> None:
    _Noting.seen.clear()
    with http.server.ThreadingHTTPServer((HOST, 0), _Noting) as server:
        serving = threading.Thread(target=server.serve_forever, args=(0.01,))
        serving.start()
        with started(proxy, server.server_port, tmp_path / "proxy") as port:
            for protocol in (b"foo", b"h2c", b"websocket"):
                lines = (b"Connection: Upgrade", b"Upgrade: " + protocol)
                length = b"Content-Length: %d" % len(WHOLE)
                with socket.create_connection((HOST, port), 10) as connection:
                    connection.sendall(head(*lines, length) + WHOLE)
                    assert b" 200 " in connection.recv(65_536)
        server.shutdown()
        serving.join()

    given = ["foo", "h2c", "websocket"] if proxy.passes_upgrades else [None] * 3
    assert _Noting.seen == [(one, WHOLE) for one in given]


@pytest.mark.trust
@pytest.mark.parametrize(
    "proxy",
    [one for one in PROXIES if one.passes_upgrades],
    ids=lambda proxy: proxy.package,
)
def test_control_a_careless_service_mixes_replies_up(
    proxy: Proxy, careless_port: int, tmp_path: Path
) -> None:
    with started(proxy, careless_port, tmp_path / "proxy") as port:
        street = Street(port)
        street.live(10 * SECONDS, lambda: street.rounds > 2 and bool(street.others))

    print(f"{proxy.package}: {street.own} visits, not their own: {street.others}")  # noqa: T201 - the figures
    assert street.others
