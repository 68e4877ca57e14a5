"""Job schedule: each periodic task is enqueued on time."""

import random
from datetime import timedelta

import sqlalchemy as sa

from productrecs.core.clock import system_ms
from productrecs.core.ids import StoreId
from productrecs.entrypoints.worker.job_schedule import JobSchedule, PeriodicJob
from productrecs.storage.database import Database
from productrecs.storage.job_queue import INSTALLATION, JobQueue
from productrecs.storage.recurring_jobs import PeriodicTasks
from productrecs.storage.tables import jobs
from tests.support.stores import add_stores

HOURLY = timedelta(hours=1)


def turns_in(database: Database) -> PeriodicTasks:
    chance = random.Random(1)  # noqa: S311 - spreads retries, keeps no secret
    return PeriodicTasks(database, JobQueue(database, system_ms, chance), system_ms)


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

    JobSchedule(turns_in(sqlite_database), duties).tick()

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
    JobSchedule(turns_in(sqlite_database), duties).tick()
    with sqlite_database.transaction() as transaction:
        transaction.execute(jobs.delete())

    stores.append(StoreId("st_two"))
    JobSchedule(turns_in(sqlite_database), duties).tick()

    assert enqueued(sqlite_database) == [("st_two", "train")]


def test_the_stores_are_asked_for_at_most_once_a_second(
    sqlite_database: Database,
) -> None:
    asked: list[float] = []
    now = 100.0

    def stores() -> list[StoreId]:
        asked.append(now)
        return []

    duties = (PeriodicJob("train", HOURLY, stores=stores),)
    schedule = JobSchedule(turns_in(sqlite_database), duties, lambda: now)
    for _ in range(10):
        schedule.tick()
        now += 0.25

    assert asked == [100.0, 101.0, 102.0]
