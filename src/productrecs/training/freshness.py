"""Which stores have something new to learn?"""

from productrecs.core.clock import HOUR_MS
from productrecs.storage.database import Database
from productrecs.tenancy.accounts.registration import all_stores
from productrecs.tenancy.accounts.store import Store
from productrecs.training.fit import settings_hash
from productrecs.training.repository import TrainingRepository


def stale_stores(database: Database, now_ms: int) -> list[Store]:
    """Return the stores whose model lags behind their log, catalog or settings.

    Windows slide even where nothing happens, so a model is also stale after an hour.
    """
    return [store for store in all_stores(database) if _is_stale(database, store, now_ms)]


def _is_stale(database: Database, store: Store, now_ms: int) -> bool:
    with database.reading() as connection:
        repository = TrainingRepository(connection, store.store_id)
        head, model = repository.head(), repository.serving()
    if head is None or head.seq == 0:
        return False
    return (
        model is None
        or model.applied_seq < head.seq
        or model.settings_hash != settings_hash(store.settings)
        or abs(now_ms - model.trained_at) >= HOUR_MS
    )
