"""Whose customers are to be worked out? At night, and when a store has grown at once."""

from collections.abc import Iterable
from datetime import tzinfo
from typing import Final

from productrecs.core.ids import StoreId
from productrecs.features.insights.customers.repository import (
    LastWorkedOut,
    last_worked_out,
)
from productrecs.storage.database import Database
from productrecs.tenancy.accounts.night import night_has_come
from productrecs.tenancy.accounts.store import Store

_GROWN: Final = 2
"""So many times the log that was worked out: an import came, and nobody waits for night."""


def stores_to_work_out(
    database: Database, stores: Iterable[Store], now_ms: int
) -> list[StoreId]:
    """Return the stores whose customers were worked out never, too long ago, or of little.

    Too long ago is before the store's own night.
    """
    with database.reading() as connection:
        found = {row.store_id: row for row in last_worked_out(connection)}
    return [
        store.store_id
        for store in stores
        if _is_due(found.get(store.store_id), store.settings.zone, now_ms)
    ]


def _is_due(row: LastWorkedOut | None, zone: tzinfo, now_ms: int) -> bool:
    if row is None or row.computed_at is None:
        return True
    has_grown = row.head >= max(1, _GROWN * row.applied_seq)
    return has_grown or night_has_come(zone, row.computed_at, now_ms)
