"""Whose night is it? Stores whose forecast is of an earlier day, from 2 o'clock on."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from productrecs.core.ids import StoreId
from productrecs.storage.database import Database
from productrecs.tenancy.accounts.store import Store
from productrecs.training.demand.repository import last_runs

NIGHT_HOUR: Final = 2


def stores_due(database: Database, stores: Iterable[Store], now_ms: int) -> list[StoreId]:
    """Return the stores with the demand add-on that want a forecast now.

    One that has none is due at once; the others once a day, at their own night.
    """
    wanting = [store for store in stores if store.settings.demand_forecast]
    if not wanting:
        return []
    with database.reading() as connection:
        newest = {run.store_id: run.generated_at for run in last_runs(connection)}
    return [
        store.store_id
        for store in wanting
        if is_due(store, newest.get(store.store_id), now_ms)
    ]


def is_due(store: Store, generated_at: int | None, now_ms: int) -> bool:
    """Return whether a store that was last forecast then wants it again now."""
    if generated_at is None:
        return True
    zone = store.settings.zone
    then = datetime.fromtimestamp(generated_at / 1000, tz=zone)
    now = datetime.fromtimestamp(now_ms / 1000, tz=zone)
    return now.date() > then.date() and now.hour >= NIGHT_HOUR
