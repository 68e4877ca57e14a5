"""Report registry: every report type and the function that makes it.

The command line, the API and the dashboard use it. Each feature makes its own report.
"""

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from productrecs.core.csv_writer import CsvWriter
from productrecs.core.report import FigureDefinition, Report, ReportQuery, ReportQueryError
from productrecs.features.attribution.attributor import Attributor
from productrecs.features.experiments.experiment_measurement import (
    design_of_experiment,
    holdout_design,
    measure_and_store_test,
)
from productrecs.features.experiments.experiment_report import (
    experiment_report,
)
from productrecs.features.forecast.demand_reports import (
    daily_forecast_report,
    stock_and_demand_report,
)
from productrecs.features.forecast.order_sheet_replay import order_replay_report
from productrecs.features.forecast.order_sheets import (
    order_sheet_report,
    supplier_order_report,
)
from productrecs.features.recommendations.earnings.earnings_replay import (
    earnings_replay_report,
    replay_earning_weights_and_store_result,
)
from productrecs.features.reports.customer_segments_report import (
    compute_and_store_segments,
    customer_list_report,
    customer_segments_report,
)
from productrecs.features.reports.impact.attribution_report import attribution_report
from productrecs.features.reports.impact.sales_reports import (
    attributed_items_report,
    attributed_sales_report,
    widget_funnel_report,
)
from productrecs.features.reports.tracking_health.tracking_health_report import (
    recent_tracking_health_report,
)
from productrecs.features.search.insights.search_insights import (
    ListedQueries,
    search_report,
)
from productrecs.records.experiments.repository import ExperimentRepository
from productrecs.services import Services
from productrecs.tenancy.accounts.store import Store


@dataclass(frozen=True, slots=True)
class ReportType:
    """One report: its subject in a few words, and the function that makes it."""

    summary: str
    make: Callable[[Services, Store, ReportQuery], Report]


def _search_report_maker(
    query_filter: ListedQueries,
) -> Callable[[Services, Store, ReportQuery], Report]:
    return lambda services, store, query: search_report(
        services.database, store, query, query_filter
    )


EXPERIMENT: Final = "experiment"
EARNINGS: Final = "earnings"
CUSTOMERS: Final = frozenset({"customers", "customer-list"})
FORECASTS: Final = frozenset(
    {"demand", "forecast", "order-sheet", "supplier-order", "order-replay"}
)

REPORT_TYPES: Final[Mapping[str, ReportType]] = MappingProxyType(
    {
        "attribution": ReportType(
            "carts and sales after recommendations, by widget, source, position or day",
            lambda services, store, query: attribution_report(
                services.database, store, query
            ),
        ),
        "credited-sales": ReportType(
            "the newest of these sales, with their orders",
            lambda services, store, query: attributed_sales_report(
                services.database, store, query
            ),
        ),
        "credited-items": ReportType(
            "which products were sold that way",
            lambda services, store, query: attributed_items_report(
                services.database, store, query
            ),
        ),
        **{
            name: ReportType(summary, _search_report_maker(query_filter))
            for query_filter, name, summary in (
                (ListedQueries.ALL, "search", "search queries, with results and clicks"),
                (ListedQueries.NO_RESULTS, "search-no-results", "queries without results"),
                (ListedQueries.NO_CLICKS, "search-no-clicks", "queries without clicks"),
            )
        },
        "widgets": ReportType(
            "what lists show and what follows: clicks, carts, sales, revenue",
            lambda services, store, query: widget_funnel_report(
                services.database, store, query
            ),
        ),
        EXPERIMENT: ReportType(
            "the result of the holdout test, or of another test (--test)",
            lambda services, store, query: experiment_report(
                services.database, store, query
            ),
        ),
        "customers": ReportType(
            "customers by recency, frequency and revenue",
            lambda services, store, query: customer_segments_report(
                services.database, store, query
            ),
        ),
        "customer-list": ReportType(
            "the customers with most revenue, or (--by next) whose next order is due",
            lambda services, store, query: customer_list_report(
                services.database, store, query
            ),
        ),
        "health": ReportType(
            "events by the hour, unknown products, and problems with ids and clocks",
            lambda services, store, query: recent_tracking_health_report(
                services.database, store, query.limit, services.clock()
            ),
        ),
        EARNINGS: ReportType(
            "what margin would count in lists, replayed on past orders",
            lambda services, store, query: earnings_replay_report(
                services.database, store, query.limit
            ),
        ),
        "demand": ReportType(
            "what to order, what is running out and what is in excess, by money",
            lambda services, store, query: stock_and_demand_report(
                services.database, store, query, services.clock()
            ),
        ),
        "order-sheet": ReportType(
            "what to order today from each supplier, in packs, within the budget",
            lambda services, store, query: order_sheet_report(
                services.database, store, query, services.clock()
            ),
        ),
        "supplier-order": ReportType(
            "the order sheets as suppliers may see them: products, units and costs",
            lambda services, store, query: supplier_order_report(
                services.database, store, query, services.clock()
            ),
        ),
        "order-replay": ReportType(
            "what the order sheets would have led to on the store's past sales",
            lambda services, store, query: order_replay_report(
                services.database, store, query.limit
            ),
        ),
        "forecast": ReportType(
            "expected sales of each of the next 28 days, with their uncertainty",
            lambda services, store, query: daily_forecast_report(
                services.database, store, query
            ),
        ),
    }
)


def make_report(services: Services, store: Store, name: str, query: ReportQuery) -> Report:
    """Return a report from the counts of the background jobs.

    Raises:
        ReportQueryError: when there is no such report, or the query is invalid.
    """
    report_type = REPORT_TYPES.get(name)
    if report_type is None:
        message = f"there is no report {name!r}; there are {', '.join(REPORT_TYPES)}"
        raise ReportQueryError(message)
    return report_type.make(services, store, query)


def refresh_report_counts(
    services: Services, store: Store, name: str, query: ReportQuery
) -> None:
    """Update the counts of a report, for installations without a worker."""
    if name == EXPERIMENT:
        _measure_and_store_test(services, store, query.test)
    elif name == EARNINGS:
        replay_earning_weights_and_store_result(services.database, store, services.clock())
    elif name in CUSTOMERS:
        compute_and_store_segments(services.database, store, services.clock())
    elif name not in FORECASTS:  # the nightly run computes them
        Attributor(services.database, services.touchpoint_folder).catch_up(store)


def _measure_and_store_test(
    services: Services, store: Store, test_name: str | None
) -> None:
    """Compute the result of the named test; the holdout test is the default."""
    with services.database.reading() as connection:
        stored = ExperimentRepository(connection, store.store_id).all()
    experiment = next((test for test in stored if test.name == test_name), None)
    if experiment is None:
        test = holdout_design(store, test_name or store.settings.holdout_test)
    else:
        test = design_of_experiment(experiment)
    measure_and_store_test(services.database, store, test, services.clock())


def report_to_dict(report: Report) -> dict[str, object]:
    """Return the report for JSON: one object per row, with a definition per number."""
    names = [column.name for column in report.columns]
    return {
        "report": report.name,
        "title": report.title,
        "figures": [
            {**_definition_fields(figure.definition), "value": figure.value}
            for figure in report.figures
        ],
        "columns": [_definition_fields(column) for column in report.columns],
        "rows": [dict(zip(names, row, strict=True)) for row in report.rows],
        "notes": list(report.notes),
    }


def report_to_csv(report: Report, separator: str = ",") -> str:
    """Return the report's table as CSV; its figures if it has no table."""
    text = io.StringIO()
    if report.columns:
        names = [column.name for column in report.columns]
        writer = CsvWriter(text, names, separator=separator)
        for row in report.rows:
            writer.write(row)
    else:
        names = ["name", "value", "unit", "meaning"]
        writer = CsvWriter(text, names, separator=separator)
        for figure in report.figures:
            definition = figure.definition
            writer.write(
                (definition.name, figure.value, definition.unit, definition.meaning)
            )
    return text.getvalue()


def _definition_fields(definition: FigureDefinition) -> dict[str, object]:
    return {
        "name": definition.name,
        "unit": definition.unit,
        "meaning": definition.meaning,
    }
