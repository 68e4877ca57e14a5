"""Ranker schedule: stores with enough clicks, once a day."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from productrecs.core.clock import DAY_MS
from productrecs.records.events.event import EventKind, NewEvent
from productrecs.records.orders.ingest_events_and_orders import ingest_events
from productrecs.storage.sequence_and_item_numbers import StoreLog
from productrecs.storage.tables import touch_days
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.accounts.store_management import Registration, register_store
from productrecs.training import stores_due_for_ranker as dues
from productrecs.training.repository import RankingRepository, StoredRanker
from productrecs.training.stores_due_for_ranker import (
    MINIMUM_DATA,
    MinimumData,
    stores_to_rank,
)
from productrecs.training.training_inputs import TrainingInputs
from productrecs.training.training_run import TrainingDeps, train_store

if TYPE_CHECKING:
    import pytest

    from productrecs.core.ids import StoreId
    from productrecs.storage.database import Database

NOW = 1_772_366_400_000


def told(database: Database, domain: str, shown: int, clicked: int) -> StoreId:
    """Return a store of which so much is told, half of it on one day."""
    store_id = register_store(database, Registration(domain), lambda: NOW)[0].store_id
    rows = [
        {
            "store_id": store_id,
            "day": day,
            "widget": "recs",
            "source": "buy",
            "position": 1,
            "shown": shown // 2,
            "clicked": clicked // 2,
        }
        for day in ("2026-02-01", "2026-02-02")
    ]
    with database.transaction() as transaction:
        transaction.execute(touch_days.insert(), rows)
    return store_id


def due(
    database: Database, now_ms: int = NOW, models: Path = Path("none")
) -> list[StoreId]:
    accounts = AccountDirectory(database)
    return stores_to_rank(database, accounts.all(), now_ms, models)


def test_a_store_with_enough_clicks_learns_its_order_once_a_day(database: Database) -> None:
    plenty = told(database, "plenty.example", MINIMUM_DATA.shown, MINIMUM_DATA.clicks)
    told(database, "few.example", MINIMUM_DATA.shown, MINIMUM_DATA.clicks - 2)
    told(database, "silent.example", MINIMUM_DATA.shown - 2, MINIMUM_DATA.clicks)

    first = due(database)
    with database.transaction() as transaction:
        ranker = StoredRanker(NOW, serves=False, report={}, trees={})
        for _ in range(2):  # replaced whole
            RankingRepository(transaction, plenty).store(ranker)
    later = [due(database, NOW + wait) for wait in (0, DAY_MS - 1, DAY_MS)]

    assert first == [plenty]
    assert later == [[], [], [plenty]]


def test_what_a_file_brought_counts_with_the_next_training(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dues, "MINIMUM_DATA", MinimumData(clicks=2, shown=6))
    store, _ = register_store(database, Registration("moved.example"), lambda: NOW)
    told = [
        NewEvent(kind, item_id=f"i{item}", user_id="anna", ts_ms=NOW - DAY_MS, position=1)
        for kind, items in ((EventKind.REC_IMPRESSION, 6), (EventKind.REC_CLICK, 2))
        for item in range(items)
    ]
    with database.transaction() as transaction:
        log = StoreLog(database, transaction, store.store_id)
        ingest_events(log, [[one] for one in told], NOW)

    untrained = due(database, models=tmp_path)
    workshop = TrainingDeps(database, tmp_path, lambda: NOW)
    train_store(workshop, store, TrainingInputs(), lambda _: None)

    assert untrained == []
    assert due(database, models=tmp_path) == [store.store_id]
    assert due(database, models=tmp_path / "elsewhere") == []
    monkeypatch.setattr(dues, "MINIMUM_DATA", MinimumData(clicks=3, shown=6))
    assert due(database, models=tmp_path) == []
