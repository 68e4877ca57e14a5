"""Who waits while a turn is long, who passes, and who is refused at once?"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from productrecs.entrypoints.http.line import LONGEST_SECONDS, SPELL_SECONDS, Line
from productrecs.entrypoints.http.pressure import FEW, Pressure

LIST: Final = b"GET /v1/recommendations?key=pk_1 HTTP/1.1\r\n\r\n"
EVENT: Final = b"POST /v1/events?key=pk_1 HTTP/1.1\r\n\r\n"
EACH: Final = 0.001  # seconds that a list takes


class House:
    """A line, its clock, and what was read in which order: whose, and what was full."""

    def __init__(self) -> None:
        """Begin with nobody, in a young turn."""
        self.now = 0.0
        self.pressure = Pressure(lambda: self.now)
        self.line = Line(self.pressure, lambda: self.now)
        self.read: list[tuple[str, bytes, bool]] = []

    def grow_old(self) -> None:
        """Let the turn be old from now on."""
        self.pressure.turn_is_old_at = self.now

    def guests(self, count: int) -> list[Guest]:
        """Return so many who ask for a list, and whom the line took."""
        found = [Guest(self, str(number)) for number in range(count)]
        assert all(self.line.takes(guest, LIST) for guest in found)
        return found


@dataclass
class Guest:
    """A connection."""

    house: House
    name: str = "she"
    waits: int = 0
    is_between_requests: bool = True
    stopped: bool = False
    fails: bool = False
    cuts: int = 0

    def take(self, data: bytes) -> None:
        """Note that it was read."""
        assert not self.fails
        self.house.read.append((self.name, data, self.house.pressure.is_full))
        self.house.now += EACH

    def take_waiting(self, data: bytes) -> None:
        """Read it in its turn."""
        self.waits -= 1
        self.take(data)

    def come_no_further(self) -> None:
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

    assert not house.line.takes(Guest(house), LIST)


def test_lists_wait_in_their_order_and_events_pass_them() -> None:
    async def read() -> list[str]:
        house = House()
        house.grow_old()
        house.guests(3)
        assert not house.line.takes(Guest(house), EVENT)
        await turns(2)
        return [name for name, _, _ in house.read]

    assert asyncio.run(read()) == ["0", "1", "2"]


def test_a_turn_takes_a_spells_worth_and_who_comes_meanwhile_stands_behind() -> None:
    async def read() -> list[int]:
        house = House()
        house.grow_old()
        house.guests(100)
        house.pressure.turn_is_old_at = house.now + 10  # the turn is young again
        taken = []
        while len(house.line):
            await turns(1)
            taken.append(len(house.read))
            if len(taken) == 1:
                house.guests(1)
        assert house.read[-1][0] == "0"
        return taken

    a_spell = round(SPELL_SECONDS / EACH)
    taken = asyncio.run(read())

    assert taken[-1] == 101
    assert all(b - a <= a_spell + 1 for a, b in zip([0, *taken], taken, strict=False))
    assert len(taken) >= 100 / (a_spell + 1)


def test_what_a_connection_sends_after_a_list_that_waits_stands_behind_it() -> None:
    async def read() -> list[bytes]:
        house = House()
        house.grow_old()
        guest = house.guests(1)[0]
        assert house.line.takes(guest, EVENT)
        assert guest.stopped
        await turns(2)
        assert guest.waits == 0
        return [data for _, data, _ in house.read]

    assert asyncio.run(read()) == [LIST, EVENT]


def test_what_is_no_beginning_of_a_request_does_not_wait() -> None:
    house = House()
    house.grow_old()

    assert not house.line.takes(Guest(house, is_between_requests=False), LIST)


def test_who_would_wait_too_long_is_read_at_once_and_the_line_said_to_be_full() -> None:
    async def read() -> tuple[int, bool, bool]:
        house = House()
        house.grow_old()
        house.guests(FEW)  # tell how long each takes
        await turns(3)
        house.grow_old()
        many = int(LONGEST_SECONDS / EACH * 20)
        waiting = 0
        while not any(full for _, _, full in house.read) and waiting < many:
            house.guests(1)
            waiting += 1
        full = house.pressure.is_full
        await turns(2)
        return waiting, full, house.read[-1][2]

    waiting, still_full, of_the_others = asyncio.run(read())

    assert FEW < waiting < LONGEST_SECONDS / EACH * 20
    assert not still_full
    assert not of_the_others


def test_a_process_that_stood_still_for_a_while_is_not_slow() -> None:
    async def read() -> list[bool]:
        house = House()
        house.grow_old()
        house.guests(200)
        await turns(20)
        house.grow_old()
        house.guests(1)
        house.now += 60.0  # somebody else had the processor
        await turns(2)
        house.grow_old()
        house.guests(2 * FEW)
        await turns(10)
        return [full for _, _, full in house.read]

    assert not any(asyncio.run(read()))


def test_one_that_fails_is_cut_and_holds_nobody_up() -> None:
    async def read() -> tuple[int, list[str]]:
        house = House()
        house.grow_old()
        first = house.guests(2)[0]
        first.fails = True
        await turns(2)
        return first.cuts, [name for name, _, _ in house.read]

    assert asyncio.run(read()) == (1, ["1"])


def test_of_a_full_line_a_modest_store_is_answered_and_the_others_are_not() -> None:
    pressure = Pressure()
    pressure.is_full = True

    told = [pressure.lets_go(store) for store in ["large"] * 20 + ["small"]]

    assert pressure.is_pressed
    assert all(told[:20])
    assert not told[20]
