"""The SQL of the event log, of the links between sessions and customers, and of retries."""

from collections.abc import Iterable
from typing import Final

import sqlalchemy as sa

from productrecs.core.clock import DAY_MS
from productrecs.core.ids import StoreId
from productrecs.storage.dialects import upsert
from productrecs.storage.tables import (
    event_receipts,
    events,
    imports,
    purchase_lines,
    shopper_links,
)

RETRY_WINDOW_MS: Final = 7 * DAY_MS
_CHUNK: Final = 500

# Built once: building a statement costs more than running it, and these run in every batch.
_CUSTOMERS: Final = sa.select(shopper_links.c.session, shopper_links.c.customer).where(
    shopper_links.c.store_id == sa.bindparam("own_store"),
    shopper_links.c.session.in_(sa.bindparam("sessions", expanding=True)),
)
_LINK: Final = sa.text(
    "INSERT INTO shopper_links (store_id, session, customer, since_seq) "
    "VALUES (:own_store, :from_name, :to_name, :since) "
    "ON CONFLICT (store_id, session) DO UPDATE "
    "SET customer = excluded.customer, since_seq = excluded.since_seq"
)
# A session that was itself taken for a customer hands its own sessions on; then what it
# did and bought before anyone knew who it was.
_FOLLOW: Final = (
    shopper_links.update()
    .where(
        shopper_links.c.store_id == sa.bindparam("own_store"),
        shopper_links.c.customer == sa.bindparam("from_name"),
    )
    .values(customer=sa.bindparam("to_name")),
    *(
        table.update()
        .where(
            table.c.store_id == sa.bindparam("own_store"),
            table.c.person == sa.bindparam("from_name"),
        )
        .values(person=sa.bindparam("to_name"))
        for table in (events, purchase_lines)
    ),
)


class EventRepository:
    """One store's events, inside one transaction; never commits."""

    def __init__(self, transaction: sa.Connection, store_id: StoreId) -> None:
        """Work on `store_id`'s rows only."""
        self._transaction = transaction
        self._store_id = store_id

    def admit(self, event_id: str, now_ms: int) -> bool:
        """Return whether `event_id` is new: not stored within the last seven days.

        The window is half-open, and a repeat does not extend it.
        """
        added = upsert(self._transaction, event_receipts).values(
            store_id=self._store_id, event_id=event_id, received_at=now_ms
        )
        query = added.on_conflict_do_update(
            index_elements=["store_id", "event_id"],
            set_={"received_at": added.excluded.received_at},
            where=event_receipts.c.received_at <= now_ms - RETRY_WINDOW_MS,
        ).returning(event_receipts.c.event_id)
        return self._transaction.execute(query).first() is not None

    def forget_receipts(self, before_ms: int) -> int:
        """Delete the ids of events received before `before_ms`; return how many."""
        query = event_receipts.delete().where(
            event_receipts.c.store_id == self._store_id,
            event_receipts.c.received_at <= before_ms,
        )
        return self._transaction.execute(query).rowcount

    def customers_of(self, sessions: Iterable[str]) -> dict[str, str]:
        """Return the customer that each session belongs to, where there is one."""
        wanted = list(dict.fromkeys(sessions))
        found: dict[str, str] = {}
        for start in range(0, len(wanted), _CHUNK):
            values = {
                "own_store": self._store_id,
                "sessions": wanted[start : start + _CHUNK],
            }
            rows = self._transaction.execute(_CUSTOMERS, values)
            found |= {row[0]: row[1] for row in rows}
        return found

    def link(self, session: str, customer: str, seq: int) -> None:
        """Give a session, and what it did before anyone knew who it was, to a customer."""
        values = {"own_store": self._store_id, "from_name": session, "to_name": customer}
        self._transaction.execute(_LINK, {**values, "since": seq})
        for statement in _FOLLOW:
            self._transaction.execute(statement, values)

    def count(self, since_ms: int, until_ms: int) -> int:
        """Return how many rows of the log are later than `since_ms`, up to `until_ms`.

        Reads the store's whole log: a large one takes seconds. `buy` events are not in it.
        """
        query = sa.select(sa.func.count()).where(
            events.c.store_id == self._store_id,
            events.c.ts > since_ms,
            events.c.ts <= until_ms,
        )
        return int(self._transaction.execute(query).scalar_one())

    def lines_done(self, kind: str, digest: str) -> int | None:
        """Return how many lines of a file were imported; None when it is new."""
        query = sa.select(imports.c.lines_done).where(
            imports.c.store_id == self._store_id,
            imports.c.kind == kind,
            imports.c.digest == digest,
        )
        done = self._transaction.execute(query).scalar()
        return None if done is None else int(done)

    def set_lines_done(self, kind: str, digest: str, lines: int, now_ms: int) -> None:
        """Remember how far a file was read, in the transaction of the lines themselves."""
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
