"""Killed writer: nothing acknowledged is lost in ten thousand kills.

The writer alone, without a service around it, so that a kill takes a twentieth of a second:
a process that many give events to at once, and that says through a pipe of each that it is
durable. It is killed at some moment; what it said is held against what is stored.
"""

import asyncio
import contextlib
import os
import random
import select
import shutil
import signal
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.processes.child_process import ForkedProcess
from productrecs.records.events.event import EventKind, NewEvent
from productrecs.services import build_services
from productrecs.serving.writes.write_handlers import write_handlers
from productrecs.serving.writes.write_messages import WriteKind
from productrecs.settings import Settings
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.group_commit import GroupCommit
from productrecs.storage.sql.tables import events
from productrecs.storage.sql.tables.record_tables import event_session
from tests.records.orders.import_support import new_store_id

GIVERS: Final = 16
ACKNOWLEDGED: Final = 40  # events at least, before it may be killed
LONGEST: Final = 30.0  # seconds until they are, on the busiest machine
_KEY: Final = struct.Struct("=I")


@contextlib.contextmanager
def opened(folder: Path) -> Iterator[Database]:
    """Give the database; no writer may begin meanwhile: it is a copy of this process."""
    database = Database.open(None, folder)
    yield database
    database.close()


def write_on(
    folder: Path, store: StoreId, acknowledged: int, first: int, *, early: bool
) -> int:
    """Be the writer: store events numbered from `first` on, and tell which are durable."""
    services = build_services(Settings(data=folder))
    writing = write_handlers(services)[WriteKind.EVENTS]

    async def give(commits: GroupCommit, number: int) -> None:
        while True:
            event = NewEvent(EventKind.DETAIL_PAGE_VIEW, "tent", session_id=f"s_{number}")
            future = commits.submit(writing, store, [[event]])
            if not early:
                await future
            os.write(acknowledged, _KEY.pack(number))
            await future
            number += GIVERS

    async def give_all() -> None:
        commits = GroupCommit(services.database, lambda: None)
        await asyncio.gather(*(give(commits, first + at) for at in range(GIVERS)))

    asyncio.run(give_all())
    return 0


def said(pipe: int) -> set[int]:
    """Return which events it said are durable."""
    found = b""
    while select.select([pipe], [], [], 0)[0] and (more := os.read(pipe, 65_536)):
        found += more
    return {number for (number,) in _KEY.iter_unpack(found)}


def strike(
    folder: Path, store: StoreId, first: int, chance: random.Random, *, early: bool
) -> set[int]:
    """Let a writer work, kill it at some moment, and return what it acknowledged."""
    hears, tells = os.pipe()
    writer = ForkedProcess(
        "writer", lambda: write_on(folder, store, tells, first, early=early), [tells]
    )
    os.close(tells)
    acknowledged: set[int] = set()
    until = time.monotonic() + LONGEST
    while len(acknowledged) < ACKNOWLEDGED and time.monotonic() < until:
        assert writer.poll() is None
        select.select([hears], [], [], 1)
        acknowledged |= said(hears)
    time.sleep(chance.uniform(0, 0.01))
    writer.kill()
    assert writer.wait() == -signal.SIGKILL
    acknowledged |= said(hears)
    os.close(hears)
    assert len(acknowledged) >= ACKNOWLEDGED
    return acknowledged


def stored_since(folder: Path, store: StoreId, seq: int) -> tuple[list[str], int]:
    """Return the sessions of the events after `seq`, and the last one's number."""
    c = events.c
    session: sa.ColumnElement[str] = sa.literal_column(event_session())
    query = sa.select(session, c.seq).where(c.store_id == store, c.seq > seq)
    with opened(folder) as database, database.reading() as connection:
        rows = connection.execute(query).all()
    return [row[0] for row in rows], max((row[1] for row in rows), default=seq)


def lost_in(migrated: Path, folder: Path, kills: int, seed: int, *, early: bool) -> int:
    """Return how many acknowledged events some kills took; none may be there twice."""
    shutil.copytree(migrated, folder, dirs_exist_ok=True)
    with opened(folder) as database:
        store = new_store_id(database)
    chance = random.Random(seed)  # noqa: S311 - when to strike, not a key
    seq = lost = total = 0
    for kill in range(kills):
        acknowledged = strike(folder, store, kill * 1_000_000, chance, early=early)
        sessions, seq = stored_since(folder, store, seq)
        assert len(set(sessions)) == len(sessions), kill
        lost += len(acknowledged - {int(one.removeprefix("s_")) for one in sessions})
        total += len(acknowledged)
        if early and lost:
            break
    print(f"{kills} kills, {total} acknowledged, {lost} lost")  # noqa: T201 - the figures
    return lost


@pytest.mark.parametrize(
    ("kills", "seed"),
    [
        (6, 1),
        *(pytest.param(1_000, seed, marks=pytest.mark.trust) for seed in range(2, 12)),
    ],
)
def test_no_kill_of_a_writer_loses_what_it_acknowledged(
    migrated_folder: Path, data_folder: Path, kills: int, seed: int
) -> None:
    assert lost_in(migrated_folder, data_folder, kills, seed, early=False) == 0


def test_control_a_writer_that_answers_before_it_commits_loses(
    migrated_folder: Path, data_folder: Path
) -> None:
    assert lost_in(migrated_folder, data_folder, 60, 1, early=True)
