"""How is demand forecast at night? In a process of its own for each run, gone afterwards.

Forecasting takes minutes and hundreds of megabytes, and brings libraries that nobody else
needs: it is started when a store's night has come, and tells how far it is line by line.
"""

import logging
import threading
from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol

from productrecs.core.clock import system_ms
from productrecs.core.ids import StoreId
from productrecs.entrypoints.services import Services
from productrecs.entrypoints.worker.child import run_verb, store_of
from productrecs.entrypoints.worker.constants import ConstantsDuties
from productrecs.entrypoints.worker.loop import (
    Handler,
    Progress,
    Worker,
)
from productrecs.entrypoints.worker.ordering import OrderDuties
from productrecs.entrypoints.worker.schedule import Duty, Schedule
from productrecs.storage.duty_turns import DutyTurns
from productrecs.storage.job_queue import Job
from productrecs.tenancy.accounts.directory import AccountDirectory
from productrecs.training.demand.due import stores_due
from productrecs.training.demand.stock_watch import watch_stock

_log = logging.getLogger(__name__)


class ForecastDuties:
    """Handlers of the jobs about demand, and which stores need them."""

    def __init__(self, services: Services) -> None:
        """Forecast for the stores of `services`."""
        self._services = services
        self._accounts = AccountDirectory(services.database)

    def stores_to_forecast(self) -> Sequence[StoreId]:
        """Return the stores whose night has come since their last forecast."""
        self._accounts.refresh()
        services = self._services
        return stores_due(services.database, self._accounts.all(), services.clock())

    def stores_to_watch(self) -> Sequence[StoreId]:
        """Return the stores whose stock is looked at."""
        self._accounts.refresh()
        return [
            store.store_id
            for store in self._accounts.all()
            if store.settings.demand_forecast
        ]

    def watch(self, job: Job, _progress: Progress) -> None:
        """Note what ran out of stock, and what came back."""
        watch_stock(self._services.database, job.store_id, self._services.clock())

    def forecast(self, job: Job, progress: Progress) -> None:
        """Forecast a store in a process of its own."""
        store = store_of(job, self._accounts)
        watch_stock(self._services.database, job.store_id, self._services.clock())
        run_verb("forecast", store, self._services.settings.data, progress)


def build_forecaster(services: Services) -> Worker:
    """Return the worker that has children work: one store after the other."""
    stores, constants = ForecastDuties(services), ConstantsDuties(services)
    orders = OrderDuties(services)
    handlers: dict[str, Handler] = {
        "choose-constants": constants.choose,
        "forecast": stores.forecast,
        "learn-order": orders.learn_order,
        "watch-stock": stores.watch,
    }
    duties = (
        Duty(
            "choose-constants",
            every=timedelta(hours=1),
            stores=constants.stores_to_choose_for,
        ),
        Duty("forecast", every=timedelta(minutes=30), stores=stores.stores_to_forecast),
        Duty("learn-order", every=timedelta(hours=1), stores=orders.stores_to_order),
        Duty("watch-stock", every=timedelta(hours=1), stores=stores.stores_to_watch),
    )
    turns = DutyTurns(services.database, services.queue, system_ms)
    return Worker(services.queue, handlers, Schedule(turns, duties))


class Working(Protocol):
    """What works in the background until it is told to stop."""

    def run(self) -> None:
        """Work until `stop` is called."""

    def stop(self) -> None:
        """Let `run` return; safe from threads."""


class Together:
    """Two that work side by side in one process: the second one mostly waits.

    When either ends, so does the other: a supervisor then starts both again.
    """

    def __init__(self, first: Working, second: Working) -> None:
        """Prepare; nothing runs yet."""
        self._first = first
        self._second = second

    def run(self) -> None:
        """Work until `stop` is called."""
        beside = threading.Thread(target=self._beside, name="forecasts", daemon=True)
        beside.start()
        try:
            self._first.run()
        finally:
            self._second.stop()
            beside.join()

    def _beside(self) -> None:
        try:
            self._second.run()
        except Exception:
            _log.exception("forecast scheduler crashed")
        finally:
            self._first.stop()

    def stop(self) -> None:
        """Let both end after what they have in hand."""
        self._first.stop()
        self._second.stop()
