"""Server clock: machines whose clocks differ agree on the database server's time."""

import random

import pytest

from productrecs.core.clock import SECOND_MS, system_ms
from productrecs.core.ids import StoreId
from productrecs.storage.jobs.job_queue import JobQueue, NewJob
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.server_clock import ServerClock

APART_MS = 20 * SECOND_MS  # twice a lease
NEARLY_MS = 250


def machine(database: Database, ahead_ms: int) -> ServerClock:
    clock = ServerClock(database, lambda: system_ms() + ahead_ms)
    clock.measure_offset()
    return clock


@pytest.mark.parametrize("ahead_ms", [-APART_MS, 0, APART_MS])
def test_a_machines_clock_is_corrected_to_the_servers(
    database: Database, ahead_ms: int
) -> None:
    clock = machine(database, ahead_ms)

    has_server = database.dialect.server_time is not None
    expected = system_ms() if has_server else system_ms() + ahead_ms
    assert abs(clock() - expected) < NEARLY_MS


@pytest.mark.postgres
def test_a_machine_ahead_takes_no_job_that_another_runs(database: Database) -> None:
    if database.dialect.server_time is None:
        return  # one machine
    punctual, ahead = (
        JobQueue(database, machine(database, ms), random.Random(1))  # noqa: S311 - jitter
        for ms in (0, APART_MS)
    )
    with database.transaction() as transaction:
        ahead.enqueue(transaction, NewJob(StoreId("st_1"), "train"))

    claimed = punctual.claim({"train"})  # due at once, though enqueued on the other

    assert claimed is not None
    assert ahead.claim({"train"}) is None
    assert punctual.mark_done(claimed)


def test_control_without_the_correction_the_job_runs_twice(database: Database) -> None:
    punctual, ahead = (
        JobQueue(database, lambda ms=ms: system_ms() + ms, random.Random(1))  # type: ignore[misc]  # noqa: S311 - jitter
        for ms in (0, APART_MS)
    )
    with database.transaction() as transaction:
        punctual.enqueue(transaction, NewJob(StoreId("st_1"), "train"))

    assert punctual.claim({"train"}) is not None
    assert ahead.claim({"train"}) is not None
