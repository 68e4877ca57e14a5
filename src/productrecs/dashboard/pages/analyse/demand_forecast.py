"""Demand forecast pages: expected sales, of the store and of one product, and orders."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import partial
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import urlencode

from productrecs.core.clock import DAY_MS
from productrecs.core.errors import ProductRecsError
from productrecs.core.report import Report, ReportValue, parse_report_query
from productrecs.dashboard.charts import (
    Chart,
    ExpectedSalesDay,
    forecast_chart,
)
from productrecs.dashboard.formats import sentence
from productrecs.dashboard.mail_subscription_choices import gets_mails, turn_mails_on_or_off
from productrecs.dashboard.page import (
    NavigationGroup,
    Page,
    PageNotFoundError,
    Reply,
    Visit,
    form_pages,
)
from productrecs.dashboard.pages.catalog.recommendation_and_search_settings import (
    setting_errors,
)
from productrecs.dashboard.product_table import known_product_rows
from productrecs.dashboard.report_period import (
    REPORT_FILE_PATH,
    ChartDays,
    as_number,
    chosen_chart_days,
    column_meanings,
    figures_by_name,
    rows_by_column,
)
from productrecs.engines.demand.demand_series import DemandOptions
from productrecs.features.forecast.forecast_replies import (
    item_forecast_reply,
    store_forecast_summary,
    today_of,
)
from productrecs.features.forecast.repository import ForecastRepository, ForecastRun
from productrecs.features.forecast.stock_actions import (
    StockAlert,
    is_due_before_next_order,
)
from productrecs.records.suppliers.repository import SupplierRepository
from productrecs.records.suppliers.supplier import (
    TERM_COLUMNS,
    ProductTerms,
    SupplierError,
    parse_terms_of_product,
)
from productrecs.report_registry import make_report
from productrecs.tenancy.users.dashboard_user import Role
from productrecs.tenancy.users.mail_subscriptions.repository import (
    MailTopic,
)

DEMAND_PATH: Final = "/dashboard/demand"
PRODUCT_PATH: Final = f"{DEMAND_PATH}/product"
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
METHODS: Final = MappingProxyType(
    {
        "lgbm": "Learned from all products",
        "statistical": "Averages of its own sales, of its category's while it has few",
    }
)
_MODES: Final = MappingProxyType({"units": "units", "order_lines": "order lines"})
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
_NO_PRODUCT: Final = "There is no such product."
_NOTHING_TO_DO: Final = frozenset({"Healthy", "Stock not known"})
_NOT_IN_PLAN: Final = (
    "your plan has no demand forecast; the operator of your service can change that"
)
_SHOWN_DAYS: Final = 120
_PAST_DAYS: Final = MappingProxyType({"30": 30, "60": 60, "120": _SHOWN_DAYS})
_FLAT: Final = 0.05  # largest difference of days, as a share, that counts as none
_ROWS: Final = 50
_DAYS_FOR_SEASON: Final = 392  # the same days of last year, and the 28 before them
_DAYS_FOR_TREND: Final = 56
_MONTH: Final = 30


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
    summary = store_forecast_summary(run, visit.store.settings.currency, enabled=is_on)
    figures = figures_by_name(forecast)
    settings, today = visit.store.settings, today_of(visit.now_ms, zone)
    history = [(day["date"], float(day["actual"])) for day in summary["history"]]
    chart, days = _forecast_chart_and_days(
        visit, history, _expected_days(summary["forecast"])
    )
    return visit.render(
        "demand.html",
        status=status,
        is_on=is_on,
        is_offered=_is_in_plan(visit),
        is_owner=visit.user.role is Role.OWNER,
        ordering=ORDERING,
        chosen=ordering
        or {name: f"{getattr(settings, name):g}" for name, _, _ in ORDERING},
        mistakes=errors or {},
        can_mail=visit.services.settings.smtp is not None and bool(visit.user.email),
        has_mails=gets_mails(visit, MailTopic.STOCK),
        summary=summary if run is not None and is_on else None,
        made_at=None if run is None else run.generated_at,
        made_on=None if run is None else day_before(run.first_day),
        unit=_MODES.get(summary["target_mode"] or "", ""),
        chart=chart,
        days=days,
        past_choices=list(_PAST_DAYS),
        expected=_expected_sums(summary),
        judged=[
            *accuracy_sentences(visit, summary["accuracy"]),
            *short_season_sentences(_history_days(run)),
        ],
        warning=short_history_warning(run),
        figures=figures,
        stock=figures_by_name(demand),
        demand=demand,
        rows=_rows_to_show(demand, by, today),
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


def _rows_to_show(demand: Report, by: str, today: date) -> list[dict[str, ReportValue]]:
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


def _forecast_chart_and_days(
    visit: Visit, sold: Sequence[tuple[str, float]], ahead: Sequence[ExpectedSalesDay]
) -> tuple[Chart | None, ChartDays | None]:
    """Return the chart of the chosen days, and these days; None without a forecast."""
    if not ahead:
        return None, None
    past = [day for day, _ in sold]
    days = chosen_chart_days(visit, _PAST_DAYS, past, [point.day for point in ahead])
    shown = [(day, units) for day, units in sold if days.shows(day)]
    expected = [point for point in ahead if days.shows(point.day)]
    return forecast_chart(shown, expected, visit.formats), days


def _expected_days(forecast: Sequence[Mapping[str, Any]]) -> list[ExpectedSalesDay]:
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


def flat_forecast_reason(
    sold: Sequence[tuple[str, float]],
    ahead: Sequence[ExpectedSalesDay],
    sold_out_days: int = 0,
) -> str:
    """Return why every day of a forecast is the same; "" if the days differ."""
    expected = [day.expected for day in ahead]
    if not expected or max(expected) - min(expected) > _FLAT * max(expected):
        return ""
    if not max(expected):
        return (
            "No sales are expected: the product is not on sale, or has not sold for long."
        )
    days_with_sales = sum(amount > 0 for _, amount in sold)
    known = f"It sold on {days_with_sales} of the last {len(sold)} days. " if sold else ""
    if sold and sold_out_days:
        known += f"It was sold out on {sold_out_days} of them, which do not count. "
    return (
        f"{known}No weekday or season stands out in its sales, so the forecast is "
        "about the same for each day: the daily average of its recent sales"
        + (
            ". So few sales say little, so the average of its category counts as well."
            if sold and days_with_sales < DemandOptions().sparse_sales
            else "."
        )
    )


def days_sold_out(
    periods: Sequence[tuple[int, int | None]],
    sold: Sequence[tuple[str, float]],
    zone: tzinfo,
) -> int:
    """Return on how many days of `sold` a product was out of stock, in full or in part."""
    spans = [
        (_local_day(since, zone), "9" if until is None else _local_day(until, zone))
        for since, until in periods
    ]
    return sum(any(since <= day <= until for since, until in spans) for day, _ in sold)


def _recorded_sold_out_since(
    periods: Sequence[tuple[int, int | None]], zone: tzinfo
) -> str | None:
    """Return since which day no stock is recorded; None if there is some."""
    days = [_local_day(since, zone) for since, until in periods if until is None]
    return days[0] if days else None


def _local_day(moment_ms: int, zone: tzinfo) -> str:
    return datetime.fromtimestamp(moment_ms / 1000, UTC).astimezone(zone).date().isoformat()


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


def _history_days(run: ForecastRun | None) -> float | None:
    return None if run is None else run.history_days


def short_history_warning(run: ForecastRun | None) -> str:
    """Return what to do about a history of few weeks; "" for a longer one."""
    history_days = _history_days(run)
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
    if turn_mails_on_or_off(visit, MailTopic.STOCK):
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


def save_product_supplier(visit: Visit) -> Reply:
    """Store who supplies a product; an empty supplier removes its terms.

    Raises:
        PageNotFoundError: when the catalog lacks the product.
    """
    item_id = visit.query["id"]
    sent = {name: visit.form[name] for name in TERM_COLUMNS[1:]}
    try:
        with visit.database.transaction() as transaction:
            suppliers = SupplierRepository(transaction, visit.store.store_id)
            if not sent["supplier"]:
                suppliers.remove_product_terms(item_id)
            elif suppliers.assign_terms(
                [parse_terms_of_product(sent | {"product": item_id})]
            ).missing_products:
                raise PageNotFoundError(_NO_PRODUCT)
    except SupplierError as error:
        return show_product_forecast(visit, 422, sent, sentence(error))
    path = f"{PRODUCT_PATH}?{urlencode({'id': item_id})}#do"
    return visit.redirect(path, "Saved. The order sheets follow it.")


def show_product_forecast(
    visit: Visit,
    status: int = 200,
    sent: Mapping[str, str] | None = None,
    supplier_error: str = "",
) -> Reply:
    """Show the expected sales of one product, what to order, and its supplier."""
    item_id, store, now_ms = visit.query["id"], visit.store, visit.now_ms
    with visit.database.reading() as connection:
        repository = ForecastRepository(connection, store.store_id)
        item, run = repository.item(item_id), repository.newest_run()
        stock_outs = repository.stock_outs(item_id, now_ms - _SHOWN_DAYS * DAY_MS)
        suppliers = SupplierRepository(connection, store.store_id)
        names = [supplier.name for supplier in suppliers.suppliers()]
        terms = suppliers.product_terms(item_id)
    if item is None:
        raise PageNotFoundError(_NO_PRODUCT)
    is_on = store.settings.demand_forecast
    reply = item_forecast_reply(item, run, store.settings.zone, now_ms, enabled=is_on)
    ahead = _expected_days(reply["forecast"])
    query = replace(
        parse_report_query(now_ms, store.settings.zone, limit=1),
        where=(("item_id", item_id),),
    )
    report = make_report(visit.services, store, "demand", query)
    action = next(iter(rows_by_column(report)), None) if is_on else None
    monthly_rates = (
        [] if action is None else _daily_sales_by_month(action, _history_days(run))
    )
    sold = (
        _daily_sales_before(item.daily, ahead[0].day, _history_days(run)) if ahead else []
    )
    chart, days = _forecast_chart_and_days(visit, sold, ahead)
    return visit.render(
        "demand_product.html",
        status=status,
        suppliers=names,
        terms=sent or asdict(terms or ProductTerms(item_id, "")),
        supplier_error=supplier_error,
        title=item.title or item_id,
        item=item,
        row=next(iter(known_product_rows(visit, [item_id])), None),
        reply=reply,
        action=action,
        paces=monthly_rates,
        sold=sold,
        chart=chart,
        made_on=day_before(ahead[0].day) if ahead else None,
        days=days,
        definitions=column_meanings(report),
        status_of=partial(
            stock_status_and_colour, today=today_of(visit.now_ms, visit.store.settings.zone)
        ),
        sold_out_since=_recorded_sold_out_since(stock_outs, store.settings.zone),
        last_sold=next((day for day, units in reversed(sold) if units > 0), None),
        flat=flat_forecast_reason(
            sold, ahead, days_sold_out(stock_outs, sold, store.settings.zone)
        ),
        today=today_of(now_ms, store.settings.zone).isoformat(),
        past_choices=list(_PAST_DAYS),
        methods=METHODS,
        unit=_MODES.get(reply["target_mode"] or "", ""),
        settings=store.settings,
    )


def _daily_sales_by_month(
    action: dict[str, ReportValue], history_days: float | None
) -> list[tuple[str, float]]:
    """Return the daily sales of each of the last three months, oldest first.

    Days before the shop's first sale do not count.
    """
    sold = [as_number(action[f"sold_{days}_days"]) for days in (30, 60, 90)]
    if None in sold:
        return []
    month, two, three = (units or 0.0 for units in sold)
    history = 3 * _MONTH if history_days is None else history_days
    sales = (
        ("61 to 90 days ago", three - two, 2 * _MONTH),
        ("31 to 60 days ago", two - month, _MONTH),
        ("The last 30 days", month, 0),
    )
    return [
        (label, units / min(_MONTH, history - after))
        for label, units, after in sales
        if history > after
    ]


def day_before(day: str) -> date:
    """Return the day before an ISO date."""
    return date.fromisoformat(day) - timedelta(days=1)


def _daily_sales_before(
    daily: Mapping[int, float] | None, first_day: str, history_days: float | None
) -> list[tuple[str, float]]:
    """Return the sales of each past day without the run's day, which is incomplete.

    Days before the shop's first sale are left out.
    """
    if daily is None:
        return []
    shown = _SHOWN_DAYS if history_days is None else min(_SHOWN_DAYS, int(history_days))
    ran = day_before(first_day)
    return [
        ((ran - timedelta(days=back)).isoformat(), daily.get(back, 0.0))
        for back in range(shown, 0, -1)
    ]


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
    Page(PRODUCT_PATH, "Expected sales of a product", show_product_forecast),
    *form_pages(
        PRODUCT_PATH,
        "Expected sales of a product",
        ("supplier", save_product_supplier, "Saved a product's supplier"),
    ),
)
