"""Accept balancer: processes share the connections of a burst."""

from __future__ import annotations

import asyncio
import math
import socket
from dataclasses import dataclass, field

from productrecs.entrypoints.http.limits.connection_limits import ConnectionLimiter
from productrecs.entrypoints.http.transport.accept_balancer import AcceptBalancer

CLIENTS = 60


@dataclass
class House:
    """Two processes, as far as they know of each other."""

    counts: dict[int, float] = field(default_factory=dict)

    def side(self, number: int) -> Side:
        """Return what one of them sees."""
        self.counts[number] = 0
        return Side(self, number)


@dataclass
class Side:
    """One process's view of the other."""

    house: House
    number: int

    def tell(self, connections: int) -> None:
        """Note how many this one has."""
        self.house.counts[self.number] = connections

    def fewest(self) -> float:
        """Return how many the other one has."""
        others = (n for who, n in self.house.counts.items() if who != self.number)
        return min(others, default=math.inf)


@dataclass(eq=False)
class Guest:
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
                admission.enter(Guest(), "127.0.0.1")

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
            await one.settled()
        for each in (*clients, *accepted, *doors):
            each.close()
    return [one.count for one in admissions]


def test_a_burst_is_shared() -> None:
    house = House()
    admissions = [ConnectionLimiter(), ConnectionLimiter()]
    for number, one in enumerate(admissions):
        one.meet(house.side(number))

    counts = asyncio.run(connected(admissions))

    assert sum(counts) == CLIENTS
    assert min(counts) >= CLIENTS // 3


def test_control_without_neighbours_one_takes_nearly_all() -> None:
    counts = asyncio.run(connected([ConnectionLimiter(), ConnectionLimiter()]))

    assert sum(counts) == CLIENTS
    assert min(counts) < CLIENTS // 3


def test_a_process_that_is_stuck_leaves_nobody_waiting() -> None:
    house = House()
    alone = ConnectionLimiter()
    alone.meet(house.side(0))
    house.side(1)  # says that it has no connections, and never takes one

    assert asyncio.run(connected([alone])) == [CLIENTS]
