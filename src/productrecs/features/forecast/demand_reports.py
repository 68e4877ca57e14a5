"""Demand reports: stock actions per product, and the store's days ahead."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from productrecs.core.report import (
    Figure,
    FigureDefinition,
    Report,
    ReportQuery,
    ReportQueryError,
    ReportValue,
    define_figure,
)
from productrecs.core.timestamps import iso
from productrecs.features.forecast.forecast_replies import store_forecast_reply
from productrecs.features.forecast.repository import ForecastRepository, ForecastRun
from productrecs.features.forecast.stock_actions import (
    SORT_ORDERS,
    StockAction,
    StockActions,
    StockAlert,
    plan_stock_actions,
)
from productrecs.storage.jobs.job_queue import running_job_progress
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.store import Store

NO_FORECAST: Final = (
    "No forecast yet: `productrecs store enable-demand` enables the add-on of a store"
)
_UNITS_OF_LINES: Final = (
    "Order lines are counted because quantities are not known. Each line counts as one "
    "unit of stock, so orders are a lower bound and cover is an upper one."
)
_JOB: Final = "forecast"
TOO_OLD: Final = "The forecast is too old; `productrecs forecast` makes a new one."
SUPPLIES_NOTE: Final = (
    "Goods on their way from suppliers are counted if they are entered as ordered."
)

COLUMNS: Final = (
    FigureDefinition("item_id", "text", "the product"),
    FigureDefinition("sku", "text", "the merchant's own code"),
    FigureDefinition("title", "text", "its title"),
    FigureDefinition(
        "alert",
        "text",
        "out_of_stock: none left, with demand; runs_out: before an order placed today "
        "or goods on order arrive; order_now: an order is due; overstock: more than "
        "overstock_days of stock",
    ),
    FigureDefinition("money", "money", "at risk; for overstock, the value of the excess"),
    FigureDefinition("stock_qty", "count", "units in stock"),
    *(
        FigureDefinition(
            f"sold_{days}_days", "number", f"sold in the {days} days before the run"
        )
        for days in (30, 60, 90)
    ),
    FigureDefinition("expected_28_days", "number", "expected sales of the next 28 days"),
    FigureDefinition(
        "days_of_cover", "number", "days from tomorrow on until stock is sold"
    ),
    FigureDefinition(
        "stockout_date", "day", "the day on which stock runs out at that pace"
    ),
    FigureDefinition(
        "order_date", "day", "when to order, for lead_time_days and service_level"
    ),
    FigureDefinition(
        "order_quantity", "count", "how much, to last order_every_days longer"
    ),
    FigureDefinition(
        "revenue_at_risk",
        "money",
        "at the mean price paid in the 90 days before the run, expected demand without "
        "stock until an order placed today arrives",
    ),
    FigureDefinition(
        "overstock_units", "count", "units beyond the sales of overstock_days"
    ),
    FigureDefinition(
        "overstock_value",
        "money",
        ("the same at cost; without a cost, at the mean price paid in the 90 days"),
    ),
    FigureDefinition(
        "method", "text", "lgbm: the learned model; statistical: simpler methods"
    ),
    FigureDefinition("lead_time_sales", "number", "expected sales in lead_time_days"),
    FigureDefinition(
        "safety_stock", "number", "stock kept for sales above that, at service_level"
    ),
    FigureDefinition(
        "lead_time_days", "count", "as its supplier has it, else as the settings have it"
    ),
    FigureDefinition("order_every_days", "count", "the same for days between orders"),
    FigureDefinition("on_order", "count", "units that were ordered and have not arrived"),
)


def stock_and_demand_report(
    database: Database, store: Store, query: ReportQuery, now_ms: int
) -> Report:
    """Return what to do about each product, sorted by the money at stake.

    `query.by` may name another order: stockout_date, order_date, expected_28_days or
    overstock_value; `query.where` one product by its item_id.

    Raises:
        ReportQueryError: for any other order.
    """
    sort_order = _parse_sort_order(query)
    with database.reading() as connection:
        repository = ForecastRepository(connection, store.store_id)
        run = repository.newest_run()
        item_id = dict(query.where).get("item_id")
        stocked = repository.items_with_expected_sales(item_id) if run is not None else None
    title = f"Stock and demand of {store.domain}"
    if run is None or stocked is None:
        return Report("demand", title, columns=COLUMNS, notes=(NO_FORECAST,))
    actions = plan_stock_actions(stocked, run, store.settings, now_ms)
    notes = [TOO_OLD if actions is None else SUPPLIES_NOTE]
    if run.target_mode == "order_lines":
        notes.insert(0, _UNITS_OF_LINES)
    if actions is not None and len(actions) > query.limit:
        notes.append(f"{len(actions) - query.limit} more products; --limit shows them.")
    return Report(
        "demand",
        f"{title}, forecast {iso(run.generated_at)}, money in {store.settings.currency}",
        figures=() if actions is None else _alert_and_value_figures(actions),
        columns=COLUMNS,
        rows=()
        if actions is None
        else tuple(
            _action_row(action) for action in actions.top_actions(query.limit, sort_order)
        ),
        notes=tuple(notes),
    )


def daily_forecast_report(database: Database, store: Store, query: ReportQuery) -> Report:
    """Return the store's forecast by day, with its accuracy in past weeks.

    Raises:
        ReportQueryError: when another order is requested: it has one row for each day.
    """
    if query.by:
        message = "the forecast has one row per day and no other order"
        raise ReportQueryError(message)
    with database.reading() as connection:
        run = ForecastRepository(connection, store.store_id).newest_run()
        progress = running_job_progress(connection, store.store_id, _JOB)
    notes = () if progress is None else (f"A forecast is running: {progress:.0%} done.",)
    title = f"The next 28 days of {store.domain}"
    columns = _forecast_day_columns(
        "amounts" if run is None else run.target_mode.replace("_", " ")
    )
    if run is None:
        return Report("forecast", title, columns=columns, notes=notes or (NO_FORECAST,))
    summary = store_forecast_reply(run, store.settings.currency, enabled=True)
    names = [column.name for column in columns]
    return Report(
        "forecast",
        f"{title}, forecast {iso(run.generated_at)}",
        figures=_total_and_accuracy_figures(run, summary),
        columns=columns,
        rows=tuple(tuple(day[name] for name in names) for day in summary["forecast"]),
        notes=notes,
    )


def _parse_sort_order(query: ReportQuery) -> str | None:
    if not query.by:
        return None
    if len(query.by) > 1 or query.by[0] not in SORT_ORDERS:
        message = f"demand is sorted by money, or by one of {', '.join(SORT_ORDERS)}"
        raise ReportQueryError(message)
    return query.by[0]


def _action_row(action: StockAction) -> tuple[ReportValue, ...]:
    cells = [getattr(action, column.name) for column in COLUMNS]
    return tuple(None if cell is None else _report_value(cell) for cell in cells)


def _report_value(value: Any) -> ReportValue:
    return value if isinstance(value, str | int | float) else str(value.isoformat())


def _alert_and_value_figures(actions: StockActions) -> tuple[Figure, ...]:
    alerts = [
        define_figure(
            alert.value,
            "count",
            actions.count(alert),
            f"products with the alert {alert.value}",
        )
        for alert in StockAlert
    ]
    healthy, at_risk = actions.healthy_count, actions.revenue_at_risk
    meaning = "of all products"
    return (
        *alerts,
        define_figure(
            "order_soon",
            "count",
            actions.due_later_count,
            "products that are due before the next order, without one of these alerts",
        ),
        define_figure("healthy", "count", healthy, "products in stock without alert"),
        define_figure("revenue_at_risk", "money", at_risk, meaning),
        define_figure("overstock_value", "money", actions.overstock_value, meaning),
    )


_TOTAL_MEANINGS: Final = {
    "next_7_days": (
        "expected total of the first 7 days; between p10 and p90 in 8 of 10 cases"
    ),
    "next_28_days": "the same for all 28 days",
}


def _forecast_day_columns(mode: str) -> tuple[FigureDefinition, ...]:
    return (
        FigureDefinition("date", "day", "the day in the store's time zone"),
        FigureDefinition("mean", "number", f"the expected {mode}: what sums"),
        FigureDefinition("p10", "number", "in one of ten days it is less"),
        FigureDefinition("p50", "number", "the median"),
        FigureDefinition("p90", "number", "in one of ten days it is more"),
    )


def _total_and_accuracy_figures(
    run: ForecastRun, summary: Mapping[str, Any]
) -> tuple[Figure, ...]:
    figures = [
        define_figure(f"{days} {band}", "number", amount, _TOTAL_MEANINGS[days])
        for days, bands in summary["totals"].items()
        for band, amount in bands.items()
    ]
    meanings = {
        "wape": "error in past weeks, as a share of what was sold",
        "rmsse": "error per day in past weeks, relative to repeating the previous day",
        "bias": "bias: how much too high (above 0) or too low forecasts were",
        "coverage_p10_p90": "share of past days between p10 and p90; 0.8 is the target",
        "baseline_rmsse": (
            "rmsse of the better of two baselines: repeating last week, and the 28-day mean"
        ),
    }
    figures += [
        define_figure(name, "number", value, meanings[name])
        for name, value in (summary["accuracy"] or {}).items()
    ]
    counts = (
        ("products", "products that were forecast", run.items),
        ("learned", "of them, forecast with the learned model", run.learned),
        ("seconds", "duration of the run", run.seconds),
    )
    figures += [
        define_figure(name, "number", amount, meaning) for name, meaning, amount in counts
    ]
    return (*figures, *_item_accuracy_figures(run))


_ACCURACY_FIELDS: Final = {
    "ours": ("", "what served"),
    "naive": (
        "naive_",
        ("baseline: last week repeated, with the weekday's quantiles of 8 weeks"),
    ),
    "moving": (
        "moving_",
        ("baseline: the mean of the last 28 days, with the quantiles of 56"),
    ),
}
_SCORES: Final = {
    "rmsse": (
        "error per day in past weeks, relative to repeating the previous day, for "
        "products that sold on 28 days or more"
    ),
    "pinball": (
        "for the same products: pinball loss of p10, p50 and p90 together, "
        "relative to the mean error of repeating last week"
    ),
    "wape": "error of a product's day in past weeks, as a share of what was sold",
    "bias": "bias: how much too high (above 0) or too low, over all products",
    "coverage": (
        "share of products' days between p10 and p90; above 0.8 if most days have no sales"
    ),
}


def _item_accuracy_figures(run: ForecastRun) -> list[Figure]:
    """Return the backtest of products, each figure next to those of the baselines."""
    if run.judged is None or "ours" not in run.judged:  # the format of older runs
        return []
    return [
        define_figure(
            f"items {prefix}{name}",
            "number",
            round(_mean(run.judged[stored_name][name]), 4),
            f"{title}: {meaning}",
        )
        for name, meaning in _SCORES.items()
        for stored_name, (prefix, title) in _ACCURACY_FIELDS.items()
    ]


def _mean(value: float | Sequence[float]) -> float:
    return float(value) if isinstance(value, int | float) else sum(value) / len(value)


def stock_labels_by_item_id(
    database: Database, store: Store, now_ms: int
) -> dict[str, str]:
    """Return the alert of each product with a forecast and a stock count, by its id.

    `enough_stock` where there is none; nothing without a forecast of days ahead.
    """
    with database.reading() as connection:
        repository = ForecastRepository(connection, store.store_id)
        run = repository.newest_run() if store.settings.demand_forecast else None
        if run is None:
            return {}
        stocked = repository.items_with_expected_sales()
    actions = plan_stock_actions(stocked, run, store.settings, now_ms)
    return {
        action.item_id: action.alert or "enough_stock"
        for action in (() if actions is None else actions.top_actions(len(actions)))
        if action.stock_qty is not None
    }
