"""Event repository: SQL of the event log, identity links and deduplication receipts."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import sqlalchemy as sa

from productrecs.core.clock import DAY_MS
from productrecs.core.ids import StoreId
from productrecs.records.events.event import INHUMAN_RATE
from productrecs.storage.dialects import ROWS_PLACEHOLDER, raw_connection, upsert
from productrecs.storage.tables import (
    bot_events,
    event_receipts,
    events,
    imports,
    store_heads,
)

RETRY_WINDOW_MS: Final = 7 * DAY_MS
BOT_RETENTION_MS: Final = 90 * DAY_MS
"""How long the events of bots are stored."""

_ADMIT: Final = (
    "INSERT INTO event_receipts (store_id, event_id, received_at) VALUES (?, ?, ?) "
    "ON CONFLICT (store_id, event_id) DO UPDATE SET received_at = excluded.received_at "
    "WHERE event_receipts.received_at <= ? RETURNING event_id"
)
_CUSTOMERS: Final = ("shopper_links", "session", "customer")
_LINK: Final = (
    "INSERT INTO shopper_links (store_id, session, customer, since_seq) "  # noqa: S608 - own words
    "SELECT ?, given.value ->> 0, given.value ->> 1, CAST(given.value ->> 2 AS BIGINT) "
    f"FROM {ROWS_PLACEHOLDER} WHERE true ON CONFLICT (store_id, session) DO UPDATE "
    "SET customer = excluded.customer, since_seq = excluded.since_seq"
)
# If the session was itself treated as a customer, its own sessions move first; then its
# anonymous events and purchases.
_FOLLOW: Final = tuple(
    f"UPDATE {table} SET {column} = given.value ->> 1 FROM {ROWS_PLACEHOLDER} "  # noqa: S608 - own names
    f"WHERE store_id = ? AND {column} = given.value ->> 0"
    for table, column in (
        ("shopper_links", "customer"),
        ("events", "person"),
        ("purchase_lines", "person"),
    )
)


class EventRepository:
    """One store's events, inside one transaction; never commits."""

    def __init__(self, transaction: sa.Connection, store_id: StoreId) -> None:
        """Work on `store_id`'s rows only."""
        self._transaction = transaction
        self._raw = raw_connection(transaction)
        self._store_id = store_id

    def admit(self, event_id: str, now_ms: int) -> bool:
        """Return whether `event_id` is new: not stored within the last seven days.

        The window is half-open, and a repeat does not extend it.
        """
        horizon = now_ms - RETRY_WINDOW_MS
        values = (self._store_id, event_id, now_ms, horizon)
        return bool(self._raw.all(_ADMIT, values))

    def delete_receipts(self, before_ms: int) -> int:
        """Delete the ids of events received before `before_ms`; return the number."""
        query = event_receipts.delete().where(
            event_receipts.c.store_id == self._store_id,
            event_receipts.c.received_at <= before_ms,
        )
        return self._transaction.execute(query).rowcount

    def customers_of(self, sessions: Iterable[str]) -> dict[str, str]:
        """Return each session's customer, if known."""
        return self._raw.mapped(_CUSTOMERS, self._store_id, dict.fromkeys(sessions))

    def link(self, links: Sequence[tuple[str, str, int]]) -> None:
        """Link sessions to customers, and move their earlier facts.

        A link is (session, customer, sequence number of its fact). A session must occur
        once, and must not be the customer of another link.
        """
        if not links:
            return
        self._raw.run(_LINK, (self._store_id, list(links)))
        for text in _FOLLOW:
            self._raw.run(text, (list(links), self._store_id))

    def set_aside(self, names: Sequence[str], since_ms: int) -> int:
        """Move live events of these shopper ids to the bots' events; return how many.

        Caches of the log are invalidated if there were any.
        """
        chosen = sa.and_(
            events.c.store_id == self._store_id,
            events.c.person.in_({*names, *self.customers_of(names).values()}),
            sa.or_(events.c.session.in_(names), events.c.shopper.in_(names)),
            events.c.ts >= since_ms,
            events.c.imported.is_(False),
        )
        moved = sa.select(*events.c, sa.literal(INHUMAN_RATE)).where(
            events.c.store_id == self._store_id, chosen
        )
        columns = [column.name for column in bot_events.c]
        self._transaction.execute(bot_events.insert().from_select(columns, moved))
        gone = events.delete().where(events.c.store_id == self._store_id, chosen)
        count = self._transaction.execute(gone).rowcount
        if count:
            self._transaction.execute(
                store_heads.update()
                .where(store_heads.c.store_id == self._store_id)
                .values(bots=store_heads.c.bots + 1)
            )
        return count

    def purge_bots(self, before_ms: int) -> int:
        """Delete the events of bots received before `before_ms`; return the number."""
        query = bot_events.delete().where(
            bot_events.c.store_id == self._store_id, bot_events.c.ts < before_ms
        )
        return self._transaction.execute(query).rowcount

    def page(self, after_seq: int, limit: int) -> list[dict[str, Any]]:
        """Return up to `limit` log rows after `after_seq`, in order."""
        query = (
            sa.select(events)
            .where(events.c.store_id == self._store_id, events.c.seq > after_seq)
            .order_by(events.c.seq)
            .limit(limit)
        )
        return [row._asdict() for row in self._transaction.execute(query)]

    def count(self, since_ms: int, until_ms: int) -> int:
        """Return the number of log rows after `since_ms`, up to `until_ms`.

        Reads the store's whole log, which may take seconds. Excludes `buy` events.
        """
        query = sa.select(sa.func.count()).where(
            events.c.store_id == self._store_id,
            events.c.ts > since_ms,
            events.c.ts <= until_ms,
        )
        return int(self._transaction.execute(query).scalar_one())

    def lines_imported(self, kind: str, digest: str) -> int | None:
        """Return how many lines of a file were imported; None for a new file."""
        query = sa.select(imports.c.lines_done).where(
            imports.c.store_id == self._store_id,
            imports.c.kind == kind,
            imports.c.digest == digest,
        )
        lines = self._transaction.execute(query).scalar()
        return None if lines is None else int(lines)

    def set_lines_imported(self, kind: str, digest: str, lines: int, now_ms: int) -> None:
        """Store the progress of a file, in the transaction of its lines."""
        query = upsert(self._transaction, imports).values(
            store_id=self._store_id,
            kind=kind,
            digest=digest,
            lines_done=lines,
            submitted_at=now_ms,
        )
        self._transaction.execute(
            query.on_conflict_do_update(
                index_elements=["store_id", "kind", "digest"], set_={"lines_done": lines}
            )
        )
