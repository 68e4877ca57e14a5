"""Upload jobs: import the files that a store has uploaded, in their order.

They run in their own process: a long import neither delays training nor competes with it
for Python's global interpreter lock, and its memory is separate.
"""

import logging
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from productrecs.core.clock import system_ms
from productrecs.core.ids import StoreId
from productrecs.entrypoints.services import Services
from productrecs.entrypoints.worker.job_worker import (
    JobHandler,
    JobInterruptedError,
    JobProgress,
    JobRefusedError,
    JobSchedule,
    JobWorker,
    PeriodicJob,
)
from productrecs.records.file_imports.repository import files_of_open_imports
from productrecs.records.orders.uploads.import_upload import UploadImport
from productrecs.records.orders.uploads.repository import (
    JOB,
    files_needed,
    stores_with_uploads,
)
from productrecs.records.orders.uploads.upload import UploadFolder
from productrecs.storage.job_queue import Job
from productrecs.storage.recurring_jobs import PeriodicTasks
from productrecs.storage.store_log import ItemNumbers
from productrecs.tenancy.accounts.account_directory import AccountDirectory

_log = logging.getLogger(__name__)

SLICE_SECONDS: Final = 20.0
"""The time slice after which a store's import yields to another store's."""

_MAX_KNOWN_NUMBERS: Final = 400_000  # about 60 MB; others are read from the database


class UploadJobs:
    """The handlers of the upload jobs."""

    def __init__(self, services: Services) -> None:
        """Import for the stores of `services`."""
        self._services = services
        self._folder = UploadFolder(services.uploads)
        self._numbers = ItemNumbers(_MAX_KNOWN_NUMBERS)
        self._accounts = AccountDirectory(services.database)
        self._reader = services.database.raw_reader()

    def stores_to_import(self) -> Sequence[StoreId]:
        """Return the stores that wait for an import, in case their job was lost."""
        return stores_with_uploads(self._services.database)

    def import_uploads(self, job: Job, progress: JobProgress) -> None:
        """Import the store's uploads; yield to other stores after a time slice."""
        self._accounts.refresh(self._reader)
        store = self._accounts.by_id(job.store_id)
        if store is None:
            message = "the store was deleted"
            raise JobRefusedError(message)
        time_slice = _TimeSlice(self._services, progress)
        services = self._services
        importing = UploadImport(
            services.database,
            self._numbers,
            self._folder,
            store.store_id,
            store.settings.zone,
        )
        while importing.run_next(time_slice.on_share):
            time_slice.end_of_file()
            _log.info("upload imported", extra={"store": job.store_id})

    def sweep(self, _job: Job, _progress: JobProgress) -> None:
        """Delete orphaned files of disconnected clients and crashed processes."""
        with self._services.database.reading() as connection:
            needed = files_needed(connection) | files_of_open_imports(connection)
        count = self._folder.sweep(needed)
        if count:
            _log.info("stale uploads deleted", extra={"files": count})


def build_importer(services: Services) -> JobWorker:
    """Return the worker of upload jobs."""
    uploads = UploadJobs(services)
    handlers: dict[str, JobHandler] = {
        JOB: uploads.import_uploads,
        "sweep-uploads": uploads.sweep,
    }
    tasks = (
        PeriodicJob(JOB, every=timedelta(seconds=30), stores=uploads.stores_to_import),
        PeriodicJob("sweep-uploads", every=timedelta(hours=1)),
    )
    periodic_tasks = PeriodicTasks(services.database, services.queue, system_ms)
    return JobWorker(services.queue, handlers, JobSchedule(periodic_tasks, tasks))


class _TimeSlice:
    """The time slice of one store's job."""

    def __init__(self, services: Services, progress: JobProgress) -> None:
        self._queue = services.queue
        self._progress = progress
        self._began = self._started_file_at = self._moved = time.monotonic()
        self._allowed = SLICE_SECONDS

    def on_share(self, share: float, has_moved: bool) -> None:  # noqa: FBT001 - a callback
        """Report how far the file is read; interrupt the job if its slice is over."""
        self._progress.report(share)
        now = time.monotonic()
        if not has_moved:
            # A resumed import first skips stored rows: allow at least as much time again.
            self._moved = now
            self._allowed = max(SLICE_SECONDS, 2 * (now - self._started_file_at))
        elif now - self._moved > self._allowed:
            self._moved = now
            self._check_slice()

    def end_of_file(self) -> None:
        """Start the next file; interrupt the job if its slice is over."""
        self._progress.report(1.0)
        self._started_file_at = time.monotonic()
        if self._started_file_at - self._began > SLICE_SECONDS:
            self._check_slice()

    def _check_slice(self) -> None:
        if self._queue.is_due({JOB}):
            message = "an upload of another store is waiting"
            raise JobInterruptedError(message)
