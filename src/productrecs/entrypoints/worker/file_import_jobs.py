"""File import jobs: check and import the files that merchants send in the dashboard.

Checks have a worker of their own, so that a dry run does not wait for a long import.
"""

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

from productrecs.core.clock import DAY_MS, system_ms
from productrecs.core.errors import ProductRecsError, StorageError
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
from productrecs.records.file_imports.file_import import (
    CHECK_JOB,
    IMPORT_JOB,
    FileImport,
    ImportStatus,
)
from productrecs.records.file_imports.repository import (
    FileImportRepository,
    expire_imports,
    stores_in,
)
from productrecs.records.orders.uploads.upload_folder import UploadFolder
from productrecs.storage.job_queue import Job
from productrecs.storage.recurring_jobs import PeriodicTasks
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.accounts.store import Store

MAX_ATTEMPTS: Final = 5
"""So often a file is begun; then the file is at fault."""

KEEP_MS: Final = 7 * DAY_MS
"""How long a checked file waits for the merchant."""

_EXPIRED: Final = "Nobody started it within 7 days. The file was deleted: send it again."
_GIVEN_UP: Final = (
    f"The import was interrupted {MAX_ATTEMPTS} times; the service's log says why. Send "
    "the file again, or split it."
)
_GONE: Final = "The file is no longer in the data folder. Send it again."
_WAITING: Final = (ImportStatus.CHECKING,)
_STARTED: Final = (ImportStatus.QUEUED, ImportStatus.RUNNING)
_STEP: Final = 1.0  # seconds between two notes of the progress

OnShare: TypeAlias = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """The result of an import; `rejects` is a CSV of the rows that failed."""

    result: Mapping[str, Any] = field(default_factory=dict)
    rejects: str = ""


class FileImporter(Protocol):
    """Reads files as the command line does, which builds it."""

    def check(
        self, store: Store, one: FileImport, path: Path, on_share: OnShare
    ) -> Mapping[str, Any]:
        """Return what importing the file would do.

        Raises:
            ProductRecsError: when it cannot be read at all.
        """

    def run(
        self, store: Store, one: FileImport, path: Path, on_share: OnShare
    ) -> ImportedFile:
        """Import the file.

        Raises:
            ProductRecsError: when nothing of it can be imported.
        """


class FileImportJobs:
    """Handlers of the jobs about files of the dashboard."""

    def __init__(self, services: Services, importer: FileImporter) -> None:
        """Import for the stores of `services`."""
        self._services = services
        self._importer = importer
        self._accounts = AccountDirectory(services.database)
        self._reader = services.database.raw_reader()

    def stores_to_check(self) -> Sequence[StoreId]:
        """Return the stores that wait for a dry run."""
        return stores_in(self._services.database, *_WAITING)

    def stores_to_import(self) -> Sequence[StoreId]:
        """Return the stores that wait for an import."""
        return stores_in(self._services.database, *_STARTED)

    def check(self, job: Job, progress: JobProgress) -> None:
        """Do the dry runs of a store."""
        store = self._store(job)
        while one := self._next(store, _WAITING):
            share = self._noted(store, one, progress)
            try:
                preview = self._importer.check(store, one, self._path(one), share)
                self._end(store, one, ImportStatus.CHECKED, preview=preview)
            except (FileNotFoundError, ProductRecsError) as error:
                problem = {"problem": self._problem(store, one, error)}
                self._end(store, one, ImportStatus.CHECKED, preview=problem)

    def run(self, job: Job, progress: JobProgress) -> None:
        """Import what a store has started."""
        store = self._store(job)
        while one := self._next(store, _STARTED):
            share = self._noted(store, one, progress)
            try:
                done = self._importer.run(store, one, self._path(one), share)
            except (FileNotFoundError, ProductRecsError) as error:
                problem = {"problem": self._problem(store, one, error)}
                self._finish(store, one, ImportStatus.FAILED, problem)
            else:
                self._finish(store, one, ImportStatus.DONE, done.result, done.rejects)

    def expire(self, _job: Job, _progress: JobProgress) -> None:
        """End checked imports that nobody started; the sweep deletes their files."""
        before = self._services.clock() - KEEP_MS
        with self._services.database.transaction() as transaction:
            expire_imports(transaction, before, _EXPIRED)

    def _store(self, job: Job) -> Store:
        self._accounts.refresh(self._reader)
        store = self._accounts.by_id(job.store_id)
        if store is None:
            message = "the store was deleted"
            raise JobRefusedError(message)
        return store

    def _next(self, store: Store, statuses: Sequence[ImportStatus]) -> FileImport | None:
        """Return the next import, with this attempt counted."""
        while True:
            with self._services.database.transaction() as transaction:
                repository = FileImportRepository(transaction, store.store_id)
                one = repository.next_of(*statuses)
                if one is None:
                    return None
                if one.attempts < MAX_ATTEMPTS:
                    repository.begin_attempt(one.import_id)
                    if statuses is _STARTED:
                        running = ImportStatus.RUNNING
                        repository.move(one.import_id, statuses, running)
                    return one
            self._finish(store, one, ImportStatus.FAILED, {"problem": _GIVEN_UP})

    def _noted(self, store: Store, one: FileImport, progress: JobProgress) -> OnShare:
        """Return what notes the progress, and stops where the job has to."""
        last = time.monotonic()

        def note(share: float) -> None:
            nonlocal last
            progress.report(share)
            if time.monotonic() - last < _STEP:
                return
            last = time.monotonic()
            with self._services.database.transaction() as transaction:
                repository = FileImportRepository(transaction, store.store_id)
                repository.set_progress(one.import_id, min(share, 1.0))

        return note

    def _problem(self, store: Store, one: FileImport, error: Exception) -> str:
        """Return what is wrong with a file.

        Raises:
            Exception: an error that passes, so that the job is tried again; the attempt
                does not count.
        """
        if isinstance(error, FileNotFoundError):
            return _GONE
        if isinstance(error, StorageError | JobInterruptedError):
            with (
                contextlib.suppress(StorageError),  # it counts, then: there are some more
                self._services.database.transaction() as transaction,
            ):
                repository = FileImportRepository(transaction, store.store_id)
                repository.cancel_attempt(one.import_id)
            raise error
        text = str(error)
        return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith(".") else ".")

    def _path(self, one: FileImport) -> Path:
        return self._services.uploads / one.import_id

    def _end(
        self, store: Store, one: FileImport, status: ImportStatus, **values: object
    ) -> None:
        before = (*_WAITING, *_STARTED)
        with self._services.database.transaction() as transaction:
            repository = FileImportRepository(transaction, store.store_id)
            repository.move(one.import_id, before, status, attempts=0, **values)

    def _finish(
        self,
        store: Store,
        one: FileImport,
        status: ImportStatus,
        result: Mapping[str, Any],
        rejects: str = "",
    ) -> None:
        self._end(
            store,
            one,
            status,
            result=result,
            rejects=rejects,
            preview={},
            progress=1.0,
            ended_at=self._services.clock(),
        )
        UploadFolder(self._services.uploads).remove(one.import_id)


def build_file_checker(services: Services, importer: FileImporter) -> JobWorker:
    """Return the worker that does nothing but dry runs."""
    files = FileImportJobs(services, importer)
    duty = PeriodicJob(CHECK_JOB, every=timedelta(seconds=30), stores=files.stores_to_check)
    return JobWorker(services.queue, {CHECK_JOB: files.check}, _schedule(services, [duty]))


def build_file_importer(services: Services, importer: FileImporter) -> JobWorker:
    """Return the worker that imports files which merchants have started."""
    files = FileImportJobs(services, importer)
    handlers: dict[str, JobHandler] = {
        IMPORT_JOB: files.run,
        "expire-files": files.expire,
    }
    duties = [
        PeriodicJob(IMPORT_JOB, every=timedelta(seconds=30), stores=files.stores_to_import),
        PeriodicJob("expire-files", every=timedelta(hours=6)),
    ]
    return JobWorker(services.queue, handlers, _schedule(services, duties))


def _schedule(services: Services, duties: Sequence[PeriodicJob]) -> JobSchedule:
    turns = PeriodicTasks(services.database, services.queue, system_ms)
    return JobSchedule(turns, duties)
