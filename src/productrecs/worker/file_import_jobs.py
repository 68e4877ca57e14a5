"""File import jobs: check and import files of the dashboard, and uploads of orders.

Checks have their own worker, so that a dry run does not wait for a long import. Uploads are
imported in their order, in their own process: a long import neither delays training nor
competes with it for Python's global interpreter lock, and its memory is separate.
"""

import contextlib
import logging
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from productrecs.core.clock import DAY_MS
from productrecs.core.errors import ProductRecsError, StorageError
from productrecs.core.ids import StoreId
from productrecs.features.imports.dashboard_file_import import (
    DashboardFileImporter,
    OnShare,
)
from productrecs.features.imports.scheduled_feeds.repository import ScheduledFeedRepository
from productrecs.records.uploads.file_import import (
    CHECK_JOB,
    IMPORT_JOB,
    FileImport,
    ImportStatus,
)
from productrecs.records.uploads.file_imports.repository import (
    FileImportRepository,
    fail_old_imports,
    files_of_open_imports,
    stores_with_imports_in,
)
from productrecs.records.uploads.order_upload_import import OrderUploadImporter
from productrecs.records.uploads.order_uploads.repository import (
    JOB,
    files_needed,
    stores_with_uploads,
)
from productrecs.records.uploads.undo.repository import expire_changes
from productrecs.records.uploads.undo.undo_import import complete_undo_and_store_outcome
from productrecs.services import Services, claim_or_check_shared_objects
from productrecs.storage.jobs.job_queue import Job, NewJob
from productrecs.storage.jobs.recurring_jobs import RecurringJobEnqueuer
from productrecs.storage.sql.sequence_and_item_numbers import (
    ItemNumberCache,
    StoreLogTransaction,
)
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.accounts.store import Store
from productrecs.worker.alert_mails import mail_feed_alarm
from productrecs.worker.job_schedule import JobSchedule, PeriodicJob
from productrecs.worker.job_worker import (
    JobHandler,
    JobInterruptedError,
    JobProgress,
    JobWorker,
    require_store_of_job,
)

MAX_ATTEMPTS: Final = 5
"""The most attempts at a file; after that the import fails."""

SLICE_SECONDS: Final = 20.0
"""The time slice of a store's import while another store waits."""

RETENTION_MS: Final = 7 * DAY_MS
"""How long a checked file waits for the merchant."""

UNDO_MS: Final = 400 * DAY_MS
"""How long an import can be undone, as long as the audit log has its line."""

_EXPIRED: Final = "Nobody started it within 7 days. The file was deleted: send it again."
_KILLED: Final = "The command was interrupted."
_INTERRUPTED_MESSAGE: Final = (
    f"The import was interrupted {MAX_ATTEMPTS} times; the service's log says why. Send "
    "the file again, or split it."
)
_MISSING_MESSAGE: Final = "The file is no longer in the data folder. Send it again."
_WAITING: Final = (ImportStatus.CHECKING,)
_STARTED: Final = (ImportStatus.QUEUED, ImportStatus.RUNNING, ImportStatus.UNDOING)
_STEP: Final = 1.0  # seconds between two writes of the progress


class DashboardFileJobs:
    """The handlers of the jobs for the dashboard's files."""

    def __init__(
        self,
        services: Services,
        importer: DashboardFileImporter,
        slice_seconds: float = SLICE_SECONDS,
    ) -> None:
        """Import for the stores of `services`; if others wait, each for `slice_seconds`."""
        self._slice_seconds = slice_seconds
        self._services = services
        self._importer = importer
        self._accounts = AccountDirectory(services.database)

    def stores_to_check(self) -> Sequence[StoreId]:
        """Return the stores that wait for a dry run."""
        return stores_with_imports_in(self._services.database, *_WAITING)

    def stores_to_import(self) -> Sequence[StoreId]:
        """Return the stores that wait for an import."""
        return stores_with_imports_in(self._services.database, *_STARTED)

    def check_waiting_files(self, job: Job, progress: JobProgress) -> None:
        """Do the dry runs of a store."""
        store = require_store_of_job(job, self._accounts)
        while file_import := self._fail_exhausted_and_begin_next_attempt(store, _WAITING):
            share = self._progress_and_time_slice_callback(
                store, file_import, progress, job
            )
            erasures = self._erasure_count(store)
            path = self._fetch_upload_path(file_import)
            try:
                file_import, preview = self._importer.recall_choices_and_dry_run(
                    store, file_import, path, share
                )
            except (FileNotFoundError, ProductRecsError) as error:
                preview = {
                    "problem": self._problem_text_or_raise(store, file_import, error)
                }
            self._store_check_result_or_recheck(store, file_import, preview, erasures)
            self._yield_to_waiting_store(job)

    def import_or_undo_files(self, job: Job, progress: JobProgress) -> None:
        """Import the files that a store has started."""
        store = require_store_of_job(job, self._accounts)
        while file_import := self._fail_exhausted_and_begin_next_attempt(store, _STARTED):
            if file_import.status is ImportStatus.UNDOING:
                database, clock = self._services.database, self._services.clock
                complete_undo_and_store_outcome(
                    database, store.store_id, file_import, clock
                )
                self._yield_to_waiting_store(job)
                continue
            on_share = self._progress_and_time_slice_callback(
                store, file_import, progress, job
            )
            try:
                outcome = self._importer.import_file(
                    store, file_import, self._fetch_upload_path(file_import), on_share
                )
            except (FileNotFoundError, ProductRecsError) as error:
                problem = {
                    "problem": self._problem_text_or_raise(store, file_import, error)
                }
                self._finish_and_remove_file(
                    store, file_import, ImportStatus.FAILED, problem
                )
                self._mail_feed_problem(store, file_import, problem["problem"])
            else:
                self._finish_and_remove_file(
                    store, file_import, ImportStatus.DONE, outcome.result, outcome.rejects
                )
            self._yield_to_waiting_store(job)

    def expire_imports_and_changes(self, _job: Job, _progress: JobProgress) -> None:
        """Expire checked imports that were not started; the sweep deletes their files.

        A command that was killed has not said that it ended.
        """
        now_ms = self._services.clock()
        with self._services.database.transaction() as transaction:
            fail_old_imports(
                transaction, ImportStatus.CHECKED, now_ms - RETENTION_MS, _EXPIRED
            )
            fail_old_imports(transaction, ImportStatus.COMMAND, now_ms - DAY_MS, _KILLED)
            expire_changes(transaction, now_ms - UNDO_MS)

    def _erasure_count(self, store: Store) -> int:
        """Return a number that grows with each erasure of the store."""
        with self._services.database.transaction(synced=False) as transaction:
            log = StoreLogTransaction(self._services.database, transaction, store.store_id)
            log.take_seqs(0)
            return log.erasures

    def _store_check_result_or_recheck(
        self,
        store: Store,
        file_import: FileImport,
        preview: Mapping[str, Any],
        erasures: int,
    ) -> None:
        """Offer the file to the merchant, or check it again after an erasure meanwhile.

        A scheduled feed starts by itself, unless it has a problem or changes too much.
        """
        result = {name: preview[name] for name in ("problem",) if name in preview}
        feed = self._importer.feed_if_its_newest_file(store, file_import)
        if feed and preview.get("diff", {}).get("brake"):
            result["brake"] = preview["diff"]["brake"]
        with self._services.database.transaction() as transaction:
            log = StoreLogTransaction(self._services.database, transaction, store.store_id)
            log.take_seqs(0)  # locks the head: an erasure comes before or after
            is_valid = log.erasures == erasures
            status = ImportStatus.CHECKED if is_valid else file_import.status
            if feed and is_valid and not result:
                status = ImportStatus.QUEUED
                self._enqueue_feed_import_and_keep_choices(transaction, store, file_import)
            has_errors = {"has_errors": True} if preview.get("errors") else {}
            is_changed = FileImportRepository(transaction, store.store_id).change_status(
                file_import.import_id,
                _WAITING,
                status,
                attempts=0,
                choices=file_import.choices,
                preview=preview,
                result=result | has_errors,  # for the history, which has no preview
            )
        if is_changed and status is ImportStatus.CHECKED:
            self._mail_feed_problem(store, file_import, " ".join(result.values()))

    def _enqueue_feed_import_and_keep_choices(
        self, transaction: Any, store: Store, file_import: FileImport
    ) -> None:
        """Enqueue the import; the next file of the feed is read like this one."""
        self._services.queue.enqueue(transaction, NewJob(store.store_id, IMPORT_JOB))
        feeds = ScheduledFeedRepository(transaction, store.store_id)
        feeds.set_choices(file_import.import_id, file_import.choices)

    def _mail_feed_problem(
        self, store: Store, file_import: FileImport, problem: str
    ) -> None:
        if problem and self._importer.feed_if_its_newest_file(store, file_import):
            title = "your product feed waits for you"
            mail_feed_alarm(self._services, store, title, problem)

    def _fail_exhausted_and_begin_next_attempt(
        self, store: Store, statuses: Sequence[ImportStatus]
    ) -> FileImport | None:
        """Return the next import, and count this attempt."""
        while True:
            with self._services.database.transaction() as transaction:
                repository = FileImportRepository(transaction, store.store_id)
                file_import = repository.oldest_in_status(*statuses)
                if file_import is None:
                    return None
                if file_import.attempts < MAX_ATTEMPTS:
                    repository.begin_attempt(file_import.import_id)
                    if file_import.status is ImportStatus.QUEUED:
                        running = ImportStatus.RUNNING
                        repository.change_status(file_import.import_id, statuses, running)
                    return file_import
            self._finish_and_remove_file(
                store, file_import, ImportStatus.FAILED, {"problem": _INTERRUPTED_MESSAGE}
            )

    def _progress_and_time_slice_callback(
        self, store: Store, file_import: FileImport, progress: JobProgress, job: Job
    ) -> OnShare:
        """Return a callback that records the progress, and interrupts the job if needed.

        An import also stops when its time slice is over and another store waits. The slice
        starts at the point where the previous attempt stopped, so every attempt advances.
        """
        saved_at = checked_at = time.monotonic()
        began: float | None = None
        progress_share = max(
            file_import.progress, self._importer.share_before_storing(file_import)
        )

        def report_share_or_yield(share: float) -> None:
            nonlocal saved_at, checked_at, began
            progress.report_or_interrupt(share)
            now = time.monotonic()
            is_over = (
                job.kind == IMPORT_JOB
                and share > progress_share
                and now - (began := began or now) >= self._slice_seconds
                and now - checked_at >= min(_STEP, self._slice_seconds)
            )
            if now - saved_at >= _STEP or is_over:
                saved_at = now
                with self._services.database.transaction() as transaction:
                    repository = FileImportRepository(transaction, store.store_id)
                    repository.set_progress(
                        file_import.import_id, min(max(file_import.progress, share), 1.0)
                    )
            if is_over:
                checked_at = now
                self._yield_to_waiting_store(job)

        return report_share_or_yield

    def _yield_to_waiting_store(self, job: Job) -> None:
        """Yield to another store that waits for the same kind of job.

        Raises:
            JobInterruptedError: when one waits; the queue then takes the longest due.
        """
        if self._services.queue.has_due_job([job.kind]):
            message = "another store's turn"
            raise JobInterruptedError(message)

    def _problem_text_or_raise(
        self, store: Store, file_import: FileImport, error: Exception
    ) -> str:
        """Return the problem of a file as text.

        Raises:
            Exception: a transient error, so that the job is retried; the attempt
                does not count.
        """
        if isinstance(error, FileNotFoundError):
            return _MISSING_MESSAGE
        if isinstance(error, StorageError | JobInterruptedError):
            with (
                contextlib.suppress(StorageError),  # then the attempt counts
                self._services.database.transaction() as transaction,
            ):
                repository = FileImportRepository(transaction, store.store_id)
                repository.cancel_attempt(file_import.import_id)
            raise error
        text = str(error)
        if not text.startswith(file_import.file_name):
            text = f"{text[:1].upper()}{text[1:]}"
        return text + ("" if text.endswith(".") else ".")

    def _fetch_upload_path(self, file_import: FileImport) -> Path:
        return self._services.upload_folder.fetch_local_path(file_import.import_id)

    def _finish_and_remove_file(
        self,
        store: Store,
        file_import: FileImport,
        status: ImportStatus,
        result: Mapping[str, Any],
        rejects: str = "",
    ) -> None:
        with self._services.database.transaction() as transaction:
            FileImportRepository(transaction, store.store_id).change_status(
                file_import.import_id,
                (*_WAITING, *_STARTED),
                status,
                attempts=0,
                result=result,
                rejects=rejects,
                preview={},
                progress=1.0,
                ended_at=self._services.clock(),
            )
        self._services.upload_folder.remove(file_import.import_id)


def build_file_check_worker(
    services: Services, importer: DashboardFileImporter
) -> JobWorker:
    """Return the worker of dry runs."""
    files = DashboardFileJobs(services, importer)
    task = PeriodicJob(CHECK_JOB, every=timedelta(seconds=30), stores=files.stores_to_check)
    return JobWorker(
        services.queue,
        {CHECK_JOB: files.check_waiting_files},
        _build_schedule(services, [task]),
    )


def build_file_import_worker(
    services: Services,
    importer: DashboardFileImporter,
    slice_seconds: float = SLICE_SECONDS,
) -> JobWorker:
    """Return the worker that imports the files that merchants have started."""
    files = DashboardFileJobs(services, importer, slice_seconds)
    handlers: dict[str, JobHandler] = {
        IMPORT_JOB: files.import_or_undo_files,
        "expire-files": files.expire_imports_and_changes,
    }
    tasks = [
        PeriodicJob(IMPORT_JOB, every=timedelta(seconds=30), stores=files.stores_to_import),
        PeriodicJob("expire-files", every=timedelta(hours=6)),
    ]
    return JobWorker(services.queue, handlers, _build_schedule(services, tasks))


def _build_schedule(services: Services, tasks: Sequence[PeriodicJob]) -> JobSchedule:
    periodic_tasks = RecurringJobEnqueuer(
        services.database, services.queue, services.system_clock
    )
    return JobSchedule(periodic_tasks, tasks)


_log = logging.getLogger(__name__)

"""The time slice after which a store's import yields to another store's."""

_MAX_KNOWN_NUMBERS: Final = 400_000  # about 60 MB; others are read from the database


class OrderUploadJobs:
    """The handlers of the upload jobs."""

    def __init__(self, services: Services) -> None:
        """Import for the stores of `services`."""
        self._services = services
        self._folder = services.upload_folder
        self._numbers = ItemNumberCache(_MAX_KNOWN_NUMBERS)
        self._accounts = AccountDirectory(services.database)

    def stores_to_import(self) -> Sequence[StoreId]:
        """Return the stores that wait for an import, in case their job was lost."""
        return stores_with_uploads(self._services.database)

    def import_order_uploads(self, job: Job, progress: JobProgress) -> None:
        """Import the store's uploads; yield to other stores after a time slice."""
        store = require_store_of_job(job, self._accounts)
        time_slice = _TimeSlice(self._services, progress)
        services = self._services
        upload_import = OrderUploadImporter(
            services.database,
            self._numbers,
            self._folder,
            store.store_id,
            store.settings.zone,
            services.clock,
        )
        while upload_import.run_next(time_slice.report_share_or_yield):
            time_slice.start_next_file_or_yield()
            _log.info("upload imported", extra={"store": job.store_id})

    def sweep_upload_folder(self, _job: Job, _progress: JobProgress) -> None:
        """Delete orphaned files of disconnected clients and crashed processes."""
        claim_or_check_shared_objects(self._services)
        with self._services.database.reading() as connection:
            needed = files_needed(connection) | files_of_open_imports(connection)
        count = self._folder.delete_unneeded_files(needed)
        if count:
            _log.info("stale uploads deleted", extra={"files": count})


def build_order_upload_worker(services: Services) -> JobWorker:
    """Return the worker of upload jobs."""
    uploads = OrderUploadJobs(services)
    handlers: dict[str, JobHandler] = {
        JOB: uploads.import_order_uploads,
        "sweep-uploads": uploads.sweep_upload_folder,
    }
    tasks = (
        PeriodicJob(JOB, every=timedelta(seconds=30), stores=uploads.stores_to_import),
        PeriodicJob("sweep-uploads", every=timedelta(hours=1)),
    )
    periodic_tasks = RecurringJobEnqueuer(
        services.database, services.queue, services.system_clock
    )
    return JobWorker(services.queue, handlers, JobSchedule(periodic_tasks, tasks))


class _TimeSlice:
    """The time slice of one store's job."""

    def __init__(self, services: Services, progress: JobProgress) -> None:
        self._queue = services.queue
        self._progress = progress
        self._began = self._started_file_at = self._moved = time.monotonic()
        self._allowed = SLICE_SECONDS

    def report_share_or_yield(self, share: float, has_moved: bool) -> None:  # noqa: FBT001 - a callback
        """Report how far the file is read; interrupt the job if its slice is over."""
        self._progress.report_or_interrupt(share)
        now = time.monotonic()
        if not has_moved:
            # A resumed import first skips stored rows: allow at least as much time again.
            self._moved = now
            self._allowed = max(SLICE_SECONDS, 2 * (now - self._started_file_at))
        elif now - self._moved > self._allowed:
            self._moved = now
            self._check_slice()

    def start_next_file_or_yield(self) -> None:
        """Start the next file; interrupt the job if its slice is over."""
        self._progress.report_or_interrupt(1.0)
        self._started_file_at = time.monotonic()
        if self._started_file_at - self._began > SLICE_SECONDS:
            self._check_slice()

    def _check_slice(self) -> None:
        if self._queue.has_due_job({JOB}):
            message = "an upload of another store is waiting"
            raise JobInterruptedError(message)
