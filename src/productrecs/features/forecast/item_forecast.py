"""Item forecast: the expected sales and the stockout day of one item for the API."""

from datetime import date, timedelta, tzinfo
from typing import Any

from productrecs.core.clock import iso
from productrecs.features.forecast.days_of_cover import days_of_cover
from productrecs.features.forecast.forecast_dates import (
    HORIZON_DAYS,
    dates_from,
    item_days_ahead,
    today_of,
)
from productrecs.features.forecast.repository import (
    NO_DAYS_AHEAD,
    ForecastRun,
    ItemForecast,
)


def item_forecast_reply(
    item: ItemForecast, run: ForecastRun | None, zone: tzinfo, now_ms: int, *, enabled: bool
) -> dict[str, Any]:
    """Return an item's forecast; before its first run, and when not enabled, empty.

    `days_of_cover` is how many days from tomorrow on its stock lasts at the expected pace,
    and `stockout_date` the day on which it runs out: None where stock is not counted, where
    nothing is expected to sell, and beyond a year.
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
    if run is None or not enabled or is_newer(item, run):
        return reply
    days = item_days_ahead(item, run.first_day, zone) or [NO_DAYS_AHEAD] * HORIZON_DAYS
    dates = dates_from(run.first_day, len(days))
    reply |= {
        "method": item.method or "statistical",
        "target_mode": run.target_mode,
        "generated_at": iso(run.generated_at),
        "forecast": [
            {"date": one.isoformat(), **day._asdict()}
            for one, day in zip(dates, days, strict=True)
        ],
    }
    today = today_of(now_ms, zone)
    means = [day.mean for one, day in zip(dates, days, strict=True) if one > today]
    cover = days_of_cover(item.stock_qty, means)
    if cover is not None:
        reply["days_of_cover"] = round(cover, 1)
        reply["stockout_date"] = stockout_day(today, cover).isoformat()
    return reply


def is_newer(item: ItemForecast, run: ForecastRun) -> bool:
    """Return whether an item was added after the run, which has no forecast for it."""
    return not item.days and item.created_at >= run.generated_at


def stockout_day(today: date, cover: float) -> date:
    """Return the day on which stock that lasts `cover` days from tomorrow on runs out."""
    return today + timedelta(days=int(cover) + 1)
