"""Sales impact pages: sales after recommendations, the orders behind them, holdout."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from types import MappingProxyType
from typing import Final
from urllib.parse import urlencode

from productrecs.core.report import MAX_ROWS, Report, ReportValue, parse_report_query
from productrecs.dashboard.alerts import key_misuse_alerts
from productrecs.dashboard.charts import (
    Chart,
    days_between,
    stacked_money_bar_chart,
)
from productrecs.dashboard.page import NavigationGroup, Page, Reply, Visit, form_pages
from productrecs.dashboard.pages.analyse.experiment_duration_text import (
    describe_planned_holdout_durations,
    describe_running_holdout_duration,
    notes_without_duration,
)
from productrecs.dashboard.pages.analyse.experiments import metric_comparison
from productrecs.dashboard.pages.analyse.report_csv_download import parse_sale_filters
from productrecs.dashboard.pages.catalog.recommendation_and_search_settings import (
    setting_errors,
)
from productrecs.dashboard.pages.connect.widgets import WIDGET_NAMES
from productrecs.dashboard.report_period import ReportPeriod, chosen_period
from productrecs.dashboard.report_values import (
    as_number,
    figures_by_name,
    recount_note,
    relative_change,
    rows_by_column,
)
from productrecs.engines.registry import ENGINES
from productrecs.features.experiments.experiment_report import (
    EARLIER_TESTS_NOTE,
    other_holdout_test_names,
)
from productrecs.features.experiments.repository import ExperimentResultRepository
from productrecs.features.reports.impact.attribution_report import RULE
from productrecs.features.reports.tracking_health.tracking_issues import (
    find_tracking_issues,
)
from productrecs.report_registry import make_report

IMPACT_PATH: Final = "/dashboard/impact"
ORDERS_PATH: Final = f"{IMPACT_PATH}/orders"
_GROUPINGS: Final = MappingProxyType(
    {
        "widget": "Widget",
        "source": "Source",
        "position": "Position",
        "widget,source": "Widget and source",
        "day": "Day",
    }
)
_NAMES: Final = MappingProxyType(
    {
        "source": {engine.name: engine.label for engine in ENGINES},
        "widget": WIDGET_NAMES,
    }
)
_HOLDOUT: Final = MappingProxyType(
    {"holdout_percent": "Shoppers without, in per cent", "holdout_test": "Name"}
)
_ROWS: Final = 50
_RULE: Final = (
    "A cart or a sale counts for the last list in which the same shopper clicked on the "
    "product, or else was shown it, at most 30 days before. A shopper is known by the "
    "customer's number, or else by the browser's session. Imported orders are not "
    "counted. Only the holdout test proves that lists cause sales."
)
_MOST_BARS: Final = 100


def show_sales_impact(
    visit: Visit,
    status: int = 200,
    typed: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
) -> Reply:
    """Show the sales attributed to recommendations in a period."""
    period, services, store = chosen_period(visit), visit.services, visit.store
    by = visit.query["by"] if visit.query["by"] in _GROUPINGS else "widget"
    names = tuple(by.split(","))
    report = make_report(
        services, store, "attribution", period.query_by(*names, limit=_ROWS)
    )
    days = make_report(
        services, store, "attribution", period.query_by("day", limit=MAX_ROWS)
    )
    items = make_report(services, store, "credited-items", period.query_by(limit=10))
    earlier_tests = other_holdout_test_names(visit.database, store)
    test_name = _chosen_holdout_test(visit, earlier_tests)
    holdout_query = replace(period.query_by(), test=test_name)
    holdout_report = make_report(services, store, "experiment", holdout_query)
    figures, recount = figures_by_name(report), recount_note(visit)
    is_running = test_name not in earlier_tests and store.settings.holdout_percent > 0
    running_duration = describe_running_holdout_duration(visit) if is_running else ""
    return visit.render(
        "impact.html",
        status=status,
        period=period,
        figures=figures,
        recount=recount,
        changes={
            name: None
            if recount
            else relative_change(figures[name], figures[f"{name}_before"])
            for name in ("revenue_clicked", "revenue_seen", "orders", "carts", "click_rate")
        },
        rule=_RULE,
        report_rule=RULE,
        chart=_attributed_sales_chart(visit, period, days),
        groupings=list(_GROUPINGS.items()),
        by=by,
        group_names=names,
        made=report,
        rows=[_row_with_orders_link(period, row, names) for row in rows_by_column(report)],
        items=items,
        names=_NAMES,
        item_rows=rows_by_column(items),
        orders_link=lambda **fields: period.link(ORDERS_PATH, **fields),
        test_name=test_name,
        earlier_tests=earlier_tests,
        test_link=lambda name: f"{period.link(IMPACT_PATH, test=name)}#holdout",
        test_notes=[
            note
            for note in notes_without_duration(holdout_report.notes, running_duration)
            if not note.startswith(EARLIER_TESTS_NOTE)  # the page lists them
        ],
        running_duration=running_duration,
        planned_durations=""
        if running_duration
        else describe_planned_holdout_durations(visit),
        test_figures=figures_by_name(holdout_report),
        running=store.settings.holdout_percent if is_running else 0,
        planned=typed or _proposed_holdout(visit, earlier_tests),
        mistakes=errors or {},
        comparisons=[
            metric_comparison(
                visit,
                row,
                ("shown", "held_out"),
                is_running=is_running,
            )
            for row in rows_by_column(holdout_report)
        ],
        issues=find_tracking_issues(visit.database, store, visit.now_ms),
        keys=list(key_misuse_alerts(visit)),
        is_empty=not figures["shown"]
        and not figures["revenue"]
        and not figures["carts"]
        and not recount,
    )


def _chosen_holdout_test(visit: Visit, earlier_tests: Sequence[str]) -> str:
    """Return the earlier test that the address names, or the newest one."""
    name = visit.query["test"]
    return name if name in earlier_tests else visit.store.settings.holdout_test


def _proposed_holdout(visit: Visit, earlier_tests: Sequence[str]) -> dict[str, str]:
    """Return the proposed settings of a new holdout test, whose name is new."""
    today = parse_report_query(visit.now_ms, visit.store.settings.zone).last_day
    name = f"from {visit.formats.day(today)}"
    used = {visit.store.settings.holdout_test, *earlier_tests}
    names = (name, *(f"{name} - {count}" for count in range(2, len(used) + 2)))
    return {
        "holdout_percent": "10",
        "holdout_test": next(each for each in names if each not in used),
    }


def leave_out_doubtful_sales(visit: Visit) -> Reply:
    """Leave out what somebody may have invented: purchases, or visits and purchases."""
    if visit.form["what"] == "unconfirmed":
        visit.change_settings({"unconfirmed_orders": "ignore"})
        message = "Orders that your server did not confirm no longer count."
    else:
        visit.enqueue_job("leave-out-excess")
        message = "They are being left out of reports, which takes up to some minutes."
    return visit.redirect(f"{IMPACT_PATH}#doctor", message)


def start_or_end_holdout(visit: Visit) -> Reply:
    """Start a holdout test, or end the running one."""
    if visit.form["then"] == "end":
        visit.change_settings({"holdout_percent": "0"})
        message = "The test has ended. All shoppers see recommendations again."
        return visit.redirect(f"{IMPACT_PATH}#holdout", message)
    settings = {
        "holdout_percent": visit.form["holdout_percent"],
        "holdout_test": visit.form["holdout_test"],
    }
    errors = setting_errors(settings, _HOLDOUT)
    if not errors and float(settings["holdout_percent"]) == 0:
        errors = {"holdout_percent": "Choose at least 1 per cent."}
    if not errors and _is_used_test_name(visit, settings["holdout_test"]):
        errors = {"holdout_test": "A test of this name has run. Choose another name."}
    if errors:
        return show_sales_impact(visit, status=422, typed=settings, errors=errors)
    visit.change_settings(settings)
    message = "The test runs. Its first numbers are there within an hour."
    return visit.redirect(f"{IMPACT_PATH}#holdout", message)


def _is_used_test_name(visit: Visit, name: str) -> bool:
    """Return whether a holdout test of this name has had visitors."""
    with visit.database.reading() as connection:
        tests = ExperimentResultRepository(
            connection, visit.store.store_id
        ).tests_and_first_exposures()
    return any(name == test for test, _ in tests)


def show_attributed_orders(visit: Visit) -> Reply:
    """Show the orders behind a number: the newest attributed sales."""
    period, where = chosen_period(visit), parse_sale_filters(visit)
    query = replace(period.query_by(limit=_ROWS * 4), where=where)
    report = make_report(visit.services, visit.store, "credited-sales", query)
    return visit.render(
        "impact_orders.html",
        period=period,
        where=where,
        back=period.link(IMPACT_PATH),
        file=period.csv_link("credited-sales", **dict(where)),
        made=report,
        rows=rows_by_column(report),
        names=_NAMES,
        is_cut=len(report.rows) == query.limit,
    )


def _row_with_orders_link(
    period: ReportPeriod, row: dict[str, ReportValue], group_columns: tuple[str, ...]
) -> dict[str, object]:
    if group_columns == ("day",):
        day = str(row["day"])
        link = f"{ORDERS_PATH}?{urlencode({'from': day, 'until': day})}"
    else:
        where = {
            name: "" if row[name] is None else str(row[name]) for name in group_columns
        }
        link = period.link(ORDERS_PATH, **where)
    return {**row, "orders_link": link}


def _attributed_sales_chart(
    visit: Visit, period: ReportPeriod, days: Report
) -> Chart | None:
    """Return bars of each day, or of each week in a long period."""
    sales_by_day = {
        str(row["day"]): (
            as_number(row["revenue_clicked"]) or 0.0,
            as_number(row["revenue_seen"]) or 0.0,
        )
        for row in rows_by_column(days)
        if row["currency"] == visit.store.settings.currency
    }
    if not sales_by_day:
        return None
    values: dict[str, tuple[float, float]] = {}
    days_of_period = days_between(period.asked.first_day, period.asked.last_day)
    is_weekly, week_of = len(days_of_period) > _MOST_BARS, visit.store.settings.week_of
    for day in days_of_period:
        begin = week_of(date.fromisoformat(day)).isoformat() if is_weekly else day
        clicked, seen = values.get(begin, (0.0, 0.0))
        more_clicked, more_seen = sales_by_day.get(day, (0.0, 0.0))
        values[begin] = (clicked + more_clicked, seen + more_seen)
    sales_by_touchpoint = {
        "After a click": [clicked for clicked, _ in values.values()],
        "After an impression only": [seen for _, seen in values.values()],
    }
    chart = stacked_money_bar_chart(list(values), sales_by_touchpoint, visit.formats)
    return replace(chart, label="Week from") if is_weekly else chart


PAGES: Final = (
    Page(IMPACT_PATH, "Impact", show_sales_impact, group=NavigationGroup.ANALYSE),
    Page(
        f"{IMPACT_PATH}/holdout",
        "Holdout test",
        None,
        start_or_end_holdout,
        action="Started a holdout test",
        actions={"end": "Ended the holdout test"},
    ),
    *form_pages(
        IMPACT_PATH,
        "Leave out records",
        (
            "leave-out",
            leave_out_doubtful_sales,
            "Left out orders or visits that may be invented",
        ),
    ),
    Page(ORDERS_PATH, "Orders after recommendations", show_attributed_orders),
)
