"""Search insights: searches, results, clicks and sales by query.

Searches are counted when they are answered, once per intent for all letters typed. Clicks
are the `search-click` events with their query; carts and sales come from attribution. Rates
use searches and clicks that were observed together: live, for the same intent, on the same
day, and by the same shopper if the call has one. An unknown value is None, not 0.
"""

import functools
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from heapq import nsmallest
from typing import Final, NamedTuple

from productrecs.engines.hyperloglog import cardinality, intersection_cardinality
from productrecs.features.search.repository import (
    ObservedSearches,
    QueryClicks,
    QuerySales,
    SearchClickRepository,
)
from productrecs.records.searches.repository import (
    OTHER_INTENTS,
    PHOTO_SEARCHES,
    SearchCount,
    SearchCountRepository,
)
from productrecs.storage.database import Database
from productrecs.tenancy.accounts.store import Store


class QueryFilter(StrEnum):
    """Which searches to list."""

    ALL = "all"  # the most frequent
    NO_RESULTS = "no-results"
    NO_CLICKS = "no-clicks"  # with results but without clicks


@dataclass(frozen=True, slots=True)
class QueryInsight:
    """Figures of one intent."""

    text: str  # latest spelling; empty: the sum of rare queries
    searches: int
    empty: int
    searchers: int  # shoppers per day, plus searches without a shopper
    searchers_clicked: int  # searchers who clicked on a result on the same day
    clicks: int
    clickers: int  # shoppers per day with a click, with or without a search
    positions: int  # clicks with a position
    position_sum: int
    carts: int  # after a click on its results, like the next ones
    sales: int  # purchased lines, without returns
    units: int  # net of returns
    revenue: float  # net of returns, in the store's currency

    @property
    def revenue_per_search(self) -> float | None:
        """The mean revenue of a search; None without searches."""
        return self.revenue / self.searches if self.searches else None

    @property
    def click_through(self) -> float | None:
        """The share of searchers who clicked; None without any."""
        return self.searchers_clicked / self.searchers if self.searchers else None

    @property
    def mean_position(self) -> float | None:
        """The mean clicked position, from 1; None without any."""
        return self.position_sum / self.positions if self.positions else None

    @property
    def empty_share(self) -> float | None:
        """The share of searches without results; None without searches."""
        return self.empty / self.searches if self.searches else None


@dataclass(frozen=True, slots=True)
class SearchInsights:
    """Figures of all searches of a period, and of each listed query."""

    total: QueryInsight
    intents: int
    image_clicks: int
    queries: list[QueryInsight]
    omitted: int  # queries beyond the limit
    behind: int  # records whose clicks and sales are not counted yet


class ClickThrough(NamedTuple):
    """The number of searchers, and of those who clicked on a result."""

    searchers: int = 0
    clicked: int = 0

    def plus(self, other: "ClickThrough") -> "ClickThrough":
        """Return the sum."""
        return ClickThrough(self.searchers + other.searchers, self.clicked + other.clicked)


def searchers_who_clicked(day: ObservedSearches) -> int:
    """Return how many of a day's searchers clicked.

    A shopper with a search counts if the same shopper clicked. Each search without a
    shopper is matched with one clicker who has no search of their own; further clickers
    are not counted.
    """
    both = intersection_cardinality(day.searched, day.clicked)
    only_clickers = cardinality(day.clicked) - both
    return both + min(day.unnamed, only_clickers)


_NO_COUNT: Final = SearchCount("", 0, 0)
_NO_CLICKS: Final = QueryClicks("", 0, 0, 0, 0)
_NO_CREDITS: Final = QuerySales(0, 0, 0, 0.0)
_NO_SEARCHES: Final = ClickThrough()


def search_insights(
    database: Database,
    store: Store,
    days: tuple[str, str],
    query_filter: QueryFilter = QueryFilter.ALL,
    limit: int = 100,
) -> SearchInsights:
    """Return the searches from the first to the last of `days` (2026-03-01).

    Both are days in the store's time zone. The most frequent searches come first.
    """
    return _read(database, store, days).insights(query_filter, limit)


def count_searches(
    database: Database, store: Store, days: tuple[str, str]
) -> tuple[int, int]:
    """Return the `searches` of the insights' total, and how many had no results."""
    with database.reading() as connection:
        return SearchCountRepository(connection, store.store_id).totals_between(*days)


def every_search_insight(
    database: Database, store: Store, days: tuple[str, str], limit: int = 100
) -> dict[QueryFilter, SearchInsights]:
    """Return the same for each filter, from one reading."""
    found = _read(database, store, days)
    return {one: found.insights(one, limit) for one in QueryFilter}


def _read(database: Database, store: Store, days: tuple[str, str]) -> "_Found":
    with database.reading() as connection:
        counts = SearchCountRepository(connection, store.store_id).counts_between(*days)
        repository = SearchClickRepository(connection, store.store_id)
        clicks, behind = repository.clicks(*days), repository.behind()
        credited = repository.credits(*days, store.settings.currency)
        searchers = Counter(repository.unnamed(*days))
        named, observed = repository.named(*days), repository.observed(*days)
    image_clicks = clicks.pop(PHOTO_SEARCHES, _NO_CLICKS).clicks
    clicked = Counter[str]()
    for intent, sketch in named:
        searchers[intent] += cardinality(sketch)
    for day in observed:
        clicked[day.intent] += searchers_who_clicked(day)
    through = {
        intent: ClickThrough(count, clicked[intent]) for intent, count in searchers.items()
    }
    return _Found(counts, clicks, credited, through, image_clicks, behind)


@dataclass(frozen=True)
class _Found:
    """All figures by intent; there may be tens of thousands."""

    counts: Mapping[str, SearchCount]
    clicks: Mapping[str, QueryClicks]
    credited: Mapping[str, QuerySales]
    through: Mapping[str, ClickThrough]
    image_clicks: int
    behind: int

    def insights(self, query_filter: QueryFilter, limit: int) -> SearchInsights:
        """Return the totals, and the most frequent of the wanted queries."""
        listed = self.intents() - {OTHER_INTENTS}
        chosen = [intent for intent in listed if self.matches(intent, query_filter)]
        return SearchInsights(
            total=self.total,
            intents=len(listed),
            image_clicks=self.image_clicks,
            queries=[self.of(one) for one in nsmallest(limit, chosen, key=self.rank)],
            omitted=max(0, len(chosen) - limit),
            behind=self.behind,
        )

    def intents(self) -> set[str]:
        """Return all intents with figures."""
        return self.counts.keys() | self.clicks.keys() | self.credited.keys()

    def matches(self, intent: str, query_filter: QueryFilter) -> bool:
        """Return whether an intent belongs on a list."""
        if query_filter is QueryFilter.ALL:
            return True
        count = self.counts.get(intent, _NO_COUNT)
        if query_filter is QueryFilter.NO_RESULTS:
            return count.empty > 0
        return count.searches > count.empty and not self._clicked(intent).clicks

    def rank(self, intent: str) -> tuple[int, int, str]:
        """Return the sort key of a query."""
        count, clicked = self.counts.get(intent, _NO_COUNT), self._clicked(intent)
        text = count.text or clicked.text or intent
        return -count.searches, -clicked.clicks, text

    def of(self, intent: str) -> QueryInsight:
        """Return the figures of one intent."""
        return _insight(
            intent,
            self.counts.get(intent, _NO_COUNT),
            self._clicked(intent),
            self.credited.get(intent, _NO_CREDITS),
            self.through.get(intent, _NO_SEARCHES),
        )

    @functools.cached_property
    def total(self) -> QueryInsight:
        """Return the totals."""
        counts, clicks = self.counts.values(), self.clicks.values()
        credited = self.credited.values()
        return _insight(
            "",
            SearchCount(
                "", sum(one.searches for one in counts), sum(one.empty for one in counts)
            ),
            QueryClicks(
                "",
                sum(one.clicks for one in clicks),
                sum(one.shoppers for one in clicks),
                sum(one.positions for one in clicks),
                sum(one.position_sum for one in clicks),
            ),
            QuerySales(
                sum(one.carts for one in credited),
                sum(one.lines for one in credited),
                sum(one.units for one in credited),
                math.fsum(one.revenue for one in credited),
            ),
            functools.reduce(ClickThrough.plus, self.through.values(), _NO_SEARCHES),
        )

    def _clicked(self, intent: str) -> QueryClicks:
        return self.clicks.get(intent, _NO_CLICKS)


def _insight(
    intent: str,
    count: SearchCount,
    clicks: QueryClicks,
    credited: QuerySales,
    through: ClickThrough,
) -> QueryInsight:
    return QueryInsight(
        text=count.text or clicks.text or intent,
        searches=count.searches,
        empty=count.empty,
        searchers=through.searchers,
        searchers_clicked=through.clicked,
        clicks=clicks.clicks,
        clickers=clicks.shoppers,
        positions=clicks.positions,
        position_sum=clicks.position_sum,
        carts=credited.carts,
        sales=credited.lines,
        units=credited.units,
        revenue=credited.revenue,
    )
