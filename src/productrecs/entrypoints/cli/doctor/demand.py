"""Is the demand of each store that has the add-on forecast, and lately?"""

import ctypes.util
from collections.abc import Iterator
from typing import Final

from productrecs.core.clock import DAY_MS, iso
from productrecs.entrypoints.cli.doctor.findings import Finding, note, wrong
from productrecs.entrypoints.services import Services
from productrecs.features.forecast.repository import ForecastRepository
from productrecs.tenancy.accounts.store import Store

_OLD_MS: Final = 2 * DAY_MS


def check_demand(services: Services, store: Store) -> Iterator[Finding]:
    """Yield what is wrong with a store's forecast, if it has the add-on."""
    if not store.settings.demand_forecast:
        return
    with services.database.reading() as connection:
        run = ForecastRepository(connection, store.store_id).run()
    remedy = f"start productrecs serve, or productrecs forecast {store.domain}"
    if run is None:
        yield note(store.domain, "its demand was not forecast yet", remedy)
    elif services.clock() - run.generated_at > _OLD_MS:
        message = f"its newest forecast is of {iso(run.generated_at)}"
        yield wrong(store.domain, message, remedy)
    if ctypes.util.find_library("gomp") is None:
        message = "the forecast's learned model cannot be loaded: simpler ways forecast"
        yield note(store.domain, message, "apt-get install libgomp1")
