"""Connection limits: who is accepted, and which connections are closed for others."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from productrecs.entrypoints.http.limits.connection_limits import (
    ConnectionLimiter,
    ConnectionLimits,
)

PUBLIC, OTHER, PROXY = "8.8.8.8", "2606:4700::1111", "10.0.0.7"


@dataclass(eq=False)
class Caller:
    """A connection."""

    is_cut: bool = False

    def cut(self) -> None:
        """Note the end."""
        self.is_cut = True


@dataclass
class Clock:
    """Seconds, as a test sets them."""

    now: float = 100.0

    def __call__(self) -> float:
        """Return them."""
        return self.now


@dataclass
class Door:
    """An admission, and who came through it."""

    admission: ConnectionLimiter
    clock: Clock

    def come(self, address: str, *, speaks: bool = False) -> Caller | None:
        """Connect; return the connection if it may stay."""
        caller = Caller()
        if not self.admission.enter(caller, address):
            self.admission.leave(caller, address)
            return None
        if speaks:
            self.admission.note_request(caller)
        return caller


@pytest.fixture
def door() -> Door:
    clock = Clock()
    return Door(
        ConnectionLimiter(ConnectionLimits(connections=5, per_address=2), clock), clock
    )


def test_a_public_address_has_so_many_and_another_has_its_own(door: Door) -> None:
    came = [door.come(PUBLIC) for _ in range(3)]

    assert [one is not None for one in came] == [True, True, False]
    assert door.come(OTHER) is not None
    assert door.admission.take_refused() == 1
    assert door.admission.take_refused() == 0


def test_a_network_of_ipv6_is_one_address(door: Door) -> None:
    neighbours = [f"2606:4700::{number}" for number in range(3)]
    came = [door.come(address) for address in [*neighbours, "2606:4700:0:1::1"]]

    assert [one is not None for one in came] == [True, True, False, True]


def test_an_ipv4_address_is_the_same_when_it_is_written_as_ipv6(door: Door) -> None:
    came = [door.come(address) for address in (PUBLIC, f"::ffff:{PUBLIC}", PUBLIC)]

    assert [one is not None for one in came] == [True, True, False]


@pytest.mark.parametrize("address", [PROXY, "127.0.0.1", "::1", "192.168.1.1", ""])
def test_a_proxy_brings_everybodys(door: Door, address: str) -> None:
    assert all(door.come(address) for _ in range(5))


def test_who_leaves_makes_room(door: Door) -> None:
    first = door.come(PUBLIC)
    door.come(PUBLIC)
    assert first is not None

    door.admission.leave(first, PUBLIC)

    assert door.come(PUBLIC) is not None
    assert door.admission.count == 2


def test_when_full_who_said_nothing_for_longest_goes(door: Door) -> None:
    silent = []
    for _ in range(5):
        silent.append(door.come(PROXY))
        door.clock.now += 0.1
    door.admission.note_request(silent[0])  # type: ignore[arg-type]  # it came in
    door.clock.now += 1

    assert door.come(PROXY) is not None

    assert [one.is_cut for one in silent if one] == [False, True, False, False, False]


def test_when_full_of_people_who_speak_or_just_came_another_is_refused(door: Door) -> None:
    for _ in range(4):
        door.come(PROXY, speaks=True)
    door.clock.now += 60
    door.come(PROXY)

    assert door.come(PROXY) is None


def test_one_address_cannot_send_others_away(door: Door) -> None:
    silent = [door.come(PROXY) for _ in range(3)]
    door.clock.now += 60

    came = [door.come(PUBLIC) for _ in range(9)]

    assert sum(one is not None for one in came) == 2
    assert not any(one.is_cut for one in silent if one)
