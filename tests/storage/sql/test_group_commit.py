"""Group commit: many writes in one commit, each with its own result."""

import asyncio
import threading
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import pytest
import sqlalchemy as sa

from productrecs.core.errors import QueueFullError
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.group_commit import GroupCommit, WriteTransaction
from productrecs.storage.sql.tables import counters


def add(work: WriteTransaction, _key: Hashable, names: Sequence[str]) -> Sequence[str]:
    for name in names:
        work.connection.execute(counters.insert().values(name=name, value=1))
    return [name.upper() for name in names]


def stored(database: Database) -> set[str]:
    with database.reading() as connection:
        return set(connection.execute(sa.select(counters.c.name)).scalars())


def never() -> None:
    pytest.fail("the disk is fine")


@pytest.fixture
def writer(database: Database) -> Iterator[GroupCommit]:
    writer = GroupCommit(database, never)
    yield writer
    writer.close()


def test_each_caller_gets_its_own_result_after_the_commit(
    database: Database, writer: GroupCommit
) -> None:
    async def send() -> list[Any]:
        return await asyncio.gather(*(writer.submit(add, "a", f"n{i}") for i in range(50)))

    assert asyncio.run(send()) == [f"N{i}" for i in range(50)]
    assert stored(database) == {f"n{i}" for i in range(50)}


def test_writes_that_come_one_after_another_do_not_wait_for_more(
    writer: GroupCommit, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    async def send() -> None:
        for number in range(5):
            await writer.submit(add, "a", f"n{number}")

    monkeypatch.setattr("productrecs.storage.sql.group_commit.time.sleep", waits.append)
    asyncio.run(send())
    assert not waits


def test_small_batch_waits_for_more_after_a_batch_of_several(
    writer: GroupCommit, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    async def send() -> None:
        await asyncio.gather(*(writer.submit(add, "a", f"n{i}") for i in range(50)))
        await writer.submit(add, "a", "one more")

    monkeypatch.setattr("productrecs.storage.sql.group_commit.time.sleep", waits.append)
    asyncio.run(send())
    assert waits


def test_one_bad_write_fails_alone(database: Database, writer: GroupCommit) -> None:
    async def send() -> list[Any]:
        await writer.submit(add, "a", "twice")
        names = ["before", "twice", "after"]
        sent = [writer.submit(add, "a", name) for name in names]
        return await asyncio.gather(*sent, return_exceptions=True)

    before, twice, after = asyncio.run(send())

    assert (before, after) == ("BEFORE", "AFTER")
    assert isinstance(twice, sa.exc.IntegrityError)
    assert stored(database) == {"before", "twice", "after"}


def test_callbacks_run_only_after_a_commit(writer: GroupCommit) -> None:
    notified: list[str] = []

    def add_with_callback(
        work: WriteTransaction, _key: Hashable, names: Sequence[str]
    ) -> Sequence[str]:
        work.after_commit.extend([lambda: notified.append("committed")])
        return add(work, _key, names)

    async def send() -> None:
        await writer.submit(add_with_callback, "a", "same")
        await asyncio.gather(
            writer.submit(add_with_callback, "a", "same"), return_exceptions=True
        )

    asyncio.run(send())

    assert notified == ["committed"]


def test_a_full_queue_refuses_and_takes_nothing(database: Database) -> None:
    writing, go_on = threading.Event(), threading.Event()

    def wait(work: WriteTransaction, _key: Hashable, names: Sequence[str]) -> Sequence[str]:
        writing.set()
        go_on.wait(10)
        return add(work, _key, names)

    async def send() -> list[Any]:
        writer = GroupCommit(database, never, limit=2)
        first = writer.submit(wait, "a", "first")
        await asyncio.to_thread(writing.wait, 10)
        waiting = [writer.submit(add, "a", name) for name in ("second", "third")]
        with pytest.raises(QueueFullError):
            writer.submit(add, "a", "fourth")
        go_on.set()
        results = await asyncio.gather(first, *waiting)
        await asyncio.to_thread(writer.close)
        return results

    assert asyncio.run(send()) == ["FIRST", "SECOND", "THIRD"]
    assert stored(database) == {"first", "second", "third"}


def test_closing_writes_what_waits(database: Database) -> None:
    async def send() -> list[Any]:
        writer = GroupCommit(database, never)
        sent = [writer.submit(add, "a", f"n{i}") for i in range(20)]
        await asyncio.to_thread(writer.close)
        return await asyncio.gather(*sent)

    assert len(asyncio.run(send())) == 20
    assert len(stored(database)) == 20
