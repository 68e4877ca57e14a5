"""Store forecast checks: whether a store with the demand add-on has a recent forecast."""

import ctypes.util
from collections.abc import Iterator
from typing import Final

from productrecs.core.clock import DAY_MS, iso
from productrecs.entrypoints.cli.doctor.check_result import CheckResult, notice, problem
from productrecs.entrypoints.services import Services
from productrecs.features.forecast.repository import ForecastRepository
from productrecs.tenancy.accounts.store import Store

_OLD_MS: Final = 2 * DAY_MS


def check_forecast(services: Services, store: Store) -> Iterator[CheckResult]:
    """Yield what is wrong with a store's forecast, if it has the add-on."""
    if not store.settings.demand_forecast:
        return
    with services.database.reading() as connection:
        run = ForecastRepository(connection, store.store_id).run()
    remedy = f"start productrecs serve, or productrecs forecast {store.domain}"
    if run is None:
        yield notice(store.domain, "its demand was not forecast yet", remedy)
    elif services.clock() - run.generated_at > _OLD_MS:
        message = f"its newest forecast is from {iso(run.generated_at)}"
        yield problem(store.domain, message, remedy)
    if ctypes.util.find_library("gomp") is None:
        message = "the learned forecast model cannot be loaded; simpler methods are used"
        yield notice(store.domain, message, "apt-get install libgomp1")
