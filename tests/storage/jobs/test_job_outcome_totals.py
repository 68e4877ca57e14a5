"""Job totals: every end of a job is counted once, in its transaction."""

import random
from dataclasses import dataclass

import pytest

from productrecs.core.ids import StoreId
from productrecs.storage.jobs.job_queue import (
    Job,
    JobKindTotals,
    JobQueue,
    JobState,
    NewJob,
    RetryPolicy,
    job_backlogs,
    job_totals_by_kind,
)
from productrecs.storage.sql.database import Database
from tests.support.clock import FakeClock


@dataclass
class QueueBench:
    """A queue, and what it says of itself."""

    database: Database
    clock: FakeClock[int]
    queue: JobQueue

    def begin(self, kind: str, store: str = "st_a") -> Job:
        """Queue a job and claim it."""
        with self.database.transaction() as transaction:
            self.queue.enqueue(transaction, NewJob(StoreId(store), kind))
        job = self.queue.claim([kind])
        assert job is not None
        return job

    def totals(self) -> list[JobKindTotals]:
        """Return what became of all jobs."""
        with self.database.reading() as connection:
            return job_totals_by_kind(connection)


@pytest.fixture
def bench(database: Database) -> QueueBench:
    clock = FakeClock(1_000_000)
    policy = RetryPolicy(attempts=2, first_delay_ms=0)
    chance = random.Random(1)  # noqa: S311 - spreads retries
    return QueueBench(database, clock, JobQueue(database, clock, chance, policy))


def test_every_end_is_counted_by_kind_with_what_it_took(bench: QueueBench) -> None:
    for store in ("st_a", "st_b"):
        job = bench.begin("train", store)
        bench.clock.now += 250
        assert bench.queue.mark_done(job)
    job = bench.begin("sweep")
    bench.clock.now += 10
    assert bench.queue.fail(job, RuntimeError("once")) is JobState.QUEUED
    again = bench.queue.claim(["sweep"])
    assert again is not None
    bench.clock.now += 10
    assert bench.queue.fail(again, RuntimeError("twice")) is JobState.DEAD

    assert bench.totals() == [
        JobKindTotals("sweep", done=0, retried=1, dead=1, milliseconds=20, done_at=None),
        JobKindTotals(
            "train", done=2, retried=0, dead=0, milliseconds=500, done_at=1_000_500
        ),
    ]


def test_an_end_that_does_not_count_is_not_counted(bench: QueueBench) -> None:
    job = bench.begin("train")
    bench.clock.now += bench.queue.policy.lease_ms + 1
    taken_over = bench.queue.claim(["train"])
    assert taken_over is not None

    assert not bench.queue.mark_done(job)
    assert bench.queue.fail(job, RuntimeError("late")) is None
    assert bench.queue.requeue_interrupted(taken_over)

    assert bench.totals() == []


def test_a_failure_after_a_success_keeps_when_that_was(bench: QueueBench) -> None:
    assert bench.queue.mark_done(bench.begin("train"))
    bench.clock.now += 1_000
    bench.queue.fail(bench.begin("train"), RuntimeError("no"), final=True)

    assert bench.totals() == [JobKindTotals("train", 1, 0, 1, 0, 1_000_000)]


def test_backlogs_count_jobs_by_kind_and_state(bench: QueueBench) -> None:
    bench.begin("train", "st_a")
    with bench.database.transaction() as transaction:
        for store in ("st_a", "st_b", "st_c"):
            later = bench.clock.now + (5_000 if store == "st_c" else 0)
            new = NewJob(StoreId(store), "train", run_at=later)
            bench.queue.enqueue(transaction, new)
        bench.queue.enqueue(
            transaction, NewJob(StoreId("st_a"), "later", run_at=bench.clock.now + 1)
        )
    bench.queue.fail(bench.begin("sweep"), RuntimeError("no"), final=True)

    with bench.database.reading() as connection:
        by_kind = {
            backlog.kind: backlog for backlog in job_backlogs(connection, bench.clock.now)
        }

    assert by_kind["train"].counts == {JobState.QUEUED: 3, JobState.RUNNING: 1}
    assert by_kind["train"].due_since == bench.clock.now
    assert by_kind["later"].due_since is None
    assert by_kind["sweep"].counts == {JobState.DEAD: 1}
