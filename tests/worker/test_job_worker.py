"""Job worker: every way in which a job can end."""

import random
import threading
import time
from collections.abc import Callable
from datetime import timedelta

import pytest
import sqlalchemy as sa

from productrecs.core.clock import HOUR_MS, system_ms
from productrecs.core.ids import INSTALLATION, StoreId
from productrecs.storage.jobs.job_queue import Job, JobQueue, NewJob, RetryPolicy
from productrecs.storage.jobs.recurring_jobs import RecurringJobEnqueuer
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import StoreDeletedError
from productrecs.storage.sql.tables import jobs
from productrecs.worker.job_schedule import (
    JobSchedule,
    PeriodicJob,
    nightly_periodic_jobs,
)
from productrecs.worker.job_worker import (
    LONG_IDLE_AFTER,
    JobHandler,
    JobInterruptedError,
    JobProgress,
    JobRefusedError,
    JobWorker,
)
from tests.support.stores import add_stores

QUICK = RetryPolicy(lease_ms=200, attempts=2, first_delay_ms=1, longest_delay_ms=1)


class Shift:
    """One worker with one kind of job, and the row of that job."""

    def __init__(self, database: Database, handler: JobHandler) -> None:
        """Enqueue a job of the kind `work`, which `handler` does."""
        chance = random.Random(3)  # noqa: S311 - spreads retries, keeps no secret
        self.queue = JobQueue(database, system_ms, chance, QUICK)
        self._database = database
        turns = RecurringJobEnqueuer(database, self.queue, system_ms)
        self.worker = JobWorker(self.queue, {"work": handler}, JobSchedule(turns, ()))
        with database.transaction() as transaction:
            self.queue.enqueue(transaction, NewJob(StoreId("st_one"), "work"))

    def row(self) -> tuple[str, int, str | None, float | None]:
        """Return state, attempts, error and progress."""
        query = sa.select(jobs.c.state, jobs.c.attempts, jobs.c.error, jobs.c.progress)
        with self._database.reading() as connection:
            state, attempts, error, progress = connection.execute(query).one()
        return state, attempts, error, progress

    def run_all(self) -> int:
        """Run jobs until none has been due for a moment; return how many ran."""
        count, idle_since = 0, time.monotonic()
        while time.monotonic() - idle_since < 0.05:
            if self.worker.run_next_job():
                count, idle_since = count + 1, time.monotonic()
        return count


def raising(error: Exception) -> JobHandler:
    def handler(_job: Job, _progress: JobProgress) -> None:
        raise error

    return handler


def test_a_job_whose_handler_returns_is_done(sqlite_database: Database) -> None:
    shift = Shift(sqlite_database, lambda _job, _progress: None)

    assert shift.run_all() == 1

    assert shift.row()[:3] == ("done", 1, None)


def test_a_job_whose_handler_fails_is_tried_again_and_then_buried(
    sqlite_database: Database,
) -> None:
    shift = Shift(sqlite_database, raising(ValueError("no luck")))

    assert shift.run_all() == 2

    assert shift.row()[:3] == ("dead", 2, "ValueError: no luck")


@pytest.mark.parametrize(
    "error", [JobRefusedError("no such file"), StoreDeletedError("gone")]
)
def test_a_job_that_can_never_succeed_is_tried_once(
    sqlite_database: Database, error: Exception
) -> None:
    shift = Shift(sqlite_database, raising(error))

    assert shift.run_all() == 1

    assert shift.row()[0] == "dead"


def polls(progress: JobProgress) -> None:
    if progress.stopping:
        raise JobInterruptedError


def reports(progress: JobProgress) -> None:
    progress.report_or_interrupt(0.5)


@pytest.mark.parametrize("ask", [polls, reports])
def test_a_stopping_worker_signals_the_handler_and_releases_the_job(
    sqlite_database: Database, ask: Callable[[JobProgress], None]
) -> None:
    begun = threading.Event()

    def patient(_job: Job, progress: JobProgress) -> None:
        for _ in range(5_000):
            ask(progress)
            begun.set()
            time.sleep(0.001)

    shift = Shift(sqlite_database, patient)
    running = threading.Thread(target=shift.worker.run)
    running.start()
    assert begun.wait(5)

    shift.worker.stop()
    running.join(5)

    assert not running.is_alive()
    assert shift.row()[:2] == ("queued", 0)


def test_a_long_job_keeps_its_lease_and_shows_its_progress(
    sqlite_database: Database,
) -> None:
    def slow(_job: Job, progress: JobProgress) -> None:
        progress.report_or_interrupt(0.25)
        time.sleep(3 * QUICK.lease_ms / 1000)
        assert shift.queue.claim(("work",)) is None  # nobody else may have it

    shift = Shift(sqlite_database, slow)

    assert shift.run_all() == 1

    assert shift.row() == ("done", 1, None, 0.25)


def test_a_handler_stops_when_another_worker_has_taken_over_its_job(
    sqlite_database: Database,
) -> None:
    def robbed(_job: Job, progress: JobProgress) -> None:
        with sqlite_database.transaction() as transaction:
            transaction.execute(jobs.update().values(token="another's"))
        deadline = time.monotonic() + 5
        while not progress.stopping and time.monotonic() < deadline:
            time.sleep(0.001)
        seen_stopping.append(progress.stopping)

    seen_stopping: list[bool] = []
    shift = Shift(sqlite_database, robbed)

    shift.worker.run_next_job()

    assert seen_stopping == [True]
    assert shift.row()[0] == "running"


HOURLY = timedelta(hours=1)


def turns_in(database: Database) -> RecurringJobEnqueuer:
    chance = random.Random(1)  # noqa: S311 - spreads retries, keeps no secret
    return RecurringJobEnqueuer(database, JobQueue(database, system_ms, chance), system_ms)


def enqueued(database: Database) -> list[tuple[str, str]]:
    query = sa.select(jobs.c.store_id, jobs.c.kind).order_by(jobs.c.store_id)
    with database.reading() as connection:
        return [(row[0], row[1]) for row in connection.execute(query)]


def test_a_duty_is_enqueued_for_the_stores_that_need_it_or_once_for_all(
    sqlite_database: Database,
) -> None:
    stores = [StoreId("st_one"), StoreId("st_two")]
    add_stores(sqlite_database, *stores)
    duties = (
        PeriodicJob("train", HOURLY, stores=lambda: stores),
        PeriodicJob("clean", HOURLY),
    )

    JobSchedule(turns_in(sqlite_database), duties).enqueue_due_jobs()

    assert enqueued(sqlite_database) == [
        (INSTALLATION, "clean"),
        ("st_one", "train"),
        ("st_two", "train"),
    ]


def test_a_restarted_timetable_remembers_whose_turn_it_was(
    sqlite_database: Database,
) -> None:
    stores = [StoreId("st_one")]
    add_stores(sqlite_database, "st_one", "st_two")
    duties = (PeriodicJob("train", HOURLY, stores=lambda: stores),)
    JobSchedule(turns_in(sqlite_database), duties).enqueue_due_jobs()
    with sqlite_database.transaction() as transaction:
        transaction.execute(jobs.delete())

    stores.append(StoreId("st_two"))
    JobSchedule(turns_in(sqlite_database), duties).enqueue_due_jobs()

    assert enqueued(sqlite_database) == [("st_two", "train")]


def test_housekeeping_of_many_stores_does_not_fill_the_queue_at_once(
    sqlite_database: Database,
) -> None:
    stores = [StoreId(f"st_{number}") for number in range(20)]
    add_stores(sqlite_database, *stores)
    duties = (
        PeriodicJob("clean", HOURLY, stores=lambda: stores, spread=True),
        PeriodicJob("train", HOURLY, stores=lambda: stores[:1]),
    )

    JobSchedule(turns_in(sqlite_database), duties).enqueue_due_jobs()

    assert enqueued(sqlite_database) == [("st_0", "train")]


def test_the_stores_are_read_at_most_once_a_second(sqlite_database: Database) -> None:
    read_at: list[float] = []
    now = 100.0

    def stores() -> list[StoreId]:
        read_at.append(now)
        return []

    duties = (PeriodicJob("train", HOURLY, stores=stores),)
    schedule = JobSchedule(turns_in(sqlite_database), duties, lambda: now)
    for _ in range(10):
        schedule.enqueue_due_jobs()
        now += 0.25

    assert read_at == [100.0, 101.0, 102.0]


def test_a_worker_without_jobs_polls_seldom_until_it_finds_one() -> None:
    looks: list[float] = []

    class Queue:
        def claim(self, _kinds: object) -> None:
            looks.append(0)

    class Waiting(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            looks[-1] = timeout or 0
            if len(looks) > LONG_IDLE_AFTER:
                self.set()
            return self.is_set()

    class Schedule:
        def enqueue_due_jobs(self) -> None:
            """Have nothing due."""

    worker = JobWorker(Queue(), {}, Schedule())  # type: ignore[arg-type]
    worker._stopping = Waiting()  # noqa: SLF001 - no second passes

    worker.run()

    assert looks == [0.25] * LONG_IDLE_AFTER + [1.0]


@pytest.mark.parametrize(
    ("start", "stopped", "expected"),
    [
        (12, range(0), [12, 25, 49, 73]),  # at once, then at 1:00 of each night
        (20, range(0), [20, 49, 73]),
        (2, range(24, 33), [2, 33, 49, 73]),  # at 9:00, as a night was missed
    ],
)
def test_a_nightly_job_runs_each_night_and_makes_up_for_a_missed_one(
    sqlite_database: Database, start: int, stopped: range, expected: list[int]
) -> None:
    hour = start

    def clock() -> int:
        return hour * HOUR_MS

    queue = JobQueue(sqlite_database, clock, random.Random(3))  # noqa: S311 - no secret
    turns = RecurringJobEnqueuer(sqlite_database, queue, clock)
    tasks = nightly_periodic_jobs("measure", clock)
    schedule = JobSchedule(turns, tasks, lambda: clock() / 1_000)
    ran: list[int] = []
    for hour in range(start, 78):
        if hour in stopped:
            continue
        schedule.enqueue_due_jobs()
        ran += [hour] * len(enqueued(sqlite_database))
        with sqlite_database.transaction() as transaction:
            transaction.execute(jobs.delete())

    assert ran == expected
