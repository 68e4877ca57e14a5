"""Home, with figures of sales, clicks, searches and events, and the search of all pages."""

from dataclasses import dataclass, replace
from typing import Final

from productrecs.core.report import Report, ReportQuery, ReportValue, share_of
from productrecs.dashboard.alerts import find_alerts
from productrecs.dashboard.charts import (
    Chart,
    days_between,
    stacked_money_bar_chart,
)
from productrecs.dashboard.page import HOME_PATH, NavigationGroup, Page, Reply, Visit
from productrecs.dashboard.page_finder import find_guides, find_pages
from productrecs.dashboard.pages.catalog.merchandising import (
    rule_editor_of,
    titles_of_rule_products,
)
from productrecs.dashboard.pages.connect.setup_checklist import (
    count_done_and_all_setup_steps,
)
from productrecs.dashboard.product_table import find_product_ids_and_titles
from productrecs.dashboard.report_period import chosen_period
from productrecs.dashboard.report_values import (
    as_number,
    figures_by_name,
    recount_note,
    relative_change,
    with_max_rows,
)
from productrecs.features.privacy.shopper_export import (
    shopper_names,
    shopper_record_fields,
)
from productrecs.features.reports.tracking_health.tracking_health_report import (
    event_figures_of_24_hours,
)
from productrecs.features.search.insights.search_insights import count_searches
from productrecs.features.search.product_search import truncate_query
from productrecs.records.merchandising.rule import describe_rule
from productrecs.records.search_counts.repository import SearchTotals
from productrecs.report_registry import make_report

FIND_PATH: Final = "/dashboard/find"
_MOST: Final = 6  # of a kind
_MOST_RULES: Final = 3


@dataclass(frozen=True, slots=True)
class FigureTile:
    """One number with its name, its comparison and its definition."""

    name: str
    value: str
    note: str
    meaning: str
    change: float | None = None  # relative to the previous period


def show_home(visit: Visit) -> Reply:
    """Show the chosen days at a glance; the last 30 if none are chosen."""
    period = chosen_period(visit)
    query = period.asked
    impact = figures_by_name(make_report(visit.services, visit.store, "attribution", query))
    days = (query.first_day, query.last_day)
    searches = count_searches(visit.database, visit.store, days)
    health = {
        figure.definition.name: figure.value
        for figure in event_figures_of_24_hours(visit.database, visit.store, visit.now_ms)
    }
    by_day = with_max_rows(period.query_by("day"))
    sales = make_report(visit.services, visit.store, "attribution", by_day)
    recount = recount_note(visit)
    is_empty = not health["events_24h"] and not impact["shown"] and not recount
    return visit.render(
        "home.html",
        period=period,
        recount=recount,
        tiles=[
            replace(tile, change=None) if recount else tile
            for tile in _headline_tiles(visit, impact, searches, health)
        ],
        alerts=find_alerts(visit),
        chart=None if is_empty else _daily_sales_chart(visit, sales, query),
        is_empty=is_empty,
        setup=count_done_and_all_setup_steps(visit),
        orders=visit.context.activity.cached_or_counted(visit.store.store_id).orders,
        has_shown=bool(impact["shown"]),
        holdout_advice=figures_by_name(
            make_report(visit.services, visit.store, "experiment", query)
        ).get("advice", ""),
    )


def _headline_tiles(
    visit: Visit,
    impact: dict[str, ReportValue],
    totals: SearchTotals,
    health: dict[str, ReportValue],
) -> list[FigureTile]:
    fmt = visit.formats
    return [
        FigureTile(
            "Sales after recommendations",
            fmt.money(as_number(impact["revenue"])),
            f"{fmt.share(as_number(impact['revenue_share']))} of all sales that your "
            f"shop sent, {fmt.money(as_number(impact['revenue_live']))} "
            f"(imported orders are not counted): "
            f"{fmt.money(as_number(impact['revenue_clicked']))} after a click, "
            f"{fmt.money(as_number(impact['revenue_seen']))} only seen",
            "Sales of products that the same shopper clicked on, or was shown, in a list "
            "at most 30 days before. Not proof of cause: the holdout test is.",
            relative_change(impact["revenue"], impact["revenue_before"]),
        ),
        FigureTile(
            "Click rate",
            fmt.share(as_number(impact["click_rate"]), 2),
            f"{fmt.count(as_number(impact['clicked']), 'click')} on "
            f"{fmt.count(as_number(impact['shown']), 'product')} shown",
            "Clicks on recommended products divided by recommended products shown.",
            relative_change(impact["click_rate"], impact["click_rate_before"]),
        ),
        FigureTile(
            "Searches",
            fmt.number(totals.searches),
            f"{fmt.share(share_of(totals.empty, totals.searches))} without results"
            if totals.searches
            else "",
            "What shoppers searched for and stayed with for three seconds.",
        ),
        FigureTile(
            "Events in 24 hours",
            fmt.number(as_number(health["events_24h"])),
            f"{fmt.number(as_number(health['events_week_ago']))} a week ago",
            "Page views, carts, clicks and impressions that your pages sent.",
            as_number(health["change"]),
        ),
    ]


def _daily_sales_chart(visit: Visit, report: Report, query: ReportQuery) -> Chart:
    names = [column.name for column in report.columns]
    day_at, revenue_at, currency_at = map(names.index, ("day", "revenue", "currency"))
    sales_by_day = {
        str(row[day_at]): float(row[revenue_at] or 0)
        for row in report.rows
        if row[currency_at] == visit.store.settings.currency
    }
    days = days_between(query.first_day, query.last_day)
    sales = [sales_by_day.get(day, 0.0) for day in days]
    return stacked_money_bar_chart(days, {"Sales": sales}, visit.formats)


def search_dashboard(visit: Visit) -> Reply:
    """Show what matches the typed text; htmx requests only the results."""
    text = truncate_query(visit.query["q"])
    folded = text.casefold()
    rules = (
        [rule for rule in _rule_ids_and_titles(visit) if folded in rule[1].casefold()]
        if text
        else []
    )
    return visit.render(
        "find_results.html" if visit.is_partial else "find.html",
        q=text,
        pages=find_pages(text)[:_MOST],
        guides=find_guides(text),
        products=find_product_ids_and_titles(visit, text, _MOST) if text else [],
        rules=rules[:_MOST_RULES],
        customer=text if text and _is_shopper_id(visit, text) else "",
    )


def _rule_ids_and_titles(visit: Visit) -> list[tuple[int, str]]:
    """Return each rule's id and title."""
    stored = rule_editor_of(visit).all()
    titles = titles_of_rule_products(visit, stored)
    return [
        (rule.rule_id, rule.content.name or describe_rule(rule.content, titles))
        for rule in stored
    ]


def _is_shopper_id(visit: Visit, typed_id: str) -> bool:
    """Return whether a shopper has exactly this id."""
    database, store_id = visit.database, visit.store.store_id
    names = shopper_names(database, store_id, typed_id)
    records = shopper_record_fields(database, store_id, names)
    return next(iter(records), None) is not None


PAGES: Final = (
    Page(HOME_PATH, "Home", show_home, group=NavigationGroup.OVERVIEW),
    Page(FIND_PATH, "Find", search_dashboard),
)
