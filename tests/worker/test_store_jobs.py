"""Store jobs: the end of a plan is logged in time, and old events are purged."""

import logging
import threading
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from productrecs.core.clock import DAY_MS
from productrecs.services import build_services
from productrecs.settings import Settings
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.storage_usage import DataKind, StoredDataSize, newest_sizes
from productrecs.storage.sql.tables import events
from productrecs.tenancy.accounts.store_management import (
    Registration,
    change_settings,
    register_store,
)
from productrecs.tenancy.billing.plans_and_subscriptions import DEFAULT_PLANS
from productrecs.worker.job_worker import JobProgress
from productrecs.worker.store_jobs import StoreJobs, build_store_job_worker
from tests.features.reports.shop import ReportedStore, click
from tests.support.migrated import ON_SQLITE
from tests.support.service import eventually
from tests.support.stores import new_store

TRIAL_STORE = Registration("trial.example", plan=DEFAULT_PLANS["trial"])
NOON = 1_772_366_400_000  # 2026-03-01 12:00 UTC


@ON_SQLITE
@pytest.mark.parametrize(
    ("after_the_end", "level"),
    [
        (-3 * DAY_MS - 1, None),
        (-3 * DAY_MS, logging.WARNING),
        (-1, logging.WARNING),
        (0, logging.ERROR),
        (3 * DAY_MS, logging.ERROR),
        (3 * DAY_MS + 1, None),
    ],
)
def test_a_plans_end_is_logged_three_days_before_and_after(
    database: Database,
    database_url: str | None,
    data_folder: Path,
    caplog: pytest.LogCaptureFixture,
    after_the_end: int,
    level: int | None,
) -> None:
    register_store(database, TRIAL_STORE, lambda: NOON)
    new_store(database, "own.example")
    now_ms = NOON + 14 * DAY_MS + after_the_end
    settings = Settings(data=data_folder, database_url=database_url, now_ms=now_ms)
    services = build_services(settings)
    duties = StoreJobs(services)

    for store_id in duties.stores_with_ending_plans():
        job: Any = type("Job", (), {"store_id": store_id})()
        duties.log_ending_plan(job, JobProgress(threading.Event()))
    services.close()

    said = [one for one in caplog.records if "plan" in one.getMessage()]
    assert [one.levelno for one in said] == ([] if level is None else [level])
    for one in said:
        assert vars(one)["domain"] == "trial.example"
        assert "store set-plan trial.example PLAN" in vars(one)["remedy"]


def test_the_worker_looks_for_plans_that_end(
    sqlite_database: Database, data_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    register_store(sqlite_database, TRIAL_STORE, lambda: NOON)
    services = build_services(Settings(data=data_folder, now_ms=NOON + 15 * DAY_MS))
    worker = build_store_job_worker(services)
    working = threading.Thread(target=worker.run)
    working.start()
    try:
        for _ in range(300):
            if any(one.getMessage() == "plan ended" for one in caplog.records):
                break
            working.join(0.1)
    finally:
        worker.stop()
        working.join()
        services.close()

    said = [one for one in caplog.records if one.getMessage() == "plan ended"]
    assert len(said) == 1  # once a day


@pytest.mark.parametrize(
    ("of_installation", "of_store", "stored"),
    [(0, "0", 2), (90, "0", 1), (0, "90", 1), (365, "90", 1), (90, "365", 1)],
)
def test_the_worker_purges_what_is_older_than_the_shorter_retention(
    sqlite_database: Database,
    data_folder: Path,
    of_installation: int,
    of_store: str,
    stored: int,
) -> None:
    shop, now_ms = ReportedStore(sqlite_database, data_folder), NOON + 120 * DAY_MS
    change_settings(sqlite_database, shop.store, {"retention_days": of_store})
    shop.send(click("tent"))
    shop.send(click("tent"), at=now_ms)
    settings = Settings(data=data_folder, now_ms=now_ms, retention_days=of_installation)
    services = build_services(settings)
    jobs = StoreJobs(services)
    job: Any = type("Job", (), {"store_id": shop.store.store_id})()
    jobs.attribute_purchases(job, JobProgress(threading.Event()))
    for store_id in (due := jobs.stores_to_purge_events()):
        assert store_id == shop.store.store_id
        jobs.purge_events(job, JobProgress(threading.Event()))
    assert not due or not jobs.stores_to_purge_events()  # once a night
    services.close()

    with sqlite_database.reading() as connection:
        count = sa.select(sa.func.count()).select_from(events)
        assert connection.execute(count).scalar() == stored


def test_the_worker_measures_what_data_take(
    sqlite_database: Database, data_folder: Path
) -> None:
    shop = ReportedStore(sqlite_database, data_folder)
    shop.send(click("tent"))
    services = build_services(Settings(data=data_folder, now_ms=NOON))

    def sizes() -> list[StoredDataSize]:
        with sqlite_database.reading() as connection:
            return newest_sizes(connection, shop.store.store_id)

    worker = build_store_job_worker(services)
    working = threading.Thread(target=worker.run)
    working.start()
    try:
        eventually(lambda: bool(sizes()))
    finally:
        worker.stop()
        working.join()
        services.close()

    first = sizes()[0]
    assert (first.part, first.rows) == (DataKind.EVENTS, 1)
    assert first.bytes > 0
