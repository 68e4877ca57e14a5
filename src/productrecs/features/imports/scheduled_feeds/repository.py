"""Scheduled feed repository: a store's feed, and the log of its fetches."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from productrecs.core.clock import DAY_MS
from productrecs.core.ids import StoreId
from productrecs.features.imports.scheduled_feeds.scheduled_feed import (
    LOG_DAYS,
    ScheduledFeed,
    ScheduledFeedFetch,
    ScheduledFetchOutcome,
)
from productrecs.records.uploads.file_import import FileImport, ImportOptions
from productrecs.records.uploads.file_imports.repository import FileImportRepository
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import scheduled_feed_fetches, scheduled_feeds

if TYPE_CHECKING:
    from productrecs.storage.sql.database import Database

_FEED = scheduled_feeds.c
_LOG = scheduled_feed_fetches.c


class ScheduledFeedRepository(StoreScopedRepository):
    """One store's feed, inside one transaction; never commits."""

    def find(self) -> ScheduledFeed | None:
        """Return the store's feed, if it has one."""
        query = sa.select(scheduled_feeds).where(_FEED.store_id == self._store_id)
        row = self._connection.execute(query).mappings().first()
        if row is None:
            return None
        return ScheduledFeed(
            url=row["url"],
            header=row["header"],
            every_minutes=row["every_minutes"],
            is_complete=row["is_complete"],
            next_ms=row["next_at"],
            choices=ImportOptions(**json.loads(row["choices"])),
            etag=row["etag"],
            modified=row["modified"],
            digest=row["digest"],
            import_id=row["import_id"],
            failures=row["failures"],
            hour=row["hour"],
        )

    def find_with_last_import(self) -> tuple[ScheduledFeed | None, FileImport | None]:
        """Return the store's feed and the import of its last file, where there are such."""
        feed = self.find()
        if feed is None or feed.import_id is None:
            return feed, None
        imports = FileImportRepository(self._connection, self._store_id)
        return feed, imports.find(feed.import_id)

    def save(self, feed: ScheduledFeed) -> None:
        """Store the feed in place of the former one."""
        self._put_row(scheduled_feeds, **_feed_columns(feed))

    def delete(self) -> None:
        """Delete the feed; its log stays for its 30 days."""
        self._delete_rows(scheduled_feeds)

    def set_choices(self, import_id: str, choices: ImportOptions) -> None:
        """Store how the merchant has said that files of the feed are read."""
        self._update_rows(
            scheduled_feeds,
            _FEED.import_id == import_id,
            choices=json.dumps(asdict(choices)),
        )

    def record_fetch_unless_changed(
        self, before: ScheduledFeed, after: ScheduledFeed, fetch: ScheduledFeedFetch
    ) -> bool:
        """Store the feed after a fetch, and log it.

        False, without changes, if the merchant has changed the feed, or another worker
        has fetched it, since `before`.
        """
        changed = self._update_rows(
            scheduled_feeds,
            _FEED.url == before.url,
            _FEED.next_at == before.next_ms,
            **_feed_columns(after),
        )
        if changed != 1:
            return False
        last = sa.select(sa.func.coalesce(sa.func.max(_LOG.number), 0)).where(
            _LOG.store_id == self._store_id
        )
        self._insert_row(
            scheduled_feed_fetches,
            number=int(self._connection.execute(last).scalar_one()) + 1,
            fetched_at=fetch.fetched_ms,
            outcome=fetch.outcome.value,
            problem=fetch.problem,
            size=fetch.size,
            import_id=fetch.import_id,
        )
        self._delete_rows(
            scheduled_feed_fetches, _LOG.fetched_at <= fetch.fetched_ms - LOG_DAYS * DAY_MS
        )
        return True

    def newest_fetches(self, limit: int) -> list[ScheduledFeedFetch]:
        """Return the last fetches, newest first."""
        query = (
            sa.select(scheduled_feed_fetches)
            .where(_LOG.store_id == self._store_id)
            .order_by(_LOG.number.desc())
            .limit(limit)
        )
        return [
            ScheduledFeedFetch(
                row["fetched_at"],
                ScheduledFetchOutcome(row["outcome"]),
                row["problem"],
                row["size"],
                row["import_id"],
            )
            for row in self._connection.execute(query).mappings()
        ]


def stores_with_due_feed(database: Database, now_ms: int) -> list[StoreId]:
    """Return the stores whose feed should be fetched now."""
    query = sa.select(_FEED.store_id).where(_FEED.next_at <= now_ms)
    with database.reading() as connection:
        return [StoreId(store_id) for store_id in connection.execute(query).scalars()]


def _feed_columns(feed: ScheduledFeed) -> dict[str, Any]:
    return {
        "url": feed.url,
        "header": feed.header,
        "every_minutes": feed.every_minutes,
        "is_complete": feed.is_complete,
        "next_at": feed.next_ms,
        "choices": json.dumps(asdict(feed.choices)),
        "etag": feed.etag,
        "modified": feed.modified,
        "digest": feed.digest,
        "import_id": feed.import_id,
        "failures": feed.failures,
        "hour": feed.hour,
    }
