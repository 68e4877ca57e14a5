"""Feed editor: enters, fetches and removes a store's feed, and answers what waits."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from productrecs.core.errors import ProductRecsError
from productrecs.core.ids import StoreId
from productrecs.features.imports.scheduled_feeds.repository import ScheduledFeedRepository
from productrecs.features.imports.scheduled_feeds.scheduled_feed import (
    FETCH_JOB,
    INTERVALS,
    FeedSourceError,
    ScheduledFeed,
    parse_feed_url_and_header,
)
from productrecs.records.uploads.file_import import (
    IMPORT_JOB,
    FileImport,
    ImportStatus,
)
from productrecs.records.uploads.file_imports.repository import FileImportRepository
from productrecs.records.uploads.upload_folder import UploadFolder
from productrecs.storage.jobs.job_queue import JobQueue, NewJob
from productrecs.storage.sql.database import Database
from productrecs.tenancy.users.stored_secret_cipher import StoredSecretCipher


class NoScheduledFeedError(ProductRecsError):
    """The store has no scheduled feed."""


class NoImportableFeedFileError(ProductRecsError):
    """No file of the feed waits for a yes, or the one that waits cannot be imported."""


@dataclass(frozen=True, slots=True)
class ScheduledFeedForm:
    """What a merchant enters. An empty `header` keeps the stored one on the same host."""

    url: str
    header: str = ""
    every_minutes: int = 1440
    is_complete: bool = False
    drops_header: bool = False
    hour: int | None = None  # of the store's time zone; for a daily feed
    keeps_hour: bool = False  # whether the stored hour stays


@dataclass(frozen=True, slots=True)
class ScheduledFeedEditor:
    """Changes the feed of one store; `trusted` hosts may be private."""

    database: Database
    queue: JobQueue
    cipher: StoredSecretCipher
    uploads: UploadFolder
    trusted: Collection[str]
    store_id: StoreId

    def find_with_last_import(self) -> tuple[ScheduledFeed | None, FileImport | None]:
        """Return the store's feed and the import of its last file, where there are such."""
        with self.database.reading() as connection:
            repository = ScheduledFeedRepository(connection, self.store_id)
            return repository.find_with_last_import()

    def save_and_enqueue_fetch(self, form: ScheduledFeedForm, now_ms: int) -> None:
        """Store the feed, and fetch it at once.

        Raises:
            FeedSourceError: when what was entered is not valid.
        """
        url, header = parse_feed_url_and_header(form.url, form.header, self.trusted)
        if form.every_minutes not in INTERVALS:
            message = f"Choose how often: {', '.join(map(str, INTERVALS))} minutes."
            raise FeedSourceError(message)
        before, _ = self.find_with_last_import()
        stored_header = self.cipher.encrypt_if_keyed(header) if header else ""
        if before and not header and not form.drops_header and _is_same_host(before, url):
            stored_header = before.header
        hour = before.hour if form.keeps_hour and before else form.hour
        feed = ScheduledFeed(
            url,
            stored_header,
            form.every_minutes,
            form.is_complete,
            next_ms=now_ms,
            hour=hour if hour in range(24) else None,
        )
        if before is not None and before.url == url:
            feed = replace(feed, choices=before.choices)
        self._replace_feed_and_enqueue_fetch(feed)

    def enqueue_full_fetch(self, now_ms: int) -> None:
        """Fetch the feed again, also if its file has not changed.

        Raises:
            NoScheduledFeedError: when the store has no feed.
        """
        feed, _ = self.find_with_last_import()
        if feed is None:
            raise _no_feed_error()
        self._replace_feed_and_enqueue_fetch(
            replace(feed, next_ms=now_ms, etag=None, modified=None, digest=None),
            discards=False,
        )

    def remove_feed_and_its_file(self) -> None:
        """Remove the feed with its secrets; the catalog stays.

        Raises:
            NoScheduledFeedError: when the store has no feed.
        """
        feed, _ = self.find_with_last_import()
        if feed is None:
            raise _no_feed_error()
        self._replace_feed_and_enqueue_fetch(None)

    def enqueue_import_of_waiting_file(self) -> None:
        """Import the file that waits for a yes.

        Raises:
            NoImportableFeedFileError: when none waits, or it cannot be imported.
        """
        waiting = self._require_waiting_import()
        with self.database.transaction() as transaction:
            imports = FileImportRepository(transaction, self.store_id)
            if imports.change_status(
                waiting.import_id,
                (ImportStatus.CHECKED,),
                ImportStatus.QUEUED,
                progress=0.0,
            ):
                self.queue.enqueue(transaction, NewJob(self.store_id, IMPORT_JOB))

    def discard_waiting_file(self) -> None:
        """Discard the file that waits; the next one that differs is checked again.

        Raises:
            NoImportableFeedFileError: when none waits, or it cannot be imported.
        """
        waiting = self._require_waiting_import()
        with self.database.transaction() as transaction:
            FileImportRepository(transaction, self.store_id).delete_checked(
                waiting.import_id
            )
        self.uploads.remove(waiting.import_id)

    def _require_waiting_import(self) -> FileImport:
        _, last = self.find_with_last_import()
        if last is None or last.status is not ImportStatus.CHECKED:
            message = "no file of the feed waits for a yes"
            raise NoImportableFeedFileError(message)
        if problem := last.result.get("problem"):
            message = f"the file cannot be imported: {problem}"
            raise NoImportableFeedFileError(message)
        return last

    def _replace_feed_and_enqueue_fetch(
        self, feed: ScheduledFeed | None, *, discards: bool = True
    ) -> None:
        """Store the feed, or none; a file of the former one no longer waits."""
        _, last = self.find_with_last_import()
        is_discarded = False
        with self.database.transaction() as transaction:
            repository = ScheduledFeedRepository(transaction, self.store_id)
            if feed is None:
                repository.delete()
            else:
                repository.save(feed)
                self.queue.enqueue(transaction, NewJob(self.store_id, FETCH_JOB))
            if discards and last is not None:
                imports = FileImportRepository(transaction, self.store_id)
                is_discarded = imports.delete_checked(last.import_id)
        if is_discarded and last is not None:
            self.uploads.remove(last.import_id)


def _is_same_host(before: ScheduledFeed, url: str) -> bool:
    """Return whether a secret for the former address may be sent to the new one."""
    old, new = urlsplit(before.url), urlsplit(url)
    return (old.scheme, old.netloc.lower()) == (new.scheme, new.netloc.lower())


def _no_feed_error() -> NoScheduledFeedError:
    return NoScheduledFeedError("the store has no scheduled feed")
