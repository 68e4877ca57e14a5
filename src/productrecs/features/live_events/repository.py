"""Live event repository: SQL of watched stores and of their last events."""

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

import sqlalchemy as sa

from productrecs.core.clock import HOUR_MS
from productrecs.core.ids import StoreId, random_text
from productrecs.features.live_events.live_event import (
    ORDER,
    VERDICTS_OF_PURCHASES,
    LiveEvent,
    LiveEventVerdict,
    order_id_of,
)
from productrecs.records.events.event import EventKind, exported_event_fields
from productrecs.records.events.newest_events.repository import NewestEventRepository
from productrecs.records.purchases.sold_lines.repository import SoldLineRepository
from productrecs.storage.sql.dialects import RawReader
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import event_receipts, event_watches, live_events

MAX_EVENTS: Final = 500
"""The number of events stored per store."""

RETENTION_MS: Final = HOUR_MS
_CHUNK: Final = 400
_SAME_MS: Final = 5_000  # a recorded event is stored within this time
_COLUMNS: Final = live_events.c
_WATCHED_SQL: Final = "SELECT store_id FROM event_watches WHERE until > ?"


def watched_stores(reader: RawReader, now_ms: int) -> frozenset[StoreId]:
    """Return the stores that a live view watches."""
    return frozenset(StoreId(row[0]) for row in reader.all(_WATCHED_SQL, (now_ms,)))


class LiveEventRepository(StoreScopedRepository):
    """One store's live events, inside one transaction; never commits."""

    def watch(self, until_ms: int) -> None:
        """Record the store's events until then."""
        self._put_row(event_watches, until=until_ms)

    def add_and_delete_old(self, events: Sequence[LiveEvent]) -> None:
        """Store events, and delete those beyond the last 500 or older than an hour."""
        if not events:
            return
        number = self._lock_and_next_number(events[0].at_ms)
        rows = [
            {
                "store_id": self._store_id,
                "entry_id": f"{number:013d}{index:04d}{random_text(8)}",
                "at": event.at_ms,
                "verdict": event.verdict,
                "kind": event.kind,
                "session": event.session,
                "item": event.item,
                "client": event.client,
                "detail": event.detail,
                "body": event.body,
            }
            for index, event in enumerate(events[-MAX_EVENTS:])
        ]
        self._connection.execute(live_events.insert(), rows)
        self._delete_old_and_excess(events[-1].at_ms - RETENTION_MS)

    def _lock_and_next_number(self, at_ms: int) -> int:
        """Return a number above that of every stored entry.

        A client requests the entries after its last one, so entries are ordered by the
        time of storage, across all processes and within a millisecond.
        """
        watch = sa.select(event_watches.c.until).where(
            event_watches.c.store_id == self._store_id
        )
        self._connection.execute(watch.with_for_update())  # one process at a time
        newest = sa.select(sa.func.max(_COLUMNS.entry_id)).where(
            _COLUMNS.store_id == self._store_id
        )
        last = self._connection.execute(newest).scalar() or ""
        return max(at_ms, int(last[:13] or 0) + 1)

    def _delete_old_and_excess(self, before_ms: int) -> None:
        newest = (
            sa.select(_COLUMNS.entry_id)
            .where(_COLUMNS.store_id == self._store_id)
            .order_by(_COLUMNS.entry_id.desc())
            .offset(MAX_EVENTS)
            .limit(1)
        )
        last = self._connection.execute(newest).scalar() or ""
        stale = (_COLUMNS.at < before_ms) | (_COLUMNS.entry_id <= last)
        self._delete_rows(live_events, stale)

    def latest_recorded(
        self, now_ms: int, after: str = "", **filters: str
    ) -> list[LiveEvent]:
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
                verdict=LiveEventVerdict(row["verdict"]),
                kind=row["kind"],
                session=row["session"],
                item=row["item"],
                client=row["client"],
                detail=row["detail"],
                body=row["body"],
                entry_id=row["entry_id"],
            )
            for row in self._connection.execute(query).mappings()
        ]

    def latest_with_stored(self, now_ms: int, **filters: str) -> list[LiveEvent]:
        """Return the last events and orders, also those that came while nobody watched.

        The latter are known from what is stored alone, so their browser is not known, and
        every product in the catalog makes them accepted.
        """
        recorded_matches = self.latest_recorded(now_ms, **filters)
        verdict = filters.pop("verdict", "")
        if filters.pop("client", ""):
            return recorded_matches
        recorded = self.latest_recorded(now_ms)
        stored = (
            event
            for event in (
                *self._newest_logged_events(**filters),
                *self._newest_sent_orders(**filters),
            )
            if verdict in {"", event.verdict} and not _is_already_recorded(event, recorded)
        )
        both = sorted(
            [*recorded_matches, *stored], key=lambda event: event.at_ms, reverse=True
        )
        return both[:MAX_EVENTS]

    def _newest_logged_events(
        self, kind: str = "", session: str = "", item: str = ""
    ) -> list[LiveEvent]:
        """Return the newest events of the log; an impression is one event."""
        number = {event_kind.wire_name: int(event_kind) for event_kind in EventKind}.get(
            kind, -1
        )
        newest = NewestEventRepository(self._connection, self._store_id)
        rows = newest.latest_events(MAX_EVENTS, number if kind else None, session, item)
        return list(_group_to_live_events(rows))

    def _newest_sent_orders(
        self, kind: str = "", session: str = "", item: str = ""
    ) -> list[LiveEvent]:
        if kind not in {"", ORDER}:
            return []
        lines = SoldLineRepository(self._connection, self._store_id)
        rows = lines.newest_order_lines(session, MAX_EVENTS)
        orders = [list(group) for _, group in groupby(rows, _order_group_key)]
        return [
            _order_lines_to_live_event(order[::-1])
            for order in orders
            if not item or any(row["item_id"] == item for row in order)
        ]

    def has_recorded_purchase_of(self, purchase: LiveEvent) -> bool:
        """Return whether a recorded event is of the same order, product and session."""
        query = sa.select(_COLUMNS.body).where(
            _COLUMNS.store_id == self._store_id,
            _COLUMNS.kind == purchase.kind,
            _COLUMNS.session == purchase.session,
            _COLUMNS.item == purchase.item,
            _COLUMNS.verdict.in_(VERDICTS_OF_PURCHASES),
        )
        bodies = self._connection.execute(query).scalars()
        return any(order_id_of(body) == order_id_of(purchase.body) for body in bodies)

    def first_receipt_times(self, event_ids: Sequence[str]) -> dict[str, int]:
        """Return the time of first receipt of these events."""
        times: dict[str, int] = {}
        for start in range(0, len(event_ids), _CHUNK):
            query = sa.select(
                event_receipts.c.event_id, event_receipts.c.received_at
            ).where(
                event_receipts.c.store_id == self._store_id,
                event_receipts.c.event_id.in_(event_ids[start : start + _CHUNK]),
            )
            times |= {row[0]: row[1] for row in self._connection.execute(query)}
        return times


def _group_to_live_events(rows: Sequence[sa.RowMapping]) -> Iterator[LiveEvent]:
    for (at_ms, kind, shopper, widget, _), group in groupby(rows, _event_group_key):
        rows_of_event = list(group)
        item_ids = [
            str(row["item_id"]) for row in reversed(rows_of_event) if row["item_id"]
        ]
        is_known = all(row["present"] is not False for row in rows_of_event)
        verdict = LiveEventVerdict.ACCEPTED if is_known else LiveEventVerdict.UNKNOWN_ITEM
        fields = exported_event_fields(
            dict(rows_of_event[-1]), {row["item"]: row["item_id"] for row in rows_of_event}
        )
        if kind == EventKind.REC_IMPRESSION:
            fields |= {"item_ids": item_ids, "widget": widget}
            for name in ("source", "position"):
                fields[f"{name}s"] = [row[name] for row in reversed(rows_of_event)]
        yield LiveEvent(
            at_ms=at_ms,
            verdict=verdict,
            kind=EventKind(kind).wire_name,
            session=rows_of_event[0]["session"] or shopper,
            item=", ".join(item_ids) or rows_of_event[0]["term"] or "",
            client="",
            detail="",
            body=json.dumps(fields, ensure_ascii=False, indent=1),
        )


def _event_group_key(row: sa.RowMapping) -> tuple[int, int, str, str | None, int]:
    """Return what the rows of one event share: only an impression has several."""
    is_impression = row["kind"] == EventKind.REC_IMPRESSION
    own = 0 if is_impression else row["seq"]
    return row["ts"], row["kind"], row["shopper"], row["widget"], own


def _order_group_key(row: sa.RowMapping) -> tuple[str | None, int, int]:
    return row["order_id"], row["receipt"], row["seq"] if row["order_id"] is None else 0


def _order_lines_to_live_event(lines: Sequence[sa.RowMapping]) -> LiveEvent:
    first = lines[0]
    is_known = all(row["present"] for row in lines)
    body = {
        "order_id": first["order_id"],
        "user_id": None if first["shopper"] == first["session"] else first["shopper"],
        "session_id": first["session"],
        "currency": first["currency"],
        "items": [
            {name: row[name] for name in ("item_id", "quantity", "price")} for row in lines
        ],
    }
    verdict = LiveEventVerdict.ACCEPTED if is_known else LiveEventVerdict.UNKNOWN_ITEM
    if first["shopper"] is None:
        verdict = LiveEventVerdict.NO_SHOPPER
    return LiveEvent(
        at_ms=first["updated_at"] or first["ts"],
        verdict=verdict,
        kind=ORDER,
        session=first["session"] or first["shopper"] or "",
        item=", ".join(row["item_id"] for row in lines),
        client="",
        detail=f"Order {first['order_id']}." if first["order_id"] else "",
        body=json.dumps(body, ensure_ascii=False, indent=1),
    )


def _is_already_recorded(event: LiveEvent, recorded: Sequence[LiveEvent]) -> bool:
    if event.kind == ORDER and event.detail:
        return any(
            other.kind == ORDER and other.detail.startswith(event.detail)
            for other in recorded
        )
    return any(
        (other.kind, other.session, other.item) == (event.kind, event.session, event.item)
        and abs(other.at_ms - event.at_ms) < _SAME_MS
        for other in recorded
    )
