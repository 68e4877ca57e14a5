"""Event log repository: SQL that training, attribution, tests and relevance read with."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from productrecs.records.events.event import EventKind
from productrecs.storage.sql.dialects import ROWS_PLACEHOLDER, Row
from productrecs.storage.sql.sequence_and_item_numbers import first_live_fact_received_at
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import event_session, event_shopper, events

_PAGE: Final = 50_000
_CLICK_PAGE: Final = 10_000
# Rows that stay in the cache of the processor: half the time of 50,000.
_SMALL_PAGE: Final = 2_000
# Raw driver access: ten million rows in a third of the time.
_OF_VISITORS: Final = (
    f"SELECT ts, kind, item, COALESCE({event_session()}, {event_shopper()}), term, seq "  # noqa: S608 - our own numbers
    "FROM events "
    "WHERE store_id = ? AND seq > ? AND seq <= ? AND kind IN ({}) "
    "AND NOT excess ORDER BY seq LIMIT ?"
)
_OF_SEARCHES: Final = (
    f"SELECT seq, ts, kind, item, term, {event_shopper()}, {event_session()} FROM events "  # noqa: S608 - our own numbers
    "WHERE store_id = ? AND seq > ? AND seq <= ? AND kind IN ({}) "
    "AND NOT excess ORDER BY seq LIMIT ?"
)
_RESULT_CLICKS: Final = (
    "SELECT seq, term, item, person, position FROM events "  # noqa: S608 - our own numbers
    f"WHERE store_id = ? AND seq > ? AND kind = {int(EventKind.SEARCH_CLICK)} "
    "AND ts >= ? AND term IS NOT NULL AND item IS NOT NULL AND NOT excess "
    "ORDER BY seq LIMIT ?"
)
_OF_KINDS: Final = (
    "SELECT seq, kind, ts, person FROM events "
    "WHERE store_id = ? AND seq > ? AND kind IN (?, ?) ORDER BY seq LIMIT ?"
)
_VISITS: Final = (
    "SELECT person, kind, min(ts), max(ts), min(CASE WHEN widget = ? THEN ts END) "
    "FROM events WHERE store_id = ? AND seq > ? AND ts >= ? AND NOT imported "
    "AND NOT excess GROUP BY person, kind"
)
_BOTS: Final = (
    "SELECT DISTINCT person, COALESCE(NULLIF(session, ''), person) FROM bot_events "
    "WHERE store_id = ? AND ts >= ?"
)
_LIVE: Final = "FROM events WHERE store_id = ? AND seq > ? AND seq <= ? AND NOT imported"
# Impressions and clicks of lists (9, 10), clicks on search results (6; 7 by photo). A look
# also shows the product of its own page, which is not a recommendation: for source `look`,
# the product of the shopper's last page view (1) within half an hour is excluded.
_TOUCHPOINTS: Final = (
    f"SELECT seq, ts, kind, item, {event_shopper('touch')}, "  # noqa: S608 - own words
    "widget, source, position, term FROM events AS touch "
    "WHERE store_id = ? AND seq > ? AND seq <= ? AND NOT imported "
    "AND kind IN (6, 7, 9, 10) AND NOT (kind IN (9, 10) AND widget = 'look' "
    "AND COALESCE(item = (SELECT seen.item FROM events AS seen "
    "WHERE seen.store_id = touch.store_id AND seen.person = touch.person "
    f"AND {event_shopper('seen')} = {event_shopper('touch')} "
    "AND seen.kind = 1 AND seen.seq < touch.seq "
    "AND seen.ts >= touch.ts - 1800000 ORDER BY seen.seq DESC LIMIT 1), false)) "
    "ORDER BY seq"
)
_CARTS: Final = (
    f"SELECT seq, ts, item, {event_shopper()}, quantity, value, currency "
    f"{_LIVE} AND kind = 2 ORDER BY seq"
)
# An impression has a row for each product, with one time; it is one event.
_HOURS: Final = (
    "SELECT ts / 3600000, kind, count(DISTINCT CASE WHEN kind = 9 "
    f"THEN CAST(ts AS TEXT) || ' ' || {event_shopper()} || ' ' || COALESCE(widget, '') "
    f"ELSE CAST(seq AS TEXT) END) {_LIVE} GROUP BY 1, 2"
)
_LAST: Final = (
    "SELECT seq, ts FROM events WHERE store_id = ? AND seq > ? AND seq <= ? "
    "ORDER BY seq DESC LIMIT 1"
)
_UNREAD: Final = (
    "SELECT 1 FROM events WHERE store_id = ? AND seq > ? AND ts < ? AND NOT imported "
    "LIMIT 1"
)
_GIVEN_SEQS: Final = f"(SELECT CAST(given.value ->> 0 AS BIGINT) FROM {ROWS_PLACEHOLDER})"  # noqa: S608 - own words
_PLACES: Final = (
    "SELECT seq, widget, source, position, term FROM events "  # noqa: S608 - own words
    f"WHERE store_id = ? AND seq IN {_GIVEN_SEQS}"
)
_TERMS: Final = (
    "SELECT seq, term FROM events "  # noqa: S608 - own words
    f"WHERE store_id = ? AND seq IN {_GIVEN_SEQS}"
)

TouchpointPlace = tuple[str | None, str | None, int | None, str | None]


class EventLogRepository(StoreScopedRepository):
    """One store's log, inside one transaction; only reads."""

    def pages_with_visitors(
        self, after_seq: int, up_to_seq: int, kinds: Sequence[EventKind]
    ) -> Iterator[list[Row]]:
        """Yield pages of (ts, kind, item, visitor, term, seq) of these kinds."""
        query = _OF_VISITORS.format(_numbers(kinds))
        while page := self._raw.all(
            query, (self._store_id, after_seq, up_to_seq, _SMALL_PAGE)
        ):
            yield page
            after_seq = page[-1][-1]

    def pages_with_terms(
        self, after_seq: int, up_to_seq: int, kinds: Sequence[EventKind]
    ) -> Iterator[list[Row]]:
        """Yield pages of (seq, ts, kind, item, term, shopper, session) of these kinds."""
        query = _OF_SEARCHES.format(_numbers(kinds))
        while page := self._raw.all(
            query, (self._store_id, after_seq, up_to_seq, _SMALL_PAGE)
        ):
            yield page
            after_seq = page[-1][0]

    def search_result_clicks(self, since_ms: int) -> Iterator[list[Row]]:
        """Yield pages of (seq, term, item, person, position) of clicks on results."""
        after = 0
        while page := self._raw.all(
            _RESULT_CLICKS, (self._store_id, after, since_ms, _CLICK_PAGE)
        ):
            yield page
            after = int(page[-1][0])

    def events_of_two_kinds(
        self, kinds: tuple[int, ...], after_seq: int
    ) -> Iterator[list[Row]]:
        """Yield pages of (seq, kind, ts, person) of two kinds; without kinds none."""
        while kinds and (
            page := self._raw.all(
                _OF_KINDS, (self._store_id, after_seq, *map(int, kinds), _PAGE)
            )
        ):
            yield page
            after_seq = page[-1][0]

    def visits_by_person_and_kind(
        self, widget: str, since_ms: int, after_seq: int
    ) -> list[Row]:
        """Return (person, kind, first ts, last ts, first ts with that widget)."""
        parameters = (widget, self._store_id, after_seq, since_ms)
        return self._raw.all(_VISITS, parameters)

    def shopper_ids_of_bots(self, since_ms: int) -> Iterator[str]:
        """Yield the names of recognised bots since then."""
        for names in self._raw.all(_BOTS, (self._store_id, since_ms)):
            yield from names

    def first_live_event_at(self, after_seq: int) -> int | None:
        """Return when the first live event after a number was received.

        None if the next thousand events have no live one.
        """
        return first_live_fact_received_at(
            self._connection, self._store_id, events, events.c.ts, after_seq
        )

    def touchpoints(self, after_seq: int, up_to_seq: int) -> list[Row]:
        """Return live impressions and clicks of a part of the log.

        They are (seq, ts, kind, item, shopper, widget, source, position, term).
        """
        return self._raw.all(_TOUCHPOINTS, (self._store_id, after_seq, up_to_seq))

    def cart_additions(self, after_seq: int, up_to_seq: int) -> list[Row]:
        """Return (seq, ts, item, shopper, quantity, value, currency) of each cart."""
        return self._raw.all(_CARTS, (self._store_id, after_seq, up_to_seq))

    def counts_by_hour_and_kind(self, after_seq: int, up_to_seq: int) -> list[Row]:
        """Return (hour, kind, count) of the live events."""
        return self._raw.all(_HOURS, (self._store_id, after_seq, up_to_seq))

    def last_seq_and_time(self, after_seq: int, up_to_seq: int) -> tuple[int, int]:
        """Return (seq, ts) of the last event of a range, which identifies the log."""
        rows = self._raw.all(_LAST, (self._store_id, after_seq, up_to_seq))
        return (int(rows[0][0]), int(rows[0][1])) if rows else (0, 0)

    def has_unread_live_event(self, after_seq: int, before_ms: int) -> bool:
        """Return whether live events after a number are from before a time."""
        return bool(self._raw.all(_UNREAD, (self._store_id, after_seq, before_ms)))

    def touchpoint_places(self, seqs: Iterable[int]) -> dict[int, TouchpointPlace]:
        """Return (widget, source, position, look) of impressions and clicks."""
        rows = self._raw.all(_PLACES, (self._store_id, [[seq] for seq in seqs]))
        return {int(row[0]): (row[1], row[2], row[3], row[4]) for row in rows}

    def terms_of_events(self, seqs: Iterable[int]) -> dict[int, str]:
        """Return the queries behind these clicks on search results."""
        rows = self._raw.all(_TERMS, (self._store_id, [[seq] for seq in seqs]))
        return {int(row[0]): row[1] or "" for row in rows}


def _numbers(kinds: Iterable[EventKind]) -> str:
    return ", ".join(str(int(kind)) for kind in kinds)
