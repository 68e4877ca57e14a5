"""Replenishment: reorder dates, order quantities, stockouts and overstock from a forecast.

Days are counted from today, 0; day 1 is the first day ahead. After the forecast's last day,
demand continues at its average.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from productrecs.engines.arrays import Floats, Ints

_NORMAL: Final = NormalDist()
_NORMAL_P90: Final = 1.2816
_FARTHEST: Final = 365  # maximum days until a reported order
_MIN_DAILY_SALES: Final = 1e-12


@dataclass(frozen=True, slots=True)
class ReplenishmentPolicy:
    """Replenishment policy: lead time in days, service level from 0 to 1, and so on."""

    lead_days: int
    service: float  # probability that an order arrives before a stockout
    order_days: int  # days that an order covers beyond its lead time
    overstock_days: int


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedDemand:
    """Expected sales of items: `means` and `p90s` [items, days]; `spreads` [items].

    `spreads` are the overdispersion of sums of days against independent days.
    """

    means: Floats
    p90s: Floats
    spreads: Floats

    def by(self, day: Floats | float) -> Floats:
        """Return the expected sales up to the end of `day` ([items] or one)."""
        known_days = self.means.shape[1]
        if not isinstance(day, np.ndarray):
            summed = self.means[:, : min(int(day), known_days)].sum(axis=1)
            return np.asarray(summed + self.daily_sales * max(day - known_days, 0.0))
        is_before = np.arange(known_days) < np.minimum(day, known_days)[:, None]
        summed = (self.means * is_before).sum(axis=1)
        return np.asarray(summed + self.daily_sales * np.maximum(day - known_days, 0))

    @property
    def daily_sales(self) -> Floats:
        """Mean sales per day: [items]."""
        return np.asarray(self.means.mean(axis=1))

    def scatter(self, days: int) -> Floats:
        """Return the standard deviation of the sum of `days` days: [items]."""
        upper = np.maximum(self.p90s - self.means, 0) / _NORMAL_P90
        variance = np.maximum(upper**2, self.means).mean(axis=1)
        return np.asarray(self.spreads * np.sqrt(variance * days))


@dataclass(frozen=True, slots=True, eq=False)
class StockPlan:
    """The plan of each item: [items] each. Unknown (NaN, -1) if stock is unknown."""

    order_in: Ints  # days until an order is due; 0 is today, -1 not within a year
    quantity: Floats  # of that order, in whole units; 0 without an order
    lost: Floats  # expected lost sales before an order of today arrives
    surplus: Floats  # units beyond the demand of `overstock_days`


def plan_stock(
    stock: Floats, outlook: ExpectedDemand, supply: ReplenishmentPolicy
) -> StockPlan:
    """Return the plan for items with `stock` [items] units now, NaN if unknown.

    An order is due on the first day when the remaining stock may not cover the lead time at
    the service level. It covers lead time and `order_days` at that level. Demand is
    modelled as normal. Goods in transit are unknown.
    """
    factor = _NORMAL.inv_cdf(supply.service)
    cycle = supply.lead_days + supply.order_days
    safety = factor * outlook.scatter(supply.lead_days)
    known_days = np.isfinite(stock)
    stock_left = np.where(known_days, stock, 0.0)
    order_in = _first_day(stock_left - safety, outlook, supply.lead_days)
    target_stock = outlook.by(np.maximum(order_in, 0) + cycle) + factor * outlook.scatter(
        cycle
    )
    due = known_days & (order_in >= 0)
    quantity = np.where(due, np.ceil(np.maximum(target_stock - stock_left, 0)), 0.0)
    lead_demand = outlook.by(supply.lead_days)
    lost = _shortfall(
        np.maximum(stock_left, 0), lead_demand, outlook.scatter(supply.lead_days)
    )
    surplus = np.floor(np.maximum(stock_left - outlook.by(supply.overstock_days), 0))
    return StockPlan(
        np.where(due & (quantity > 0), order_in, -1),
        quantity,
        np.where(known_days, lost, np.nan),
        np.where(known_days, surplus, np.nan),
    )


def _first_day(stock_left: Floats, outlook: ExpectedDemand, lead_days: int) -> Ints:
    """Return the first day when `stock_left` does not cover the lead time.

    -1 beyond a year.
    """
    known_days = outlook.means.shape[1]
    summed = np.cumsum(outlook.means, axis=1)
    is_sold_out = summed >= stock_left[:, None]
    daily_sales = np.maximum(outlook.daily_sales, _MIN_DAILY_SALES)
    days_beyond = known_days + np.ceil((stock_left - summed[:, -1]) / daily_sales)
    last_days = np.where(
        is_sold_out.any(axis=1), np.argmax(is_sold_out, axis=1) + 1, days_beyond
    )
    days = np.maximum(np.where(stock_left <= 0, 0, last_days) - lead_days, 0)
    is_finite = (outlook.daily_sales > 0) & (days <= _FARTHEST)
    return np.asarray(np.where(is_finite, days, -1), np.int64)


def _shortfall(stock: Floats, mean: Floats, scatter: Floats) -> Floats:
    """Return the expected demand beyond `stock`, at least 0."""
    spread = np.maximum(scatter, 1e-9)
    gap = (stock - mean) / spread
    density = np.exp(-(gap**2) / 2) / np.sqrt(2 * np.pi)
    days_beyond = np.array([_NORMAL.cdf(-one) for one in gap.tolist()])
    missing = np.maximum(spread * (density - gap * days_beyond), 0)
    return np.where(mean > 0, np.where(stock > 0, missing, mean), 0.0)
