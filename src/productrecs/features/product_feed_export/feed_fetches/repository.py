"""Feed fetch repository: how often each product feed was fetched, and what it held."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from productrecs.core.clock import DAY_MS
from productrecs.features.product_feed_export.feed_entries import (
    FeedExclusionReason,
    FeedFormat,
    FeedProductCounts,
)
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import feed_fetches

FETCH_DAYS: Final = 30
"""How many days of fetches are kept and counted."""


@dataclass(frozen=True, slots=True)
class ExportedFeedFetches:
    """The fetches of one feed in the last 30 days, and what the last one held."""

    fetches: int
    last_ms: int
    last: FeedProductCounts


class ExportedFeedFetchRepository(StoreScopedRepository):
    """One store's fetches, inside one transaction; never commits."""

    def count_fetch_and_delete_old(
        self, feed: FeedFormat, counts: FeedProductCounts, now_ms: int
    ) -> None:
        """Count a fetch on its day (UTC); older days than 30 are deleted."""
        day = now_ms // DAY_MS
        left_out = {
            reason.name: {"count": counts.left_out_counts[reason], "ids": ids}
            for reason, ids in counts.left_out.items()
        }
        self._put_row(
            feed_fetches,
            summed_columns=("fetches",),
            feed=feed.value,
            day=day,
            fetches=1,
            last_at=now_ms,
            products=counts.products,
            left_out=json.dumps(left_out),
        )
        self._delete_rows(feed_fetches, feed_fetches.c.day <= day - FETCH_DAYS)

    def recent_fetches_by_feed(self, now_ms: int) -> dict[FeedFormat, ExportedFeedFetches]:
        """Return the fetches of each feed that was fetched in the last 30 days."""
        columns = feed_fetches.c
        query = sa.select(feed_fetches).where(
            columns.store_id == self._store_id, columns.day > now_ms // DAY_MS - FETCH_DAYS
        )
        by_feed: dict[FeedFormat, ExportedFeedFetches] = {}
        for row in self._connection.execute(query.order_by(columns.day)).mappings():
            feed = FeedFormat(row["feed"])
            before = by_feed[feed].fetches if feed in by_feed else 0
            by_feed[feed] = ExportedFeedFetches(
                before + row["fetches"], row["last_at"], _to_feed_counts(row)
            )
        return by_feed


def _to_feed_counts(row: sa.RowMapping) -> FeedProductCounts:
    stored = json.loads(row["left_out"])
    reasons = {
        reason: stored[reason.name]
        for reason in FeedExclusionReason
        if reason.name in stored
    }
    return FeedProductCounts(
        row["products"],
        {reason: list(entry["ids"]) for reason, entry in reasons.items()},
        {reason: int(entry["count"]) for reason, entry in reasons.items()},
    )
