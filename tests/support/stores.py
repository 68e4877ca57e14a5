"""Bare stores: ids for tests of storage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from productrecs.storage.sql.tables import stores

if TYPE_CHECKING:
    from productrecs.storage.sql.database import Database


def add_stores(database: Database, *store_ids: str) -> None:
    """Let stores of these ids be there."""
    rows = [
        {
            "store_id": store_id,
            "domain": f"{store_id}.example",
            "plan": "unlimited",
            "publishable_key": f"pk_{store_id}",
            "origins": "[]",
            "settings": "{}",
            "created_at": 0,
        }
        for store_id in store_ids
    ]
    with database.transaction() as transaction:
        transaction.execute(stores.insert(), rows)
