"""Demand pages: expected sales of the store and of one product, and what to order."""

from dataclasses import replace
from datetime import date, timedelta
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import urlencode

from productrecs.core.report import Report, ReportValue, report_query
from productrecs.entrypoints.http.dashboard.charts import series
from productrecs.entrypoints.http.dashboard.page import (
    Group,
    NotFoundError,
    Page,
    Reply,
    Visit,
)
from productrecs.entrypoints.http.dashboard.period import (
    REPORT_FILE_PATH,
    as_number,
    figures_of,
    rows_of,
)
from productrecs.entrypoints.http.dashboard.product_rows import product_rows
from productrecs.entrypoints.reports import make_report
from productrecs.features.forecast.item_and_store_forecast import (
    item_forecast_reply,
    store_summary,
)
from productrecs.features.forecast.repository import ForecastRepository

DEMAND_PATH: Final = "/dashboard/demand"
PRODUCT_PATH: Final = f"{DEMAND_PATH}/product"
_ORDERS: Final = MappingProxyType(
    {
        "order_date": "Order first",
        "money": "Most money at stake",
        "stockout_date": "Sold out first",
        "overstock_value": "Overstock",
        "expected_28_days": "Sells most",
    }
)
ALERTS: Final = MappingProxyType(
    {
        "out_of_stock": ("Sold out", "bad"),
        "runs_out": ("Runs out", "bad"),
        "order_now": ("Order now", "warn"),
        "overstock": ("Overstock", ""),
    }
)
METHODS: Final = MappingProxyType(
    {"lgbm": "Learned model", "statistical": "Statistical methods"}
)
_MODES: Final = MappingProxyType({"units": "units", "order_lines": "order lines"})
_SHOWN_DAYS: Final = 120
_ROWS: Final = 50
_MONTH: Final = 30


def show_demand(visit: Visit) -> Reply:
    """Show the store's expected sales, and what to do about each product."""
    by = visit.query["by"] if visit.query["by"] in _ORDERS else "order_date"
    zone = visit.store.settings.zone
    asked = report_query(visit.now_ms, zone, by=_column(by), limit=_ROWS)
    demand = make_report(visit.services, visit.store, "demand", asked)
    plain = report_query(visit.now_ms, zone)
    forecast = make_report(visit.services, visit.store, "forecast", plain)
    with visit.database.reading() as connection:
        run = ForecastRepository(connection, visit.store.store_id).run()
    is_on = visit.store.settings.demand_forecast
    summary = store_summary(run, visit.store.settings.currency, enabled=is_on)
    figures = figures_of(forecast)
    return visit.render(
        "demand.html",
        is_on=is_on,
        summary=summary if run is not None and is_on else None,
        made_at=None if run is None else run.generated_at,
        unit=_MODES.get(summary["target_mode"] or "", ""),
        chart=_store_chart(summary),
        errors=_errors(visit, summary["accuracy"]),
        figures=figures,
        stock=figures_of(demand),
        demand=demand,
        rows=rows_of(demand),
        forecast=forecast,
        by=by,
        orders=list(_ORDERS.items()),
        alerts=ALERTS,
        methods=METHODS,
        file=_file,
        column=_column(by),
        settings=visit.store.settings,
    )


def _column(by: str) -> str:
    """Return the column that a report is sorted by; by itself it is money."""
    return "" if by == "money" else by


def _file(report: str, **fields: str) -> str:
    return f"{REPORT_FILE_PATH}?{urlencode({'report': report, **fields})}"


def _store_chart(summary: dict[str, Any]) -> object:
    if not summary["forecast"]:
        return None
    history = [(one["date"], float(one["actual"])) for one in summary["history"]]
    ahead = [
        (one["date"], float(one["p10"]), float(one["p50"]), float(one["p90"]))
        for one in summary["forecast"]
    ]
    return series(history[-_SHOWN_DAYS:], ahead)


def _errors(visit: Visit, accuracy: dict[str, float] | None) -> list[str]:
    """Return the back-test of the store's total in words; none where it is not known."""
    if accuracy is None:
        return []
    fmt, bias = visit.formats, accuracy["bias"]
    found = [
        (
            f"The forecast of one day was off by {fmt.share(accuracy['wape'], 0)} of what "
            "was sold, on average over the past weeks."
        ),
        "It was neither too high nor too low on the whole."
        if abs(bias) < 0.01  # noqa: PLR2004 - below a percent
        else f"On the whole it was {fmt.share(abs(bias), 0)} too "
        f"{'high' if bias > 0 else 'low'}.",
        (
            f"{fmt.share(accuracy['coverage_p10_p90'], 0)} of the days were within the "
            f"band; {fmt.share(0.8, 0)} is the target."
        ),
    ]
    baseline = accuracy["baseline_rmsse"]
    if baseline:
        better = 1 - accuracy["rmsse"] / baseline
        word = "smaller" if better >= 0 else "larger"
        found.append(
            f"Its error was {fmt.share(abs(better), 0)} {word} than that of the better of "
            "two simple methods: repeating last week, and the mean of the last 28 days."
        )
    return found


def show_product(visit: Visit) -> Reply:
    """Show the expected sales of one product, and what to order."""
    item_id, store, now_ms = visit.query["id"], visit.store, visit.now_ms
    with visit.database.reading() as connection:
        repository = ForecastRepository(connection, store.store_id)
        item, run = repository.item(item_id), repository.run()
    if item is None:
        message = "There is no such product."
        raise NotFoundError(message)
    is_on = store.settings.demand_forecast
    reply = item_forecast_reply(item, run, store.settings.zone, now_ms, enabled=is_on)
    ahead = [
        (one["date"], float(one["p10"]), float(one["p50"]), float(one["p90"]))
        for one in reply["forecast"]
    ]
    asked = replace(
        report_query(now_ms, store.settings.zone, limit=1), where=(("item_id", item_id),)
    )
    made = make_report(visit.services, store, "demand", asked)
    action = next(iter(rows_of(made)), None) if is_on else None
    paces = [] if action is None else _paces(action)
    return visit.render(
        "demand_product.html",
        title=item.title or item_id,
        item=item,
        row=next(iter(product_rows(visit, [item_id])), None),
        reply=reply,
        action=action,
        paces=paces,
        chart=series(_history(paces, ahead[0][0]), ahead) if ahead else None,
        definitions=_meanings(made),
        alerts=ALERTS,
        methods=METHODS,
        unit=_MODES.get(reply["target_mode"] or "", ""),
        settings=store.settings,
    )


def _paces(action: dict[str, ReportValue]) -> list[tuple[str, float]]:
    """Return what was sold a day in each of the last three months, oldest first."""
    sold = [as_number(action[f"sold_{days}_days"]) for days in (30, 60, 90)]
    if None in sold:
        return []
    month, two, three = (one or 0.0 for one in sold)
    return [
        ("61 to 90 days ago", (three - two) / _MONTH),
        ("31 to 60 days ago", (two - month) / _MONTH),
        ("The last 30 days", month / _MONTH),
    ]


def _history(paces: list[tuple[str, float]], first_day: str) -> list[tuple[str, float]]:
    """Return the mean of each month for each of its days, up to the forecast."""
    begin = date.fromisoformat(first_day) - timedelta(days=_MONTH * len(paces))
    return [
        ((begin + timedelta(days=day)).isoformat(), paces[day // _MONTH][1])
        for day in range(_MONTH * len(paces))
    ]


def _meanings(made: Report) -> dict[str, str]:
    return {column.name: column.meaning for column in made.columns}


PAGES: Final = (
    Page(DEMAND_PATH, "Demand", show_demand, group=Group.ANALYSE),
    Page(PRODUCT_PATH, "Expected sales of a product", show_product),
)
