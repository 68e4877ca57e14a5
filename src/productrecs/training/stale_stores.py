"""Stale stores: those whose log or settings are newer than their model."""

from productrecs.core.clock import HOUR_MS
from productrecs.core.ids import StoreId
from productrecs.storage.database import Database
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.training.fit import settings_hash
from productrecs.training.repository import TrainingProgress, training_progress


def stale_stores(
    database: Database, accounts: AccountDirectory, now_ms: int
) -> list[StoreId]:
    """Return the stores whose model lags behind their log or settings.

    Windows slide even where nothing happens, so a model is also stale after an hour.
    """
    with database.reading() as connection:
        rows = training_progress(connection)
    return [row.store_id for row in rows if _is_stale(row, accounts, now_ms)]


def _is_stale(row: TrainingProgress, accounts: AccountDirectory, now_ms: int) -> bool:
    store = accounts.by_id(row.store_id)
    if store is None or row.seq == 0:
        return False
    return (
        row.applied_seq is None
        or row.applied_seq < row.seq
        or row.settings_hash != settings_hash(store.settings)
        or abs(now_ms - (row.trained_at or 0)) >= HOUR_MS
    )
