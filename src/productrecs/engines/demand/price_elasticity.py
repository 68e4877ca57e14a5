"""Price elasticity: how much more a store's items sold at reduced prices.

One number for the whole store: at a price lower by a factor, sales are that factor to the
power of the elasticity. It is measured on past reductions, and shrunk where chance could
explain it. A store's items have too few reductions for a number each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from productrecs.engines.demand.demand_series import (
    WEEK,
    DailyDemand,
    bulk_order_caps,
    weekdays,
    without_bulk_orders,
)

if TYPE_CHECKING:
    from productrecs.engines.array_types_and_sorting import Bools, Floats, Ints

_MAX_ITEMS: Final = 500  # those with most days of a known price
_USUAL_DAYS: Final = 45  # days on either side whose median is the usual price
_REDUCED: Final = 0.95  # of the usual price; above, a price is as usual
_MAX_GAP: Final = 14  # days from a known price to a day that has the same
_NEIGHBOURS: Final = 28  # days on either side that show usual sales
_MIN_KNOWN_DAYS: Final = 10
_MIN_ITEMS: Final = 5  # with reductions
_MAX_GROWTH: Final = 10.0  # more is a bulk order, whose price is another
_PARTS: Final = 10
_LOWEST: Final = -6.0
_STEPS: Final = 40


@dataclass(frozen=True, slots=True, eq=False)
class HighestPaidPrices:
    """The highest price paid for a unit, by item and day with a sale: [n] each.

    The highest, because large orders often have a lower price, which says nothing about
    what a reduced price sells.
    """

    rows: Ints
    days: Ints
    prices: Floats


class _PriceReductionDays(NamedTuple):
    """Days of items at a reduced price: [n] each."""

    items: Ints
    changes: Floats  # logarithms of the price over the usual one
    sold: Floats
    expected: Floats  # at the usual price

    def select(self, is_chosen: Bools) -> _PriceReductionDays:
        return _PriceReductionDays._make(column[is_chosen] for column in self)

    def elasticity(self) -> float:
        """Return the elasticity with the largest likelihood of these Poisson sales."""
        low, high = _LOWEST, -_LOWEST
        for _ in range(_STEPS):
            middle = (low + high) / 2
            expected = self.expected * np.exp(middle * self.changes)
            # Changes are below 0: too many sold means that it is lower still.
            if float((self.changes * (self.sold - expected)).sum()) < 0:
                high = middle
            else:
                low = middle
        return (low + high) / 2


def price_elasticity(demand: DailyDemand, paid: HighestPaidPrices) -> float:
    """Return the store's elasticity, at most 0; 0 where past prices show none."""
    reductions = _find_price_reduction_days(demand, paid)
    items = np.unique(reductions.items)
    if len(items) < _MIN_ITEMS:
        return 0.0
    value = reductions.elasticity()
    parts = np.searchsorted(items, reductions.items) % min(_PARTS, len(items))
    count = int(parts.max()) + 1
    others = [reductions.select(parts != part).elasticity() for part in range(count)]
    variance = (count - 1) * float(np.var(others))  # the jackknife's
    if value >= 0:
        return 0.0
    return value * max(0.0, 1 - variance / value**2)


def _find_price_reduction_days(
    demand: DailyDemand, paid: HighestPaidPrices
) -> _PriceReductionDays:
    known = np.bincount(paid.rows, minlength=demand.items)
    chosen = np.argsort(-known, kind="stable")[:_MAX_ITEMS]
    chosen = np.sort(chosen[known[chosen] >= _MIN_KNOWN_DAYS])
    own = demand.of(chosen)
    changes = np.full(own.amounts.shape, np.nan)
    order = np.lexsort((paid.days, paid.rows))
    starts = np.searchsorted(paid.rows[order], np.stack((chosen, chosen + 1)))
    for row, (start, stop) in enumerate(starts.T.tolist()):
        sales = order[start:stop]
        changes[row] = _log_price_reductions(
            paid.days[sales], paid.prices[sales], demand.days
        )
    is_usual = (changes == 0) & own.on_sale
    is_reduced = (changes < 0) & own.on_sale
    if not is_reduced.any():
        return _PriceReductionDays(np.zeros(0, np.int64), *np.zeros((3, 0)))
    caps = bulk_order_caps(own, own.days)
    without_bulk = without_bulk_orders(own, own.days, caps)
    expected = _expected_at_usual_price(without_bulk, is_usual)
    # Bulk orders are capped in the same way on all days.
    amounts = np.minimum(own.amounts, _MAX_GROWTH * expected).astype(np.float32)
    expected = _expected_at_usual_price(own.with_amounts(amounts), is_usual)
    is_comparable = is_reduced & (expected > 0)
    return _PriceReductionDays(
        np.nonzero(is_comparable)[0],
        changes[is_comparable],
        amounts[is_comparable].astype(np.float64),
        expected[is_comparable],
    )


def _log_price_reductions(days: Ints, prices: Floats, count: int) -> Floats:
    """Return each day's change of an item's price: 0 as usual, NaN if unknown.

    A day has the price of the closest day on which the item was sold.
    """
    is_near = np.abs(days[:, None] - days[None]) <= _USUAL_DAYS
    usual = np.nanmedian(np.where(is_near, prices[None], np.nan), axis=1)
    ratios = prices / np.maximum(usual, 1e-9)
    known = np.where(
        (ratios <= _REDUCED) & (ratios > 0), np.log(np.maximum(ratios, 1e-9)), 0
    )
    later = np.clip(np.searchsorted(days, np.arange(count)), 0, len(days) - 1)
    earlier = np.maximum(later - 1, 0)
    gaps = np.abs(days[np.stack((earlier, later))] - np.arange(count))
    closest = np.where(gaps[0] < gaps[1], earlier, later)
    return np.where(gaps.min(axis=0) <= _MAX_GAP, known[closest], np.nan)


def _expected_at_usual_price(demand: DailyDemand, is_usual: Bools) -> Floats:
    """Return expected sales at the usual price: [items, days]."""
    amounts = demand.amounts.astype(np.float64)
    weekday = weekdays(demand.ordinals(0, demand.days))
    sums = np.bincount(weekday, amounts.sum(axis=0), WEEK)
    profile = sums / np.maximum(np.bincount(weekday, minlength=WEEK), 1)
    profile = (profile / max(float(profile.mean()), 1e-9))[weekday]
    sold, weights = (
        _sums_nearby(np.where(is_usual, values, 0.0))
        for values in (amounts, np.broadcast_to(profile, amounts.shape))
    )
    level = np.where(weights > 0, sold / np.maximum(weights, 1e-9), 0.0)
    return np.asarray(level * profile)


def _sums_nearby(values: Floats) -> Floats:
    """Return the sum of each day and its neighbours: [items, days]."""
    summed = np.pad(np.cumsum(values, axis=1), ((0, 0), (1, 0)))
    days = np.arange(values.shape[1])
    first = np.maximum(days - _NEIGHBOURS, 0)
    last = np.minimum(days + _NEIGHBOURS + 1, values.shape[1])
    return np.asarray(summed[:, last] - summed[:, first])
