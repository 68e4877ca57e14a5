"""Feed jobs: fetch the scheduled feeds that are due, and enqueue the check of new files."""

import logging
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from productrecs.core.ids import StoreId
from productrecs.features.imports.scheduled_feeds.feed_download import (
    DownloadedFeed,
    FeedDownloader,
    FeedRequest,
    FeedUnavailableError,
)
from productrecs.features.imports.scheduled_feeds.repository import (
    ScheduledFeedRepository,
    stores_with_due_feed,
)
from productrecs.features.imports.scheduled_feeds.scheduled_feed import (
    FETCH_JOB,
    SENT_BY,
    ScheduledFeed,
    ScheduledFeedFetch,
    ScheduledFetchOutcome,
    file_name_of,
)
from productrecs.records.uploads.file_import import (
    CHECK_JOB,
    FileImport,
    ImportStatus,
    NewFileImport,
    TooManyImportsError,
)
from productrecs.records.uploads.file_imports.repository import FileImportRepository
from productrecs.records.uploads.upload_folder import new_upload_id
from productrecs.services import Services
from productrecs.storage.jobs.job_queue import Job, NewJob
from productrecs.storage.jobs.recurring_jobs import RecurringJobEnqueuer
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.users.stored_secret_cipher import UnreadableSecretError
from productrecs.worker.alert_mails import mail_feed_alarm
from productrecs.worker.job_schedule import JobSchedule, PeriodicJob
from productrecs.worker.job_worker import (
    JobProgress,
    JobWorker,
    require_store_of_job,
)

ALARM_FAILURES: Final = 3
"""After so many failed fetches in a row, the team gets an e-mail."""

_log = logging.getLogger(__name__)
_UNREADABLE: Final = "its password or header cannot be decrypted here; enter it again"
_EMPTY: Final = "the file is empty"


class FeedFetchHandler:
    """The handler of the fetch job."""

    def __init__(self, services: Services, downloader: FeedDownloader) -> None:
        """Fetch for the stores of `services`."""
        self._services = services
        self._downloader = downloader
        self._accounts = AccountDirectory(services.database)

    def stores_to_fetch(self) -> Sequence[StoreId]:
        """Return the stores whose feed is due."""
        return stores_with_due_feed(self._services.database, self._services.system_clock())

    def fetch_feed_if_due(self, job: Job, progress: JobProgress) -> None:
        """Fetch a store's feed if it is due, and not while its last file is imported."""
        store, services = require_store_of_job(job, self._accounts), self._services
        with services.database.reading() as connection:
            repository = ScheduledFeedRepository(connection, store.store_id)
            feed, last = repository.find_with_last_import()
        if feed is None or feed.next_ms > services.system_clock():
            return
        if last is not None and last.is_in_progress:
            return
        if last is not None and last.status is ImportStatus.FAILED:
            feed = replace(feed, etag=None, modified=None, digest=None)
        began = time.monotonic()
        fetch = self._download_and_enqueue_check(store, feed, last, progress)
        if fetch is not None:
            facts = {
                "store": store.store_id,
                "outcome": fetch.outcome.value,
                "bytes": fetch.size,
                "duration_ms": round((time.monotonic() - began) * 1000),
            }
            _log.info("feed fetched", extra=facts)

    def _download_and_enqueue_check(
        self,
        store: Store,
        feed: ScheduledFeed,
        last: FileImport | None,
        progress: JobProgress,
    ) -> ScheduledFeedFetch | None:
        """Return the fetch; None if the merchant, or another worker, was faster."""
        folder, upload_id = self._services.upload_folder, new_upload_id()
        is_kept = False
        try:
            download = self._download_to_upload_folder(store, feed, upload_id, progress)
            if download is None or download.digest == feed.digest:
                return self._record_unchanged(store, feed, download)
            folder.move_to_object_store(upload_id)
            fetch = self._record_file_and_enqueue_check(
                store, feed, last, upload_id, download
            )
            is_kept = fetch is not None
        except (FeedUnavailableError, TooManyImportsError) as error:
            fetch = self._record_failure_and_mail_alarm(store, feed, str(error))
        finally:
            if not is_kept:
                folder.remove(upload_id)
        return fetch

    def _download_to_upload_folder(
        self, store: Store, feed: ScheduledFeed, upload_id: str, progress: JobProgress
    ) -> DownloadedFeed | None:
        services = self._services
        try:
            header = services.cipher.decrypt(feed.header)
        except UnreadableSecretError as error:
            raise FeedUnavailableError(_UNREADABLE) from error
        request = FeedRequest(feed.url, header, feed.etag, feed.modified)
        size = self._downloader.limits.max_bytes
        with (
            services.upload_folder.reserve_slot(store.store_id, size),
            (services.uploads / upload_id).open("xb") as file,
        ):
            # The size is not known: reporting only stops the job with the worker.
            found = self._downloader.download(
                request, file, lambda _size: progress.report_or_interrupt(0.0)
            )
            file.flush()
            os.fsync(file.fileno())
        if found is not None and not found.size:
            raise FeedUnavailableError(_EMPTY)
        return found

    def _record_unchanged(
        self, store: Store, feed: ScheduledFeed, download: DownloadedFeed | None
    ) -> ScheduledFeedFetch | None:
        fetch = ScheduledFeedFetch(self._services.clock(), ScheduledFetchOutcome.UNCHANGED)
        after = replace(feed, failures=0)
        if download is not None:
            after = replace(after, etag=download.etag, modified=download.modified)
            fetch = replace(fetch, size=download.size)
        return self._record_fetch_unless_changed(store, feed, after, fetch)

    def _record_failure_and_mail_alarm(
        self, store: Store, feed: ScheduledFeed, problem: str
    ) -> ScheduledFeedFetch | None:
        failures = feed.failures + 1
        fetch = ScheduledFeedFetch(
            self._services.clock(), ScheduledFetchOutcome.FAILED, problem
        )
        found = self._record_fetch_unless_changed(
            store, feed, replace(feed, failures=failures), fetch
        )
        if found is not None and failures == ALARM_FAILURES:
            text = (
                f"The last {failures} fetches of your product feed failed: {problem}. "
                "Your catalog stays as it is."
            )
            mail_feed_alarm(self._services, store, "your product feed fails", text)
        return found

    def _record_file_and_enqueue_check(
        self,
        store: Store,
        feed: ScheduledFeed,
        last: FileImport | None,
        upload_id: str,
        download: DownloadedFeed,
    ) -> ScheduledFeedFetch | None:
        """Enqueue the check of a new file; it replaces one that waits for the merchant.

        Raises:
            TooManyImportsError: when too many files of the store wait.
        """
        services, store_id = self._services, store.store_id
        now_ms = services.clock()
        new_import = NewFileImport(
            import_id=upload_id,
            file_name=file_name_of(feed.url),
            size=download.size,
            sent_by=SENT_BY,
            submitted_ms=now_ms,
            choices=feed.choices,
        )
        after = replace(
            self._with_next_fetch(store, replace(feed, failures=0)),
            etag=download.etag,
            modified=download.modified,
            digest=download.digest,
            import_id=upload_id,
        )
        fetch = ScheduledFeedFetch(
            now_ms, ScheduledFetchOutcome.RECEIVED, size=download.size, import_id=upload_id
        )
        with services.database.transaction() as transaction:
            repository = ScheduledFeedRepository(transaction, store_id)
            if not repository.record_fetch_unless_changed(feed, after, fetch):
                return None
            imports = FileImportRepository(transaction, store_id)
            is_replaced = last is not None and imports.delete_checked(last.import_id)
            imports.add(new_import)
            services.queue.enqueue(transaction, NewJob(store_id, CHECK_JOB))
        if last is not None and is_replaced:
            services.upload_folder.remove(last.import_id)
        return fetch

    def _record_fetch_unless_changed(
        self,
        store: Store,
        feed: ScheduledFeed,
        after: ScheduledFeed,
        fetch: ScheduledFeedFetch,
    ) -> ScheduledFeedFetch | None:
        with self._services.database.transaction() as transaction:
            repository = ScheduledFeedRepository(transaction, store.store_id)
            is_first = repository.record_fetch_unless_changed(
                feed, self._with_next_fetch(store, after), fetch
            )
        return fetch if is_first else None

    def _with_next_fetch(self, store: Store, feed: ScheduledFeed) -> ScheduledFeed:
        """Return the feed with the time of its next fetch."""
        now_ms, zone = self._services.system_clock(), store.settings.zone
        return replace(feed, next_ms=feed.next_fetch_ms(now_ms, zone))


def build_feed_worker(
    services: Services, downloader: FeedDownloader | None = None
) -> JobWorker:
    """Return the worker that fetches scheduled feeds."""
    feeds = FeedFetchHandler(
        services, downloader or FeedDownloader(services.settings.feed_hosts)
    )
    task = PeriodicJob(FETCH_JOB, every=timedelta(minutes=1), stores=feeds.stores_to_fetch)
    periodic_tasks = RecurringJobEnqueuer(
        services.database, services.queue, services.system_clock
    )
    return JobWorker(
        services.queue,
        {FETCH_JOB: feeds.fetch_feed_if_due},
        JobSchedule(periodic_tasks, [task]),
    )
