"""Rate limits: heavy callers wait, all others do not."""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from productrecs.http.limits.client_address import address_of_client, public_network_of
from productrecs.http.limits.connection_limits import ConnectionLimiter, MaxConnections
from productrecs.http.limits.rate_limits import RateLimit, RateLimits, TooManyRequestsError
from productrecs.processes.process_slot_and_shared_memory import SharedMemory
from productrecs.settings import Settings
from tests.support.clock import FakeClock


def taken(limit: RateLimit, caller: str, tries: int) -> int:
    """Return how many of so many calls are let in."""
    count = 0
    for _ in range(tries):
        try:
            limit.check_and_count(caller)
        except TooManyRequestsError:
            continue
        count += 1
    return count


def headers_of(lines: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return headers as text."""
    return {name.decode(): value.decode() for name, value in lines}


def test_so_many_come_at_once_and_then_at_their_pace() -> None:
    watch = FakeClock(0.0)
    limit = RateLimit(b"address", 5, 2.0, None, watch)

    assert taken(limit, "a", 8) == 5
    assert taken(limit, "b", 3) == 3
    watch.now = 1.0
    assert taken(limit, "a", 8) == 2
    watch.now = 60.0
    assert taken(limit, "a", 8) == 5


def test_who_is_refused_hears_when_to_come_again() -> None:
    watch = FakeClock(0.0)
    limit = RateLimit(b"address", 6, 0.25, None, watch)
    taken(limit, "a", 6)

    with pytest.raises(TooManyRequestsError) as refused:
        limit.check_and_count("a")
    watch.now = float(refused.value.after_seconds)

    assert refused.value.after_seconds == 4
    assert headers_of(refused.value.rate_limit_headers)["ratelimit"] == '"address";r=0;t=24'
    limit.check_and_count("a")


def test_where_buckets_run_short_the_one_that_is_empty_first_is_forgotten() -> None:
    watch = FakeClock(0.0)
    limit = RateLimit(b"address", 2, 1.0, array("d", bytes(8 * 8)), watch)
    for caller in "abcd":
        taken(limit, caller, 1 if caller == "b" else 2)

    assert taken(limit, "e", 2) == 2

    assert [taken(limit, one, 1) for one in "acd"] == [0, 0, 0]
    assert taken(limit, "b", 2) == 2  # as if it had never come


def test_processes_count_together() -> None:
    memory, watch = SharedMemory.create(2), FakeClock(0.0)
    ours = RateLimit(b"key", 5, 1.0, memory.buckets, watch)
    theirs = RateLimit(b"key", 5, 1.0, SharedMemory(memory.file).buckets, watch)

    assert taken(ours, "a", 3) + taken(theirs, "a", 9) == 5


def test_a_reply_says_how_its_callers_stand() -> None:
    rates = RateLimits(2, 1, array("d", bytes(8 * 1_024)), FakeClock(0.0))
    levels = [rates.check_address("9.9.9.9"), rates.check_key("a")]
    again = [rates.check_address("9.9.9.9"), rates.check_key("a")]  # nothing is counted yet
    for level in levels:
        assert level is not None
        level.limit.count(level)
    after = [rates.check_address("9.9.9.9"), rates.check_key("a")]

    lines = [
        [headers_of(one.rate_limit_headers()) for one in both if one]
        for both in (again, after)
    ]

    assert lines[0] == [
        {"ratelimit-policy": '"address";q=10;w=10', "ratelimit": '"address";r=9;t=1'},
        {"ratelimit-policy": '"key";q=20;w=10', "ratelimit": '"key";r=19;t=1'},
    ]
    assert [one["ratelimit"] for one in lines[1]] == ['"address";r=8;t=2', '"key";r=18;t=1']
    assert rates.check_address("10.1.2.3") is None


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("9.9.9.9", "9.9.9.9"),
        ("::ffff:9.9.9.9", "9.9.9.9"),
        ("2620:fe::9", "2620:fe::/64"),
        ("2620:fe::1:2:3:4", "2620:fe::/64"),
        ("203.0.113.7", "203.0.113.7"),
        ("100.64.0.1", "100.64.0.1"),  # a carrier's, between it and the shopper
        ("127.0.0.1", None),
        ("10.1.2.3", None),
        ("fd00::1", None),
        ("::1", None),
        ("", None),
        ("unix:", None),
        ("9.9.9.9, 8.8.8.8", None),
    ],
)
def test_which_client_an_address_identifies(address: str, network: str | None) -> None:
    assert public_network_of(address) == network


@pytest.mark.parametrize(
    ("peer", "forwarded_for", "address"),
    [
        ("2.2.2.2", "", "2.2.2.2"),
        ("2.2.2.2", "198.51.100.1", "2.2.2.2"),  # anybody can write that
        ("127.0.0.1", "198.51.100.9, 198.51.100.1", "198.51.100.1"),
        ("10.0.0.2", "", "10.0.0.2"),
        ("unix:", "198.51.100.1", "198.51.100.1"),
        ("::ffff:10.0.0.2", "198.51.100.1", "198.51.100.1"),
        ("::ffff:2.2.2.2", "198.51.100.1", "2.2.2.2"),
        ("10.0.0.2", "::ffff:198.51.100.1", "198.51.100.1"),
        ("10.0.0.2", "::FFFF:C633:6401", "198.51.100.1"),
        ("10.0.0.2", "198.51.100.1:51234", "198.51.100.1"),
        ("10.0.0.2", "[2001:DB8:0:0::7]:51234", "2001:db8::7"),
        ("10.0.0.2", "[2001:db8::7]", "2001:db8::7"),
        ("10.0.0.2", "2001:db8:0::7", "2001:db8::7"),
        ("10.0.0.2", "unknown", "unknown"),
        ("10.0.0.2", "1.2.3.4:x", "1.2.3.4:x"),
    ],
)
def test_a_proxy_beside_says_for_whom_it_asks(
    peer: str, forwarded_for: str, address: str
) -> None:
    sent = {b"x-forwarded-for": forwarded_for.encode()}

    assert address_of_client(peer, sent) == address
    assert address_of_client(peer, {}) == peer.removeprefix("::ffff:")


def test_nothing_is_limited_unless_somebody_says_so() -> None:
    cells = array("d", bytes(8 * 8))

    assert RateLimits.of(Settings(), cells) is None
    assert RateLimits.of(Settings(rate_per_key=1), cells) is not None
    assert RateLimits.of(Settings(rate_per_address=1), cells) is not None


PUBLIC, OTHER, PROXY = "8.8.8.8", "2606:4700::1111", "10.0.0.7"


@dataclass(eq=False)
class FakeConnection:
    """A connection."""

    is_cut: bool = False

    def cut(self) -> None:
        """Note the end."""
        self.is_cut = True


@dataclass
class Door:
    """An admission, and who came through it."""

    admission: ConnectionLimiter
    clock: FakeClock[float]

    def come(self, address: str, *, speaks: bool = False) -> FakeConnection | None:
        """Connect; return the connection if it may stay."""
        caller = FakeConnection()
        if not self.admission.count_and_accept(caller, address):
            self.admission.count_closed(caller, address)
            return None
        if speaks:
            self.admission.record_request(caller)
        return caller


@pytest.fixture
def door() -> Door:
    clock = FakeClock(100.0)
    return Door(
        ConnectionLimiter(MaxConnections(connections=5, per_address=2), clock), clock
    )


def test_a_public_address_has_so_many_and_another_has_its_own(door: Door) -> None:
    came = [door.come(PUBLIC) for _ in range(3)]

    assert [one is not None for one in came] == [True, True, False]
    assert door.come(OTHER) is not None
    assert door.admission.pop_refused_count() == 1
    assert door.admission.pop_refused_count() == 0


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

    door.admission.count_closed(first, PUBLIC)

    assert door.come(PUBLIC) is not None
    assert door.admission.count == 2


def test_when_full_who_said_nothing_for_longest_goes(door: Door) -> None:
    silent = []
    for _ in range(5):
        silent.append(door.come(PROXY))
        door.clock.now += 0.1
    door.admission.record_request(silent[0])  # type: ignore[arg-type]  # it came in
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
