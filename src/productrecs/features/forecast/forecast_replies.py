"""Forecast replies: expected sales, stockout day and days of cover, for the API."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta, tzinfo
from typing import Any, Final

import numpy as np

from productrecs.core.clock import DAY_MS
from productrecs.core.iso_dates import window_end_ms, window_start_ms
from productrecs.core.timestamps import iso
from productrecs.engines.array_types_and_sorting import Bools, Floats
from productrecs.features.forecast.repository import (
    NO_DAYS_AHEAD,
    DayForecast,
    ForecastItemRow,
    ForecastRun,
    ItemForecast,
)
from productrecs.records.catalog.availability import Availability

MAX_DAYS_OF_COVER: Final = 365.0
"""The largest days of cover that are reported; a larger estimate is meaningless."""

_MIN_DAILY_SALES: Final = 1e-9


def days_of_cover(stock: int | None, means: Sequence[float]) -> float | None:
    """Return how many days `stock` lasts, as a fraction; 0 when there is none.

    `means` are the expected daily sales; after the last day their average continues.
    None if the stock is unknown, no sales are expected, or it lasts over a year.
    """
    if stock is None or not means:
        return None
    (cover,) = days_of_cover_by_item(np.array([stock]), np.array([means]))
    return None if np.isnan(cover) else float(cover)


def days_of_cover_by_item(stock: Floats, means: Floats) -> Floats:
    """Return `days_of_cover` of many items: `stock` [items]; NaN means unknown.

    `means` is [items, days], with at least one day.
    """
    summed = np.cumsum(means, axis=1)
    is_sold_out = summed >= stock[:, None]
    day = np.argmax(is_sold_out, axis=1)
    rows = np.arange(len(stock))
    daily_sales = summed[:, -1] / means.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        days_within = (
            day + (stock - (summed[rows, day] - means[rows, day])) / means[rows, day]
        )
        days_beyond = means.shape[1] + (stock - summed[:, -1]) / daily_sales
    cover = np.where(is_sold_out.any(axis=1), days_within, days_beyond)
    cover = np.where(stock <= 0, 0.0, cover)
    has_cover = (
        np.isfinite(stock) & (daily_sales > _MIN_DAILY_SALES) & (cover <= MAX_DAYS_OF_COVER)
    )
    return np.where(has_cover, cover, np.nan)


HORIZON_DAYS: Final = 28


def dates_from(first: str, count: int = HORIZON_DAYS) -> list[date]:
    """Return `count` dates from an ISO date on."""
    begin = date.fromisoformat(first)
    return [begin + timedelta(days=number) for number in range(count)]


def today_of(now_ms: int, zone: tzinfo) -> date:
    """Return the current date in `zone`."""
    return datetime.fromtimestamp(now_ms / 1000, tz=zone).date()


def forecast_within_sales_window(
    item: ItemForecast, first_day: str, zone: tzinfo
) -> list[DayForecast]:
    """Return the days ahead of an item, without days outside its current sales window.

    An item that was in the catalog at forecast time but had no sales data sells nothing
    on each day. An item that was added later has no days yet.
    """
    days = list(item.days)
    dates = dates_from(first_day, len(days))
    is_offered = offered_day_mask([item], dates, zone)[0].tolist()
    return [
        day if offered else NO_DAYS_AHEAD
        for day, offered in zip(days, is_offered, strict=True)
    ]


def offered_day_mask(
    items: Sequence[ForecastItemRow | ItemForecast], dates: list[date], zone: tzinfo
) -> Bools:
    """Return on which of the `dates` each item can be sold: [items, dates]."""
    day_starts = np.array(
        [window_start_ms(day.isoformat(), zone) for day in dates], np.int64
    )
    is_offered = np.ones((len(items), len(dates)), np.bool_)
    for row, item in enumerate(items):
        if item.availability == Availability.DISCONTINUED:
            is_offered[row] = False
        if item.available_from is not None:
            is_offered[row] &= (
                window_start_ms(item.available_from, zone) < day_starts + DAY_MS
            )
        if item.available_until is not None:
            is_offered[row] &= window_end_ms(item.available_until, zone) >= day_starts
    return is_offered


def item_forecast_reply(
    item: ItemForecast, run: ForecastRun | None, zone: tzinfo, now_ms: int, *, enabled: bool
) -> dict[str, Any]:
    """Return an item's forecast; empty before the first run and when not enabled.

    `days_of_cover` counts the days from tomorrow that the stock lasts at the expected
    sales, and `stockout_date` is the day on which it runs out. Both are None if stock is
    not counted, no sales are expected, or the stock lasts over a year.
    """
    reply: dict[str, Any] = {
        "item_id": item.item_id,
        "method": None,
        "target_mode": None,
        "generated_at": None,
        "forecast": [],
        "stock_qty": item.stock_qty,
        "days_of_cover": None,
        "stockout_date": None,
    }
    if run is None or not enabled or was_added_after(item, run):
        return reply
    days = (
        forecast_within_sales_window(item, run.first_day, zone)
        or [NO_DAYS_AHEAD] * HORIZON_DAYS
    )
    dates = dates_from(run.first_day, len(days))
    reply |= {
        "method": item.method or "statistical",
        "target_mode": run.target_mode,
        "generated_at": iso(run.generated_at),
        "forecast": [
            {"date": calendar_day.isoformat(), **day._asdict()}
            for calendar_day, day in zip(dates, days, strict=True)
        ],
    }
    today = today_of(now_ms, zone)
    means = [
        day.mean
        for calendar_day, day in zip(dates, days, strict=True)
        if calendar_day > today
    ]
    cover = days_of_cover(item.stock_qty, means)
    if cover is not None:
        reply["days_of_cover"] = round(cover, 1)
        reply["stockout_date"] = stockout_day(today, cover).isoformat()
    return reply


def was_added_after(item: ItemForecast, run: ForecastRun) -> bool:
    """Return whether an item was added after the run, which has no forecast for it."""
    return not item.days and item.created_at >= run.generated_at


def stockout_day(today: date, cover: float) -> date:
    """Return the day on which stock that lasts `cover` days from tomorrow on runs out.

    It is today if there is none.
    """
    return today + timedelta(days=int(cover) + 1 if cover > 0 else 0)


_QUANTILES = ("p10", "p50", "p90")


def store_forecast_reply(
    run: ForecastRun | None, currency: str, *, enabled: bool
) -> dict[str, Any]:
    """Return the store's summary; empty before the first run and when not enabled.

    `forecast` holds the 28 days from the day after `generated_at`; amounts are units or
    order lines, as `target_mode` says. `accuracy` is the backtest of the store's total
    over the last weeks: None where the history is too short.
    """
    if run is None or not enabled:
        return {
            "enabled": enabled,
            "target_mode": None,
            "currency": None,
            "generated_at": None,
            "horizon_days": HORIZON_DAYS,
            "history": [],
            "forecast": [],
            "totals": None,
            "accuracy": None,
        }
    total = run.total
    columns = zip(total["mean"], *(total[name] for name in _QUANTILES), strict=True)
    return {
        "enabled": True,
        "target_mode": run.target_mode,
        "currency": currency,
        "generated_at": iso(run.generated_at),
        "horizon_days": HORIZON_DAYS,
        "history": [{"date": day, "actual": amount} for day, amount in run.history],
        "forecast": [
            {"date": day.isoformat(), "mean": mean, "p10": p10, "p50": p50, "p90": p90}
            for day, (mean, p10, p50, p90) in zip(
                dates_from(run.first_day), columns, strict=True
            )
        ],
        "totals": {
            name: dict(zip(_QUANTILES, total[name], strict=True))
            for name in ("next_7_days", "next_28_days")
        },
        "accuracy": _accuracy_fields(run),
    }


def _accuracy_fields(run: ForecastRun) -> dict[str, float] | None:
    if run.accuracy is None:
        return None
    measures = {name: round(value, 4) for name, value in run.accuracy.items()}
    return {
        "wape": measures["wape"],
        "rmsse": measures["rmsse"],
        "bias": measures["bias"],
        "coverage_p10_p90": measures["coverage"],
        "baseline_rmsse": measures["baseline_rmsse"],
    }
