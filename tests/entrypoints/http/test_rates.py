"""Who asks too often waits; everybody else does not."""

from __future__ import annotations

import pytest

from productrecs.entrypoints.http.rates import (
    RateLimit,
    TooManyRequestsError,
    address_of_client,
)


class Watch:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        """Return the seconds."""
        return self.now


def taken(limit: RateLimit, address: str, tries: int) -> int:
    """Return how many of so many calls are let in."""
    count = 0
    for _ in range(tries):
        try:
            limit.take(address)
        except TooManyRequestsError:
            continue
        count += 1
    return count


def test_so_many_come_at_once_and_then_at_their_pace() -> None:
    watch = Watch()
    limit = RateLimit(5, 2.0, watch)

    assert taken(limit, "a", 8) == 5
    assert taken(limit, "b", 3) == 3
    watch.now = 1.0
    assert taken(limit, "a", 8) == 2
    watch.now = 60.0
    assert taken(limit, "a", 8) == 5


def test_it_remembers_no_more_addresses_than_fit() -> None:
    limit = RateLimit(1, 0.0, Watch())

    for number in range(10_001):
        limit.take(str(number))

    limit.take("0")  # forgotten
    with pytest.raises(TooManyRequestsError):
        limit.take("10000")


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
    assert address_of_client((peer, 1), {"x-forwarded-for": told}) == address
    assert address_of_client(None, {}) == ""
