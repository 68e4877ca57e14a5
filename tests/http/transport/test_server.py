"""HTTP server: a graceful stop fails no request, and stalled clients are cut off."""

import asyncio
import http.client
import json
import math
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field

import pytest

from productrecs.http.limits.connection_limits import ConnectionLimiter
from productrecs.http.transport.accept_balancer import AcceptBalancer
from productrecs.http.transport.request_parser import HEAD_LIMIT_BYTES
from tests.http.crowd import ConstantLoad
from tests.http.toy_server import PATIENCE
from tests.support.project import ROOT

GET = b"GET / HTTP/1.1\r\nHost: here\r\n"


class Toy:
    """A running toy server."""

    def __init__(self, kind: str = "ready") -> None:
        """Start it and wait until it accepts connections."""
        with socket.create_server(("127.0.0.1", 0), backlog=512) as listener:
            self.port = listener.getsockname()[1]
            number = listener.fileno()
            command = (sys.executable, "-m", "tests.http.toy_server")
            self._process = subprocess.Popen(
                [*command, str(number), kind],
                cwd=ROOT,
                pass_fds=[number],
                stdout=subprocess.PIPE,
            )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"

    def ask(self, path: str) -> tuple[bytes, str | None]:
        """Return the body and the `Connection` header of a GET on a new connection."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, 10)) as client:
            client.request("GET", path)
            reply = client.getresponse()
            return reply.read(), reply.getheader("connection")

    def connect(self) -> socket.socket:
        """Return a bare connection."""
        return socket.create_connection(("127.0.0.1", self.port), 10)

    def stop(self) -> None:
        """Send SIGTERM."""
        self._process.send_signal(signal.SIGTERM)

    def exit_status(self) -> int:
        """Wait for the end and return how it was."""
        return self._process.wait(10)

    def close(self) -> None:
        """End it at once, if it has not."""
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


@pytest.fixture
def toy() -> Iterator[Toy]:
    started = Toy()
    yield started
    started.close()


def aside(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def heard(connection: socket.socket) -> bytes:
    """Return one reply of the toy, whose head and body may come apart."""
    came = b""
    while not came.endswith((b"True", b"False")):
        piece = connection.recv(1000)
        if not piece:
            break
        came += piece
    return came


def crowd_at_a_stop(kind: str) -> ConstantLoad:
    toy = Toy(kind)
    crowd = ConstantLoad(toy.port)
    time.sleep(0.3)
    toy.stop()
    crowd.wait()
    toy.close()
    assert crowd.answered > 100
    return crowd


def test_a_stop_under_load_fails_no_request() -> None:
    assert crowd_at_a_stop("ready").failed == 0


def test_uvicorns_own_stop_under_load_fails_somebody() -> None:
    # The control of the test above.
    assert crowd_at_a_stop("plain").failed > 0


def test_a_request_in_hand_at_the_stop_is_answered_and_the_exit_is_clean(toy: Toy) -> None:
    replies: list[tuple[bytes, str | None]] = []
    asking = aside(lambda: replies.append(toy.ask("/slow")))
    time.sleep(0.2)

    toy.stop()
    asking.join()

    assert replies == [(b"True", "close")]
    assert toy.exit_status() == 0


def test_while_draining_new_connections_are_answered_and_then_closed(toy: Toy) -> None:
    before = toy.ask("/draining")
    toy.stop()
    time.sleep(0.1)
    during = toy.ask("/draining")
    status = toy.exit_status()

    assert before == (b"False", None)
    assert during == (b"True", "close")
    assert status == 0
    with pytest.raises(ConnectionRefusedError):
        toy.ask("/draining")


def test_who_connected_in_time_may_still_send_the_request(toy: Toy) -> None:
    with toy.connect() as late:
        toy.stop()
        time.sleep(0.8)  # the drain is over, nothing is listening any more
        late.sendall(GET + b"\r\n")

        assert heard(late).startswith(b"HTTP/1.1 200")


def test_an_idle_connection_does_not_hold_up_the_stop(toy: Toy) -> None:
    with toy.connect() as idle:
        idle.sendall(GET + b"\r\n")
        assert heard(idle).startswith(b"HTTP/1.1 200")
        began = time.monotonic()

        toy.stop()

        assert toy.exit_status() == 0
        assert time.monotonic() - began < 15  # not the 30 that an answer would get


def test_an_idle_connection_is_closed_after_a_while_but_not_at_once(toy: Toy) -> None:
    with toy.connect() as idle:
        idle.settimeout(10)
        for _ in range(2):
            idle.sendall(GET + b"\r\n")
            assert heard(idle).startswith(b"HTTP/1.1 200")
            time.sleep(0.5)

        assert idle.recv(1000) == b""


def drip(connection: socket.socket, start: bytes, piece: bytes) -> float:
    """Send `start`, then `piece` again and again; return after how long we were cut off."""
    began = time.monotonic()
    connection.settimeout(0.1)
    connection.sendall(start)
    while time.monotonic() - began < 10:
        try:
            connection.sendall(piece)
            if connection.recv(100) == b"":
                break
        except TimeoutError:
            continue
        except OSError:
            break
    return time.monotonic() - began


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        (GET, b"X-More: 1\r\n"),
        (b"", b""),
        (b"POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: 9999\r\n\r\n", b"x"),
    ],
    ids=["endless headers", "no request", "a body byte by byte"],
)
def test_a_client_that_keeps_us_waiting_is_cut_off(
    toy: Toy, start: bytes, piece: bytes
) -> None:
    with toy.connect() as slow:
        waited = drip(slow, start, piece)

    assert PATIENCE.head <= waited < 8
    assert toy.ask("/")[0] == b"False"


def test_a_client_at_a_fair_pace_is_not_cut_off(toy: Toy) -> None:
    body = b"x" * 6_000

    with toy.connect() as fair:
        fair.sendall(b"POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: 6000\r\n\r\n")
        for start in range(0, len(body), 1_000):  # twice the least pace
            fair.sendall(body[start : start + 1_000])
            time.sleep(0.5)
        fair.settimeout(5)
        received = b""
        while not received.endswith(body):
            received += fair.recv(10_000)

    assert received.startswith(b"HTTP/1.1 200")


def test_a_head_without_end_is_refused_before_it_fills_the_memory(toy: Toy) -> None:
    sent = 0
    with toy.connect() as endless:
        endless.sendall(GET)
        try:
            while sent < 100 * HEAD_LIMIT_BYTES:
                endless.sendall(b"X: " + b"y" * 10_000 + b"\r\n")
                sent += 10_000
        except OSError:
            pass

    assert sent < 100 * HEAD_LIMIT_BYTES
    assert toy.ask("/")[0] == b"False"


def test_what_is_not_http_is_refused_in_words(toy: Toy) -> None:
    with toy.connect() as wrong:
        wrong.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        reply = wrong.recv(1000)

    head, body = reply.split(b"\r\n\r\n")
    answer = json.loads(body)
    assert head.startswith(b"HTTP/1.1 400")
    assert answer["code"] == "bad_request"
    assert answer["request_id"].encode() in head
    assert b"access-control-allow-origin: *" in head


CLIENTS = 60


@dataclass
class PeerCounts:
    """Two processes, as far as they know of each other."""

    counts: dict[int, float] = field(default_factory=dict)

    def side(self, number: int) -> "Side":
        """Return what one of them sees."""
        self.counts[number] = 0
        return Side(self, number)


@dataclass
class Side:
    """One process's view of the other."""

    peers: PeerCounts
    number: int

    def publish(self, connections: int) -> None:
        """Note how many this one has."""
        self.peers.counts[self.number] = connections

    def fewest_connections_elsewhere(self) -> float:
        """Return how many the other one has."""
        others = (n for who, n in self.peers.counts.items() if who != self.number)
        return min(others, default=math.inf)


@dataclass(eq=False)
class IdleConnection:
    """A connection."""

    def cut(self) -> None:
        """Nobody is sent away here."""


async def connected(admissions: list[ConnectionLimiter]) -> list[int]:
    """Return how many of a burst of connections each of the admissions got."""
    with socket.create_server(("127.0.0.1", 0), backlog=CLIENTS) as listener:
        listener.settimeout(0)
        clients = [socket.create_connection(listener.getsockname()) for _ in range(CLIENTS)]
        accepted: list[socket.socket] = []

        def accepting(admission: ConnectionLimiter) -> AcceptBalancer:
            async def begin(one: socket.socket) -> None:
                accepted.append(one)
                admission.count_and_accept(IdleConnection(), "127.0.0.1")

            same = listener.dup()
            same.settimeout(0)
            doors.append(same)
            return AcceptBalancer(same, admission, begin)

        doors: list[socket.socket] = []
        both = [accepting(one) for one in admissions]
        for _ in range(2_000):
            if len(accepted) == CLIENTS:
                break
            await asyncio.sleep(0.001)
        for one in both:
            one.close()
            await one.wait_until_accepted()
        for each in (*clients, *accepted, *doors):
            each.close()
    return [one.count for one in admissions]


def test_a_burst_is_shared() -> None:
    peers = PeerCounts()
    admissions = [ConnectionLimiter(), ConnectionLimiter()]
    for number, one in enumerate(admissions):
        one.set_peers(peers.side(number))

    counts = asyncio.run(connected(admissions))

    assert sum(counts) == CLIENTS
    assert min(counts) >= CLIENTS // 3


def test_control_without_neighbours_one_takes_nearly_all() -> None:
    counts = asyncio.run(connected([ConnectionLimiter(), ConnectionLimiter()]))

    assert sum(counts) == CLIENTS
    assert min(counts) < CLIENTS // 3


def test_a_stuck_process_leaves_no_client_waiting() -> None:
    peers = PeerCounts()
    alone = ConnectionLimiter()
    alone.set_peers(peers.side(0))
    peers.side(1)  # says that it has no connections, and never takes one

    assert asyncio.run(connected([alone])) == [CLIENTS]
