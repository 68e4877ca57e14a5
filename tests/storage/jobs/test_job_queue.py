"""Job queue: its guarantees, on both databases."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import sqlalchemy as sa

from productrecs.core.clock import DAY_MS, HOUR_MS, system_ms
from productrecs.core.ids import INSTALLATION, StoreId
from productrecs.storage.jobs.job_queue import (
    DEAD_RETENTION_MS,
    DONE_RETENTION_MS,
    Job,
    JobQueue,
    JobState,
    NewJob,
    RetryPolicy,
    describe_error_without_secrets,
)
from productrecs.storage.jobs.recurring_jobs import RecurringJobEnqueuer
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.tables import jobs
from tests.support.clock import FakeClock
from tests.support.stores import add_stores

STORE = StoreId("st_one")
OTHER = StoreId("st_two")
TRAIN = NewJob(STORE, "train")
KINDS = ("train", "import")
POLICY = RetryPolicy(
    lease_ms=10_000, attempts=3, first_delay_ms=1_000, longest_delay_ms=3_000
)


def queue_on(database: Database, clock: Callable[[], int] = system_ms) -> JobQueue:
    chance = random.Random(7)  # noqa: S311 - spreads retries, keeps no secret
    return JobQueue(database, clock, chance, POLICY)


@dataclass
class Bench:
    """A queue, its clock, and a look at its rows."""

    database: Database
    clock: FakeClock[int] = field(default_factory=lambda: FakeClock(1_000_000_000))

    def __post_init__(self) -> None:
        """Make the queue."""
        self.queue = queue_on(self.database, self.clock)

    def enqueue(self, wanted: NewJob = TRAIN) -> str:
        """Enqueue in a transaction of its own."""
        with self.database.transaction() as transaction:
            return self.queue.enqueue(transaction, wanted)

    def claim(self) -> Job:
        """Return the job that is due."""
        job = self.queue.claim(KINDS)
        assert job is not None
        return job

    def row(self, job_id: str) -> dict[str, Any]:
        """Return a job's row."""
        with self.database.reading() as connection:
            query = sa.select(jobs).where(jobs.c.job_id == job_id)
            return dict(connection.execute(query).mappings().one())

    def states(self) -> Counter[str]:
        """Return how many jobs are in each state."""
        with self.database.reading() as connection:
            return Counter(connection.execute(sa.select(jobs.c.state)).scalars())


@pytest.fixture
def bench(database: Database) -> Bench:
    return Bench(database)


def test_a_job_leaves_with_the_callers_transaction(bench: Bench) -> None:
    class UndoneError(Exception):
        pass

    def write_and_fail() -> None:
        with bench.database.transaction() as transaction:
            bench.queue.enqueue(transaction, TRAIN)
            raise UndoneError

    with pytest.raises(UndoneError):
        write_and_fail()

    assert bench.queue.claim(KINDS) is None


def test_a_claimed_job_has_its_payload_and_is_done_once(bench: Bench) -> None:
    job_id = bench.enqueue(NewJob(STORE, "import", "import/7", {"file": "lines.csv"}))

    job = bench.claim()

    assert (job.job_id, job.store_id, job.kind, job.key) == (
        job_id,
        STORE,
        "import",
        "import/7",
    )
    assert job.payload == {"file": "lines.csv"}
    assert job.attempts == 1
    assert bench.queue.claim(KINDS) is None
    assert bench.queue.mark_done(job)
    assert bench.queue.claim(KINDS) is None
    assert bench.row(job_id)["state"] == JobState.DONE


def test_a_worker_is_given_only_the_kinds_it_knows(bench: Bench) -> None:
    bench.enqueue(NewJob(STORE, "forecast"))

    assert bench.queue.claim(KINDS) is None
    assert bench.queue.claim(("forecast",)) is not None


def test_jobs_come_in_the_order_in_which_they_are_due_and_not_before(bench: Bench) -> None:
    now = bench.clock.now
    bench.enqueue(NewJob(STORE, "train", "second", run_at=now + 20))
    bench.enqueue(NewJob(STORE, "train", "first", run_at=now + 10))

    assert bench.queue.claim(KINDS) is None
    bench.clock.now += 20

    assert [bench.claim().key, bench.claim().key] == ["first", "second"]


def test_waiting_duplicates_of_a_key_fall_together(bench: Bench) -> None:
    later = replace(TRAIN, run_at=bench.clock.now + 5_000)

    first = bench.enqueue(later)
    again = bench.enqueue(replace(later, payload={"why": "asked"}))
    sooner = bench.enqueue(replace(TRAIN, payload={"why": "now"}))
    bench.enqueue(replace(later, payload={"why": "now"}))
    elsewhere = bench.enqueue(replace(TRAIN, store_id=OTHER))

    assert first == again == sooner != elsewhere
    assert bench.states() == {JobState.QUEUED: 2}
    assert bench.row(first)["run_at"] == bench.clock.now
    job = next(job for job in (bench.claim(), bench.claim()) if job.store_id == STORE)
    assert job.payload == {"why": "now"}


def test_a_duplicate_of_a_running_job_waits_and_runs_after_it(bench: Bench) -> None:
    bench.enqueue()
    running = bench.claim()
    duplicate = bench.enqueue()

    assert duplicate != running.job_id
    assert bench.queue.claim(KINDS) is None
    assert bench.queue.mark_done(running)

    assert bench.claim().job_id == duplicate


def test_an_abandoned_job_is_taken_over_when_its_lease_ends(bench: Bench) -> None:
    bench.enqueue()
    lost = bench.claim()

    bench.clock.now += POLICY.lease_ms - 1
    assert bench.queue.claim(KINDS) is None
    bench.clock.now += 1
    taken = bench.claim()

    assert taken.job_id == lost.job_id
    assert taken.attempts == 2


def test_a_revived_worker_changes_nothing_and_learns_that_it_lost_the_job(
    bench: Bench,
) -> None:
    job_id = bench.enqueue()
    revived = bench.claim()
    bench.clock.now += POLICY.lease_ms
    taken = bench.claim()
    before = bench.row(job_id)
    bench.clock.now += 1

    assert not bench.queue.extend_lease(revived, 0.9)
    assert not bench.queue.mark_done(revived)
    assert bench.queue.fail(revived, RuntimeError("late")) is None
    assert not bench.queue.requeue_interrupted(revived)

    assert bench.row(job_id) == before
    # The control: the same words from the one who holds the lease do count.
    assert bench.queue.extend_lease(taken, 0.9)
    assert bench.queue.mark_done(taken)


def test_a_lease_that_is_prolonged_is_not_taken_over(bench: Bench) -> None:
    bench.enqueue()
    job = bench.claim()

    for _ in range(5):
        bench.clock.now += POLICY.lease_ms - 1
        assert bench.queue.extend_lease(job)

    assert bench.queue.claim(KINDS) is None


def test_a_lease_from_before_the_clock_was_set_back_is_taken_over(bench: Bench) -> None:
    bench.enqueue()
    job = bench.claim()

    bench.clock.now -= DAY_MS
    bench.queue.extend_lease(job)
    assert bench.queue.claim(KINDS) is None
    bench.clock.now -= DAY_MS

    assert bench.claim().job_id == job.job_id


def test_a_failed_job_is_tried_again_later_and_later_then_buried(bench: Bench) -> None:
    job_id = bench.enqueue()
    waits = []

    for _ in range(POLICY.attempts - 1):
        assert bench.queue.fail(bench.claim(), RuntimeError("no luck")) == JobState.QUEUED
        waits.append(bench.row(job_id)["run_at"] - bench.clock.now)
        assert bench.queue.claim(KINDS) is None
        bench.clock.now += waits[-1]
    assert bench.queue.fail(bench.claim(), RuntimeError("no luck")) == JobState.DEAD

    assert 500 <= waits[0] <= 1_000 <= waits[1] <= 2_000
    assert bench.row(job_id)["state"] == JobState.DEAD
    assert bench.row(job_id)["error"] == "RuntimeError: no luck"
    bench.clock.now += DAY_MS
    assert bench.queue.claim(KINDS) is None


def test_a_failure_that_no_attempt_can_mend_is_buried_at_once(bench: Bench) -> None:
    job_id = bench.enqueue()

    outcome = bench.queue.fail(bench.claim(), RuntimeError("no such file"), final=True)

    assert outcome == JobState.DEAD
    assert bench.row(job_id)["finished_at"] == bench.clock.now


def test_the_waits_between_retries_are_bounded_and_differ() -> None:
    rng = random.Random(1)  # noqa: S311 - spreads retries, keeps no secret

    waits = [POLICY.delay_ms(attempts, rng) for attempts in range(1, 60)]

    assert max(waits) <= POLICY.longest_delay_ms
    assert min(waits[5:]) >= POLICY.longest_delay_ms / 2
    assert len(set(waits)) > 50


def test_a_new_request_does_not_cut_a_retrys_wait_short(bench: Bench) -> None:
    bench.enqueue()
    bench.queue.fail(bench.claim(), RuntimeError("no luck"))

    bench.enqueue(replace(TRAIN, payload={"why": "asked"}))

    assert bench.queue.claim(KINDS) is None
    bench.clock.now += POLICY.first_delay_ms
    job = bench.claim()
    assert (job.attempts, job.payload) == (2, {"why": "asked"})


def test_a_failed_job_takes_the_duplicate_that_waited_for_it_along(bench: Bench) -> None:
    bench.enqueue()
    failing = bench.claim()
    bench.enqueue(replace(TRAIN, payload={"why": "newer"}))

    assert bench.queue.fail(failing, RuntimeError("no luck")) == JobState.QUEUED

    assert bench.states() == {JobState.QUEUED: 1}
    bench.clock.now += POLICY.first_delay_ms
    job = bench.claim()
    assert (job.job_id, job.attempts) == (failing.job_id, 2)
    assert job.payload == {"why": "newer"}


def test_an_interrupted_job_goes_back_without_a_failed_attempt(bench: Bench) -> None:
    bench.enqueue()

    for _ in range(POLICY.attempts + 1):
        assert bench.queue.requeue_interrupted(bench.claim())

    assert bench.claim().attempts == 1


def test_a_job_that_kills_its_worker_each_time_is_buried(bench: Bench) -> None:
    job_id = bench.enqueue()

    for _ in range(POLICY.attempts):
        bench.claim()
        bench.clock.now += POLICY.lease_ms

    assert bench.queue.claim(KINDS) is None
    assert bench.row(job_id)["error"] == "its worker died 3 times while running it"


def test_a_job_that_gets_further_each_time_is_not_given_up(bench: Bench) -> None:
    job_id = bench.enqueue()

    for step in range(1, 3 * POLICY.attempts):
        assert bench.queue.extend_lease(bench.claim(), step / 10)
        bench.clock.now += POLICY.lease_ms

    assert bench.row(job_id)["progress"] == pytest.approx(0.8)
    assert bench.claim().attempts == 2


def test_finished_jobs_are_cleaned_away_in_their_time(bench: Bench) -> None:
    for key in ("a", "b"):
        bench.enqueue(NewJob(STORE, "train", key))
    assert bench.queue.mark_done(bench.claim())
    bench.queue.fail(bench.claim(), RuntimeError("no luck"), final=True)
    waiting = bench.enqueue()

    bench.clock.now += DONE_RETENTION_MS - 1
    assert bench.queue.purge_finished() == 0
    bench.clock.now += 1
    assert bench.queue.purge_finished() == 1
    assert bench.states() == {JobState.DEAD: 1, JobState.QUEUED: 1}
    bench.clock.now += DEAD_RETENTION_MS
    assert bench.queue.purge_finished() == 1

    assert bench.row(waiting)["state"] == JobState.QUEUED


def test_the_text_of_an_error_is_short_and_holds_no_secret() -> None:
    error = RuntimeError(
        "postgresql://shop:hunter2@db/recs refused sk_abcDEF123 of anna@example.org" * 20
    )

    text = describe_error_without_secrets(error)

    assert len(text) <= 500
    assert text.startswith(
        "RuntimeError: postgresql://...@db/recs refused sk_... of ...@..."
    )
    assert not any(secret in text for secret in ("hunter2", "abcDEF", "anna", "example"))


def test_a_duty_is_enqueued_once_a_turn_by_however_many_workers(bench: Bench) -> None:
    wanted = [TRAIN, replace(TRAIN, store_id=OTHER)]
    add_stores(bench.database, TRAIN.store_id, OTHER)
    turns = [
        RecurringJobEnqueuer(bench.database, bench.queue, bench.clock) for _ in range(2)
    ]

    def ask() -> list[int]:
        counts = [one.enqueue_due("train", 15_000, wanted) for one in turns]
        while (job := bench.queue.claim(KINDS)) is not None:
            bench.queue.mark_done(job)
        return counts

    assert ask() == [2, 0]
    bench.clock.now += 14_999
    assert ask() == [0, 0]
    bench.clock.now += 100_000  # nobody was there: missed turns are not made up
    assert ask() == [2, 0]
    assert ask() == [0, 0]


def test_a_store_whose_job_waits_for_a_worker_is_not_enqueued_again(bench: Bench) -> None:
    turns = RecurringJobEnqueuer(bench.database, bench.queue, bench.clock)
    wanted = [NewJob(StoreId(f"st_{number}"), "train") for number in range(3)]
    add_stores(bench.database, *(job.store_id for job in wanted))
    assert turns.enqueue_due("train", 15_000, wanted) == 3
    bench.clock.now += 60_000

    assert turns.enqueue_due("train", 15_000, wanted) == 0
    job = bench.claim()
    assert bench.queue.mark_done(job)
    assert turns.enqueue_due("train", 15_000, wanted) == 1


def test_first_runs_of_housekeeping_are_spread_over_the_interval(bench: Bench) -> None:
    turns = RecurringJobEnqueuer(bench.database, bench.queue, bench.clock)
    wanted = [NewJob(StoreId(f"st_{number}"), "train") for number in range(40)]
    add_stores(bench.database, *(job.store_id for job in wanted))

    counts = []
    for _ in range(11):
        counts.append(turns.enqueue_due("train", HOUR_MS, wanted, spread=True))
        while (job := bench.queue.claim(KINDS)) is not None:
            bench.queue.mark_done(job)
        bench.clock.now += HOUR_MS // 10

    assert counts[0] == 0
    assert sum(counts) == len(wanted)
    assert max(counts) < len(wanted) // 3
    assert turns.enqueue_due("train", HOUR_MS, wanted, spread=True) == counts[1]


def test_a_turn_from_before_the_clock_was_set_back_is_forgotten(bench: Bench) -> None:
    turns = RecurringJobEnqueuer(bench.database, bench.queue, bench.clock)
    add_stores(bench.database, TRAIN.store_id)
    assert turns.enqueue_due("train", 15_000, [TRAIN]) == 1

    bench.clock.now -= DAY_MS

    assert turns.enqueue_due("train", 15_000, [TRAIN]) == 1


def test_a_store_that_is_deleted_has_no_turn(bench: Bench) -> None:
    turns = RecurringJobEnqueuer(bench.database, bench.queue, bench.clock)

    assert turns.enqueue_due("train", 15_000, [TRAIN]) == 0
    assert turns.enqueue_due("train", 15_000, [NewJob(INSTALLATION, "train")]) == 1


def test_turns_requested_at_once_are_taken_once(bench: Bench) -> None:
    counts: list[int] = []
    ready = threading.Barrier(4)
    wanted = [NewJob(StoreId(f"st_{number}"), "train") for number in range(20)]
    add_stores(bench.database, *(job.store_id for job in wanted))

    def ask() -> None:
        with closing(Database(bench.database.dialect)) as own:
            turns = RecurringJobEnqueuer(own, queue_on(own), system_ms)
            ready.wait()
            counts.append(turns.enqueue_due("train", 60_000, wanted))

    _together(4, ask)

    assert sum(counts) == len(wanted)


def test_of_one_key_one_job_runs_at_a_time_under_four_claimers(bench: Bench) -> None:
    assert Rush(bench.database, ["a", "b"]).overlaps() == 0


def test_the_count_of_overlaps_sees_jobs_that_share_no_key(bench: Bench) -> None:
    # The control of the test above: what has keys of its own does run side by side.
    assert Rush(bench.database, ["a/1", "a/2", "b/1", "b/2"]).overlaps() > 0


def test_looking_for_work_is_cheap_and_never_waits_for_a_writer(bench: Bench) -> None:
    bench.enqueue()
    bench.claim()
    bench.enqueue()  # waits for the running one, so it is no work yet

    with bench.database.transaction() as transaction:
        transaction.execute(jobs.update().values(progress=0.1))
        assert bench.queue.claim(KINDS) is None  # at once: a writer waits five seconds
    began = time.process_time()
    for _ in range(200):
        bench.queue.claim(KINDS)
    spent = (time.process_time() - began) / 200

    assert spent < 0.002


def _together(count: int, work: Callable[[], None]) -> None:
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)


class Rush:
    """Four claimers, each with a database of its own, after jobs that come again."""

    def __init__(self, database: Database, keys: list[str]) -> None:
        """Enqueue one job of each key; each comes again while it runs, 40 in all."""
        self._dialect = database.dialect
        self._left = 40
        self._running: Counter[str] = Counter()
        self._found = 0
        self._lock = threading.Lock()
        queue = queue_on(database)
        with database.transaction() as transaction:
            for key in keys:
                queue.enqueue(transaction, NewJob(STORE, "train", key))

    def overlaps(self) -> int:
        """Return how often work of one name (the key up to `/`) ran twice at once."""
        _together(4, self._work)
        assert self._left == 0
        return self._found

    def _work(self) -> None:
        with closing(Database(self._dialect)) as own:
            queue = queue_on(own)
            deadline = time.monotonic() + 20
            while self._left and time.monotonic() < deadline:
                job = queue.claim(KINDS)
                if job is None:
                    time.sleep(0.001)
                else:
                    self._run(own, queue, job)

    def _run(self, own: Database, queue: JobQueue, job: Job) -> None:
        name = job.key.split("/")[0]
        with self._lock:
            self._left -= self._left > 0
            self._found += self._running[name] > 0
            self._running[name] += 1
        with own.transaction() as transaction:
            queue.enqueue(transaction, NewJob(STORE, "train", job.key))
        time.sleep(0.005)
        with self._lock:
            self._running[name] -= 1
        assert queue.mark_done(job)
