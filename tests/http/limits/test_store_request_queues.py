"""Request queue: who waits, in which order, and who is rejected."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import dataclass, field
from typing import Final

import pytest

from productrecs.http.limits.load_shedding import (
    BATCH_SECONDS,
    MAX_WAIT_SECONDS,
    MIN_SERVED,
    REJECT_SECONDS,
    LoadShedder,
    RequestQueue,
)

LIST: Final = b"GET /v1/recommendations?key=pk_1 HTTP/1.1\r\n\r\n"
EVENT: Final = b"POST /v1/events?key=pk_1 HTTP/1.1\r\n\r\n"
EACH: Final = 0.001  # seconds that a list takes
REFUSAL: Final = 0.0001


class House:
    """A line, its clock, and what was read in which order: whose, and whether refused."""

    def __init__(self) -> None:
        """Begin with nobody, in a young turn."""
        self.now = 0.0
        self.pressure = LoadShedder(lambda: self.now)
        self.line = RequestQueue(self.pressure, store_of, lambda: self.now)
        self.read: list[tuple[str, bytes, bool]] = []

    def grow_old(self) -> None:
        """Let the turn be old from now on."""
        self.pressure.slow_iteration_at = self.now

    def guests(self, count: int, store: str = "1") -> list[Guest]:
        """Return so many who ask a store for a list, and whom the line took."""
        found = [Guest(self, str(number)) for number in range(count)]
        asked = LIST.replace(b"pk_1", f"pk_{store}".encode())
        assert all(self.line.hold_back(guest, asked) for guest in found)
        return found

    def given(self, store: str = "1") -> int:
        """Return how many of a store's calls were answered with a list."""
        return sum(
            not refused and store_of(data) == store for _, data, refused in self.read
        )

    @property
    def refused(self) -> int:
        """How many calls were refused."""
        return sum(refused for _, _, refused in self.read)


def store_of(data: bytes) -> str:
    """Return the store that a call asks."""
    return data.partition(b"pk_")[2].partition(b" ")[0].decode()


@dataclass
class Guest:
    """A connection."""

    house: House
    name: str = "she"
    waiting: list[bytes] = field(default_factory=list)
    is_between_requests: bool = True
    stopped: bool = False
    fails: bool = False
    cuts: int = 0

    def read_waiting(self) -> None:
        """Note that a piece was read."""
        assert not self.fails
        refused = self.house.pressure.is_full
        self.house.read.append((self.name, self.waiting.pop(0), refused))
        self.house.now += REFUSAL if refused else EACH

    def pause_client(self) -> None:
        """Note that it was stopped."""
        self.stopped = True

    def cut(self) -> None:
        """Count how often it was cut."""
        self.cuts += 1


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def test_nobody_waits_while_turns_are_short() -> None:
    house = House()

    assert not house.line.hold_back(Guest(house), LIST)


def test_lists_wait_in_their_order_and_events_pass_them() -> None:
    async def read() -> list[str]:
        house = House()
        house.grow_old()
        house.guests(3)
        assert not house.line.hold_back(Guest(house), EVENT)
        await turns(2)
        return [name for name, _, _ in house.read]

    assert asyncio.run(read()) == ["0", "1", "2"]


def test_a_turn_takes_a_spells_worth_and_who_comes_meanwhile_stands_behind() -> None:
    async def read() -> list[int]:
        house = House()
        house.grow_old()
        waiting = MIN_SERVED
        house.guests(waiting)
        house.pressure.slow_iteration_at = house.now + 10  # the turn is young again
        taken = []
        while len(house.line):
            await turns(1)
            taken.append(len(house.read))
            if len(taken) == 1:
                house.guests(1)
        assert house.read[-1][0] == "0"
        return taken

    a_spell = round(BATCH_SECONDS / EACH)
    taken = asyncio.run(read())

    assert taken[-1] == MIN_SERVED + 1
    assert all(b - a <= a_spell + 1 for a, b in zip([0, *taken], taken, strict=False))
    assert len(taken) >= MIN_SERVED / (a_spell + 1)


def test_what_a_connection_sends_after_a_list_that_waits_stands_behind_it() -> None:
    async def read() -> list[bytes]:
        house = House()
        house.grow_old()
        guest = house.guests(1)[0]
        assert house.line.hold_back(guest, EVENT)
        assert guest.stopped
        await turns(2)
        assert guest.waiting == []
        return [data for _, data, _ in house.read]

    assert asyncio.run(read()) == [LIST, EVENT]


def test_what_is_no_beginning_of_a_request_does_not_wait() -> None:
    house = House()
    house.grow_old()

    assert not house.line.hold_back(Guest(house, is_between_requests=False), LIST)


async def overloaded() -> House:
    """Return a line that knows how long a list takes, and has more than can be in time."""
    house = House()
    house.grow_old()
    house.guests(MIN_SERVED)
    await turns(4)
    house.grow_old()
    house.read.clear()
    house.guests(3 * round(MAX_WAIT_SECONDS / EACH))
    return house


def test_no_more_are_answered_than_in_time_and_the_others_are_refused() -> None:
    async def read() -> tuple[House, float]:
        house = await overloaded()
        began = house.now
        while house.given() + house.refused < 3 * round(MAX_WAIT_SECONDS / EACH):
            await turns(1)
        return house, house.now - began

    house, lasted = asyncio.run(read())

    assert 0.5 < house.given() * EACH / MAX_WAIT_SECONDS < 2
    assert lasted < 2 * MAX_WAIT_SECONDS


def test_refusing_takes_a_small_part_of_each_turn() -> None:
    async def read() -> House:
        house = await overloaded()
        await turns(4)
        return house

    house = asyncio.run(read())

    spells = house.given() // (BATCH_SECONDS / EACH)
    assert house.given() >= 2 * BATCH_SECONDS / EACH
    assert 0 < house.refused <= (spells + 1) * (REJECT_SECONDS / REFUSAL + 1)


def test_who_waits_for_a_refusal_asks_for_nothing_more() -> None:
    async def read() -> list[int]:
        house = await overloaded()
        found, answered = [], 0
        for _ in range(8):
            house.guests(len(house.read) - answered)  # each asks again once answered
            answered = len(house.read)
            await turns(1)
            found.append(house.refused)
        return found

    refused = asyncio.run(read())

    assert max(b - a for a, b in itertools.pairwise(refused)) <= 21


@pytest.mark.parametrize("begins_a_turn", [False, True])
def test_a_quiet_store_passes_what_waits_for_a_loud_one(begins_a_turn: bool) -> None:  # noqa: FBT001
    """Also where it comes first in a turn, with nothing of the loud one counted yet."""

    async def read() -> House:
        house = await overloaded()
        if begins_a_turn:
            house.pressure.record_probe(house.now, 0.0)
        house.guests(3, "2")
        await turns(2)
        return house

    house = asyncio.run(read())

    assert house.given("2") == 3
    assert [store_of(data) for _, data, _ in house.read[:6]] == ["1", "2"] * 3


def test_a_process_that_stood_still_for_a_while_is_not_slow() -> None:
    async def read() -> int:
        house = House()
        house.grow_old()
        house.guests(MIN_SERVED)
        await turns(20)
        house.grow_old()
        house.guests(1)
        house.now += 60.0  # somebody else had the processor
        await turns(2)
        house.grow_old()
        house.guests(MIN_SERVED)
        await turns(10)
        return house.refused

    assert asyncio.run(read()) == 0


def test_one_that_fails_is_cut_and_holds_nobody_up() -> None:
    async def read() -> tuple[int, list[str]]:
        house = House()
        house.grow_old()
        first = house.guests(2)[0]
        first.fails = True
        await turns(2)
        return first.cuts, [name for name, _, _ in house.read]

    assert asyncio.run(read()) == (1, ["1"])
