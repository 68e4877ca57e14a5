"""Request queue: who waits, in which order, and who is rejected."""

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
    ListRequestQueue,
    LoadShedder,
)

LIST: Final = b"GET /v1/recommendations?key=pk_1 HTTP/1.1\r\n\r\n"
EVENT: Final = b"POST /v1/events?key=pk_1 HTTP/1.1\r\n\r\n"
EACH: Final = 0.001  # seconds that a list takes
REFUSAL: Final = 0.0001


class QueueSimulation:
    """A request queue, its clock, and what was read in order: whose, and if refused."""

    def __init__(self) -> None:
        """Begin with an empty queue, in an iteration that was just started."""
        self.now = 0.0
        self.shedder = LoadShedder(lambda: self.now)
        self.queue = ListRequestQueue(self.shedder, store_of, lambda: self.now)
        self.read: list[tuple[str, bytes, bool]] = []

    def slow_down(self) -> None:
        """Let the iteration of the event loop be slow from now on."""
        self.shedder.slow_iteration_at = self.now

    def add_clients(self, count: int, store: str = "1") -> "list[QueuedConnection]":
        """Queue so many requests for lists of a store; return their connections."""
        clients = [QueuedConnection(self, str(number)) for number in range(count)]
        request = LIST.replace(b"pk_1", f"pk_{store}".encode())
        assert all(self.queue.queue_if_busy(client, request) for client in clients)
        return clients

    def count_served(self, store: str = "1") -> int:
        """Return how many of a store's calls were answered with a list."""
        return sum(
            not refused and store_of(data) == store for _, data, refused in self.read
        )

    @property
    def refused(self) -> int:
        """How many calls were refused."""
        return sum(refused for _, _, refused in self.read)


def store_of(data: bytes) -> str:
    """Return the store of a request."""
    return data.partition(b"pk_")[2].partition(b" ")[0].decode()


@dataclass
class QueuedConnection:
    """A connection."""

    simulation: QueueSimulation
    name: str = "she"
    waiting: list[bytes] = field(default_factory=list)
    is_between_requests: bool = True
    stopped: bool = False
    fails: bool = False
    cuts: int = 0

    def parse_first_waiting_chunk(self) -> None:
        """Note that a piece was read."""
        assert not self.fails
        refused = self.simulation.shedder.is_full
        self.simulation.read.append((self.name, self.waiting.pop(0), refused))
        self.simulation.now += REFUSAL if refused else EACH

    def pause_client(self) -> None:
        """Note that it was stopped."""
        self.stopped = True

    def cut(self) -> None:
        """Count how often it was cut."""
        self.cuts += 1


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def test_no_request_waits_while_iterations_are_short() -> None:
    simulation = QueueSimulation()

    assert not simulation.queue.queue_if_busy(QueuedConnection(simulation), LIST)


def test_lists_wait_in_their_order_and_events_pass_them() -> None:
    async def read() -> list[str]:
        simulation = QueueSimulation()
        simulation.slow_down()
        simulation.add_clients(3)
        assert not simulation.queue.queue_if_busy(QueuedConnection(simulation), EVENT)
        await turns(2)
        return [name for name, _, _ in simulation.read]

    assert asyncio.run(read()) == ["0", "1", "2"]


def test_an_iteration_serves_one_batch_and_later_requests_queue_behind() -> None:
    async def read() -> list[int]:
        simulation = QueueSimulation()
        simulation.slow_down()
        waiting = MIN_SERVED
        simulation.add_clients(waiting)
        late = simulation.now + 10
        simulation.shedder.slow_iteration_at = late  # the iteration is not slow again
        taken = []
        while len(simulation.queue):
            await turns(1)
            taken.append(len(simulation.read))
            if len(taken) == 1:
                simulation.add_clients(1)
        assert simulation.read[-1][0] == "0"
        return taken

    a_spell = round(BATCH_SECONDS / EACH)
    taken = asyncio.run(read())

    assert taken[-1] == MIN_SERVED + 1
    assert all(b - a <= a_spell + 1 for a, b in zip([0, *taken], taken, strict=False))
    assert len(taken) >= MIN_SERVED / (a_spell + 1)


def test_a_connection_sends_later_requests_behind_its_queued_list() -> None:
    async def read() -> list[bytes]:
        simulation = QueueSimulation()
        simulation.slow_down()
        connection = simulation.add_clients(1)[0]
        assert simulation.queue.queue_if_busy(connection, EVENT)
        assert connection.stopped
        await turns(2)
        assert connection.waiting == []
        return [data for _, data, _ in simulation.read]

    assert asyncio.run(read()) == [LIST, EVENT]


def test_the_rest_of_a_request_does_not_wait() -> None:
    simulation = QueueSimulation()
    simulation.slow_down()

    assert not simulation.queue.queue_if_busy(
        QueuedConnection(simulation, is_between_requests=False), LIST
    )


async def overloaded() -> QueueSimulation:
    """Return a queue that knows how long a list takes, and holds too many to be in time."""
    simulation = QueueSimulation()
    simulation.slow_down()
    simulation.add_clients(MIN_SERVED)
    await turns(4)
    simulation.slow_down()
    simulation.read.clear()
    simulation.add_clients(3 * round(MAX_WAIT_SECONDS / EACH))
    return simulation


def test_requests_that_would_wait_too_long_are_refused() -> None:
    async def read() -> tuple[QueueSimulation, float]:
        simulation = await overloaded()
        began = simulation.now
        while simulation.count_served() + simulation.refused < 3 * round(
            MAX_WAIT_SECONDS / EACH
        ):
            await turns(1)
        return simulation, simulation.now - began

    simulation, lasted = asyncio.run(read())

    assert 0.5 < simulation.count_served() * EACH / MAX_WAIT_SECONDS < 2
    assert lasted < 2 * MAX_WAIT_SECONDS


def test_refusing_takes_a_small_part_of_each_iteration() -> None:
    async def read() -> QueueSimulation:
        simulation = await overloaded()
        await turns(4)
        return simulation

    simulation = asyncio.run(read())

    spells = simulation.count_served() // (BATCH_SECONDS / EACH)
    assert simulation.count_served() >= 2 * BATCH_SECONDS / EACH
    assert 0 < simulation.refused <= (spells + 1) * (REJECT_SECONDS / REFUSAL + 1)


def test_who_waits_for_a_refusal_asks_for_nothing_more() -> None:
    async def read() -> list[int]:
        simulation = await overloaded()
        refused_so_far, replied = [], 0
        for _ in range(8):
            simulation.add_clients(
                len(simulation.read) - replied
            )  # each asks again once answered
            replied = len(simulation.read)
            await turns(1)
            refused_so_far.append(simulation.refused)
        return refused_so_far

    refused = asyncio.run(read())

    assert max(b - a for a, b in itertools.pairwise(refused)) <= 21


@pytest.mark.parametrize("begins_a_turn", [False, True])
def test_a_quiet_store_passes_what_waits_for_a_loud_one(begins_a_turn: bool) -> None:  # noqa: FBT001
    """Also where it comes first in a turn, with nothing of the loud one counted yet."""

    async def read() -> QueueSimulation:
        simulation = await overloaded()
        if begins_a_turn:
            simulation.shedder.record_probe(simulation.now, 0.0)
        simulation.add_clients(3, "2")
        await turns(2)
        return simulation

    simulation = asyncio.run(read())

    assert simulation.count_served("2") == 3
    assert [store_of(data) for _, data, _ in simulation.read[:6]] == ["1", "2"] * 3


def test_a_process_that_stood_still_for_a_while_is_not_slow() -> None:
    async def read() -> int:
        simulation = QueueSimulation()
        simulation.slow_down()
        simulation.add_clients(MIN_SERVED)
        await turns(20)
        simulation.slow_down()
        simulation.add_clients(1)
        simulation.now += 60.0  # somebody else had the processor
        await turns(2)
        simulation.slow_down()
        simulation.add_clients(MIN_SERVED)
        await turns(10)
        return simulation.refused

    assert asyncio.run(read()) == 0


def test_a_connection_that_fails_is_cut_and_delays_no_other() -> None:
    async def read() -> tuple[int, list[str]]:
        simulation = QueueSimulation()
        simulation.slow_down()
        first = simulation.add_clients(2)[0]
        first.fails = True
        await turns(2)
        return first.cuts, [name for name, _, _ in simulation.read]

    assert asyncio.run(read()) == (1, ["1"])
