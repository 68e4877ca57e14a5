"""Search report: search figures and a table of queries."""

from types import MappingProxyType
from typing import Final

from productrecs.core.report import (
    Definition,
    Figure,
    Report,
    ReportError,
    ReportQuery,
    ReportValue,
)
from productrecs.features.search.search_insights import (
    QueryFilter,
    QueryInsight,
    SearchInsights,
    every_search_insight,
    search_insights,
)
from productrecs.storage.database import Database
from productrecs.tenancy.accounts.store import Store

TITLES: Final = MappingProxyType(
    {
        QueryFilter.ALL: ("search", "Search queries"),
        QueryFilter.NO_RESULTS: (
            "search-no-results",
            "Search queries without results",
        ),
        QueryFilter.NO_CLICKS: ("search-no-clicks", "Search queries without clicks"),
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

_FOLLOWED: Final = (
    Definition("carts", "count", "add-to-carts of products clicked on in results"),
    Definition("sales", "count", "order lines of such products, without returns"),
    Definition("units", "count", "units in them, net of returns; unknown counts as 1"),
    Definition("revenue", "money", "their revenue in the store's currency, net of returns"),
    Definition("revenue_per_search", "money", "revenue / searches"),
)
_SEARCHERS: Final = Definition(
    "searchers",
    "count",
    "different shoppers of each day who searched; a search without a shopper counts as one",
)
_CLICKED: Final = Definition(
    "searchers_clicked", "count", "of these, shoppers who clicked on a result that day"
)
COLUMNS: Final = (
    Definition("query", "text", "as a shopper typed it most recently"),
    Definition("searches", "count", "how often it was searched"),
    Definition("no_results", "count", "how often it had no results"),
    Definition("clicks", "count", "clicks on its results"),
    _SEARCHERS,
    _CLICKED,
    Definition("click_through", "share", "searchers_clicked / searchers"),
    Definition("mean_position", "number", "the position of the clicked results, from 1"),
    *_FOLLOWED,
)
_FIGURES: Final = (
    Definition("searches", "count", "searches with a query"),
    Definition("queries", "count", "different queries"),
    Definition("no_result_rate", "share", "the share without results"),
    _SEARCHERS,
    _CLICKED,
    Definition("click_through", "share", "searchers_clicked / searchers"),
    Definition("no_click_rate", "share", "the other searchers / searchers"),
    Definition("clicks", "count", "live clicks on results"),
    Definition("mean_position", "number", "the position of the clicked results, from 1"),
    Definition("image_searches", "count", "searches by photo"),
    Definition("image_clicks", "count", "clicks on results of image searches"),
    *_FOLLOWED,
)


def search_report(
    database: Database,
    store: Store,
    period: ReportQuery,
    query_filter: QueryFilter = QueryFilter.ALL,
) -> Report:
    """Return the queries of a period, most frequent first.

    Raises:
        ReportError: for any grouping except by query.
    """
    if period.by not in {(), ("query",)}:
        message = "searches are grouped by query alone"
        raise ReportError(message)
    days = (period.first_day, period.last_day)
    found = search_insights(database, store, days, query_filter, period.limit)
    return _report(period, query_filter, found)


def every_search_report(
    database: Database, store: Store, period: ReportQuery
) -> dict[str, Report]:
    """Return the same report for each filter, by name, from one reading."""
    days = (period.first_day, period.last_day)
    found = every_search_insight(database, store, days, period.limit)
    made = [_report(period, query_filter, one) for query_filter, one in found.items()]
    return {report.name: report for report in made}


def _report(
    period: ReportQuery, query_filter: QueryFilter, found: SearchInsights
) -> Report:
    name, title = TITLES[query_filter]
    notes = [RULE]
    if found.omitted:
        notes.append(f"{found.omitted} more queries are not shown.")
    if only_clickers := found.total.clickers - found.total.searchers_clicked:
        notes.append(_CLICKERS_NOTE.format(only_clickers))
    if found.behind:
        notes.append(f"The newest {found.behind} records are not counted yet.")
    return Report(
        name=name,
        title=f"{title}, {period.first_day} to {period.last_day}",
        figures=tuple(map(Figure, _FIGURES, _values(found))),
        columns=COLUMNS,
        rows=tuple(_row(one) for one in found.queries),
        notes=tuple(notes),
    )


def _values(found: SearchInsights) -> tuple[ReportValue, ...]:
    total = found.total
    through = total.click_through
    return (
        total.searches,
        found.intents,
        total.empty_share,
        total.searchers,
        total.searchers_clicked,
        through,
        None if through is None else 1.0 - through,
        total.clicks,
        total.mean_position,
        found.image_searches,
        found.image_clicks,
        *_followed(total),
    )


def _row(one: QueryInsight) -> tuple[ReportValue, ...]:
    return (
        one.text,
        one.searches,
        one.empty,
        one.clicks,
        one.searchers,
        one.searchers_clicked,
        one.click_through,
        one.mean_position,
        *_followed(one),
    )


def _followed(one: QueryInsight) -> tuple[ReportValue, ...]:
    return one.carts, one.sales, one.units, one.revenue, one.revenue_per_search
