"""Child process jobs: forecasts, tuning and relevance, each in a child process of its own.

The worker starts the productrecs command, which reports its progress. The child process
frees its memory and libraries when it exits.
"""

import logging
import os
import sys
import tempfile
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

from productrecs.core.errors import ProductRecsError
from productrecs.core.ids import StoreId
from productrecs.features.search.relevance.relevance_monitoring import (
    stores_to_measure_relevance,
)
from productrecs.processes.child_process import ChildProcess, start_program
from productrecs.processes.process_messages import FROM_CHILD, ProgressMessage
from productrecs.services import Services
from productrecs.storage.jobs.job_queue import Job, NewJob
from productrecs.storage.jobs.recurring_jobs import RecurringJobEnqueuer
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.accounts.store import Store
from productrecs.training.demand.repository import (
    stores_with_due_forecast,
    track_stock_outs,
)
from productrecs.training.tuning.tune_store import stores_to_tune
from productrecs.worker.alert_mails import (
    alerted_products,
    mail_and_record_stock_alerts,
    mail_newest_search_alarm,
)
from productrecs.worker.job_schedule import JobSchedule, PeriodicJob
from productrecs.worker.job_worker import (
    JobHandler,
    JobProgress,
    JobWorker,
    require_store_of_job,
)

_POLL_SECONDS: Final = 0.5
_LAST_WORDS: Final = 4_000  # characters of a failed run's error output


class CommandProcessError(ProductRecsError):
    """The child process failed; the message is its error output."""


def run_store_command(verb: str, store: Store, data: Path, progress: JobProgress) -> None:
    """Run a command on one store of a data folder, as `run_command_process` does."""
    run_command_process((verb, store.domain, "--data", str(data)), progress)


def run_command_process(arguments: Sequence[str], progress: JobProgress) -> None:
    """Run a productrecs command in a child process and report its progress.

    Raises:
        JobInterruptedError: when the worker stops; the child process has ended by then.
        CommandProcessError: when the command failed.
    """
    program = (sys.executable, "-m", "productrecs", *arguments, "--parent")
    with tempfile.TemporaryFile() as errors:
        child = start_program(
            lambda number: (*program, str(number)),
            # Waiting OpenMP threads must not spin on the CPU.
            environment=os.environ | {"OMP_WAIT_POLICY": "PASSIVE"},
            errors=errors,
        )
        try:
            _report_progress_until_end(child, progress)
            status = child.process.wait()
        finally:
            child.end()
        if status != 0:
            errors.seek(0)
            error_output = errors.read().decode(errors="replace").strip()[-_LAST_WORDS:]
            raise CommandProcessError(error_output or f"it exited with {status}")


def _report_progress_until_end(child: ChildProcess, progress: JobProgress) -> None:
    """Report the progress of the child process until it closes its connection."""
    share = 0.0
    while True:
        if child.connection.poll(_POLL_SECONDS):
            try:
                message, _ = child.connection.receive(FROM_CHILD, _POLL_SECONDS)
            except ConnectionError:
                return
            if isinstance(message, ProgressMessage):
                share = max(share, min(1.0, message.share))
        progress.report_or_interrupt(share)


class TuningJobHandler:
    """The handler of the job that tunes hyperparameters, and the stores that need it."""

    def __init__(self, services: Services) -> None:
        """Tune the stores of `services`."""
        self._services = services
        self._accounts = AccountDirectory(services.database)

    def stores_to_tune(self) -> Sequence[StoreId]:
        """Return the stores that are due for tuning."""
        return stores_to_tune(self._services.database, self._services.clock())

    def tune_and_enqueue_training(self, job: Job, progress: JobProgress) -> None:
        """Tune a store in a child process, then enqueue a training."""
        store = require_store_of_job(job, self._accounts)
        run_store_command("tune", store, self._services.settings.data, progress)
        with self._services.database.transaction() as transaction:
            self._services.queue.enqueue(transaction, NewJob(job.store_id, "train"))


_log = logging.getLogger(__name__)


class ForecastJobs:
    """The handlers of the demand jobs, and the stores that need them."""

    def __init__(self, services: Services) -> None:
        """Forecast for the stores of `services`."""
        self._services = services
        self._accounts = AccountDirectory(services.database)

    def stores_to_forecast(self) -> Sequence[StoreId]:
        """Return the stores whose nightly window began since their last forecast."""
        self._accounts.refresh()
        services = self._services
        return stores_with_due_forecast(
            services.database, self._accounts.all(), services.clock()
        )

    def stores_with_tracked_stock(self) -> Sequence[StoreId]:
        """Return the stores whose stock is tracked."""
        self._accounts.refresh()
        return [
            store.store_id
            for store in self._accounts.all()
            if store.settings.demand_forecast
        ]

    def record_stock_outs(self, job: Job, _progress: JobProgress) -> None:
        """Record products that ran out of stock or are back in stock."""
        track_stock_outs(self._services.database, job.store_id, self._services.clock())

    def track_stock_forecast_and_mail(self, job: Job, progress: JobProgress) -> None:
        """Forecast a store in a child process, and mail stock alerts."""
        store = require_store_of_job(job, self._accounts)
        track_stock_outs(self._services.database, job.store_id, self._services.clock())
        alerted_before = alerted_products(self._services, store)
        run_store_command("forecast", store, self._services.settings.data, progress)
        mail_and_record_stock_alerts(self._services, store, alerted_before)


class RelevanceJobHandler:
    """The handler of the job that measures search relevance, and the stores due."""

    def __init__(self, services: Services) -> None:
        """Measure the search of the stores of `services`."""
        self._services = services
        self._accounts = AccountDirectory(services.database)

    def stores_to_measure_relevance(self) -> Sequence[StoreId]:
        """Return the stores whose night began, or whose search was changed."""
        self._accounts.refresh()
        services = self._services
        return stores_to_measure_relevance(
            services.database, self._accounts.all(), services.clock()
        )

    def measure_and_mail_alarm(self, job: Job, progress: JobProgress) -> None:
        """Measure a store's search in a child process, and mail an alarm."""
        store, began_ms = require_store_of_job(job, self._accounts), self._services.clock()
        data = self._services.settings.data
        run_store_command("measure-search", store, data, progress)
        mail_newest_search_alarm(self._services, store, began_ms)


def build_command_job_worker(services: Services) -> JobWorker:
    """Return the worker of command jobs, which handles one store at a time."""
    forecast_jobs, tuning_jobs = ForecastJobs(services), TuningJobHandler(services)
    relevance_jobs = RelevanceJobHandler(services)
    handlers: dict[str, JobHandler] = {
        "choose-constants": tuning_jobs.tune_and_enqueue_training,
        "forecast": forecast_jobs.track_stock_forecast_and_mail,
        "measure-search": relevance_jobs.measure_and_mail_alarm,
        "watch-stock": forecast_jobs.record_stock_outs,
    }
    tasks = (
        PeriodicJob(
            "choose-constants",
            every=timedelta(hours=1),
            stores=tuning_jobs.stores_to_tune,
        ),
        PeriodicJob(
            "forecast", every=timedelta(minutes=30), stores=forecast_jobs.stores_to_forecast
        ),
        PeriodicJob(
            "measure-search",
            every=timedelta(minutes=10),
            stores=relevance_jobs.stores_to_measure_relevance,
        ),
        PeriodicJob(
            "watch-stock",
            every=timedelta(hours=1),
            stores=forecast_jobs.stores_with_tracked_stock,
        ),
    )
    periodic_tasks = RecurringJobEnqueuer(
        services.database, services.queue, services.system_clock
    )
    return JobWorker(services.queue, handlers, JobSchedule(periodic_tasks, tasks))
