"""Forecast jobs: the nightly demand forecast of each store, in a process of its own.

A forecast takes minutes and hundreds of megabytes, and imports libraries that nothing else
needs. So it runs in a separate process, which prints its progress line by line.
"""

import logging
import threading
from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol

from productrecs.core.clock import system_ms
from productrecs.core.ids import StoreId
from productrecs.entrypoints.services import Services
from productrecs.entrypoints.worker.command_process import run_store_command, store_of_job
from productrecs.entrypoints.worker.job_schedule import JobSchedule, PeriodicJob
from productrecs.entrypoints.worker.job_worker import JobHandler, JobProgress, JobWorker
from productrecs.entrypoints.worker.ranking_jobs import RankingJobs
from productrecs.entrypoints.worker.tuning_jobs import TuningJobs
from productrecs.storage.job_queue import Job
from productrecs.storage.recurring_jobs import PeriodicTasks
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.training.demand.repository import stores_due, track_stock_outs

_log = logging.getLogger(__name__)


class ForecastJobs:
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

    def watch(self, job: Job, _progress: JobProgress) -> None:
        """Note what ran out of stock, and what came back."""
        track_stock_outs(self._services.database, job.store_id, self._services.clock())

    def forecast(self, job: Job, progress: JobProgress) -> None:
        """Forecast a store in a process of its own."""
        store = store_of_job(job, self._accounts)
        track_stock_outs(self._services.database, job.store_id, self._services.clock())
        run_store_command("forecast", store, self._services.settings.data, progress)


def build_forecaster(services: Services) -> JobWorker:
    """Return the worker that has children work: one store after the other."""
    stores, constants = ForecastJobs(services), TuningJobs(services)
    orders = RankingJobs(services)
    handlers: dict[str, JobHandler] = {
        "choose-constants": constants.choose,
        "forecast": stores.forecast,
        "learn-order": orders.learn_order,
        "watch-stock": stores.watch,
    }
    duties = (
        PeriodicJob(
            "choose-constants",
            every=timedelta(hours=1),
            stores=constants.stores_to_tune,
        ),
        PeriodicJob(
            "forecast", every=timedelta(minutes=30), stores=stores.stores_to_forecast
        ),
        PeriodicJob("learn-order", every=timedelta(hours=1), stores=orders.stores_to_rank),
        PeriodicJob("watch-stock", every=timedelta(hours=1), stores=stores.stores_to_watch),
    )
    turns = PeriodicTasks(services.database, services.queue, system_ms)
    return JobWorker(services.queue, handlers, JobSchedule(turns, duties))


class BackgroundLoop(Protocol):
    """What works in the background until it is told to stop."""

    def run(self) -> None:
        """Work until `stop` is called."""

    def stop(self) -> None:
        """Let `run` return; safe from threads."""


class ParallelLoops:
    """Two that work side by side in one process: the second one mostly waits.

    When either ends, so does the other: a supervisor then starts both again.
    """

    def __init__(self, first: BackgroundLoop, second: BackgroundLoop) -> None:
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
