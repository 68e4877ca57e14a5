"""Which dates does a forecast speak of, and on which of them may an item be sold?"""

from collections.abc import Sequence
from datetime import date, datetime, timedelta, tzinfo
from typing import Final

import numpy as np
import numpy.typing as npt

from productrecs.core.clock import DAY_MS
from productrecs.core.window import ends_at_ms, starts_at_ms
from productrecs.features.forecast.repository import (
    NOTHING,
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


def days_as_offered(item: ItemForecast, first: str, zone: tzinfo) -> list[DayAhead]:
    """Return the days ahead of an item by its window as it is now: nothing outside it.

    An item that was in the catalog when its store was forecast, and of which nothing was
    known, sells nothing on each day; one that came later has no days yet.
    """
    days = list(item.days)
    if item.availability is Availability.DISCONTINUED:
        return [NOTHING] * len(days)
    if item.available_from is None and item.available_until is None:
        return days
    opens, closes = -(2**62), 2**62
    if item.available_from is not None:
        opens = starts_at_ms(item.available_from, zone)
    if item.available_until is not None:
        closes = ends_at_ms(item.available_until, zone)
    return [
        day if _is_open(one, zone, opens, closes) else NOTHING
        for day, one in zip(days, dates_from(first, len(days)), strict=True)
    ]


def offered_days(items: Sequence[StockedItem], dates: list[date], zone: tzinfo) -> Bools:
    """Return on which of the `dates` each item may be sold: [items, dates]."""
    begins = np.array([starts_at_ms(one.isoformat(), zone) for one in dates], np.int64)
    offered = np.ones((len(items), len(dates)), np.bool_)
    for row, item in enumerate(items):
        if item.availability == Availability.DISCONTINUED:
            offered[row] = False
        if item.available_from is not None:
            offered[row] &= starts_at_ms(item.available_from, zone) < begins + DAY_MS
        if item.available_until is not None:
            offered[row] &= ends_at_ms(item.available_until, zone) >= begins
    return offered


def _is_open(day: date, zone: tzinfo, opens: int, closes: int) -> bool:
    begins = starts_at_ms(day.isoformat(), zone)
    return opens < begins + DAY_MS and closes >= begins
