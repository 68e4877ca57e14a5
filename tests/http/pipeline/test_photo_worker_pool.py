"""Photo pool: a store with many photos does not block the others."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import pytest

from productrecs.core.errors import QueueFullError
from productrecs.core.ids import StoreId
from productrecs.http.pipeline import photo_worker_pool
from productrecs.http.pipeline.photo_worker_pool import FairQueue, PhotoPool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

CROWD, QUIET = StoreId("crowd"), StoreId("quiet")
CLIENTS, SECONDS, PHOTO_SECONDS = 80, 1.5, 0.02


class Asked:
    """What one store's clients got: replies and refusals, and the longest wait."""

    def __init__(self) -> None:
        self.answered = self.refused = 0
        self.longest = 0.0


async def ask_on(seeing: PhotoPool, store: StoreId, clients: int, pause: float) -> Asked:
    """Let clients of a store show one photo after the other to a slow lookout."""
    asked, until = Asked(), time.monotonic() + SECONDS

    async def client() -> None:
        while (began := time.monotonic()) < until:
            try:
                seeing.check_capacity(store)
                await asyncio.sleep(0)  # the body is read
                await seeing.run(store, lambda _: time.sleep(PHOTO_SECONDS))
                asked.answered += 1
                asked.longest = max(asked.longest, time.monotonic() - began)
            except QueueFullError:
                asked.refused += 1
                await asyncio.sleep(0.005)
            await asyncio.sleep(pause)

    await asyncio.gather(*(client() for _ in range(clients)))
    return asked


async def together() -> tuple[Asked, Asked]:
    """Return what a crowd of one store got, and a client of another."""
    apart = PhotoPool()
    try:
        crowd = asyncio.create_task(ask_on(apart, CROWD, CLIENTS, 0))
        await asyncio.sleep(0.1)
        quiet = await ask_on(apart, QUIET, 1, 0.05)
        return await crowd, quiet
    finally:
        apart.close()


@pytest.fixture(autouse=True)
def _without_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PhotoPool, "_client", lambda _: None)


def test_one_client_is_answered_beside_a_crowd_of_another_store() -> None:
    crowd, quiet = asyncio.run(together())

    assert quiet.refused == 0
    assert quiet.answered >= 3
    assert crowd.answered > quiet.answered  # what is left over is for the crowd
    assert crowd.refused > 0


def test_control_without_turns_the_crowd_takes_all(monkeypatch: pytest.MonkeyPatch) -> None:
    class FirstCome(FairQueue):
        def check_capacity(self, _store: Any) -> None:
            super().check_capacity("all alike")

        async def acquire(self, _store: Any) -> None:
            await super().acquire("all alike")

    monkeypatch.setattr(photo_worker_pool, "FairQueue", FirstCome)

    _, quiet = asyncio.run(together())

    assert quiet.refused > 0


def told_by(
    act: Callable[[FairQueue, list[str]], Awaitable[None]], most_waiting: int = 4
) -> list[str]:
    turns, told = FairQueue(1, most_waiting), list[str]()
    asyncio.run(act(turns, told))  # type: ignore[arg-type]  # it is a coroutine
    return told


async def wait_for(turns: FairQueue, store: str, name: str, told: list[str]) -> None:
    """Wait for a turn, say so, and let the next one have it a moment later."""
    try:
        await turns.acquire(store)
    except QueueFullError:
        told.append(f"no {name}")
        return
    told.append(name)
    await asyncio.sleep(0)
    turns.release()


async def come(turns: FairQueue, told: list[str], names: str) -> None:
    waits = []
    for name in names.split():
        waits.append(asyncio.create_task(wait_for(turns, name[0], name, told)))
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
    async def act(turns: FairQueue, told: list[str]) -> None:
        await turns.acquire("x")
        coming = asyncio.create_task(come(turns, told, names))
        for _ in range(20):
            await asyncio.sleep(0)
        turns.release()
        await coming

    assert " ".join(told_by(act, 8)) == expected


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
    async def act(turns: FairQueue, told: list[str]) -> None:
        await turns.acquire("x")
        coming = asyncio.create_task(come(turns, told, names))
        for _ in range(20):
            await asyncio.sleep(0)
        turns.release()
        await coming

    assert " ".join(one for one in told_by(act) if one.startswith("no")) == refused


def test_a_turn_that_came_to_somebody_who_left_goes_to_the_next() -> None:
    async def act(turns: FairQueue, told: list[str]) -> None:
        await turns.acquire("x")
        leaving = asyncio.create_task(wait_for(turns, "a", "a1", told))
        staying = asyncio.create_task(wait_for(turns, "b", "b1", told))
        await asyncio.sleep(0)
        turns.release()
        leaving.cancel()
        await asyncio.gather(leaving, staying, return_exceptions=True)
        await wait_for(turns, "c", "c1", told)

    assert told_by(act) == ["b1", "c1"]
