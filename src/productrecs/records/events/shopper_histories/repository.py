"""Shopper history repository: SQL of the facts of which histories are made."""

from typing import Any, Final

from productrecs.core.ids import StoreId
from productrecs.records.events.event import EventKind
from productrecs.records.purchases.sold_lines.repository import (
    changed_lines_sql,
    lines_of_person_sql,
)
from productrecs.storage.sql.dialects import (
    RawReader,
)
from productrecs.storage.sql.tables import (
    event_session,
)

LINK: Final = -1
"""The kind of facts that link a session to a customer."""
_BUY: Final = int(EventKind.BUY)
_SHOWN_ONLY: Final = int(EventKind.REC_IMPRESSION)
_BOUGHT_LIMIT: Final = 20_000
SHOWN_LIMIT: Final = 100  # impressions of a shopper that are kept
ACTION_LIMIT: Final = 300  # later actions after which an impression is dropped
# If `line_seq` differs from `seq`, an old line was changed.
_AFTER_SQL: Final = f"""
    SELECT {LINK} AS kind, since_seq AS seq, 0 AS ts, 0 AS item, session, customer, 0, NULL
    FROM shopper_links WHERE store_id = ? AND since_seq > ?
    UNION ALL
    SELECT kind, seq, ts, item, {event_session()}, person, seq, term
    FROM events WHERE store_id = ? AND seq > ?
    UNION ALL
    {changed_lines_sql(_BUY)}
    ORDER BY seq LIMIT ?
"""  # noqa: S608 - own constants
_CUSTOMER_SQL: Final = (
    "SELECT customer, confirmed FROM shopper_links WHERE store_id = ? AND session = ?"
)
# Covered by two indexes, so that the query reads only those.
_HISTORY_SQL: Final = f"""
    SELECT * FROM (
        SELECT kind, seq, ts, item, {event_session()} FROM events
        WHERE store_id = ? AND person = ? AND kind <> {_SHOWN_ONLY}
        ORDER BY seq DESC LIMIT {ACTION_LIMIT}
    ) AS done
    UNION ALL
    SELECT * FROM (
        {lines_of_person_sql(_BUY, _BOUGHT_LIMIT)}
    ) AS bought
    UNION ALL
    SELECT * FROM (
        SELECT kind, seq, ts, item, session FROM (
            SELECT kind, seq, ts, item, {event_session()} AS session FROM events
            WHERE store_id = ? AND person = ?
            ORDER BY seq DESC LIMIT {ACTION_LIMIT + SHOWN_LIMIT}
        ) AS lately
        WHERE kind = {_SHOWN_ONLY} ORDER BY seq DESC LIMIT {SHOWN_LIMIT}
    ) AS shown
"""  # noqa: S608 - own constants
_TERM_SQL: Final = "SELECT term FROM events WHERE store_id = ? AND seq = ?"
Fact = tuple[Any, ...]


def facts_after(reader: RawReader, store_id: StoreId, seq: int, limit: int) -> list[Fact]:
    """Return the next facts of a store's log: links, events and purchases.

    Each is (kind, seq, ts, item, session, person, first seq, term).
    """
    return reader.all(_AFTER_SQL, (store_id, seq) * 3 + (limit,))


def customer_of_session_and_is_former_id(
    reader: RawReader, store_id: StoreId, session: str
) -> tuple[str, bool]:
    """Return a session's customer, else itself; and whether it is their former id."""
    rows = reader.all(_CUSTOMER_SQL, (store_id, session))
    return (rows[0][0], bool(rows[0][1])) if rows else (session, False)


def facts_of_person(reader: RawReader, store_id: StoreId, person: str) -> list[Fact]:
    """Return the newest events, purchases and impressions of one person.

    Each is (kind, seq, ts, item, session).
    """
    return reader.all(_HISTORY_SQL, (store_id, person) * 3)


def term_of_event(reader: RawReader, store_id: StoreId, seq: int) -> str | None:
    """Return the category, query or value that an event names."""
    rows = reader.all(_TERM_SQL, (store_id, seq))
    return rows[0][0] if rows else None
