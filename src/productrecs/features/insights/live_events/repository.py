"""Live event repository: SQL of watched stores and of their last events."""

from collections.abc import Sequence
from typing import Final

import sqlalchemy as sa

from productrecs.core.clock import HOUR_MS
from productrecs.core.ids import StoreId, random_text
from productrecs.features.insights.live_events import LiveEvent, Verdict
from productrecs.storage.dialects import RawReader, upsert
from productrecs.storage.tables import event_receipts, event_watches, live_events

MAX_EVENTS: Final = 500
"""The number of events stored per store."""

RETENTION_MS: Final = HOUR_MS
_CHUNK: Final = 400
_COLUMNS: Final = live_events.c
_WATCHED_SQL: Final = "SELECT store_id FROM event_watches WHERE until > ?"


def watched_stores(reader: RawReader, now_ms: int) -> frozenset[StoreId]:
    """Return the stores that a live view watches."""
    return frozenset(StoreId(row[0]) for row in reader.all(_WATCHED_SQL, (now_ms,)))


class LiveEventRepository:
    """One store's live events, inside one transaction; never commits."""

    def __init__(self, transaction: sa.Connection, store_id: StoreId) -> None:
        """Work on `store_id`'s rows only."""
        self._transaction = transaction
        self._store_id = store_id

    def watch(self, until_ms: int) -> None:
        """Record the store's events until then."""
        row = upsert(self._transaction, event_watches).values(
            store_id=self._store_id, until=until_ms
        )
        self._transaction.execute(
            row.on_conflict_do_update(index_elements=["store_id"], set_={"until": until_ms})
        )

    def add(self, events: Sequence[LiveEvent]) -> None:
        """Store events, and delete those beyond the last 500 or older than an hour."""
        if not events:
            return
        order = self._next_order(events[0].at_ms)
        rows = [
            {
                "store_id": self._store_id,
                "entry_id": f"{order:013d}{place:04d}{random_text(8)}",
                "at": event.at_ms,
                "verdict": event.verdict,
                "kind": event.kind,
                "session": event.session,
                "item": event.item,
                "client": event.client,
                "detail": event.detail,
                "body": event.body,
            }
            for place, event in enumerate(events[-MAX_EVENTS:])
        ]
        self._transaction.execute(live_events.insert(), rows)
        self._delete_old(events[-1].at_ms - RETENTION_MS)

    def _next_order(self, at_ms: int) -> int:
        """Return a number above that of every stored entry.

        A client requests the entries after its last one, so entries are ordered by the
        time of storage, across all processes and within a millisecond.
        """
        watch = sa.select(event_watches.c.until).where(
            event_watches.c.store_id == self._store_id
        )
        self._transaction.execute(watch.with_for_update())  # one process at a time
        newest = sa.select(sa.func.max(_COLUMNS.entry_id)).where(
            _COLUMNS.store_id == self._store_id
        )
        last = self._transaction.execute(newest).scalar() or ""
        return max(at_ms, int(last[:13] or 0) + 1)

    def _delete_old(self, before_ms: int) -> None:
        newest = (
            sa.select(_COLUMNS.entry_id)
            .where(_COLUMNS.store_id == self._store_id)
            .order_by(_COLUMNS.entry_id.desc())
            .offset(MAX_EVENTS)
            .limit(1)
        )
        last = self._transaction.execute(newest).scalar() or ""
        stale = (_COLUMNS.at < before_ms) | (_COLUMNS.entry_id <= last)
        deletion = live_events.delete().where(_COLUMNS.store_id == self._store_id, stale)
        self._transaction.execute(deletion)

    def latest(self, now_ms: int, after: str = "", **filters: str) -> list[LiveEvent]:
        """Return the last events, newest first; with `after` only those after that id."""
        query = sa.select(live_events).where(
            _COLUMNS.store_id == self._store_id,
            _COLUMNS.entry_id > after,
            _COLUMNS.at > now_ms - RETENTION_MS,
            *(_COLUMNS[name] == value for name, value in filters.items() if value),
        )
        query = query.order_by(_COLUMNS.entry_id.desc()).limit(MAX_EVENTS)
        return [
            LiveEvent(
                at_ms=row["at"],
                verdict=Verdict(row["verdict"]),
                kind=row["kind"],
                session=row["session"],
                item=row["item"],
                client=row["client"],
                detail=row["detail"],
                body=row["body"],
                entry_id=row["entry_id"],
            )
            for row in self._transaction.execute(query).mappings()
        ]

    def receipts(self, event_ids: Sequence[str]) -> dict[str, int]:
        """Return the time of first receipt of these events."""
        found: dict[str, int] = {}
        for start in range(0, len(event_ids), _CHUNK):
            query = sa.select(
                event_receipts.c.event_id, event_receipts.c.received_at
            ).where(
                event_receipts.c.store_id == self._store_id,
                event_receipts.c.event_id.in_(event_ids[start : start + _CHUNK]),
            )
            found |= {row[0]: row[1] for row in self._transaction.execute(query)}
        return found
