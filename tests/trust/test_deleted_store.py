"""Deleted store: no row and no file remains, whatever was running."""

import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from productrecs.cli.main import productrecs
from productrecs.core.clock import fixed_clock, system_ms
from productrecs.core.ids import StoreId
from productrecs.features.attribution.attributor import Attributor
from productrecs.features.experiments.experiment_measurement import (
    holdout_design,
    measure_and_store_test,
)
from productrecs.features.reports.customer_segments_report import compute_and_store_segments
from productrecs.storage.jobs.job_queue import JobQueue, NewJob
from productrecs.storage.jobs.recurring_jobs import RecurringJobEnqueuer
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.postgres_dialect import PostgresDialect
from productrecs.storage.sql.sequence_and_item_numbers import StoreDeletedError
from productrecs.storage.sql.tables import metadata
from productrecs.tenancy.accounts.store import Store
from productrecs.training.repository import TrainingRepository
from productrecs.training.training_inputs import TrainingInputs
from productrecs.training.training_run import TrainingDeps, train_store
from tests.features.reports.shop import NOON, ReportedStore, cart, click


def a_store(database: Database, folder: Path, name: str) -> Store:
    shop = ReportedStore(database, folder, f"{name}.example")
    shop.send(*(event for n in range(20) for event in (click(f"i{n}"), cart(f"i{n % 7}"))))
    return shop.store


def left_of(database: Database, folder: Path, store_id: StoreId) -> list[str]:
    """Return the tables and files that still know a store."""
    with database.reading() as connection:
        tables = [
            table.name
            for table in metadata.sorted_tables
            if "store_id" in table.c
            and connection.execute(
                sa.select(sa.literal(1)).where(table.c.store_id == store_id).limit(1)
            ).first()
        ]
    files = [str(path) for path in folder.rglob("*") if store_id in str(path)]
    return tables + files


def work(database: Database, folder: Path, store: Store) -> list[Callable[[], object]]:
    """Return what the background does for a store."""
    clock = fixed_clock(NOON)
    chance = random.Random(1)  # noqa: S311 - spreads retries
    queue = JobQueue(database, system_ms, chance)
    workshop = TrainingDeps(database, folder / "models", clock)
    return [
        lambda: train_store(workshop, store, TrainingInputs(), lambda _share: None),
        lambda: Attributor(database, folder / "trails").catch_up(store),
        lambda: compute_and_store_segments(database, store, NOON),
        lambda: measure_and_store_test(
            database, store, holdout_design(store, "a-test"), NOON
        ),
        lambda: RecurringJobEnqueuer(database, queue, system_ms).enqueue_due(
            "train", 1, [NewJob(store.store_id, "train")]
        ),
    ]


def delete(folder: Path, url: str | None, store: Store) -> None:
    """Delete a store as an operator does."""
    words = ("store", "delete", store.domain, "--yes", "--data", str(folder))
    result = CliRunner().invoke(productrecs, words, env={"DATABASE_URL": url})
    assert result.exit_code == 0, result.output


def url_of(database: Database) -> str | None:
    return database.dialect.url if isinstance(database.dialect, PostgresDialect) else None


@pytest.mark.parametrize("times", [12, pytest.param(1_000, marks=pytest.mark.trust)])
def test_a_store_deleted_while_it_is_worked_on_leaves_nothing(
    database: Database, data_folder: Path, times: int
) -> None:
    chance = random.Random(21)  # noqa: S311 - when to strike, not a key
    interrupted = 0
    for number in range(times):
        store = a_store(database, data_folder / "trails", f"gone-{number}")
        doing = work(database, data_folder, store)
        ended: list[type[BaseException] | None] = []

        def go_on(doing: list[Any] = doing, ended: list[Any] = ended) -> None:
            until = time.monotonic() + 20
            while StoreDeletedError not in ended and time.monotonic() < until:
                ended.append(_error_of(doing[len(ended) % len(doing)]))

        worker = threading.Thread(target=go_on)
        worker.start()
        time.sleep(chance.uniform(0, 0.12))
        delete(data_folder, url_of(database), store)
        worker.join()

        interrupted += StoreDeletedError in ended
        for one in doing:  # whoever heard of it too late
            assert _error_of(one) in {None, StoreDeletedError}
        assert set(ended) <= {None, StoreDeletedError}, ended
        assert left_of(database, data_folder, store.store_id) == [], number
    assert interrupted == times


def _error_of(one: Callable[[], object]) -> type[BaseException] | None:
    try:
        one()
    except StoreDeletedError:
        return StoreDeletedError
    return None


def test_control_a_training_that_does_not_look_is_found(
    sqlite_database: Database, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = a_store(sqlite_database, data_folder / "trails", "gone")
    workshop = TrainingDeps(sqlite_database, data_folder / "models", fixed_clock(NOON))

    def strike(share: float) -> None:
        if share == 0.9:  # all is learned, and about to serve
            delete(data_folder, None, store)

    monkeypatch.setattr(
        "productrecs.training.repository.AccountRepository.lock", lambda *_: store
    )
    train_store(workshop, store, TrainingInputs(), strike)

    left = left_of(sqlite_database, data_folder, store.store_id)
    assert "models" in left
    assert any(place.startswith(str(data_folder)) for place in left)
    with sqlite_database.reading() as connection:
        assert TrainingRepository(connection, store.store_id).head() is None
