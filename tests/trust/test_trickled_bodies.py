"""What do bodies cost that arrive nearly whole and then hardly go on?

Who knows no more than a shop's publishable key opens many connections, sends as much of a
photo on each as is allowed, and then a KiB a second. Memory of the API process stays within
its budget, others are answered meanwhile, and before long all connections are closed. The
control takes in everything and waits without end.
"""

import contextlib
import functools
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.support.service import HOST, Merchant, Service, eventually
from tests.trust.test_unanswered import ADDED, peak_of, process_named, view

BROKEN: Final = Path(__file__).parent / "broken" / "all_trickles"
CONNECTIONS: Final = 120
KIB: Final = 1 << 10
AT_ONCE: Final = 12 << 20  # bytes
SIZE: Final = 13 << 20  # announced; a trickle of a KiB a second takes 17 minutes
CLOSED_WITHIN: Final = 60.0  # 30 s without 64 KiB are allowed, and a busy machine is slow


class ConnectionOutcome(NamedTuple):
    """What became of one connection."""

    seconds: float  # until it was closed, or the test gave up
    is_closed: bool


def trickle(port: int, begin: bytes, end: threading.Event) -> ConnectionOutcome:
    """Send most of a body at once, then a KiB a second until the service closes."""
    began = time.monotonic()
    with socket.create_connection((HOST, port), CLOSED_WITHIN) as connection:
        try:
            connection.sendall(begin + b" " * AT_ONCE)
            while not end.wait(1.0):
                connection.sendall(b" " * KIB)
        except OSError:  # reset, or nobody reads any more
            return ConnectionOutcome(time.monotonic() - began, is_closed=True)
    return ConnectionOutcome(time.monotonic() - began, is_closed=False)


def declared(target: str) -> bytes:
    """Return the head of a request that says how long its body is."""
    lines = (f"POST {target} HTTP/1.1", "Host: a", f"Content-Length: {SIZE}", "", "")
    return "\r\n".join(lines).encode()


def chunked(target: str) -> bytes:
    """Return the head of a request that does not, and that of its only chunk."""
    lines = (f"POST {target} HTTP/1.1", "Host: a", "Transfer-Encoding: chunked", "", "")
    return ("\r\n".join(lines) + f"{SIZE:x}\r\n").encode()


def is_heard(merchant: Merchant) -> bool:
    """Whether an event is taken."""
    return merchant.track(view(1)).status == 200


def check_trickles(
    service: Service, begin: Callable[[str], bytes], count: int
) -> tuple[int, list[ConnectionOutcome]]:
    """Return the bytes that were added, and what became of each connection."""
    merchant, other = service.register(), service.register()
    head = begin(merchant.target("/v1/search/image"))
    outcomes: list[ConnectionOutcome] = []
    end = threading.Event()
    threads = [
        threading.Thread(target=lambda: outcomes.append(trickle(service.port, head, end)))
        for _ in range(count)
    ]
    with peak_of(process_named(service, "api")) as added:
        for thread in threads:
            thread.start()
        with contextlib.suppress(AssertionError):
            eventually(lambda: len(outcomes) == count, CLOSED_WITHIN)
        for one in (merchant, other):
            there = one.through(service.client(60))
            eventually(functools.partial(is_heard, there), 60)
        end.set()
        for thread in threads:
            thread.join()
    longest = max(one.seconds for one in outcomes)
    held = sum(one.seconds > 5 for one in outcomes)
    print(  # noqa: T201 - the figures
        f"{added[0] >> 20} MiB for {count} connections, {held} of them longer than 5 s; "
        f"the last was closed after {longest:.0f} s"
    )
    return added[0], outcomes


@pytest.mark.trust
@pytest.mark.parametrize("begin", [declared, chunked])
def test_bodies_that_trickle_are_bounded_and_closed(
    data_folder: Path, begin: Callable[[str], bytes]
) -> None:
    with Service(data_folder).prepare() as service:
        added, outcomes = check_trickles(service, begin, CONNECTIONS)

    assert added <= ADDED
    assert any(one.seconds > 5 for one in outcomes)  # some are taken in, and wait
    assert all(one.is_closed for one in outcomes)


@pytest.mark.trust
def test_control_without_limits_they_are_held_in_memory(data_folder: Path) -> None:
    with Service(data_folder, broken=BROKEN).prepare() as service:
        added, outcomes = check_trickles(service, declared, CONNECTIONS)

    assert added > 2 * ADDED
    assert not any(one.is_closed for one in outcomes)
