"""Photo pool: a store with many photos does not block the others."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from productrecs.core.errors import QueueFullError
from productrecs.core.ids import StoreId
from productrecs.http.pipeline import photo_worker_pool
from productrecs.http.pipeline.photo_worker_pool import PhotoWorkerPool
from productrecs.http.pipeline.store_fair_queue import StoreFairQueue

CROWD, QUIET = StoreId("crowd"), StoreId("quiet")
CLIENTS, SECONDS, PHOTO_SECONDS = 80, 1.5, 0.02


class PhotoLoad:
    """What one store's clients got: replies and refusals, and the longest wait."""

    def __init__(self) -> None:
        self.answered = self.refused = 0
        self.longest = 0.0


async def ask_on(
    seeing: PhotoWorkerPool, store: StoreId, clients: int, pause: float
) -> PhotoLoad:
    """Let clients of a store show one photo after the other to a slow lookout."""
    outcome, until = PhotoLoad(), time.monotonic() + SECONDS

    async def client() -> None:
        while (began := time.monotonic()) < until:
            try:
                seeing.check_capacity(store)
                await asyncio.sleep(0)  # the body is read
                await seeing.run(store, lambda _: time.sleep(PHOTO_SECONDS))
                outcome.answered += 1
                outcome.longest = max(outcome.longest, time.monotonic() - began)
            except QueueFullError:
                outcome.refused += 1
                await asyncio.sleep(0.005)
            await asyncio.sleep(pause)

    await asyncio.gather(*(client() for _ in range(clients)))
    return outcome


async def together() -> tuple[PhotoLoad, PhotoLoad]:
    """Return what a crowd of one store got, and a client of another."""
    apart = PhotoWorkerPool()
    try:
        crowd = asyncio.create_task(ask_on(apart, CROWD, CLIENTS, 0))
        await asyncio.sleep(0.1)
        quiet = await ask_on(apart, QUIET, 1, 0.05)
        return await crowd, quiet
    finally:
        apart.close()


@pytest.fixture(autouse=True)
def _without_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PhotoWorkerPool, "_get_or_create_thread_client", lambda _: None)


def test_one_client_is_answered_beside_a_crowd_of_another_store() -> None:
    crowd, quiet = asyncio.run(together())

    assert quiet.refused == 0
    assert quiet.answered >= 3
    assert crowd.answered > quiet.answered  # what is left over is for the crowd
    assert crowd.refused > 0


def test_control_without_turns_the_crowd_takes_all(monkeypatch: pytest.MonkeyPatch) -> None:
    class FirstCome(StoreFairQueue):
        def check_capacity(self, _store: Any) -> None:
            super().check_capacity("all alike")

        async def acquire(self, _store: Any) -> None:
            await super().acquire("all alike")

    monkeypatch.setattr(photo_worker_pool, "StoreFairQueue", FirstCome)

    _, quiet = asyncio.run(together())

    assert quiet.refused > 0


def outcomes_of(
    act: Callable[[StoreFairQueue, list[str]], Awaitable[None]], most_waiting: int = 4
) -> list[str]:
    queue, outcomes = StoreFairQueue(1, most_waiting), list[str]()
    asyncio.run(act(queue, outcomes))  # type: ignore[arg-type]  # it is a coroutine
    return outcomes


async def wait_for(
    queue: StoreFairQueue, store: str, name: str, outcomes: list[str]
) -> None:
    """Wait for a turn, say so, and let the next one have it a moment later."""
    try:
        await queue.acquire(store)
    except QueueFullError:
        outcomes.append(f"no {name}")
        return
    outcomes.append(name)
    await asyncio.sleep(0)
    queue.release()


async def come(queue: StoreFairQueue, outcomes: list[str], names: str) -> None:
    waits = []
    for name in names.split():
        waits.append(asyncio.create_task(wait_for(queue, name[0], name, outcomes)))
        await asyncio.sleep(0)
    await asyncio.gather(*waits)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("a1", "a1"),
        ("a1 a2 a3", "a1 a2 a3"),
        ("a1 a2 a3 b1 b2", "a1 b1 a2 b2 a3"),
        ("a1 a2 a3 b1 c1", "a1 b1 c1 a2 a3"),
    ],
)
def test_stores_take_turns_and_each_keeps_its_order(names: str, expected: str) -> None:
    async def act(queue: StoreFairQueue, outcomes: list[str]) -> None:
        await queue.acquire("x")
        coming = asyncio.create_task(come(queue, outcomes, names))
        for _ in range(20):
            await asyncio.sleep(0)
        queue.release()
        await coming

    assert " ".join(outcomes_of(act, 8)) == expected


@pytest.mark.parametrize(
    ("names", "refused"),
    [
        ("a1 a2 a3 a4 a5", "no a5"),
        ("a1 a2 a3 a4 b1", "no a4"),
        ("a1 a2 b1 b2 a3", "no a3"),  # it would have more than the other
        ("a1 a2 b1 c1 b2", "no b2"),  # it would have as many as the most
        ("a1 a2 a3 a4 b1 c1", "no a4 no a3"),
    ],
)
def test_of_whoever_has_most_waiting_the_last_leaves(names: str, refused: str) -> None:
    async def act(queue: StoreFairQueue, outcomes: list[str]) -> None:
        await queue.acquire("x")
        coming = asyncio.create_task(come(queue, outcomes, names))
        for _ in range(20):
            await asyncio.sleep(0)
        queue.release()
        await coming

    assert (
        " ".join(outcome for outcome in outcomes_of(act) if outcome.startswith("no"))
        == refused
    )


def test_a_turn_that_came_to_somebody_who_left_goes_to_the_next() -> None:
    async def act(queue: StoreFairQueue, outcomes: list[str]) -> None:
        await queue.acquire("x")
        leaving = asyncio.create_task(wait_for(queue, "a", "a1", outcomes))
        staying = asyncio.create_task(wait_for(queue, "b", "b1", outcomes))
        await asyncio.sleep(0)
        queue.release()
        leaving.cancel()
        await asyncio.gather(leaving, staying, return_exceptions=True)
        await wait_for(queue, "c", "c1", outcomes)

    assert outcomes_of(act) == ["b1", "c1"]
