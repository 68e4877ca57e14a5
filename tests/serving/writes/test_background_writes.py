"""Background writes: stored once, bounded, and never lost silently."""

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

import pytest

from productrecs.core.errors import StorageBusyError
from productrecs.core.ids import StoreId
from productrecs.records.experiments.arm_assignment import Exposure, HoldoutArm
from productrecs.records.experiments.exposures.repository import store_exposures
from productrecs.serving.writes import background_writes as module
from productrecs.serving.writes.background_writes import (
    BackgroundRecordKind,
    BackgroundWriter,
    RecordBuffer,
    _in_unsynced_transaction,
)
from productrecs.storage.sql.database import Database
from tests.support.stores import new_store

SHOP = StoreId("st_1")


def met(
    name: str, arm: HoldoutArm = HoldoutArm.SHOWN, test: str = "holdout", at: int = 1
) -> Exposure:
    return Exposure(SHOP, name, test, arm, name, at)


def taken(exposures: RecordBuffer, most: int = 1_000) -> list[Exposure]:
    return [one for one in exposures.pop(most) if isinstance(one, Exposure)]


def names(exposures: RecordBuffer) -> list[str]:
    return [one.identity for one in taken(exposures)]


def test_a_shopper_is_noted_once_in_one_arm() -> None:
    exposures = RecordBuffer()
    for at in range(3):
        exposures.add(met("s_1", at=at))
    exposures.add(met("s_1", HoldoutArm.HELD_OUT))
    exposures.add(met("s_1", test="spring"))

    assert [(one.arm, one.test, one.first_at) for one in taken(exposures, 9)] == [
        (HoldoutArm.SHOWN, "holdout", 0),
        (HoldoutArm.HELD_OUT, "holdout", 1),
        (HoldoutArm.SHOWN, "spring", 1),
    ]
    exposures.add(met("s_1"))
    assert exposures.depth == 0


def test_some_are_taken_and_the_others_wait() -> None:
    exposures = RecordBuffer()
    for name in "abc":
        exposures.add(met(name))

    assert [one.identity for one in taken(exposures, 2)] == ["a", "b"]
    assert exposures.depth == 1


def test_what_finds_no_room_is_counted_and_noted_when_it_repeats() -> None:
    exposures = RecordBuffer(limit=2)
    for name in "abc":
        exposures.add(met(name))

    assert (exposures.depth, exposures.lost) == (2, 1)
    assert names(exposures) == ["a", "b"]
    exposures.add(met("c"))
    assert names(exposures) == ["c"]


def test_what_could_not_be_stored_waits_on_before_the_rest() -> None:
    exposures = RecordBuffer(limit=3)
    exposures.add(met("a"))
    exposures.add(met("b"))
    unstored = exposures.pop(9)
    for name in "cd":
        exposures.add(met(name))

    exposures.put_back(unstored)

    assert exposures.lost == 1
    assert names(exposures) == ["a", "b", "c"]
    exposures.add(met("d"))  # it was lost, so it may come again
    exposures.add(met("a"))
    assert names(exposures) == ["d"]


def test_what_is_remembered_is_bounded_and_a_repeat_is_harmless() -> None:
    exposures = RecordBuffer(max_keys=10)
    for number in range(100):
        exposures.add(met(f"s_{number}"))
    exposures.pop(1_000)

    exposures.add(met("s_99"))
    exposures.add(met("s_0"))

    assert names(exposures) == ["s_0"]


def test_what_cannot_be_stored_waits_and_too_much_is_lost(
    monkeypatch: pytest.MonkeyPatch, sqlite_database: Database
) -> None:
    store = new_store(sqlite_database, "a.example")
    writer = BackgroundWriter(sqlite_database)
    storing = _in_unsynced_transaction(store_exposures)
    writer.register(Exposure, BackgroundRecordKind("exposures", storing, limit=3))

    def busy(*, synced: bool) -> NoReturn:
        message = f"busy {synced}"
        raise StorageBusyError(message)

    for name in "abcde":
        writer.add(replace(met(name), store_id=store.store_id))
    with monkeypatch.context() as broken:
        broken.setattr(sqlite_database, "transaction", busy)
        writer.flush()
    exposures = writer.buffer(Exposure)
    waiting = exposures.depth
    writer.flush()

    assert (waiting, exposures.lost, exposures.depth) == (3, 2, 0)


@dataclass(frozen=True)
class Weighed:
    """A record that counts each time, and takes room."""

    size: int
    key: None = None


def test_a_buffer_is_bounded_by_what_its_records_weigh() -> None:
    heavy = RecordBuffer(limit=10, weight=lambda one: one.size)
    for size in (4, 4, 4, 2):
        heavy.add(Weighed(size))

    unstored = heavy.pop(2)
    heavy.add(Weighed(5))
    heavy.put_back(unstored)

    assert [one for one in heavy.pop(9) if isinstance(one, Weighed)] == [
        Weighed(4),
        Weighed(4),
        Weighed(2),
    ]
    assert (heavy.lost, heavy.depth) == (2, 0)


def test_one_loop_stores_each_kind_and_a_stop_stores_the_rest(
    sqlite_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FLUSH_INTERVAL_SECONDS", 0.001)
    stored, last = Counter[int](), list[bool]()

    def store(_database: Database, batch: Sequence[Weighed]) -> None:
        if len(stored) == 0:
            stored[0] += 1
            raise RuntimeError("the first time fails")
        stored.update(one.size for one in batch)

    async def work() -> None:
        background = BackgroundWriter(sqlite_database)
        background.register(Weighed, BackgroundRecordKind("weights", store), last.append)
        background.start()
        background.add(Weighed(1))
        while not stored[1]:
            await asyncio.sleep(0.001)
        background.add(Weighed(2))
        await background.close()

    asyncio.run(work())

    assert stored == {0: 1, 1: 1, 2: 1}
    assert (last[0], last[-1], last.count(True)) == (False, True, 1)


def test_an_outage_has_a_line_at_its_start_and_one_at_its_end(
    sqlite_database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    failures = iter([True, True, True, False])

    def store(_database: Database, _records: Sequence[object]) -> None:
        if next(failures):
            message = "the database cannot be reached"
            raise StorageBusyError(message)

    background = BackgroundWriter(sqlite_database)
    background.register(Exposure, BackgroundRecordKind("exposures", store))
    background.add(met("s_1"))
    with caplog.at_level(logging.INFO, module.__name__):
        for _ in range(4):
            background.flush()

    assert [one.message for one in caplog.records] == [
        "write-behind flush failed",
        "write-behind flushed again",
    ]
