"""Demand series: daily sales of items, without returns and bulk orders."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from productrecs.engines.array_types_and_sorting import Bools, Floats, Ints, Items


HORIZON: Final = 28
"""Forecast horizon in days."""

QUANTILES: Final = (0.1, 0.5, 0.9)

WEEK: Final = 7

DEFAULT_SHRINKAGE: Final = 0.2
"""Default shrinkage of a season: a move of this size (as a logarithm) is halved. Tuned on
simulated shops with and without seasons."""


Amounts = npt.NDArray[np.float32]

_MONDAY: Final = 1  # the ordinal of a Monday


@dataclass(frozen=True, slots=True, eq=False)
class DailyDemand:
    """Sales of each item by day, oldest day first.

    `amounts` [items, days] are units or order lines, net of returns, never negative.
    `on_sale` [items, days] is false if an item could not be bought (outside its window,
    sold out, before its first sale, store closed): such a day has no information on demand.
    `categories` [items] are dense codes, -1 for none; `first_day` is a date's ordinal.
    """

    amounts: Amounts
    on_sale: Bools
    categories: Items
    first_day: int

    @property
    def items(self) -> int:
        """Number of items."""
        return int(self.amounts.shape[0])

    @property
    def days(self) -> int:
        """Number of days of history."""
        return int(self.amounts.shape[1])

    def until(self, days: int) -> DailyDemand:
        """Return the demand of the first `days` days."""
        return DailyDemand(
            self.amounts[:, :days], self.on_sale[:, :days], self.categories, self.first_day
        )

    def of(self, items: Ints | Bools) -> DailyDemand:
        """Return the demand of these items alone."""
        return DailyDemand(
            self.amounts[items], self.on_sale[items], self.categories[items], self.first_day
        )

    def with_amounts(self, amounts: Amounts) -> DailyDemand:
        """Return the same with other `amounts` [items, days]."""
        return DailyDemand(amounts, self.on_sale, self.categories, self.first_day)

    def ordinals(self, start: int, count: int) -> Ints:
        """Return the date ordinals of `count` days from the day number `start` on."""
        return self.first_day + start + np.arange(count, dtype=np.int64)


def weekdays(ordinals: Ints) -> Ints:
    """Return the weekday of each date ordinal, Monday 0."""
    return (ordinals - _MONDAY) % WEEK


def net_returns(amounts: Amounts) -> Amounts:
    """Return daily sales [items, days], with negative returns netted against earlier ones.

    A return cancels the newest sales before it, so that no day is negative. Returns beyond
    all earlier sales are dropped.
    """
    netted = np.array(amounts, dtype=np.float32)
    for item in np.flatnonzero((netted < 0).any(axis=1)).tolist():
        _net_returns_in_row(netted[item])
    return netted


def _net_returns_in_row(row: Amounts) -> None:
    open_returns = 0.0
    for day in np.flatnonzero(row)[::-1].tolist():
        if row[day] < 0:
            open_returns -= float(row[day])
            row[day] = 0
        elif open_returns > 0:
            netted_units = min(open_returns, float(row[day]))
            row[day] -= netted_units
            open_returns -= netted_units


_CAP_DAYS: Final = 112
_MAX_BULK_DAYS: Final = 2  # maximum days with bulk orders,
_SALES_PER_BULK_ORDER: Final = 10  # and sale days per bulk order
_MAX_ADDITION: Final = 1.0
"""Maximum addition of bulk orders, relative to an item's other sales: more did not improve
forecasts on earlier origins and made means implausible."""


def bulk_order_caps(demand: DailyDemand, origin: int) -> Floats:
    """Return the amount above which a day of an item is a bulk order: [items].

    The third largest of its last 112 days is the largest ordinary one; for an item with few
    sales the second largest, or the largest.
    """
    window = demand.amounts[:, max(0, origin - _CAP_DAYS) : origin]
    if window.shape[1] <= _MAX_BULK_DAYS:
        return np.full(demand.items, np.inf)
    largest = -np.sort(
        -np.partition(window, -_MAX_BULK_DAYS - 1, axis=1)[:, -_MAX_BULK_DAYS - 1 :], axis=1
    )
    bulk_days = np.minimum(
        (window > 0).sum(axis=1) // _SALES_PER_BULK_ORDER, _MAX_BULK_DAYS
    )
    return np.asarray(largest[np.arange(demand.items), bulk_days], np.float64)


def without_bulk_orders(demand: DailyDemand, origin: int, caps: Floats) -> DailyDemand:
    """Return the demand at `origin`, with days capped at `caps` [items]."""
    demand_so_far = demand.until(origin)
    capped_amounts: Amounts = np.minimum(
        demand_so_far.amounts, caps[:, None].astype(np.float32)
    )
    return demand_so_far.with_amounts(capped_amounts)


def bulk_order_additions(demand: DailyDemand, origin: int, caps: Floats) -> Floats:
    """Return the mean addition of amounts above `caps` to an open day: [items]."""
    demand_so_far = demand.until(origin)
    over = demand_so_far.amounts - caps[:, None].astype(np.float32)
    sums = np.maximum(over, 0, out=over).sum(axis=1, dtype=np.float64)
    return np.asarray(sums / np.maximum(demand_so_far.on_sale.sum(axis=1), 1))


def bulk_order_growth(levels: Floats, additions: Floats) -> Floats:
    """Return the growth factor of `levels` by `additions`: [items], at least 1.

    Both are means per day, [items].
    """
    return np.asarray(1 + np.minimum(additions / np.maximum(levels, 1e-9), _MAX_ADDITION))


_LOOK_BACK: Final = 8 * WEEK
_MIN_OCCURRENCES: Final = 4  # minimum occurrences of a weekday to detect its closing
_BUSY: Final = 5.0
"""Minimum median sales of an open day, for a day without sales to count as closed."""

_MIN_YEARS: Final = 2
_FEAST = (12, 24), (12, 25), (12, 26), (12, 31), (1, 1)
"""Fixed dates that count as closed after one year, for shops often close then."""


def closed_days(totals: Floats) -> Bools:
    """Return for each day whether the store was closed: [days].

    `totals` [days] are the store's sales. In a store with few sales, days without a sale
    are normal and do not count as closed.
    """
    sold = totals > 0
    if not sold.any() or float(np.median(totals[sold])) < _BUSY:
        return np.zeros(len(totals), dtype=np.bool_)
    share = float(sold.mean())
    # If most days have sales, a day without any is closed.
    return ~sold & (share >= 0.5)  # noqa: PLR2004 - most


def closed_in_future(closed: Bools, first_day: int, future_days: Ints) -> Bools:
    """Return whether the store will be closed on each date ordinal of `future_days`.

    A weekday that was closed for eight weeks stays closed, and so does a date that was
    closed in each past year although its weekday was open.
    """
    past_days = first_day + np.arange(len(closed), dtype=np.int64)
    recent = weekdays(past_days[-_LOOK_BACK:])
    closed_weekdays = np.zeros(WEEK, dtype=np.bool_)
    for weekday in range(WEEK):
        occurrences = closed[-_LOOK_BACK:][recent == weekday]
        closed_weekdays[weekday] = len(occurrences) >= _MIN_OCCURRENCES and bool(
            occurrences.all()
        )
    by_date = {
        int(ordinal): bool(is_closed)
        for ordinal, is_closed in zip(past_days, closed, strict=True)
    }
    dates = [
        _is_date_closed_each_year(int(ordinal), by_date) for ordinal in future_days.tolist()
    ]
    return closed_weekdays[weekdays(future_days)] | np.array(dates, dtype=np.bool_)


def _is_date_closed_each_year(ordinal: int, closed_by_ordinal: dict[int, bool]) -> bool:
    day = date.fromordinal(ordinal)
    if (day.month, day.day) == (2, 29):
        return False
    was_closed = []
    for back in (1, 2, 3):
        ordinal_before = day.replace(year=day.year - back).toordinal()
        if ordinal_before in closed_by_ordinal:
            was_closed.append(closed_by_ordinal[ordinal_before])
    min_years = 1 if (day.month, day.day) in _FEAST else _MIN_YEARS
    return len(was_closed) >= min_years and all(was_closed)
