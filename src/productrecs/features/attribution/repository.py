"""Attribution repository: SQL that reads the log and stores outcomes, sums and progress."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.features.attribution.daily_sums import (
    AttributedOutcome,
    AttributionDaySums,
    DailySearchClicks,
    SettledDays,
)
from productrecs.records.events.event import EventKind
from productrecs.records.events.event_log.repository import EventLogRepository
from productrecs.records.events.repository import EventRepository, LinkedCustomerId
from productrecs.records.purchases.sold_lines.repository import SoldLineRepository
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.dialects import ROWS_PLACEHOLDER, upsert
from productrecs.storage.sql.store_counters_and_versions import heads_of_all_stores, log_seq
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.stored_insights import (
    StoredInsight,
    insight_coverages,
    store_insight,
)
from productrecs.storage.sql.tables import (
    attribution_marks,
    credit_days,
    event_hours,
    item_credit_days,
    look_days,
    outcome_days,
    outcomes,
    search_credit_days,
    search_days,
    shopper_days,
    touch_days,
)
from productrecs.tenancy.accounts.repository import AccountRepository

_GIVEN_SEQS: Final = f"(SELECT CAST(given.value ->> 0 AS BIGINT) FROM {ROWS_PLACEHOLDER})"  # noqa: S608 - own words
_COLUMNS: Final = ", ".join(AttributedOutcome._fields)
_OF_FACTS: Final = (
    f"SELECT {_COLUMNS} FROM outcomes "  # noqa: S608 - own words
    f"WHERE store_id = ? AND fact IN {_GIVEN_SEQS}"
)
_OF_DAY: Final = f"SELECT {_COLUMNS} FROM outcomes WHERE store_id = ? AND day = ?"  # noqa: S608 - own words
_DELETE_OUTCOMES: Final = (
    f"DELETE FROM outcomes WHERE store_id = ? AND fact IN {_GIVEN_SEQS}"  # noqa: S608 - own words
)
# One statement each: many new widget names must not prolong the write lock.
_ADD_TOUCHPOINTS: Final = (
    "INSERT INTO touch_days (store_id, day, widget, source, position, shown, clicked) "  # noqa: S608 - own words
    "SELECT ?, given.value ->> 0, given.value ->> 1, given.value ->> 2, "
    "CAST(given.value ->> 3 AS BIGINT), CAST(given.value ->> 4 AS BIGINT), "
    f"CAST(given.value ->> 5 AS BIGINT) FROM {ROWS_PLACEHOLDER} WHERE true "
    "ON CONFLICT (store_id, day, widget, source, position) DO UPDATE SET "
    "shown = touch_days.shown + excluded.shown, "
    "clicked = touch_days.clicked + excluded.clicked"
)
_ADD_LOOK_COUNTS: Final = (
    "INSERT INTO look_days (store_id, day, look, item, shown, clicked) "  # noqa: S608 - own words
    "SELECT ?, given.value ->> 0, given.value ->> 1, CAST(given.value ->> 2 AS BIGINT), "
    "CAST(given.value ->> 3 AS BIGINT), CAST(given.value ->> 4 AS BIGINT) "
    f"FROM {ROWS_PLACEHOLDER} WHERE true "
    "ON CONFLICT (store_id, day, look, item) DO UPDATE SET "
    "shown = look_days.shown + excluded.shown, "
    "clicked = look_days.clicked + excluded.clicked"
)
_COUNT_EVENTS: Final = (
    "INSERT INTO event_hours (store_id, hour, kind, count) "  # noqa: S608 - own words
    "SELECT ?, CAST(given.value ->> 0 AS BIGINT), CAST(given.value ->> 1 AS SMALLINT), "
    f"CAST(given.value ->> 2 AS BIGINT) FROM {ROWS_PLACEHOLDER} WHERE true "
    "ON CONFLICT (store_id, hour, kind) DO UPDATE SET "
    "count = event_hours.count + excluded.count"
)
_REACH_SQL: Final = (
    "SELECT day, widget, source, shown, clicked FROM shopper_days "  # noqa: S608 - own words
    "WHERE store_id = ? AND (day, widget, source) IN (SELECT given.value ->> 0, "
    f"given.value ->> 1, given.value ->> 2 FROM {ROWS_PLACEHOLDER})"
)
_DELETE_REACH: Final = (
    "DELETE FROM shopper_days "  # noqa: S608 - own words
    "WHERE store_id = ? AND (day, widget, source) IN (SELECT given.value ->> 0, "
    f"given.value ->> 1, given.value ->> 2 FROM {ROWS_PLACEHOLDER})"
)
_SEARCHES: Final = (
    "SELECT day, intent, text, clicks, shoppers, positions, position_sum, who "  # noqa: S608 - own words
    "FROM search_days WHERE store_id = ? AND (day, intent) IN "
    f"(SELECT given.value ->> 0, given.value ->> 1 FROM {ROWS_PLACEHOLDER})"
)
_DELETE_SEARCHES: Final = (
    "DELETE FROM search_days WHERE store_id = ? AND (day, intent) IN "  # noqa: S608 - own words
    f"(SELECT given.value ->> 0, given.value ->> 1 FROM {ROWS_PLACEHOLDER})"
)
_SUMS: Final = (
    credit_days,
    item_credit_days,
    outcome_days,
    touch_days,
    look_days,
    event_hours,
    shopper_days,
    search_days,
    search_credit_days,
)

_PURGE_NAME: Final = "retention"  # of the last purge among the insights
_RECOMMENDED: Final = frozenset({EventKind.REC_IMPRESSION, EventKind.REC_CLICK})

Row = tuple[Any, ...]
ReachKey = tuple[str, str, str]  # day, widget, source
SearchKey = tuple[str, str]  # day, intent


class TouchpointColumns(NamedTuple):
    """Clicks and impressions in the order of receipt, as columns."""

    seqs: tuple[int, ...] = ()
    times: tuple[int, ...] = ()
    kinds: tuple[int, ...] = ()
    items: tuple[int, ...] = ()
    shoppers: tuple[str, ...] = ()
    widgets: tuple[str | None, ...] = ()
    sources: tuple[str | None, ...] = ()
    positions: tuple[int | None, ...] = ()
    looks: tuple[str | None, ...] = ()


class SearchClickColumns(NamedTuple):
    """Clicks on search results in the order of receipt, as columns."""

    seqs: tuple[int, ...] = ()
    times: tuple[int, ...] = ()
    kinds: tuple[int, ...] = ()
    items: tuple[int, ...] = ()
    shoppers: tuple[str, ...] = ()
    positions: tuple[int | None, ...] = ()
    terms: tuple[str | None, ...] = ()


Columns = TypeVar("Columns", TouchpointColumns, SearchClickColumns)


def columns_since(columns: Columns, time_ms: int) -> Columns:
    """Return the rows of a time and later."""
    rows = [row for row in zip(*columns, strict=True) if row[1] >= time_ms]
    return type(columns)(*zip(*rows, strict=True))


class AttributionProgress(NamedTuple):
    """The position in a store's log, its time zone, and the format of the rows."""

    seq: int
    zone: str
    version: int
    language: str  # the stemming language, which groups queries into intents


class AttributionBacklog(NamedTuple):
    """How far a store's log goes, and up to where it is attributed, if it is."""

    store_id: StoreId
    head: int
    progress: AttributionProgress | None


def last_purges(connection: sa.Connection) -> dict[StoreId, int]:
    """Return when the last purge of each store ended."""
    rows = insight_coverages(connection, _PURGE_NAME)
    return {row.store_id: row.computed_at for row in rows if row.computed_at is not None}


def attribution_backlogs_of_all_stores(
    connection: sa.Connection,
) -> list[AttributionBacklog]:
    """Return how far the log of each store is attributed."""
    heads, progress_columns = heads_of_all_stores("seq"), attribution_marks.c
    progress = (
        progress_columns.seq,
        progress_columns.zone,
        progress_columns.version,
        progress_columns.language,
    )
    query = sa.select(heads.c.store_id, heads.c.seq, *progress)
    joined = heads.outerjoin(
        attribution_marks, progress_columns.store_id == heads.c.store_id
    )
    rows = connection.execute(query.select_from(joined).order_by(heads.c.store_id))
    return [
        AttributionBacklog(
            StoreId(row[0]),
            row[1],
            None if row[2] is None else AttributionProgress(*row[2:]),
        )
        for row in rows
    ]


class AttributionRepository(StoreScopedRepository):
    """One store's log and attribution results, in one transaction; never commits."""

    def __init__(self, connection: sa.Connection, store_id: StoreId) -> None:
        """Work on `store_id`'s rows only."""
        super().__init__(connection, store_id)
        self.log = EventLogRepository(connection, store_id)
        self.sold_lines = SoldLineRepository(connection, store_id)

    def progress(self) -> AttributionProgress | None:
        """Return the position up to which the log was read; None before the first time."""
        progress_columns = attribution_marks.c
        query = sa.select(
            progress_columns.seq,
            progress_columns.zone,
            progress_columns.version,
            progress_columns.language,
        ).where(progress_columns.store_id == self._store_id)
        row = self._connection.execute(query).first()
        return None if row is None else AttributionProgress(*row)

    def settled_days(self) -> SettledDays:
        """Return the days whose sums are final."""
        columns = attribution_marks.c
        query = sa.select(columns.settled_before, columns.settled_day)
        row = self._connection.execute(
            query.where(columns.store_id == self._store_id)
        ).first()
        return SettledDays() if row is None else SettledDays(*row)

    def settle_days_if_all_read(
        self, progress: AttributionProgress, days: SettledDays
    ) -> bool:
        """Settle the days before a time; return False if their facts are not all counted.

        The position must still be `progress`. Earlier settled days stay settled.
        """
        values = (progress.seq, days.before_ms)
        if self.log.has_unread_live_event(*values) or self.sold_lines.has_unread_live_line(
            *values
        ):
            return False
        columns = attribution_marks.c
        changed = self._update_rows(
            attribution_marks,
            columns.seq == progress.seq,
            columns.zone == progress.zone,
            columns.settled_before <= days.before_ms,
            columns.settled_day <= days.first_open_day,
            settled_before=days.before_ms,
            settled_day=days.first_open_day,
        )
        return changed == 1

    def record_end_of_purge(self, now_ms: int) -> None:
        """Store when the last purge of old events ended.

        Raises:
            StoreDeletedError: when the store was deleted.
        """
        AccountRepository(self._connection).lock(self._store_id)
        purge = StoredInsight(now_ms, applied_seq=0, result={})
        store_insight(self._connection, self._store_id, _PURGE_NAME, purge)

    def head(self) -> int:
        """Return the last sequence number of the log; 0 when the store was deleted."""
        return log_seq(self._connection, self._store_id)

    def touchpoints_and_search_clicks(
        self, after_seq: int, up_to_seq: int
    ) -> tuple[TouchpointColumns, SearchClickColumns]:
        """Return live touchpoints and search clicks of a range of the log."""
        rows = self.log.touchpoints(after_seq, up_to_seq)
        shown = [row for row in rows if row[2] in _RECOMMENDED]
        searches = [(*row[:5], *row[7:]) for row in rows if row[2] not in _RECOMMENDED]
        return (
            TouchpointColumns(*zip(*shown, strict=True)),
            SearchClickColumns(*zip(*searches, strict=True)),
        )

    def other_ids(self, names: Iterable[str]) -> dict[str, list[LinkedCustomerId]]:
        """Return the customers' other ids, as the shop's server said."""
        return EventRepository(self._connection, self._store_id).other_customer_ids(names)

    def outcomes_of_facts(self, facts: Iterable[int]) -> list[AttributedOutcome]:
        """Return the stored outcomes of these records."""
        rows = self._raw.all(_OF_FACTS, (self._store_id, [[fact] for fact in facts]))
        return [AttributedOutcome(*row) for row in rows]

    def outcomes_on(self, day: str) -> list[AttributedOutcome]:
        """Return the stored outcomes of a day."""
        rows = self._raw.all(_OF_DAY, (self._store_id, day))
        return [AttributedOutcome(*row) for row in rows]

    def advance_progress(
        self, before: AttributionProgress, after: AttributionProgress
    ) -> bool:
        """Advance the position; return False when another process has advanced it."""
        progress_columns = attribution_marks.c
        changed = self._update_rows(
            attribution_marks,
            progress_columns.seq == before.seq,
            progress_columns.zone == before.zone,
            progress_columns.version == before.version,
            progress_columns.language == before.language,
            **after._asdict(),
        )
        return changed == 1

    def begin_progress(self, progress: AttributionProgress) -> None:
        """Insert the first position of a store.

        Raises:
            StoreDeletedError: when it was deleted.
        """
        AccountRepository(self._connection).lock(self._store_id)
        query = upsert(self._connection, attribution_marks).values(
            store_id=self._store_id, **progress._asdict()
        )
        self._connection.execute(query.on_conflict_do_nothing())

    def replace_outcomes(
        self,
        database: Database,
        removed: Collection[int],
        added: Sequence[AttributedOutcome],
    ) -> None:
        """Store outcomes after deleting those of `removed` facts."""
        if removed:
            self._raw.run(_DELETE_OUTCOMES, (self._store_id, [[fact] for fact in removed]))
        rows = [(self._store_id, *outcome) for outcome in added]
        database.insert_rows(self._connection, outcomes, rows)

    def replace_day_sums(
        self,
        database: Database,
        days: Collection[str],
        sums: AttributionDaySums,
    ) -> None:
        """Replace the sums of `days`."""
        stored: tuple[tuple[sa.Table, Sequence[Row]], ...] = (
            (credit_days, sums.credited),
            (item_credit_days, sums.items),
            (outcome_days, sums.totals),
            (search_credit_days, sums.searched),
        )
        for table, rows in stored:
            self._delete_rows(table, table.c.day.in_(sorted(days)))
            scoped_rows = [(self._store_id, *row) for row in rows]
            database.insert_rows(self._connection, table, scoped_rows)

    def add_touchpoint_counts(
        self, counted: Mapping[tuple[str, str, str, int], tuple[int, int]]
    ) -> None:
        """Add impressions and clicks, by day, widget, source and position."""
        rows = [[*place, *counts] for place, counts in counted.items()]
        if rows:
            self._raw.run(_ADD_TOUCHPOINTS, (self._store_id, rows))

    def add_look_item_counts(
        self, counted: Mapping[tuple[str, str, int], tuple[int, int]]
    ) -> None:
        """Add impressions and clicks in looks, by day, look and item number."""
        rows = [[*key, *counts] for key, counts in counted.items()]
        if rows:
            self._raw.run(_ADD_LOOK_COUNTS, (self._store_id, rows))

    def reach_sketches(
        self, places: Iterable[ReachKey]
    ) -> dict[ReachKey, tuple[bytes, bytes]]:
        """Return the sketches of shoppers shown and clicking, by day, widget and source."""
        keys = [list(place) for place in places]
        rows = self._raw.all(_REACH_SQL, (self._store_id, keys)) if keys else []
        return {(row[0], row[1], row[2]): (bytes(row[3]), bytes(row[4])) for row in rows}

    def replace_reach_sketches(
        self, database: Database, reach: Mapping[ReachKey, tuple[bytes, bytes]]
    ) -> None:
        """Replace the stored sketches of shoppers who were shown and who clicked."""
        if reach:
            keys = [list(place) for place in reach]
            self._raw.run(_DELETE_REACH, (self._store_id, keys))
            rows = [
                (self._store_id, *place, *sketches) for place, sketches in reach.items()
            ]
            database.insert_rows(self._connection, shopper_days, rows)

    def daily_search_clicks(self, intents: Iterable[SearchKey]) -> list[DailySearchClicks]:
        """Return the stored clicks on results, by day and query."""
        keys = [list(key) for key in intents]
        rows = self._raw.all(_SEARCHES, (self._store_id, keys)) if keys else []
        return [DailySearchClicks._make((*row[:-1], bytes(row[-1]))) for row in rows]

    def replace_daily_search_clicks(
        self, database: Database, clicks: Collection[DailySearchClicks]
    ) -> None:
        """Replace the stored clicks on results of these queries."""
        if clicks:
            keys = [[click_day.day, click_day.intent] for click_day in clicks]
            self._raw.run(_DELETE_SEARCHES, (self._store_id, keys))
            rows = [(self._store_id, *click_day) for click_day in clicks]
            database.insert_rows(self._connection, search_days, rows)

    def add_event_counts(self, counted: Iterable[Row]) -> None:
        """Add event counts, in the form that `hours` returns."""
        rows = [list(row) for row in counted]
        if rows:
            self._raw.run(_COUNT_EVENTS, (self._store_id, rows))

    def delete_open_outcomes_then_sums(self, limit: int) -> bool:
        """Delete up to `limit` outcomes, then all sums; return whether all are deleted.

        Those of settled days stay.
        """
        settled = self.settled_days()
        facts = (
            sa.select(outcomes.c.fact)
            .where(
                outcomes.c.store_id == self._store_id, outcomes.c.ts >= settled.before_ms
            )
            .limit(limit)
        )
        if self._delete_rows(outcomes, outcomes.c.fact.in_(facts)):
            return False
        for table in _SUMS:
            is_open = (
                table.c.hour >= settled.first_open_hour
                if table is event_hours
                else table.c.day >= settled.first_open_day
            )
            self._delete_rows(table, is_open)
        return True
