"""Search insights and their report: searches, results, clicks and sales by query.

Searches are counted when they are answered, once per intent for all letters typed. Clicks
are the `search-click` events with their query; carts and sales come from attribution. Rates
use searches and clicks that were observed together: live, for the same intent, on the same
day, and by the same shopper if the call has one. An unknown value is None, not 0.
"""

import functools
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from heapq import nlargest, nsmallest
from itertools import chain, islice
from types import MappingProxyType
from typing import Any, Final

from productrecs.core.report import (
    Figure,
    FigureDefinition,
    Report,
    ReportQuery,
    ReportQueryError,
    ReportValue,
)
from productrecs.engines.hyperloglog import cardinality, intersection_cardinalities
from productrecs.features.search.insights.repository import (
    DailyIntentSearches,
    QueryClicks,
    QuerySales,
    QuerySearchCount,
    SearchFigureRepository,
)
from productrecs.records.search_counts.repository import (
    OTHER_INTENTS,
    PHOTO_SEARCHES,
    QuestionCount,
    SearchCountRepository,
    SearchTotals,
)
from productrecs.storage.sql.attribution_backlog import UnattributedRecordCount
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.store import Store


class ListedQueries(StrEnum):
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
    image_searches: int
    image_clicks: int
    queries: list[QueryInsight]
    omitted: int  # queries beyond the limit
    backlog: UnattributedRecordCount  # records whose clicks and sales are not counted yet


def count_searchers_who_clicked(days: Sequence[DailyIntentSearches]) -> list[int]:
    """Return how many of each day's searchers clicked, in the same order.

    A shopper with a search counts if the same shopper clicked. Each search without a
    shopper is matched with one clicker who has no search of their own; further clickers
    are not counted.
    """
    both = intersection_cardinalities([(day.searched, day.clicked) for day in days])
    return [
        named + (day.unnamed and min(day.unnamed, cardinality(day.clicked) - named))
        for day, named in zip(days, both, strict=True)
    ]


_NO_COUNT: Final = QuerySearchCount("", 0, 0, 0)
_NO_CLICKS: Final = QueryClicks("", 0, 0, 0, 0)
_NO_SALES: Final = QuerySales(0, 0, 0, 0.0)


def search_insights(
    database: Database,
    store: Store,
    days: tuple[str, str],
    query_filter: ListedQueries = ListedQueries.ALL,
    limit: int = 100,
) -> SearchInsights:
    """Return the searches from the first to the last of `days` (2026-03-01).

    Both are days in the store's time zone. The most frequent searches come first.
    """
    return search_insights_by_filter(database, store, days, (query_filter,), limit)[
        query_filter
    ]


def count_searches(database: Database, store: Store, days: tuple[str, str]) -> SearchTotals:
    """Return the `searches` and `empty` of the insights' total, without the queries."""
    with database.reading() as connection:
        return SearchCountRepository(connection, store.store_id).totals_between(*days)


def search_question_counts(
    database: Database, store: Store, days: tuple[str, str]
) -> list[QuestionCount]:
    """Return the questions that narrow results, with how often shoppers answered."""
    with database.reading() as connection:
        return SearchCountRepository(connection, store.store_id).questions_between(days)


def search_insights_by_filter(
    database: Database,
    store: Store,
    days: tuple[str, str],
    query_filters: Sequence[ListedQueries] = tuple(ListedQueries),
    limit: int = 100,
) -> dict[ListedQueries, SearchInsights]:
    """Return the insights of each list of queries, from one reading of the figures."""
    with database.reading() as connection:
        repository = SearchFigureRepository(connection, store.store_id, days)
        figures = _read_figures_by_intent(repository, store.settings.currency)
        intents_by_filter = {
            query_filter: figures.listed_intents(query_filter)
            for query_filter in query_filters
        }
        listed_by_filter = {
            query_filter: figures.most_frequent(limit, intents_by_filter[query_filter])
            for query_filter in query_filters
        }
        texts = figures.read_latest_spellings(
            repository, {*chain.from_iterable(listed_by_filter.values())}
        )
        backlog = repository.backlog()
    return {
        query_filter: SearchInsights(
            total=figures.total,
            intents=len(figures.intents),
            image_searches=figures.image_searches,
            image_clicks=figures.image_clicks,
            queries=[
                figures.query_insight(intent, texts[intent])
                for intent in listed_by_filter[query_filter]
            ],
            omitted=max(0, len(intents_by_filter[query_filter]) - limit),
            backlog=backlog,
        )
        for query_filter in query_filters
    }


def _read_figures_by_intent(
    repository: SearchFigureRepository, currency: str
) -> "_FiguresByIntent":
    counts, clicks = repository.search_counts_by_intent(), repository.clicks_by_intent()
    observed = repository.daily_intent_searches()
    image_searches = counts.pop(PHOTO_SEARCHES, _NO_COUNT).searches
    image_clicks = clicks.pop(PHOTO_SEARCHES, _NO_CLICKS).clicks
    searchers_clicked = Counter[str]()
    for day, count in zip(observed, count_searchers_who_clicked(observed), strict=True):
        searchers_clicked[day.intent] += count
    sales = repository.attributed_sales(currency)
    return _FiguresByIntent(
        counts, clicks, sales, searchers_clicked, image_searches, image_clicks
    )


@dataclass(frozen=True)
class _FiguresByIntent:
    """All figures by intent; there may be tens of thousands."""

    counts: Mapping[str, QuerySearchCount]
    clicks: Mapping[str, QueryClicks]
    sales: Mapping[str, QuerySales]
    searchers_clicked: Mapping[str, int]
    image_searches: int
    image_clicks: int

    @functools.cached_property
    def intents(self) -> set[str]:
        """All intents with figures."""
        intents = self.counts.keys() | self.clicks.keys() | self.sales.keys()
        return intents - {OTHER_INTENTS}

    def listed_intents(self, query_filter: ListedQueries) -> Collection[str]:
        """Return the intents that belong on a list."""
        if query_filter is ListedQueries.ALL:
            return self.intents
        if query_filter is ListedQueries.NO_RESULTS:
            return [
                intent
                for intent, count in self.counts.items()
                if count.empty and intent != OTHER_INTENTS
            ]
        return [
            intent
            for intent, count in self.counts.items()
            if count.searches > count.empty
            and intent not in self.clicks
            and intent != OTHER_INTENTS
        ]

    def most_frequent(self, limit: int, intents: Collection[str]) -> list[str]:
        """Return the intents with most searches, then most clicks, then by name."""
        counts = self.counts
        searches = [counts.get(intent, _NO_COUNT).searches for intent in intents]
        if len(searches) > limit:
            min_searches = min(nlargest(limit, searches), default=0)
            pairs = zip(intents, searches, strict=True)
            intents = [intent for intent, count in pairs if count >= min_searches]
        return nsmallest(limit, intents, key=self._rank)

    def _rank(self, intent: str) -> tuple[int, int, str]:
        count = self.counts.get(intent, _NO_COUNT)
        return -count.searches, -self._clicks_of(intent).clicks, intent

    def read_latest_spellings(
        self, repository: SearchFigureRepository, intents: Collection[str]
    ) -> dict[str, str]:
        """Return the latest spelling of intents: of a search, or else of a click."""
        counts, clicks = self.counts, self.clicks
        days = {intent: counts[intent].last_day for intent in intents if intent in counts}
        spellings = repository.searched_texts(days)
        without_text = [intent for intent in intents if not spellings.get(intent)]
        days = {
            intent: clicks[intent].last_day for intent in without_text if intent in clicks
        }
        spellings |= repository.clicked_texts(days)
        return {intent: spellings.get(intent) or intent for intent in intents}

    def query_insight(self, intent: str, text: str) -> QueryInsight:
        """Return the figures of one intent."""
        return _to_query_insight(
            text,
            self.counts.get(intent, _NO_COUNT),
            self._clicks_of(intent),
            self.sales.get(intent, _NO_SALES),
            self.searchers_clicked.get(intent, 0),
        )

    @functools.cached_property
    def total(self) -> QueryInsight:
        """The sums of all intents."""
        counts, clicks = self.counts.values(), self.clicks.values()
        sales = self.sales.values()
        return _to_query_insight(
            "",
            QuerySearchCount._make(("", *_column_sums(_NO_COUNT, *counts))),
            QueryClicks._make(("", *_column_sums(_NO_CLICKS, *clicks))),
            QuerySales(
                sum(sale.carts for sale in sales),
                sum(sale.lines for sale in sales),
                sum(sale.units for sale in sales),
                math.fsum(sale.revenue for sale in sales),
            ),
            sum(self.searchers_clicked.values()),
        )

    def _clicks_of(self, intent: str) -> QueryClicks:
        return self.clicks.get(intent, _NO_CLICKS)


def _column_sums(*rows: Sequence[Any]) -> Iterator[Any]:
    """Yield the sum of each column except the first, which is a day."""
    return map(sum, islice(zip(*rows, strict=True), 1, None))


def _to_query_insight(
    text: str,
    count: QuerySearchCount,
    clicks: QueryClicks,
    sales: QuerySales,
    searchers_clicked: int,
) -> QueryInsight:
    return QueryInsight(
        text=text,
        searches=count.searches,
        empty=count.empty,
        searchers=count.searchers,
        searchers_clicked=searchers_clicked,
        clicks=clicks.clicks,
        clickers=clicks.shoppers,
        positions=clicks.positions,
        position_sum=clicks.position_sum,
        carts=sales.carts,
        sales=sales.lines,
        units=sales.units,
        revenue=sales.revenue,
    )


TITLES: Final = MappingProxyType(
    {
        ListedQueries.ALL: ("search", "Search queries"),
        ListedQueries.NO_RESULTS: (
            "search-no-results",
            "Search queries without results",
        ),
        ListedQueries.NO_CLICKS: ("search-no-clicks", "Search queries without clicks"),
    }
)
RULE: Final = (
    "One search is a query that a shopper stays with for three seconds, not each letter "
    "typed on the way; spellings of one query count together. Clicks are live "
    "search-click events with their query. Further pages, empty queries and imported "
    "history are not counted. Rates are of searches and clicks of one query on one day; "
    "where a search names its shopper (user_id), of the same shopper. A cart or a sale "
    "follows a search when the same shopper clicked on the same product among its "
    "results at most 30 days before; the last such click counts. It may be attributed "
    "to a recommendation as well: the two do not add up. Carts and sales are on their "
    "own day."
)

_CLICKERS_NOTE: Final = (
    "{} shoppers and days with a click are in no rate, because no search of theirs was "
    "counted: send user_id with /v1/search, the same as in events."
)

_SALES_COLUMNS: Final = (
    FigureDefinition("carts", "count", "add-to-carts of products clicked on in results"),
    FigureDefinition("sales", "count", "order lines of such products, without returns"),
    FigureDefinition(
        "units", "count", "units in them, net of returns; unknown counts as 1"
    ),
    FigureDefinition(
        "revenue", "money", "their revenue in the store's currency, net of returns"
    ),
    FigureDefinition("revenue_per_search", "money", "revenue / searches"),
)
_SEARCHERS: Final = FigureDefinition(
    "searchers",
    "count",
    "different shoppers of each day who searched; a search without a shopper counts as one",
)
_CLICKED: Final = FigureDefinition(
    "searchers_clicked", "count", "of these, shoppers who clicked on a result that day"
)
COLUMNS: Final = (
    FigureDefinition("query", "text", "as a shopper typed it most recently"),
    FigureDefinition("searches", "count", "how often it was searched"),
    FigureDefinition("no_results", "count", "how often it had no results"),
    FigureDefinition("clicks", "count", "clicks on its results"),
    _SEARCHERS,
    _CLICKED,
    FigureDefinition("click_through", "share", "searchers_clicked / searchers"),
    FigureDefinition(
        "mean_position", "number", "the position of the clicked results, from 1"
    ),
    *_SALES_COLUMNS,
)
_FIGURES: Final = (
    FigureDefinition("searches", "count", "searches with a query"),
    FigureDefinition("queries", "count", "different queries"),
    FigureDefinition("no_result_rate", "share", "the share without results"),
    _SEARCHERS,
    _CLICKED,
    FigureDefinition("click_through", "share", "searchers_clicked / searchers"),
    FigureDefinition("no_click_rate", "share", "the other searchers / searchers"),
    FigureDefinition("clicks", "count", "live clicks on results"),
    FigureDefinition(
        "mean_position", "number", "the position of the clicked results, from 1"
    ),
    FigureDefinition("image_searches", "count", "searches by photo"),
    FigureDefinition("image_clicks", "count", "clicks on results of image searches"),
    *_SALES_COLUMNS,
)


def search_report(
    database: Database,
    store: Store,
    period: ReportQuery,
    query_filter: ListedQueries = ListedQueries.ALL,
) -> Report:
    """Return the queries of a period, most frequent first.

    Raises:
        ReportQueryError: for any grouping except by query.
    """
    if period.by not in {(), ("query",)}:
        message = "searches are grouped by query alone"
        raise ReportQueryError(message)
    days = (period.first_day, period.last_day)
    insights = search_insights(database, store, days, query_filter, period.limit)
    return _build_search_report(period, query_filter, insights)


def search_reports_by_name(
    database: Database, store: Store, period: ReportQuery
) -> dict[str, Report]:
    """Return the search report of each list of queries, by its name, from one reading."""
    days = (period.first_day, period.last_day)
    insights = search_insights_by_filter(database, store, days, limit=period.limit)
    reports = [
        _build_search_report(period, query_filter, insights_of_filter)
        for query_filter, insights_of_filter in insights.items()
    ]
    return {report.name: report for report in reports}


def _build_search_report(
    period: ReportQuery, query_filter: ListedQueries, insights: SearchInsights
) -> Report:
    name, title = TITLES[query_filter]
    notes = [RULE]
    if insights.omitted:
        notes.append(f"{insights.omitted} more queries are not shown.")
    if only_clickers := insights.total.clickers - insights.total.searchers_clicked:
        notes.append(_CLICKERS_NOTE.format(only_clickers))
    notes += filter(None, [insights.backlog.note])
    return Report(
        name=name,
        title=f"{title}, {period.first_day} to {period.last_day}",
        figures=tuple(map(Figure, _FIGURES, _search_figure_values(insights))),
        columns=COLUMNS,
        rows=tuple(_query_report_row(query) for query in insights.queries),
        notes=tuple(notes),
    )


def _search_figure_values(insights: SearchInsights) -> tuple[ReportValue, ...]:
    total = insights.total
    click_through = total.click_through
    return (
        total.searches,
        insights.intents,
        total.empty_share,
        total.searchers,
        total.searchers_clicked,
        click_through,
        None if click_through is None else 1.0 - click_through,
        total.clicks,
        total.mean_position,
        insights.image_searches,
        insights.image_clicks,
        *_sales_values(total),
    )


def _query_report_row(query: QueryInsight) -> tuple[ReportValue, ...]:
    return (
        query.text,
        query.searches,
        query.empty,
        query.clicks,
        query.searchers,
        query.searchers_clicked,
        query.click_through,
        query.mean_position,
        *_sales_values(query),
    )


def _sales_values(query: QueryInsight) -> tuple[ReportValue, ...]:
    return query.carts, query.sales, query.units, query.revenue, query.revenue_per_search
