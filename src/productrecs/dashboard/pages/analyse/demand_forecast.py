"""Demand forecast page: expected sales of the store, and what to order."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from functools import partial
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import urlencode

from productrecs.core.errors import ProductRecsError
from productrecs.core.report import Report, ReportValue, parse_report_query
from productrecs.dashboard.charts import (
    Chart,
    ExpectedSalesDay,
    forecast_chart,
)
from productrecs.dashboard.mail_subscription_choices import (
    turn_user_mails_on_or_off,
    user_gets_mails,
)
from productrecs.dashboard.page import (
    NavigationGroup,
    Page,
    Reply,
    Visit,
    form_pages,
)
from productrecs.dashboard.pages.catalog.recommendation_and_search_settings import (
    setting_errors,
)
from productrecs.dashboard.report_period import (
    REPORT_FILE_PATH,
    ChartDays,
    chosen_chart_days,
)
from productrecs.dashboard.report_values import as_number, figures_by_name, rows_by_column
from productrecs.features.forecast.forecast_replies import (
    store_forecast_reply,
    today_of,
)
from productrecs.features.forecast.repository import ForecastRepository, ForecastRun
from productrecs.features.forecast.stock_actions import (
    StockAlert,
    is_due_before_next_order,
)
from productrecs.report_registry import make_report
from productrecs.tenancy.users.dashboard_user import Role
from productrecs.tenancy.users.mail_subscriptions.repository import (
    MailTopic,
)

DEMAND_PATH: Final = "/dashboard/demand"
_ORDERS: Final = MappingProxyType(
    {
        "order_date": "Order date",
        "money": "Most money, at risk or in overstock",
        "stockout_date": "Sells out first",
        "overstock_value": "Overstock",
        "expected_28_days": "Expected sales",
    }
)
ALERTS: Final = MappingProxyType(
    {
        "out_of_stock": ("Sold out", "bad"),
        "runs_out": ("Sells out", "bad"),
        "order_now": ("Order now", "warn"),
        "overstock": ("Overstock", ""),
    }
)
_ALERTS_BEFORE_DELIVERY: Final = frozenset({"out_of_stock", "runs_out"})
TARGET_MODES: Final = MappingProxyType({"units": "units", "order_lines": "order lines"})
ORDERING: Final = (
    ("lead_time_days", "Lead time, in days", "From your order until the goods can be sold"),
    (
        "service_level",
        "Service level, in per cent",
        "How often stock should last until then",
    ),
    ("order_every_days", "Days between two orders", "An order lasts so long after it came"),
    ("overstock_days", "Overstock, in days", "Stock for more days than this is too much"),
)
_TO_DO: Final = (*StockAlert, "order_soon")
_NOTHING_TO_DO: Final = frozenset({"Healthy", "Stock not known"})
_NOT_IN_PLAN: Final = (
    "your plan has no demand forecast; the operator of your service can change that"
)
SHOWN_DAYS: Final = 120
PAST_DAYS: Final = MappingProxyType({"30": 30, "60": 60, "120": SHOWN_DAYS})
_ROWS: Final = 50
_DAYS_FOR_SEASON: Final = 392  # the same days of last year, and the 28 before them
_DAYS_FOR_TREND: Final = 56


class ForecastNotInPlanError(ProductRecsError):
    """The store's plan has no demand forecast."""


def show_demand(
    visit: Visit,
    status: int = 200,
    ordering: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
) -> Reply:
    """Show the store's expected sales, and what to do about each product."""
    by = visit.query["by"] if visit.query["by"] in _ORDERS else "order_date"
    zone = visit.store.settings.zone
    demand_query = parse_report_query(visit.now_ms, zone, by=_sort_column(by), limit=_ROWS)
    demand = make_report(visit.services, visit.store, "demand", demand_query)
    forecast_query = parse_report_query(visit.now_ms, zone)
    forecast = make_report(visit.services, visit.store, "forecast", forecast_query)
    with visit.database.reading() as connection:
        run = ForecastRepository(connection, visit.store.store_id).newest_run()
    is_on = visit.store.settings.demand_forecast
    summary = store_forecast_reply(run, visit.store.settings.currency, enabled=is_on)
    figures = figures_by_name(forecast)
    settings, today = visit.store.settings, today_of(visit.now_ms, zone)
    history = [(day["date"], float(day["actual"])) for day in summary["history"]]
    chart, days = forecast_chart_and_days(
        visit, history, expected_sales_days(summary["forecast"])
    )
    return visit.render(
        "demand.html",
        status=status,
        is_on=is_on,
        is_offered=_is_in_plan(visit),
        is_owner=visit.user.role is Role.OWNER,
        ordering=ORDERING,
        chosen=ordering
        or {name: f"{getattr(settings, name):.12g}" for name, _, _ in ORDERING},
        mistakes=errors or {},
        can_mail=visit.services.settings.smtp is not None and bool(visit.user.email),
        has_mails=user_gets_mails(visit, MailTopic.STOCK),
        summary=summary if run is not None and is_on else None,
        made_at=None if run is None else run.generated_at,
        made_on=None if run is None else day_before(run.first_day),
        unit=TARGET_MODES.get(summary["target_mode"] or "", ""),
        chart=chart,
        days=days,
        past_choices=list(PAST_DAYS),
        expected=_expected_sums(summary),
        judged=[
            *accuracy_sentences(visit, summary["accuracy"]),
            *short_season_sentences(history_days_of(run)),
        ],
        warning=short_history_warning(run),
        figures=figures,
        stock=figures_by_name(demand),
        demand=demand,
        rows=_demand_rows_to_show(demand, by, today),
        to_do=sum(as_number(figures_by_name(demand).get(name)) or 0 for name in _TO_DO),
        today=today.isoformat(),
        forecast=forecast,
        by=by,
        orders=list(_ORDERS.items()),
        status_of=partial(stock_status_and_colour, today=today),
        file=lambda report, **fields: (
            f"{REPORT_FILE_PATH}?{urlencode({'report': report, **fields})}"
        ),
        column=_sort_column(by),
        settings=settings,
    )


def _demand_rows_to_show(
    demand: Report, by: str, today: date
) -> list[dict[str, ReportValue]]:
    """Return the products with something to do; all where expected sales are wanted."""
    rows = rows_by_column(demand)
    if by == "expected_28_days":
        return rows
    return [
        row for row in rows if stock_status_and_colour(row, today)[0] not in _NOTHING_TO_DO
    ]


def _sort_column(by: str) -> str:
    """Return the column that a report is sorted by; the default is money."""
    return "" if by == "money" else by


def forecast_chart_and_days(
    visit: Visit, sold: Sequence[tuple[str, float]], ahead: Sequence[ExpectedSalesDay]
) -> tuple[Chart | None, ChartDays | None]:
    """Return the chart of the chosen days, and these days; None without a forecast."""
    if not ahead:
        return None, None
    past = [day for day, _ in sold]
    days = chosen_chart_days(visit, PAST_DAYS, past, [point.day for point in ahead])
    shown = [(day, units) for day, units in sold if days.shows(day)]
    expected = [point for point in ahead if days.shows(point.day)]
    return forecast_chart(shown, expected, visit.formats), days


def expected_sales_days(forecast: Sequence[Mapping[str, Any]]) -> list[ExpectedSalesDay]:
    """Return a forecast's days as charts draw them."""
    return [
        ExpectedSalesDay(
            day["date"], float(day["p10"]), float(day["mean"]), float(day["p90"])
        )
        for day in forecast
    ]


def _expected_sums(summary: dict[str, Any]) -> dict[int, float]:
    """Return the expected sales of the next 7 and 28 days: the sums of the chart's line."""
    means = [float(day["mean"]) for day in summary["forecast"]]
    return {days: sum(means[:days]) for days in (7, 28)}


def stock_status_and_colour(row: Mapping[str, ReportValue], today: date) -> tuple[str, str]:
    """Return the text and colour of a product's stock status."""
    due = row["order_date"]
    if row["alert"]:
        text, colour = ALERTS[str(row["alert"])]
        is_ordered = row["on_order"] and due != today.isoformat()
        if is_ordered and row["alert"] in _ALERTS_BEFORE_DELIVERY:
            text += " before goods arrive" if row["alert"] == "runs_out" else ", on order"
        return text, colour
    order_date = date.fromisoformat(str(due)) if due else None
    if is_due_before_next_order(order_date, int(str(row["order_every_days"])), today):
        return "Order soon", "warn"
    return ("Stock not known", "") if row["stock_qty"] is None else ("Healthy", "good")


def accuracy_sentences(visit: Visit, accuracy: dict[str, float] | None) -> list[str]:
    """Return the backtest of the store's total as text; nothing if it is unknown."""
    if accuracy is None:
        return []
    fmt, bias = visit.formats, accuracy["bias"]
    sentences = [
        (
            f"The forecast of one day was off by {fmt.share(accuracy['wape'], 0)} of what "
            "was sold, on average over the past weeks."
        ),
        "It was neither too high nor too low on the whole."
        if abs(bias) < 0.01  # noqa: PLR2004 - below a percent
        else f"On the whole it was {fmt.share(abs(bias), 0)} too "
        f"{'high' if bias > 0 else 'low'}. The likely range allows for that, the expected "
        "number does not. Order the units to order below: they have a safety stock.",
        (
            f"{fmt.share(accuracy['coverage_p10_p90'], 0)} of the days were within the "
            f"likely range; {fmt.share(0.8, 0)} is the target."
        ),
    ]
    baseline = accuracy["baseline_rmsse"]
    if baseline:
        better = 1 - accuracy["rmsse"] / baseline
        word = "smaller" if better > 0 else "larger"
        compared = f"{fmt.share(abs(better), 0)} {word} than"
        if abs(better) < 0.005:  # noqa: PLR2004 - 0 % when rounded
            compared = "no smaller than"
        sentences.append(
            f"Its error was {compared} that of the better of two simple methods: "
            "repeating last week, and the mean of the last 28 days."
        )
    return sentences


def history_days_of(run: ForecastRun | None) -> float | None:
    """Return the days of sales that a forecast knows; None if there is none."""
    return None if run is None else run.history_days


def short_history_warning(run: ForecastRun | None) -> str:
    """Return what to do about a history of few weeks; "" for a longer one."""
    history_days = history_days_of(run)
    if history_days is None or history_days >= _DAYS_FOR_TREND:
        return ""
    return (
        f"The shop has {history_days:.0f} days of orders. From fewer than "
        f"{_DAYS_FOR_TREND} days the forecast knows no trend and no season: check the "
        "quantities by hand before you order."
    )


def short_season_sentences(history_days: float | None) -> list[str]:
    """Say that a history of less than a year does not show the season."""
    if history_days is None or history_days >= _DAYS_FOR_SEASON:
        return []
    return [
        (
            f"The forecast uses {history_days:.0f} days of sales. From {_DAYS_FOR_SEASON} "
            "days on it knows the season of the year. Until then more days can be outside "
            "the likely range where sales rise or fall with the season."
        )
    ]


def turn_forecast_on(visit: Visit) -> Reply:
    """Turn the forecast on; a running worker makes the first one at once.

    Raises:
        ForecastNotInPlanError: when the store's plan has no forecast.
    """
    if not _is_in_plan(visit):
        raise ForecastNotInPlanError(_NOT_IN_PLAN)
    visit.change_settings({"demand_forecast": "true"})
    with visit.database.reading() as connection:
        run = ForecastRepository(connection, visit.store.store_id).newest_run()
    message = "The forecast is on. The first one is made now; large shops take minutes."
    if run is not None:
        made_at = visit.formats.ago(run.generated_at, visit.now_ms)
        message = f"The forecast is on. The last one was made {made_at}."
    return visit.redirect(DEMAND_PATH, message)


def turn_forecast_off(visit: Visit) -> Reply:
    """Turn the forecast off."""
    visit.change_settings({"demand_forecast": "false"})
    return visit.redirect(DEMAND_PATH, "The forecast is off. Its pages are empty again.")


def turn_stock_mails_on_or_off(visit: Visit) -> Reply:
    """Turn the user's e-mails about products to order on or off."""
    message = "E-mails about what to order are off."
    if turn_user_mails_on_or_off(visit, MailTopic.STOCK):
        message = f"Products that have to be ordered are mailed to {visit.user.email}."
    return visit.redirect(f"{DEMAND_PATH}#ordering", message)


def save_ordering_settings(visit: Visit) -> Reply:
    """Store the shop's ordering settings, which the products to order depend on."""
    sent = {name: visit.form[name] for name, _, _ in ORDERING}
    errors = setting_errors(sent, {name: label for name, label, _ in ORDERING})
    if errors:
        return show_demand(visit, status=422, ordering=sent, errors=errors)
    visit.change_settings(sent)
    return visit.redirect(f"{DEMAND_PATH}#ordering", "Saved. The numbers above follow it.")


def _is_in_plan(visit: Visit) -> bool:
    """Return whether the store's plan has the forecast."""
    plan = visit.services.settings.plans.get(visit.store.subscription.plan)
    return plan is None or plan.forecast


def day_before(day: str) -> date:
    """Return the day before an ISO date."""
    return date.fromisoformat(day) - timedelta(days=1)


PAGES: Final = (
    Page(DEMAND_PATH, "Demand", show_demand, group=NavigationGroup.ANALYSE),
    *form_pages(
        DEMAND_PATH,
        "Demand",
        ("on", turn_forecast_on, "Turned the demand forecast on"),
        ("off", turn_forecast_off, "Turned the demand forecast off"),
        may_change=Role.OWNER,
    ),
    *form_pages(
        DEMAND_PATH,
        "Demand",
        ("ordering", save_ordering_settings, "Changed the ordering settings"),
    ),
    *form_pages(
        DEMAND_PATH,
        "Demand",
        ("mails", turn_stock_mails_on_or_off, "Chose e-mails about stock"),
        may_change=Role.VIEWER,
    ),
)
