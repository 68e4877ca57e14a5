"""Event repository: SQL that appends to the log, links identities and keeps receipts."""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from productrecs.core.clock import DAY_MS
from productrecs.core.ids import StoreId
from productrecs.records.events.event import CROWDED_NETWORK, INHUMAN_RATE, EventKind
from productrecs.records.purchases.repository import PurchaseRepository
from productrecs.records.purchases.sold_lines.repository import (
    BUYER_SQL,
)
from productrecs.storage.sql.dialects import (
    ROWS_PLACEHOLDER,
)
from productrecs.storage.sql.shopper_row_export_and_erasure import (
    TableWithShopperIds,
    chunks,
)
from productrecs.storage.sql.store_counters_and_versions import increment_counter
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import (
    bot_events,
    event_columns,
    event_receipts,
    event_session,
    events,
    imports,
    shopper_links,
)

RETRY_WINDOW_MS: Final = 7 * DAY_MS
BOT_RETENTION_MS: Final = 90 * DAY_MS
"""How long the events of bots are stored."""

_TYPED: Final = (int(EventKind.SEARCH_PREF), int(EventKind.SEARCH_CLICK))
_ADMIT: Final = (
    "INSERT INTO event_receipts (store_id, event_id, received_at) VALUES (?, ?, ?) "
    "ON CONFLICT (store_id, event_id) DO UPDATE SET received_at = excluded.received_at "
    "WHERE event_receipts.received_at <= ? RETURNING event_id"
)
_PURGE: Final = (
    "DELETE FROM events WHERE store_id = ? AND seq IN "  # noqa: S608 - own words
    f"(SELECT CAST(given.value ->> 0 AS BIGINT) FROM {ROWS_PLACEHOLDER})"
)
_CUSTOMERS: Final = ("shopper_links", "session", "customer")
# Whether a name came as somebody's customer id: beside another session, or on an order.
_IS_CUSTOMER: Final = (
    "SELECT 1 WHERE EXISTS "  # noqa: S608 - own words
    "(SELECT 1 FROM shopper_links WHERE store_id = ? AND customer = ?) "
    "OR EXISTS (SELECT 1 FROM shopper_links "
    "WHERE store_id = ? AND session = ? AND confirmed) "
    "OR EXISTS (SELECT 1 FROM events "
    "WHERE store_id = ? AND person = ? AND session NOT IN (person, '')) "
    f"OR EXISTS ({BUYER_SQL})"
)
_LINK: Final = (
    "INSERT INTO shopper_links (store_id, session, customer, since_seq, confirmed) "  # noqa: S608 - own words
    "SELECT ?, given.value ->> 0, given.value ->> 1, CAST(given.value ->> 2 AS BIGINT), ? "
    f"FROM {ROWS_PLACEHOLDER} WHERE true ON CONFLICT (store_id, session) DO UPDATE SET "
    "customer = excluded.customer, since_seq = excluded.since_seq, "
    "confirmed = excluded.confirmed"
)
# The links of former customer ids, by one of their columns.
_FORMER_IDS: Final = {
    column: "SELECT session, customer, since_seq FROM shopper_links "  # noqa: S608 - own names
    f"WHERE store_id = ? AND confirmed AND session <> customer AND {column} IN "
    f"(SELECT given.value ->> 0 FROM {ROWS_PLACEHOLDER})"
    for column in ("session", "customer")
}
# The sessions of a former id move first; then the events of the session.
_FOLLOW: Final = tuple(
    f"UPDATE {table} SET {session}{column} = given.value ->> 1 FROM {ROWS_PLACEHOLDER} "  # noqa: S608 - own names
    f"WHERE store_id = ? AND {column} = given.value ->> 0"
    for table, column, session in (
        ("shopper_links", "customer", ""),
        ("events", "person", f"session = {event_session()}, "),
    )
)


class LinkedCustomerId(NamedTuple):
    """Another id of a customer, and since when the shop's server says that it is one."""

    name: str
    since_seq: int


class EventRepository(StoreScopedRepository):
    """One store's events, inside one transaction; never commits."""

    def record_event_id_if_new(self, event_id: str, now_ms: int) -> bool:
        """Record `event_id` unless the last seven days have it; return whether it is new.

        The window is half-open, and a repeat does not extend it.
        """
        horizon = now_ms - RETRY_WINDOW_MS
        values = (self._store_id, event_id, now_ms, horizon)
        return bool(self._raw.all(_ADMIT, values))

    def delete_receipts(self, before_ms: int) -> int:
        """Delete the ids of events received before `before_ms`; return the number."""
        return self._delete_rows(event_receipts, event_receipts.c.received_at <= before_ms)

    def customers_of(self, sessions: Iterable[str]) -> dict[str, str]:
        """Return each session's customer, if known."""
        return self._raw.values_by_key(_CUSTOMERS, self._store_id, dict.fromkeys(sessions))

    def confirmed_customers_of(self, former_ids: Iterable[str]) -> dict[str, str]:
        """Return the customers whose former ids these are, as the shop's server said."""
        links = shopper_links.c
        query = sa.select(links.session, links.customer).where(
            links.store_id == self._store_id,
            links.session.in_(set(former_ids)),
            links.confirmed,
        )
        return {row[0]: row[1] for row in self._connection.execute(query)}

    def other_customer_ids(
        self, customer_ids: Iterable[str]
    ) -> dict[str, list[LinkedCustomerId]]:
        """Return the customers' other ids, former and new, as the shop's server said."""
        distinct_ids = list(dict.fromkeys(customer_ids))
        new_ids = {
            former: new for former, new, _ in self._former_ids("session", distinct_ids)
        }
        customers = {name: new_ids.get(name, name) for name in distinct_ids}
        by_customer: dict[str, list[LinkedCustomerId]] = {}
        for former, new, seq in self._former_ids("customer", [*set(customers.values())]):
            ids = by_customer.setdefault(new, [LinkedCustomerId(new, 0)])
            ids.append(LinkedCustomerId(former, seq))
        ids_by_name = {}
        for name, customer in customers.items():
            ids = by_customer.get(customer, [])
            since = max(
                (other_id.since_seq for other_id in ids if other_id.name == name), default=0
            )
            ids_by_name[name] = [
                LinkedCustomerId(other_id.name, max(other_id.since_seq, since))
                for other_id in ids
                if other_id.name != name
            ]
        return {name: ids for name, ids in ids_by_name.items() if ids}

    def _former_ids(self, column: str, names: Sequence[str]) -> list[tuple[Any, ...]]:
        rows = [[name] for name in names]
        return self._raw.all(_FORMER_IDS[column], (self._store_id, rows)) if rows else []

    def is_customer(self, name: str) -> bool:
        """Return whether a name came as a customer id: then it is nobody's session."""
        return bool(self._raw.all(_IS_CUSTOMER, (self._store_id, name) * 4))

    def link_sessions_and_move_facts(
        self, links: Sequence[tuple[str, str, int]], *, confirmed: bool = False
    ) -> None:
        """Link sessions to customers, and move their earlier facts.

        A link is (session, customer, sequence number of its fact). A session must occur
        once, and must not be the customer of another link. `confirmed` links are the
        shop's server's, from former ids.
        """
        if not links:
            return
        self._raw.run(_LINK, (self._store_id, confirmed, list(links)))
        for text in _FOLLOW:
            self._raw.run(text, (list(links), self._store_id))
        PurchaseRepository(self._connection, self._store_id).move_lines_to_customers(links)

    def move_bot_sessions(
        self, sessions: Sequence[str], customers: Sequence[str], since_ms: int
    ) -> int:
        """Move live events of these sessions to the bots' events; return how many.

        The sessions named these `customers`, whose other events stay. Caches of the log are
        invalidated if there were any.
        """
        names = [*sessions, *customers]
        condition = sa.and_(
            events.c.store_id == self._store_id,
            events.c.person.in_({*names, *self.customers_of(names).values()}),
            sa.literal_column(event_session(), sa.Text).in_(sessions),
            events.c.ts >= since_ms,
            events.c.imported.is_(False),
        )
        return self._move_to_bot_events(condition, INHUMAN_RATE)

    def move_excess_to_bot_events(self, limit: int) -> int:
        """Move up to `limit` events beyond their networks' shares; return how many."""
        seqs = sa.select(events.c.seq).where(
            events.c.store_id == self._store_id, events.c.excess
        )
        return self._move_to_bot_events(
            events.c.seq.in_(seqs.limit(limit)), CROWDED_NETWORK
        )

    def _move_to_bot_events(self, condition: sa.ColumnElement[bool], bot: str) -> int:
        """Move events to the bots' events; return how many."""
        columns = [column.name for column in bot_events.c]
        copied = [events.c[name] for name in columns[:-1]]
        condition = sa.and_(events.c.store_id == self._store_id, condition)
        moved = sa.select(*copied, sa.literal(bot)).where(
            events.c.store_id == self._store_id, condition
        )
        self._connection.execute(bot_events.insert().from_select(columns, moved))
        count = self._delete_rows(events, condition)
        if count:
            self._count_lost_events()
        return count

    def purge_bot_events(self, before_ms: int) -> int:
        """Delete the events of bots received before `before_ms`; return the number."""
        return self._delete_rows(bot_events, bot_events.c.ts < before_ms)

    def seqs_before(self, time_ms: int, after_seq: int, limit: int) -> list[int]:
        """Return the next events after `after_seq` that are older than a time.

        The last call of a purge reads the whole log: imported events are in no order.
        """
        query = (
            sa.select(events.c.seq)
            .where(
                events.c.store_id == self._store_id,
                events.c.seq > after_seq,
                events.c.ts < time_ms,
            )
            .order_by(events.c.seq)
            .limit(limit)
        )
        return [int(seq) for seq in self._connection.execute(query).scalars()]

    def purge(self, seqs: Sequence[int]) -> None:
        """Delete events, and invalidate caches of the log."""
        self._raw.run(_PURGE, (self._store_id, [[seq] for seq in seqs]))
        self._count_lost_events()

    def _count_lost_events(self) -> None:
        increment_counter(self._connection, self._store_id, "bots")

    def rows_after(self, after_seq: int, limit: int) -> list[dict[str, Any]]:
        """Return up to `limit` log rows after `after_seq`, in order."""
        query = (
            sa.select(*event_columns(events))
            .where(events.c.store_id == self._store_id, events.c.seq > after_seq)
            .order_by(events.c.seq)
            .limit(limit)
        )
        return [row._asdict() for row in self._connection.execute(query)]

    def typed_queries_of(self, shopper_ids: Sequence[str]) -> set[str]:
        """Return the queries of a shopper as typed."""
        found: set[str] = set()
        for some in chunks(shopper_ids):
            query = (
                sa.select(events.c.term)
                .where(
                    events.c.store_id == self._store_id,
                    events.c.person.in_(some),
                    events.c.kind.in_(_TYPED),
                    events.c.term.is_not(None),
                )
                .distinct()
            )
            found.update(self._connection.execute(query).scalars())
        return found

    def delete_events_of(self, shopper_ids: Sequence[str], limit: int) -> int:
        """Delete up to `limit` of a shopper's events, a bot's too; return how many."""
        for some in chunks(shopper_ids):
            for table in (events, bot_events):
                found = (
                    sa.select(table.c.seq)
                    .where(table.c.store_id == self._store_id, table.c.person.in_(some))
                    .limit(limit)
                )
                if count := self._delete_rows(table, table.c.seq.in_(found)):
                    return count
        return 0

    def count_events(self, since_ms: int, until_ms: int) -> int:
        """Return the number of log rows after `since_ms`, up to `until_ms`.

        Reads the store's whole log, which may take seconds. Excludes `buy` events.
        """
        query = sa.select(sa.func.count()).where(
            events.c.store_id == self._store_id,
            events.c.ts > since_ms,
            events.c.ts <= until_ms,
        )
        return int(self._connection.execute(query).scalar_one())

    def lines_imported(self, kind: str, digest: str) -> int | None:
        """Return how many lines of a file were imported; None for a new file."""
        query = sa.select(imports.c.lines_done).where(
            self._own_rows(imports, kind=kind, digest=digest)
        )
        lines = self._connection.execute(query).scalar()
        return None if lines is None else int(lines)

    def set_lines_imported(self, kind: str, digest: str, lines: int, now_ms: int) -> None:
        """Store the progress of a file, in the transaction of its lines."""
        self._put_row(
            imports,
            kept_columns=("submitted_at",),
            kind=kind,
            digest=digest,
            lines_done=lines,
            submitted_at=now_ms,
        )


def shopper_events(transaction: sa.Connection, store_id: StoreId) -> TableWithShopperIds:
    """Return a store's events as rows of shoppers."""
    return TableWithShopperIds(transaction, store_id, events, columns=event_columns(events))


def shopper_bot_events(
    transaction: sa.Connection, store_id: StoreId
) -> TableWithShopperIds:
    """Return the events of bots as rows of shoppers."""
    columns = event_columns(bot_events)
    return TableWithShopperIds(transaction, store_id, bot_events, columns=columns)
