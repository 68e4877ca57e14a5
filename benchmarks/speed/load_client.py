"""How fast, and after what wait, does a server on loopback answer a list of requests?

A process of its own: plain non-blocking sockets under epoll, requests encoded beforehand,
so that it costs about as little as a load generator in C. Two modes:

- closed: each connection asks again as soon as it was answered; tells requests per second.
  Events of a mixed load go over as many connections of their own, as beacons do, so that a
  read never waits for one; when all of those are busy, the next read's connection takes it.
- paced: requests leave at times drawn beforehand (Poisson arrivals), whether or not earlier
  ones were answered; a request's latency counts from its scheduled time, so that a stall
  is felt by all requests that should have left in it. `--impatient` lets a read go that
  finds no connection free, as a proxy does that has so many and no more; events wait.
  `--apart e=64` gives a class so many connections of its own, as beacons have: then no
  read that is held up on its connection holds up an event.

Each request in the file begins with one letter, its class; requests end with a NUL byte.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import re
import select
import socket
import sys
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

CONTENT_LENGTH = re.compile(rb"\r\ncontent-length:\s*(\d+)", re.IGNORECASE)
CHUNKED = re.compile(rb"\r\ntransfer-encoding:\s*chunked", re.IGNORECASE)
STALL_SECONDS = 30.0


class LoadError(Exception):
    """The server closed, stalled, or answered something that is not HTTP."""


@dataclass(slots=True)
class Connection:
    """One keep-alive connection and the request that it waits for."""

    socket: socket.socket
    letter: str = ""
    began: float = 0.0
    received: bytes = b""


class Pool:
    """Connections of the same classes of requests, and what waits for one to be free."""

    def __init__(self, connections: list[Connection]) -> None:
        self.idle = deque(connections)
        self.due: deque[tuple[float, str, bytes]] = deque()

    def add(self, leaves: float, letter: str, request: bytes, impatient: bool) -> bool:  # noqa: FBT001
        """Let a request be due; return False where it is let go, for nothing is free."""
        if impatient and letter != "e" and len(self.due) >= len(self.idle):
            return False
        self.due.append((leaves, letter, request))
        return True


@dataclass(slots=True)
class Tally:
    """What came back."""

    latencies: dict[str, list[float]] = field(default_factory=dict)
    given: dict[str, list[float]] = field(default_factory=dict)  # those with a 200
    statuses: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)  # by class: no 200
    body_bytes: int = 0
    empty: int = 0
    unsent: int = 0

    def note(self, letter: str, latency: float, reply: bytes) -> None:
        """Count one whole reply."""
        self.latencies.setdefault(letter, []).append(latency)
        status = reply[9:12].decode("ascii", "replace")
        self.statuses[status] += 1
        if status == "200":
            self.given.setdefault(letter, []).append(latency)
        else:
            self.refused[letter] += 1
        self.body_bytes += len(reply)
        if reply.endswith(b":[]}"):
            self.empty += 1


class Load:
    """The connections, the list of requests, and what was measured."""

    def __init__(self, address: tuple[str, int], requests: list[tuple[str, bytes]]) -> None:
        self._address = address
        self._requests = requests
        self._next = 0
        self._beacons: list[Connection] = []
        self._epoll = select.epoll()
        self._connections: dict[int, Connection] = {}
        self.tally = Tally()

    def connect(self, count: int) -> list[Connection]:
        """Open `count` connections and return them."""
        opened_before = len(self._connections)
        for _ in range(count):
            opened = socket.create_connection(self._address, timeout=10)
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            opened.settimeout(0)
            self._connections[opened.fileno()] = Connection(opened)
            self._epoll.register(opened.fileno(), select.EPOLLIN)
        return list(self._connections.values())[opened_before:]

    def closed(self, connections: int, seconds: float) -> float:
        """Ask on every connection, again and again; return the seconds it really took."""
        asking = self.connect(connections)
        if {letter for letter, _ in self._requests} == {"r", "e"}:
            self._beacons = self.connect(connections)
        beacons = {id(beacon) for beacon in self._beacons}
        began = time.perf_counter()
        until = began + seconds
        waiting = sum(self._next_asked(connection, began) for connection in asking)
        last = began
        while waiting:
            for connection in self._answered(0.5):
                last = time.perf_counter()
                waiting -= 1
                if id(connection) in beacons:
                    self._beacons.append(connection)
                elif last < until:
                    waiting += self._next_asked(connection, last)
            if time.perf_counter() - last > STALL_SECONDS:
                raise LoadError(f"{waiting} requests unanswered for {STALL_SECONDS} s")
        return last - began

    def _next_asked(self, connection: Connection, now: float) -> int:
        """Ask the next request here, events before it elsewhere; return their number."""
        asked = 1
        while self._beacons and self._requests[self._next % len(self._requests)][0] == "e":
            self._ask(self._beacons.pop(), now)
            asked += 1
        self._ask(connection, now)
        return asked

    def paced(
        self,
        connections: int,
        seconds: float,
        rate: float,
        *,
        impatient: bool = False,
        apart: Mapping[str, int] | None = None,
    ) -> float:
        """Ask at drawn times, `rate` a second; return the seconds until the last reply.

        Each connection is asked once before: none is new once the clock runs.
        """
        rng = random.Random(1)
        shared = Pool(self.connect(connections))
        pools = {letter: Pool(self.connect(own)) for letter, own in (apart or {}).items()}
        all_pools = [shared, *pools.values()]
        for pool in all_pools:
            self._greet(pool.idle)
        began = time.perf_counter()
        leaves, last = began, began
        sent = answered = 0
        while leaves < began + seconds or answered < sent or any(p.due for p in all_pools):
            now = time.perf_counter()
            while leaves <= now and leaves < began + seconds:
                letter, request = self._draw()
                if not pools.get(letter, shared).add(leaves, letter, request, impatient):
                    self.tally.unsent += 1
                leaves += rng.expovariate(rate)
            sent += sum(self._send_due(pool) for pool in all_pools)
            pause = leaves - time.perf_counter() if leaves < began + seconds else 0.5
            for connection in self._answered(max(0.0, pause)):
                last = time.perf_counter()
                answered += 1
                pools.get(connection.letter, shared).idle.append(connection)
            if answered < sent and time.perf_counter() - last > STALL_SECONDS:
                raise LoadError(f"{sent - answered} requests unanswered")
        return last - began

    def _send_due(self, pool: Pool) -> int:
        """Send what is due as long as a connection is free; return how many were sent."""
        count = min(len(pool.due), len(pool.idle))
        for _ in range(count):
            self._send(pool.idle.popleft(), *pool.due.popleft())
        return count

    def _greet(self, connections: Collection[Connection]) -> None:
        """Ask the first request on each connection in turn; nothing of it is counted."""
        counted, self.tally = self.tally, Tally()
        for connection in connections:
            self._send(connection, time.perf_counter(), *self._requests[0])
            until = time.perf_counter() + STALL_SECONDS
            while not self._answered(1.0):  # a reply may come in pieces
                if time.perf_counter() > until:
                    raise LoadError("a first request was not answered")
        self.tally = counted

    def _ask(self, connection: Connection, began: float) -> None:
        self._send(connection, began, *self._draw())

    def _draw(self) -> tuple[str, bytes]:
        self._next += 1
        return self._requests[(self._next - 1) % len(self._requests)]

    def _send(
        self, connection: Connection, began: float, letter: str, request: bytes
    ) -> None:
        connection.letter, connection.began = letter, began
        if connection.socket.send(request) != len(request):
            raise LoadError("the server stopped reading")

    def _answered(self, timeout: float) -> list[Connection]:
        """Return the connections whose reply is whole, after at most `timeout` seconds."""
        # select() sleeps to the microsecond where epoll rounds up to the millisecond.
        select.select([self._epoll], [], [], timeout)
        done = []
        for fileno, _ in self._epoll.poll(0):
            connection = self._connections[fileno]
            got = connection.socket.recv(65_536)
            if not got:
                raise LoadError("the server closed a connection")
            reply = connection.received + got
            if is_whole(reply):
                connection.received = b""
                latency = time.perf_counter() - connection.began
                self.tally.note(connection.letter, latency, reply)
                done.append(connection)
            else:
                connection.received = reply
        return done


def is_whole(reply: bytes) -> bool:
    """Tell whether headers and the whole body have arrived."""
    head = reply.find(b"\r\n\r\n")
    if head < 0:
        return False
    if CHUNKED.search(reply, 0, head):
        return reply.endswith(b"\r\n0\r\n\r\n")
    announced = CONTENT_LENGTH.search(reply, 0, head)
    if announced is None:
        raise LoadError(f"no content-length in {reply[:head]!r}")
    return len(reply) >= head + 4 + int(announced[1])


def quantile(ordered: list[float], share: float) -> float:
    """Return the value below which `share` of the ordered list lies."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def summary(tally: Tally, seconds: float, cpu: float) -> dict[str, object]:
    """Return the measurements: rates per second, latencies in milliseconds."""
    classes = {}
    for letter, latencies in tally.latencies.items():
        ordered = sorted(latencies)
        classes[letter] = {
            "count": len(ordered),
            "per_second": len(ordered) / seconds,
            "p50_ms": 1000 * quantile(ordered, 0.5),
            "p99_ms": 1000 * quantile(ordered, 0.99),
            "p999_ms": 1000 * quantile(ordered, 0.999),
            "max_ms": 1000 * ordered[-1],
            "given_p99_ms": 1000 * quantile(sorted(tally.given.get(letter, [0.0])), 0.99),
            "given": len(tally.given.get(letter, ())),
            "refused": tally.refused[letter],
        }
    total = sum(tally.statuses.values())
    return {
        "seconds": seconds,
        "client_cpu": cpu / seconds,
        "statuses": dict(tally.statuses),
        "empty": tally.empty,
        "unsent": tally.unsent,
        "mean_bytes": tally.body_bytes / max(1, total),
        "classes": classes,
    }


def read_requests(path: Path) -> list[tuple[str, bytes]]:
    """Return the (class, request) pairs of a file."""
    return [
        (chunk[:1].decode(), chunk[1:]) for chunk in path.read_bytes().split(b"\0") if chunk
    ]


def main(arguments: list[str]) -> int:
    """Load the server and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--requests", type=Path, required=True)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rate", type=float, help="requests a second; absent: closed loop")
    parser.add_argument("--impatient", action="store_true", help="reads wait for nobody")
    parser.add_argument(
        "--apart",
        action="append",
        default=[],
        metavar="CLASS=COUNT",
        help="own connections",
    )
    chosen = parser.parse_args(arguments)
    apart = {one[0]: int(one[2:]) for one in chosen.apart}
    load = Load(("127.0.0.1", chosen.port), read_requests(chosen.requests))
    gc.collect()
    gc.disable()
    cpu = time.process_time()
    if chosen.rate is None:
        seconds = load.closed(chosen.connections, chosen.seconds)
    else:
        seconds = load.paced(
            chosen.connections,
            chosen.seconds,
            chosen.rate,
            impatient=chosen.impatient,
            apart=apart,
        )
    print(json.dumps(summary(load.tally, seconds, time.process_time() - cpu)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
