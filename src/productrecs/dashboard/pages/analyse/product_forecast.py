"""Product forecast page: expected sales of one product, what to order, its supplier."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from types import MappingProxyType
from typing import Final
from urllib.parse import urlencode

from productrecs.core.clock import DAY_MS
from productrecs.core.report import ReportValue, parse_report_query
from productrecs.dashboard.charts import ExpectedSalesDay
from productrecs.dashboard.formats import sentence
from productrecs.dashboard.page import (
    Page,
    PageOrRecordNotFoundError,
    Reply,
    Visit,
    form_pages,
)
from productrecs.dashboard.pages.analyse.demand_forecast import (
    DEMAND_PATH,
    PAST_DAYS,
    SHOWN_DAYS,
    TARGET_MODES,
    day_before,
    expected_sales_days,
    forecast_chart_and_days,
    history_days_of,
    stock_status_and_colour,
)
from productrecs.dashboard.product_table import known_product_rows
from productrecs.dashboard.report_values import as_number, column_meanings, rows_by_column
from productrecs.engines.demand.demand_forecast_options import (
    DemandForecastOptions,
)
from productrecs.features.forecast.forecast_replies import item_forecast_reply, today_of
from productrecs.features.forecast.repository import ForecastRepository
from productrecs.records.suppliers.repository import SupplierRepository
from productrecs.records.suppliers.supplier import (
    TERM_COLUMNS,
    ProductTerms,
    SupplyInputError,
    parse_terms_of_product,
)
from productrecs.report_registry import make_report

PRODUCT_PATH: Final = f"{DEMAND_PATH}/product"
METHODS: Final = MappingProxyType(
    {
        "lgbm": "Learned from all products",
        "statistical": "Averages of its own sales, of its category's while it has few",
    }
)
_FLAT: Final = 0.05  # largest difference of days, as a share, that counts as none
_MONTH: Final = 30
_NO_PRODUCT: Final = "There is no such product."


def save_product_terms(visit: Visit) -> Reply:
    """Store who supplies a product; an empty supplier removes its terms.

    Raises:
        PageOrRecordNotFoundError: when the catalog lacks the product.
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
                raise PageOrRecordNotFoundError(_NO_PRODUCT)
    except SupplyInputError as error:
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
        item, run = repository.find_item_forecast(item_id), repository.newest_run()
        stock_outs = repository.stock_out_periods_of_item(
            item_id, now_ms - SHOWN_DAYS * DAY_MS
        )
        suppliers = SupplierRepository(connection, store.store_id)
        names = [supplier.name for supplier in suppliers.suppliers()]
        terms = suppliers.product_terms(item_id)
    if item is None:
        raise PageOrRecordNotFoundError(_NO_PRODUCT)
    is_on = store.settings.demand_forecast
    reply = item_forecast_reply(item, run, store.settings.zone, now_ms, enabled=is_on)
    ahead = expected_sales_days(reply["forecast"])
    query = replace(
        parse_report_query(now_ms, store.settings.zone, limit=1),
        where=(("item_id", item_id),),
    )
    report = make_report(visit.services, store, "demand", query)
    action = next(iter(rows_by_column(report)), None) if is_on else None
    monthly_rates = (
        [] if action is None else _mean_daily_sales_by_month(action, history_days_of(run))
    )
    sold = (
        _daily_sales_before(item.daily, ahead[0].day, history_days_of(run)) if ahead else []
    )
    chart, days = forecast_chart_and_days(visit, sold, ahead)
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
        sold_out_since=_day_sold_out_since(stock_outs, store.settings.zone),
        last_sold=next((day for day, units in reversed(sold) if units > 0), None),
        flat=flat_forecast_reason(
            sold, ahead, count_days_sold_out(stock_outs, sold, store.settings.zone)
        ),
        today=today_of(now_ms, store.settings.zone).isoformat(),
        past_choices=list(PAST_DAYS),
        methods=METHODS,
        unit=TARGET_MODES.get(reply["target_mode"] or "", ""),
        settings=store.settings,
    )


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
            if sold and days_with_sales < DemandForecastOptions().sparse_sales
            else "."
        )
    )


def count_days_sold_out(
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


def _day_sold_out_since(
    periods: Sequence[tuple[int, int | None]], zone: tzinfo
) -> str | None:
    """Return since which day no stock is recorded; None if there is some."""
    days = [_local_day(since, zone) for since, until in periods if until is None]
    return days[0] if days else None


def _local_day(moment_ms: int, zone: tzinfo) -> str:
    return datetime.fromtimestamp(moment_ms / 1000, UTC).astimezone(zone).date().isoformat()


def _mean_daily_sales_by_month(
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


def _daily_sales_before(
    sales_by_days_ago: Mapping[int, float] | None,
    first_day: str,
    history_days: float | None,
) -> list[tuple[str, float]]:
    """Return the sales of each past day without the run's day, which is incomplete.

    Days before the shop's first sale are left out.
    """
    if sales_by_days_ago is None:
        return []
    shown = SHOWN_DAYS if history_days is None else min(SHOWN_DAYS, int(history_days))
    ran = day_before(first_day)
    return [
        ((ran - timedelta(days=back)).isoformat(), sales_by_days_ago.get(back, 0.0))
        for back in range(shown, 0, -1)
    ]


PAGES: Final = (
    Page(PRODUCT_PATH, "Expected sales of a product", show_product_forecast),
    *form_pages(
        PRODUCT_PATH,
        "Expected sales of a product",
        ("supplier", save_product_terms, "Saved a product's supplier"),
    ),
)
