"""Whose order is learned now? Of those whose clicks say enough, once a day."""

from __future__ import annotations

from typing import TYPE_CHECKING

from productrecs.core.clock import DAY_MS
from productrecs.storage.tables import touch_days
from productrecs.tenancy.accounts.directory import AccountDirectory
from productrecs.tenancy.accounts.registration import Registration, register
from productrecs.training.ranking.due import ENOUGH, stores_to_order
from productrecs.training.ranking.repository import RankingRepository, StoredRanker

if TYPE_CHECKING:
    from productrecs.core.ids import StoreId
    from productrecs.storage.database import Database

NOW = 1_772_366_400_000


def told(database: Database, domain: str, shown: int, clicked: int) -> StoreId:
    """Return a store of which so much is told, half of it on one day."""
    store_id = register(database, Registration(domain), lambda: NOW)[0].store_id
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


def due(database: Database, now_ms: int = NOW) -> list[StoreId]:
    accounts = AccountDirectory(database)
    return stores_to_order(database, accounts.all(), now_ms)


def test_a_store_with_enough_clicks_learns_its_order_once_a_day(database: Database) -> None:
    plenty = told(database, "plenty.example", ENOUGH.shown, ENOUGH.clicks)
    told(database, "few.example", ENOUGH.shown, ENOUGH.clicks - 2)
    told(database, "silent.example", ENOUGH.shown - 2, ENOUGH.clicks)

    first = due(database)
    with database.transaction() as transaction:
        ranker = StoredRanker(NOW, serves=False, report={}, trees={})
        for _ in range(2):  # replaced whole
            RankingRepository(transaction, plenty).store(ranker)
    later = [due(database, NOW + wait) for wait in (0, DAY_MS - 1, DAY_MS)]

    assert first == [plenty]
    assert later == [[], [], [plenty]]
