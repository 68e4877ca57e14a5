"""Slow clients: thousands of stalled connections hardly affect shoppers.

They send headers or bodies a byte at a time, connect and say nothing, or ask and do not
read. Shoppers come beside them; and after some time nobody of them is connected any more.
"""

import contextlib
import http.client
import http.server
import itertools
import resource
import select
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

from tests.support.service import HOST, Client, Service, eventually
from tests.trust.load import at_once

BROKEN: Final = Path(__file__).parent / "broken"
DRIP_SECONDS: Final = 3.0
BEGINNINGS: Final = (
    b"GET /v1/trending HTTP/1.1\r\nHost: here\r\nX-Slow: ",
    b"POST /v1/events HTTP/1.1\r\nHost: here\r\nContent-Length: 9000\r\n\r\n{",
    b"",
    b"GET /openapi.json HTTP/1.1\r\nHost: here\r\n\r\n",
)
DRIPS: Final = (b"x", b" ", b"", b"")
PATIENCE: Final = 10.0  # seconds that a shopper waits
ALL_CUT_WITHIN: Final = 60.0  # 35 are promised, from the moment each began
ESTABLISHED: Final = "01"  # as /proc/net/tcp says it


@dataclass
class SlowClients:
    """Many connections that come to no end; `open` are those that are not cut yet."""

    port: int
    open: list[tuple[socket.socket, bytes]] = field(default_factory=list)

    def come(self, number: int) -> None:
        """Connect so many, of each kind alike."""
        kinds = zip(BEGINNINGS, DRIPS, strict=True)
        for (begins, drips), _ in zip(itertools.cycle(list(kinds)), range(number)):
            one = socket.socket()
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
            one.settimeout(30)
            one.connect((HOST, self.port))
            one.sendall(begins)
            one.settimeout(0)
            self.open.append((one, drips))

    def drip(self, until: threading.Event) -> None:
        """Send a byte on each now and then."""
        while not until.wait(DRIP_SECONDS):
            for one, drips in self.open:
                with contextlib.suppress(OSError):
                    one.send(drips)

    def count(self) -> int:
        """Return how many are connected yet."""
        watch = select.poll()
        by_number = {one.fileno(): (one, drips) for one, drips in self.open}
        for number in by_number:
            watch.register(number, select.POLLRDHUP)
        for number, _ in watch.poll(0):
            by_number.pop(number)[0].close()
        self.open = list(by_number.values())
        return len(self.open)

    def leave(self) -> None:
        """Close all."""
        for one, _ in self.open:
            one.close()


@contextlib.contextmanager
def slow_clients(port: int, number: int) -> Iterator[SlowClients]:
    """Give so many, who drip while the block runs."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    slow = SlowClients(port)
    try:
        slow.come(number)
        with at_once(slow.drip):
            yield slow
    finally:
        slow.leave()


def p99_of(client: Client, target: str, seconds: float) -> float:
    """Return the time that one list in a hundred took longer than; all must be given."""
    taken = []
    until = time.monotonic() + seconds
    while (began := time.monotonic()) < until:
        reply = client.ask("GET", target)
        taken.append(time.monotonic() - began)
        assert reply.status == http.HTTPStatus.OK, reply
        time.sleep(0.01)
    return sorted(taken)[int(len(taken) * 0.99)]


@dataclass(frozen=True)
class Trial:
    """How many come, how long shoppers are watched, and how much slower they may be."""

    number: int
    seconds: float
    slower: float
    least_seconds: float


SHORT: Final = Trial(200, 0.7, 1.2, least_seconds=5.0)
LONG: Final = Trial(5_000, 8.0, 1.2, least_seconds=0.005)


def check_slow_clients(port: int, target: str, trial: Trial) -> None:
    """Shoppers are answered as before while slow clients are connected."""
    with contextlib.closing(Client(port, PATIENCE)) as client:
        alone = p99_of(client, target, trial.seconds)
        with slow_clients(port, trial.number) as slow:
            beside = p99_of(client, target, trial.seconds)
            left = slow.count()
    print(f"p99 alone {alone * 1e3:.1f} ms, beside {left}: {beside * 1e3:.1f}")  # noqa: T201 - the figures
    assert beside <= max(trial.slower * alone, trial.least_seconds)


def connected(service: Service) -> int:
    """Return how many connections the service has.

    Not as the clients see it: who does not read does not read of the end either.
    """
    held, port = set[str](), f":{service.port:04X}"
    for process in service.processes():
        for file in Path(f"/proc/{process}/fd").iterdir():
            with contextlib.suppress(OSError):
                held.add(file.readlink().name.removeprefix("socket:[").removesuffix("]"))
    rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(
        row[1].endswith(port) and row[3] == ESTABLISHED and row[9] in held for row in rows
    )


def check_cut(service: Service, number: int, within: float) -> None:
    """After some time all slow clients are gone."""
    with slow_clients(service.port, number):
        eventually(lambda: connected(service) >= number // 2, 10)
        waited = eventually(lambda: connected(service) == 0, within, pause=0.5)
        print(f"{number} were cut within {waited:.0f} s")  # noqa: T201 - the figures


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, str]]:
    """Give a service, and where a list of a store is, which it knew at once."""
    folder = tmp_path_factory.mktemp("slow")
    service = Service(folder, command="api", workers=2).prepare()
    target = service.register().target("/v1/trending")
    with service:
        yield service, target


@pytest.mark.parametrize(
    "trial", [SHORT, pytest.param(LONG, marks=pytest.mark.trust)], ids=["short", "long"]
)
def test_shoppers_are_answered_beside_clients_that_come_to_no_end(
    shop: tuple[Service, str], trial: Trial
) -> None:
    check_slow_clients(shop[0].port, shop[1], trial)


@pytest.mark.trust
def test_clients_that_come_to_no_end_are_cut(shop: tuple[Service, str]) -> None:
    check_cut(shop[0], 5_000, ALL_CUT_WITHIN)


class _OneAtATime(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(http.HTTPStatus.OK)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_control_a_server_that_waits_for_each_client_keeps_shoppers_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tests.trust.test_slow_clients.PATIENCE", 0.5)
    with http.server.HTTPServer((HOST, 0), _OneAtATime) as server:
        serving = threading.Thread(target=server.serve_forever, args=(0.01,))
        serving.start()
        with pytest.raises((OSError, http.client.HTTPException)):
            check_slow_clients(server.server_port, "/", Trial(4, 0.1, 1.2, 0.5))
        server.shutdown()
        serving.join()


@pytest.mark.trust
def test_control_a_service_that_waits_for_ever_is_seen(data_folder: Path) -> None:
    broken = BROKEN / "endless_patience"
    with (
        Service(data_folder, command="api", broken=broken).prepare() as service,
        pytest.raises(AssertionError, match="not within"),
    ):
        check_cut(service, 100, ALL_CUT_WITHIN)
