"""Sync after commit: acknowledged writes are on disk before the reply."""

import asyncio
import os
import shutil
import threading
import time
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw
import pytest
import sqlalchemy as sa

from productrecs.core.errors import StorageBrokenError
from productrecs.storage.sql import sqlite_dialect
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.group_commit import GroupCommit, WriteTransaction
from productrecs.storage.sql.tables import counters

WRITES = 30


def add(work: WriteTransaction, _key: Hashable, names: Sequence[str]) -> Sequence[str]:
    for name in names:
        work.connection.execute(counters.insert().values(name=name, value=1))
    return names


def stored(database: Database) -> set[str]:
    with database.reading() as connection:
        return set(connection.execute(sa.select(counters.c.name)).scalars())


class ForgetfulDisk:
    """A disk that forgets, at a power cut, whatever of the log was not synced."""

    def __init__(self, folder: Path) -> None:
        self.database = folder / "productrecs.db"
        self.log = folder / "productrecs.db-wal"
        self.kept = b""
        self.syncs = 0

    def sync(self, number: int) -> None:
        """Keep what the file holds now."""
        assert os.fstat(number).st_ino == self.log.stat().st_ino
        self.kept = self.log.read_bytes()
        self.syncs += 1

    def after_a_power_cut(self, elsewhere: Path) -> set[str]:
        """Return what a new start finds of the database."""
        elsewhere.mkdir()
        shutil.copy(self.database, elsewhere)
        (elsewhere / self.log.name).write_bytes(self.kept)
        reopened = Database.open(None, elsewhere)
        try:
            return stored(reopened)
        finally:
            reopened.close()


@pytest.fixture
def disk(
    sqlite_database: Database, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ForgetfulDisk]:
    connection = apsw.Connection(str(data_folder / "productrecs.db"))
    connection.wal_checkpoint(None, apsw.SQLITE_CHECKPOINT_TRUNCATE)
    forgetful = ForgetfulDisk(data_folder)
    monkeypatch.setattr(sqlite_dialect, "fdatasync", forgetful.sync)
    with sqlite_database.reading():  # else the last to close would remove the log
        yield forgetful
    connection.close()


def write_one_by_one(database: Database, disk: ForgetfulDisk, tmp_path: Path) -> list[str]:
    """Return the acknowledged names that a power cut right then would have taken."""
    lost = []

    async def send() -> None:
        writer = GroupCommit(database, lambda: None)
        for number in range(WRITES):
            await writer.submit(add, "a", f"n{number}")
            if f"n{number}" not in disk.after_a_power_cut(tmp_path / str(number)):
                lost.append(f"n{number}")
        await asyncio.to_thread(writer.close)

    asyncio.run(send())
    return lost


def test_a_power_cut_takes_nothing_that_was_acknowledged(
    sqlite_database: Database, disk: ForgetfulDisk, tmp_path: Path
) -> None:
    assert write_one_by_one(sqlite_database, disk, tmp_path) == []
    assert disk.syncs >= WRITES


def test_control_without_the_flush_it_takes_all(
    sqlite_database: Database,
    disk: ForgetfulDisk,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Database, "flush", lambda _self: None)

    assert len(write_one_by_one(sqlite_database, disk, tmp_path)) == WRITES


def test_no_write_is_confirmed_before_the_flush_though_others_write_on(
    sqlite_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushing, go_on = threading.Event(), threading.Event()
    flush = Database.flush

    def slow(database: Database) -> None:
        flushing.set()
        go_on.wait(10)
        flush(database)

    monkeypatch.setattr(Database, "flush", slow)

    async def send() -> list[Any]:
        writer = GroupCommit(sqlite_database, lambda: None)
        first = writer.submit(add, "a", "first")
        await asyncio.to_thread(flushing.wait, 10)
        second = writer.submit(add, "a", "second")
        until = time.monotonic() + 10
        while stored(sqlite_database) != {"first", "second"} and time.monotonic() < until:
            await asyncio.sleep(0.01)
        done_before_flush = [first.done(), second.done()]
        go_on.set()
        results = [await first, await second]
        await asyncio.to_thread(writer.close)
        return [done_before_flush, results, stored(sqlite_database)]

    done_before_flush, results, kept = asyncio.run(send())

    assert done_before_flush == [False, False]
    assert results == ["first", "second"]
    assert kept == {"first", "second"}


def test_a_disk_that_fails_is_not_believed(
    sqlite_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = []

    def fail(_number: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(sqlite_dialect, "fdatasync", fail)

    async def send() -> object:
        writer = GroupCommit(sqlite_database, lambda: broken.append(True))
        with sqlite_database.reading():
            sent = writer.submit(add, "a", "first")
            results = await asyncio.gather(sent, return_exceptions=True)
        await asyncio.to_thread(writer.close)
        return results[0]

    assert isinstance(asyncio.run(send()), StorageBrokenError)
    assert broken == [True]


def test_the_log_is_copied_beside_the_commits(
    sqlite_database: Database, data_folder: Path
) -> None:
    sqlite_database.checkpoint_in_background()
    log = data_folder / "productrecs.db-wal"
    watch = apsw.Connection(str(data_folder / "productrecs.db"))
    watch.set_busy_timeout(20_000)  # the background thread opens the log at the same time
    watch.execute("SELECT count(*) FROM counters").fetchall()  # finds the log
    for chunk in range(60):
        rows = [
            {"name": f"{chunk}-{number}-{'x' * 500}", "value": 1} for number in range(500)
        ]
        with sqlite_database.transaction(synced=False) as transaction:
            transaction.execute(counters.insert(), rows)
    until = time.monotonic() + 20
    pages = copied = 0
    while time.monotonic() < until:
        pages, copied = watch.wal_checkpoint(None, apsw.SQLITE_CHECKPOINT_NOOP)
        if copied > 0 and pages - copied < 2_000:
            break
        time.sleep(0.05)
    watch.close()

    assert log.exists()
    assert copied > 0
    assert pages - copied < 2_000
    assert len(stored(sqlite_database)) == 60 * 500
