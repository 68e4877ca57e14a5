"""Due stores: those whose forecast is of an earlier day, from 2 o'clock on."""

from collections.abc import Iterable

from productrecs.core.ids import StoreId
from productrecs.storage.database import Database
from productrecs.tenancy.accounts.store import Store, is_nightly_run_due
from productrecs.training.demand.repository import last_forecasts


def stores_due(database: Database, stores: Iterable[Store], now_ms: int) -> list[StoreId]:
    """Return the stores with the demand add-on that want a forecast now.

    One that has none is due at once; the others once a day, at their own night.
    """
    wanting = [store for store in stores if store.settings.demand_forecast]
    if not wanting:
        return []
    with database.reading() as connection:
        newest = {run.store_id: run.generated_at for run in last_forecasts(connection)}
    return [
        store.store_id
        for store in wanting
        if store.store_id not in newest
        or is_nightly_run_due(store.settings.zone, newest[store.store_id], now_ms)
    ]
