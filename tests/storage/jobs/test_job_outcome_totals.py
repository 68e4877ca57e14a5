"""Job totals: every end of a job is counted once, in its transaction."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from productrecs.core.ids import StoreId
from productrecs.storage.jobs.job_queue import (
    Job,
    JobQueue,
    JobState,
    JobTotals,
    NewJob,
    RetryPolicy,
    all_totals,
    backlogs,
)

if TYPE_CHECKING:
    from productrecs.storage.sql.database import Database


@dataclass
class Clock:
    """Milliseconds, as a test sets them."""

    now: int = 1_000_000

    def __call__(self) -> int:
        """Return them."""
        return self.now


@dataclass
class Desk:
    """A queue, and what it says of itself."""

    database: Database
    clock: Clock
    queue: JobQueue

    def begin(self, kind: str, store: str = "st_a") -> Job:
        """Queue a job and claim it."""
        with self.database.transaction() as transaction:
            self.queue.enqueue(transaction, NewJob(StoreId(store), kind))
        job = self.queue.claim([kind])
        assert job is not None
        return job

    def totals(self) -> list[JobTotals]:
        """Return what became of all jobs."""
        with self.database.reading() as connection:
            return all_totals(connection)


@pytest.fixture
def desk(database: Database) -> Desk:
    clock = Clock()
    policy = RetryPolicy(attempts=2, first_delay_ms=0)
    chance = random.Random(1)  # noqa: S311 - spreads retries
    return Desk(database, clock, JobQueue(database, clock, chance, policy))


def test_every_end_is_counted_by_kind_with_what_it_took(desk: Desk) -> None:
    for store in ("st_a", "st_b"):
        job = desk.begin("train", store)
        desk.clock.now += 250
        assert desk.queue.done(job)
    job = desk.begin("sweep")
    desk.clock.now += 10
    assert desk.queue.fail(job, RuntimeError("once")) is JobState.QUEUED
    again = desk.queue.claim(["sweep"])
    assert again is not None
    desk.clock.now += 10
    assert desk.queue.fail(again, RuntimeError("twice")) is JobState.DEAD

    assert desk.totals() == [
        JobTotals("sweep", done=0, retried=1, dead=1, milliseconds=20, done_at=None),
        JobTotals("train", done=2, retried=0, dead=0, milliseconds=500, done_at=1_000_500),
    ]


def test_an_end_that_does_not_count_is_not_counted(desk: Desk) -> None:
    job = desk.begin("train")
    desk.clock.now += desk.queue.policy.lease_ms + 1
    taken_over = desk.queue.claim(["train"])
    assert taken_over is not None

    assert not desk.queue.done(job)
    assert desk.queue.fail(job, RuntimeError("late")) is None
    assert desk.queue.release(taken_over)

    assert desk.totals() == []


def test_a_failure_after_a_success_keeps_when_that_was(desk: Desk) -> None:
    assert desk.queue.done(desk.begin("train"))
    desk.clock.now += 1_000
    desk.queue.fail(desk.begin("train"), RuntimeError("no"), final=True)

    assert desk.totals() == [JobTotals("train", 1, 0, 1, 0, 1_000_000)]


def test_what_waits_runs_and_was_given_up_is_told_by_kind(desk: Desk) -> None:
    desk.begin("train", "st_a")
    with desk.database.transaction() as transaction:
        for store in ("st_a", "st_b", "st_c"):
            later = desk.clock.now + (5_000 if store == "st_c" else 0)
            new = NewJob(StoreId(store), "train", run_at=later)
            desk.queue.enqueue(transaction, new)
        desk.queue.enqueue(
            transaction, NewJob(StoreId("st_a"), "later", run_at=desk.clock.now + 1)
        )
    desk.queue.fail(desk.begin("sweep"), RuntimeError("no"), final=True)

    with desk.database.reading() as connection:
        found = {one.kind: one for one in backlogs(connection, desk.clock.now)}

    assert found["train"].counts == {JobState.QUEUED: 3, JobState.RUNNING: 1}
    assert found["train"].due_since == desk.clock.now
    assert found["later"].due_since is None
    assert found["sweep"].counts == {JobState.DEAD: 1}
