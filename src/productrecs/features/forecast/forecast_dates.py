"""Forecast dates: the days of a forecast, and on which of them an item can be sold."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta, tzinfo
from typing import Final

import numpy as np
import numpy.typing as npt

from productrecs.core.clock import DAY_MS
from productrecs.core.time_window import window_end_ms, window_start_ms
from productrecs.features.forecast.repository import (
    NO_DAYS_AHEAD,
    DayAhead,
    ItemForecast,
    StockedItem,
)
from productrecs.records.catalog.availability import Availability

Bools = npt.NDArray[np.bool_]

HORIZON_DAYS: Final = 28


def dates_from(first: str, count: int = HORIZON_DAYS) -> list[date]:
    """Return `count` dates from an ISO date on."""
    begin = date.fromisoformat(first)
    return [begin + timedelta(days=number) for number in range(count)]


def today_of(now_ms: int, zone: tzinfo) -> date:
    """Return the date that it is in `zone`."""
    return datetime.fromtimestamp(now_ms / 1000, tz=zone).date()


def item_days_ahead(item: ItemForecast, first: str, zone: tzinfo) -> list[DayAhead]:
    """Return the days ahead of an item by its window as it is now: nothing outside it.

    An item that was in the catalog when its store was forecast, and of which nothing was
    known, sells nothing on each day; one that came later has no days yet.
    """
    days = list(item.days)
    if item.availability is Availability.DISCONTINUED:
        return [NO_DAYS_AHEAD] * len(days)
    if item.available_from is None and item.available_until is None:
        return days
    opens, closes = -(2**62), 2**62
    if item.available_from is not None:
        opens = window_start_ms(item.available_from, zone)
    if item.available_until is not None:
        closes = window_end_ms(item.available_until, zone)
    return [
        day if _is_open(one, zone, opens, closes) else NO_DAYS_AHEAD
        for day, one in zip(days, dates_from(first, len(days)), strict=True)
    ]


def sellable_days(items: Sequence[StockedItem], dates: list[date], zone: tzinfo) -> Bools:
    """Return on which of the `dates` each item may be sold: [items, dates]."""
    begins = np.array([window_start_ms(one.isoformat(), zone) for one in dates], np.int64)
    offered = np.ones((len(items), len(dates)), np.bool_)
    for row, item in enumerate(items):
        if item.availability == Availability.DISCONTINUED:
            offered[row] = False
        if item.available_from is not None:
            offered[row] &= window_start_ms(item.available_from, zone) < begins + DAY_MS
        if item.available_until is not None:
            offered[row] &= window_end_ms(item.available_until, zone) >= begins
    return offered


def _is_open(day: date, zone: tzinfo, opens: int, closes: int) -> bool:
    begins = window_start_ms(day.isoformat(), zone)
    return opens < begins + DAY_MS and closes >= begins
