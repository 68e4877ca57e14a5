"""Insights repository: SQL for the searches, clicks and sales of queries in a period."""

from collections.abc import Mapping
from typing import Final, NamedTuple

import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.engines.hyperloglog import (
    CODE_BYTES,
    EMPTY_SKETCH,
    MAX_EXACT_BYTES,
    cardinality,
)
from productrecs.storage.sql.attribution_backlog import (
    UnattributedRecordCount,
    attribution_backlog,
)
from productrecs.storage.sql.dialects import ROWS_PLACEHOLDER
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository

# Raw rows: a report reads tens of thousands, and row objects are slow. The spelling of a
# query is read for the listed queries only.
_EXACT_SHOPPERS: Final = (
    f"CASE WHEN length(shoppers) <= {MAX_EXACT_BYTES} THEN length(shoppers) / {CODE_BYTES} "
    "ELSE 0 END"
)
_COUNTS: Final = (
    "SELECT intent, max(day), CAST(sum(searches) AS BIGINT), CAST(sum(empty) AS BIGINT), "  # noqa: S608 - own words
    # The sum of rare intents has no searchers: their number is not known.
    f"CAST(sum(CASE WHEN intent <> '' THEN unnamed + {_EXACT_SHOPPERS} ELSE 0 END) "
    "AS BIGINT) FROM search_counts "
    "WHERE store_id = ? AND day >= ? AND day <= ? GROUP BY intent"
)
_LARGE_SKETCHES: Final = (
    "SELECT intent, shoppers FROM search_counts WHERE store_id = ? AND day >= ? "  # noqa: S608 - own words
    f"AND day <= ? AND intent <> '' AND length(shoppers) > {MAX_EXACT_BYTES}"
)
_CLICKS: Final = (
    "SELECT intent, max(day), CAST(sum(clicks) AS BIGINT), CAST(sum(shoppers) AS BIGINT), "
    "CAST(sum(positions) AS BIGINT), CAST(sum(position_sum) AS BIGINT) FROM search_days "
    "WHERE store_id = ? AND day >= ? AND day <= ? GROUP BY intent"
)
# Counts clicks only on days with searches of the same intent.
_DAILY_INTENT_SEARCHES: Final = (
    "SELECT searched.intent, searched.unnamed, searched.shoppers, clicked.who "
    "FROM search_days AS clicked "
    "JOIN search_counts AS searched ON clicked.store_id = searched.store_id "
    "AND clicked.day = searched.day AND clicked.intent = searched.intent "
    "WHERE clicked.store_id = ? AND clicked.day >= ? AND clicked.day <= ? "
    "AND clicked.intent NOT IN ('', ' ')"  # OTHER_INTENTS, PHOTO_SEARCHES
)
_TEXTS: Final = (
    "SELECT intent, text FROM {table} WHERE store_id = ? AND (day, intent) IN "  # noqa: S608 - own words
    f"(SELECT given.value ->> 0, given.value ->> 1 FROM {ROWS_PLACEHOLDER})"
)
_SEARCHED_TEXTS: Final = _TEXTS.replace("{table}", "search_counts")
_CLICKED_TEXTS: Final = _TEXTS.replace("{table}", "search_days")
_ATTRIBUTED_SALES: Final = (
    "SELECT intent, CAST(sum(carts) AS BIGINT), CAST(sum(lines) AS BIGINT), "
    "CAST(sum(units) AS BIGINT), sum(revenue) "
    "FROM search_credit_days WHERE store_id = ? AND day >= ? AND day <= ? "
    "AND currency IN ('', ?) GROUP BY intent"
)


class QuerySearchCount(NamedTuple):
    """Searches of one intent."""

    last_day: str
    searches: int
    empty: int  # searches without results
    searchers: int  # distinct shoppers per day, summed, and searches without a shopper


class DailyIntentSearches(NamedTuple):
    """A day's searches for one intent, and the shoppers who clicked on its results."""

    intent: str
    unnamed: int  # searches without a shopper id
    searched: bytes  # sketch of the shoppers who searched
    clicked: bytes  # sketch of the shoppers who clicked


class QueryClicks(NamedTuple):
    """Clicks on the results of one intent."""

    last_day: str
    clicks: int
    shoppers: int  # distinct shoppers per day, summed
    positions: int  # clicks with a position
    position_sum: int


class QuerySales(NamedTuple):
    """Carts and purchases attributed to clicks on an intent's results."""

    carts: int
    lines: int
    units: int
    revenue: float


class SearchFigureRepository(StoreScopedRepository):
    """One store's searches of a period, and the clicks and sales after them, by intent."""

    def __init__(
        self, connection: sa.Connection, store_id: StoreId, days: tuple[str, str]
    ) -> None:
        """Read `store_id`'s rows of the first to the last of `days` only."""
        super().__init__(connection, store_id)
        self._period = (store_id, *days)

    def search_counts_by_intent(self) -> dict[str, QuerySearchCount]:
        """Return the searches by intent."""
        counts = {
            row[0]: QuerySearchCount._make(row[1:])
            for row in self._raw.all(_COUNTS, self._period)
        }
        for intent, sketch in self._raw.all(_LARGE_SKETCHES, self._period):
            count = counts[intent]
            searchers = count.searchers + cardinality(bytes(sketch))
            counts[intent] = count._replace(searchers=searchers)
        return counts

    def clicks_by_intent(self) -> dict[str, QueryClicks]:
        """Return the clicks by intent, including clicks on photo results."""
        rows = self._raw.all(_CLICKS, self._period)
        return {row[0]: QueryClicks._make(row[1:]) for row in rows}

    def daily_intent_searches(self) -> list[DailyIntentSearches]:
        """Return the days and intents with searches and clicks."""
        return [
            DailyIntentSearches(
                row[0],
                int(row[1]),
                bytes(row[2] or EMPTY_SKETCH),
                bytes(row[3] or EMPTY_SKETCH),
            )
            for row in self._raw.all(_DAILY_INTENT_SEARCHES, self._period)
        ]

    def attributed_sales(self, currency: str) -> dict[str, QuerySales]:
        """Return carts and sales after those clicks, by intent, in the store's currency."""
        rows = self._raw.all(_ATTRIBUTED_SALES, (*self._period, currency))
        return {row[0]: QuerySales._make(row[1:]) for row in rows}

    def searched_texts(self, days: Mapping[str, str]) -> dict[str, str]:
        """Return the spelling of intents on their given days, as last typed."""
        return self._texts(_SEARCHED_TEXTS, days)

    def clicked_texts(self, days: Mapping[str, str]) -> dict[str, str]:
        """Return the same for the queries of clicks."""
        return self._texts(_CLICKED_TEXTS, days)

    def _texts(self, sql: str, days: Mapping[str, str]) -> dict[str, str]:
        keys = [[day, intent] for intent, day in days.items()]
        return dict(self._raw.all(sql, (self._store_id, keys))) if keys else {}

    def backlog(self) -> UnattributedRecordCount:
        """Return how much of the log is not counted yet."""
        return attribution_backlog(self._connection, self._store_id)
