"""Stores to train: those with new events at once, those with an old model in turn."""

import pytest

from productrecs.core.clock import HOUR_MS, SECOND_MS
from productrecs.core.ids import StoreId
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.tables import models, store_heads
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.training.training_run import stale_stores, training_settings_hash
from tests.support.stores import new_store

QUIET, NOW = 5, 10 * HOUR_MS


@pytest.fixture
def stores(database: Database) -> list[StoreId]:
    """Return stores whose models know their ten events and are an hour old."""
    found = []
    for number in range(QUIET + 1):
        store = new_store(database, f"s{number}.example")
        with database.transaction() as transaction:
            head = store_heads.update().where(store_heads.c.store_id == store.store_id)
            transaction.execute(head.values(seq=10, model_id="m"))
            row = {
                "store_id": store.store_id,
                "model_id": "m",
                "applied_seq": 10,
                "catalog_seq": 0,
                "settings_hash": training_settings_hash(store.settings),
                "trained_at": NOW - HOUR_MS,
            }
            transaction.execute(models.insert().values(row))
        found.append(store.store_id)
    return found


def test_quiet_stores_take_turns_behind_those_with_new_events(
    database: Database, stores: list[StoreId]
) -> None:
    accounts, busy = AccountDirectory(database), stores[2]
    with database.transaction() as transaction:
        head = store_heads.update().where(store_heads.c.store_id == busy)
        transaction.execute(head.values(seq=11))

    turns = [stale_stores(database, accounts, NOW + n * SECOND_MS) for n in range(QUIET)]

    assert [one[0] for one in turns] == [busy] * QUIET
    assert [len(one) for one in turns] == [2] * QUIET
    assert {one[1] for one in turns} == {*stores} - {busy}
    assert stale_stores(database, accounts, NOW - SECOND_MS) == [busy]
