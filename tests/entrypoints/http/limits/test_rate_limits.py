"""Rate limits: heavy callers wait, all others do not."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import pytest

from productrecs.entrypoints.http.limits.rate_limits import (
    RateLimit,
    RateLimits,
    TooManyRequestsError,
    address_of_client,
    network_of,
)
from productrecs.entrypoints.process_slot import SharedMemory
from productrecs.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterable


class Watch:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        """Return the seconds."""
        return self.now


def taken(limit: RateLimit, caller: str, tries: int) -> int:
    """Return how many of so many calls are let in."""
    count = 0
    for _ in range(tries):
        try:
            limit.take(caller)
        except TooManyRequestsError:
            continue
        count += 1
    return count


def told(lines: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return headers as text."""
    return {name.decode(): value.decode() for name, value in lines}


def test_so_many_come_at_once_and_then_at_their_pace() -> None:
    watch = Watch()
    limit = RateLimit(b"address", 5, 2.0, None, watch)

    assert taken(limit, "a", 8) == 5
    assert taken(limit, "b", 3) == 3
    watch.now = 1.0
    assert taken(limit, "a", 8) == 2
    watch.now = 60.0
    assert taken(limit, "a", 8) == 5


def test_who_is_refused_hears_when_to_come_again() -> None:
    watch = Watch()
    limit = RateLimit(b"address", 6, 0.25, None, watch)
    taken(limit, "a", 6)

    with pytest.raises(TooManyRequestsError) as refused:
        limit.take("a")
    watch.now = float(refused.value.after)

    assert refused.value.after == 4
    assert told(refused.value.header_lines)["ratelimit"] == '"address";r=0;t=24'
    limit.take("a")


def test_where_buckets_run_short_the_one_that_is_empty_first_is_forgotten() -> None:
    watch = Watch()
    limit = RateLimit(b"address", 2, 1.0, array("d", bytes(8 * 8)), watch)
    for caller in "abcd":
        taken(limit, caller, 1 if caller == "b" else 2)

    assert taken(limit, "e", 2) == 2

    assert [taken(limit, one, 1) for one in "acd"] == [0, 0, 0]
    assert taken(limit, "b", 2) == 2  # as if it had never come


def test_processes_count_together() -> None:
    memory, watch = SharedMemory.create(2), Watch()
    ours = RateLimit(b"key", 5, 1.0, memory.buckets, watch)
    theirs = RateLimit(b"key", 5, 1.0, SharedMemory(memory.file).buckets, watch)

    assert taken(ours, "a", 3) + taken(theirs, "a", 9) == 5


def test_a_reply_says_how_its_callers_stand() -> None:
    rates = RateLimits(2, 1, array("d", bytes(8 * 1_024)), Watch())
    levels = [rates.ask_address("9.9.9.9"), rates.ask_key("a")]
    again = [rates.ask_address("9.9.9.9"), rates.ask_key("a")]  # nothing is counted yet
    for level in levels:
        assert level is not None
        level.limit.count(level)
    after = [rates.ask_address("9.9.9.9"), rates.ask_key("a")]

    lines = [[told(one.header_lines()) for one in both if one] for both in (again, after)]

    assert lines[0] == [
        {"ratelimit-policy": '"address";q=10;w=10', "ratelimit": '"address";r=9;t=1'},
        {"ratelimit-policy": '"key";q=20;w=10', "ratelimit": '"key";r=19;t=1'},
    ]
    assert [one["ratelimit"] for one in lines[1]] == [
        '"address";r=8;t=2',
        '"key";r=18;t=1',
    ]
    assert rates.ask_address("10.1.2.3") is None


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("9.9.9.9", "9.9.9.9"),
        ("::ffff:9.9.9.9", "9.9.9.9"),
        ("2620:fe::9", "2620:fe::/64"),
        ("2620:fe::1:2:3:4", "2620:fe::/64"),
        ("127.0.0.1", None),
        ("10.1.2.3", None),
        ("fd00::1", None),
        ("::1", None),
        ("", None),
        ("unix:", None),
        ("9.9.9.9, 8.8.8.8", None),
    ],
)
def test_whom_an_address_stands_for(address: str, network: str | None) -> None:
    assert network_of(address) == network


@pytest.mark.parametrize(
    ("peer", "told", "address"),
    [
        ("2.2.2.2", "", "2.2.2.2"),
        ("2.2.2.2", "198.51.100.1", "2.2.2.2"),  # anybody can write that
        ("127.0.0.1", "198.51.100.9, 198.51.100.1", "198.51.100.1"),
        ("10.0.0.2", "", "10.0.0.2"),
        ("unix:", "198.51.100.1", "198.51.100.1"),
    ],
)
def test_a_proxy_beside_says_for_whom_it_asks(peer: str, told: str, address: str) -> None:
    sent = {b"x-forwarded-for": told.encode()}

    assert address_of_client(peer, sent) == address
    assert address_of_client(peer, {}) == peer


def test_nothing_is_limited_unless_somebody_says_so() -> None:
    cells = array("d", bytes(8 * 8))

    assert RateLimits.of(Settings(), cells) is None
    assert RateLimits.of(Settings(rate_per_key=1), cells) is not None
    assert RateLimits.of(Settings(rate_per_address=1), cells) is not None
