"""Refresh schedule of customer segments: nightly, and after a store has grown a lot."""

from collections.abc import Iterable
from datetime import tzinfo
from typing import Final

from productrecs.core.ids import StoreId
from productrecs.features.insights.customers.repository import (
    SegmentsProgress,
    segments_progress,
)
from productrecs.storage.database import Database
from productrecs.tenancy.accounts.nightly_window import is_nightly_run_due
from productrecs.tenancy.accounts.store import Store

_GROWN: Final = 2
"""Growth factor of the log (after an import) at which the nightly window is not awaited."""


def stores_due_for_segments(
    database: Database, stores: Iterable[Store], now_ms: int
) -> list[StoreId]:
    """Return the stores whose customers were worked out never, too long ago, or of little.

    Too long ago is before the store's own night.
    """
    with database.reading() as connection:
        found = {row.store_id: row for row in segments_progress(connection)}
    return [
        store.store_id
        for store in stores
        if _is_due(found.get(store.store_id), store.settings.zone, now_ms)
    ]


def _is_due(row: SegmentsProgress | None, zone: tzinfo, now_ms: int) -> bool:
    if row is None or row.computed_at is None:
        return True
    has_grown = row.head >= max(1, _GROWN * row.applied_seq)
    return has_grown or is_nightly_run_due(zone, row.computed_at, now_ms)
