"""Stock plan: when to order how much of each product, from stock and expected sales.

Days are counted from today, 0; day 1 is the first day ahead. After the forecast's last day,
demand continues at its average.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from productrecs.engines.array_types_and_sorting import Floats, Ints

_NORMAL: Final = NormalDist()
_NORMAL_P90: Final = 1.2816
_MAX_ORDER_DAYS: Final = 365  # maximum days until a reported order
_MIN_DAILY_SALES: Final = 1e-12


@dataclass(frozen=True, slots=True)
class ReplenishmentPolicy:
    """Replenishment policy: lead time in days, service level from 0 to 1, and so on.

    Lead times, order days, packs and minimum quantities are one for all items, or [items].
    """

    lead_days: Floats | float
    service: float  # probability that an order arrives before a stockout
    order_days: Floats | float  # days that an order covers beyond its lead time
    overstock_days: int
    pack_size: Floats | float = 1.0  # an order is a multiple of it
    minimum_quantity: Floats | float = 0.0  # of an order


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedDemand:
    """Expected sales of items: `means` and `p90s` [items, days]; `spreads` [items].

    `spreads` are the overdispersion of sums of days against independent days.
    """

    means: Floats
    p90s: Floats
    spreads: Floats

    def sales_until(self, day: Floats | float) -> Floats:
        """Return the expected sales up to the end of `day` ([items] or one)."""
        known_days = self.means.shape[1]
        if not isinstance(day, np.ndarray):
            summed = self.means[:, : min(int(day), known_days)].sum(axis=1)
            return np.asarray(summed + self.daily_sales * max(day - known_days, 0.0))
        is_before = np.arange(known_days) < np.minimum(day, known_days)[:, None]
        summed = (self.means * is_before).sum(axis=1)
        return np.asarray(summed + self.daily_sales * np.maximum(day - known_days, 0))

    def of(self, rows: Ints) -> ExpectedDemand:
        """Return the demand of these items."""
        return ExpectedDemand(self.means[rows], self.p90s[rows], self.spreads[rows])

    @property
    def daily_sales(self) -> Floats:
        """Mean sales per day: [items]."""
        return np.asarray(self.means.mean(axis=1))

    def standard_deviation_of_sum(self, days: Floats | float) -> Floats:
        """Return the standard deviation of the sum of `days` days: [items]."""
        upper = np.maximum(self.p90s - self.means, 0) / _NORMAL_P90
        variance = np.maximum(upper**2, self.means).mean(axis=1)
        return np.asarray(self.spreads * np.sqrt(variance * days))


@dataclass(frozen=True, slots=True, eq=False)
class IncomingGoods:
    """Goods that were ordered and have not arrived: [orders] each."""

    rows: Ints  # of the items
    days: Ints  # until they can be sold
    units: Floats

    def arriving_until(self, day: Floats) -> Floats:
        """Return the units that arrive up to the end of `day` [items]: [items]."""
        arrives = self.days <= day[self.rows]
        return np.bincount(self.rows, self.units * arrives, len(day)).astype(np.float64)

    def sellable_until(self, day: Floats, demand: ExpectedDemand) -> Floats:
        """Return what can be sold of them up to the end of `day`: after they arrive."""
        sales = demand.sales_until(day)
        arrivals = np.maximum(self.days - 1, 0).astype(np.float64)
        after = sales[self.rows] - demand.of(self.rows).sales_until(arrivals)
        sellable = np.where(self.days <= day[self.rows], np.minimum(self.units, after), 0)
        return np.minimum(np.bincount(self.rows, sellable, len(day)), sales)


def no_incoming_goods() -> IncomingGoods:
    """Return none."""
    none = np.zeros(0, np.int64)
    return IncomingGoods(none, none, np.zeros(0))


@dataclass(frozen=True, slots=True, eq=False)
class StockPlan:
    """The plan of each item: [items] each. Unknown (NaN, -1) if stock is unknown."""

    order_in: Ints  # days until an order is due; 0 is today, -1 not within a year
    quantity: Floats  # of that order, in whole units; 0 without an order
    lost: Floats  # expected lost sales before an order of today arrives
    saved: Floats  # expected sales that an order of today saves until the next one arrives
    uncovered: Floats  # mean sales until then that stock and goods on order do not cover
    surplus: Floats  # units beyond the demand of `overstock_days`
    lead_demand: Floats  # expected sales of the lead time
    safety: Floats  # units kept for sales above that, at the service level


def plan_stock(
    stock: Floats,
    demand: ExpectedDemand,
    policy: ReplenishmentPolicy,
    incoming: IncomingGoods | None = None,
) -> StockPlan:
    """Return the plan for items with `stock` [items] units now, NaN if unknown.

    An order is due on the first day when the remaining stock may not cover the lead time at
    the service level. It covers lead time and `order_days` at that level. Demand is
    modelled as normal. `incoming` goods count from the day on which they arrive.
    """
    incoming = incoming or no_incoming_goods()
    z_score = _NORMAL.inv_cdf(policy.service)
    cycle_days = np.asarray(policy.lead_days + policy.order_days, np.float64)
    safety = z_score * demand.standard_deviation_of_sum(policy.lead_days)
    is_known = np.isfinite(stock)
    stock_left = np.where(is_known, stock, 0.0)
    lead_days = np.broadcast_to(np.asarray(policy.lead_days, np.float64), stock.shape)
    arriving = incoming.arriving_until(lead_days)
    order_in = _first_order_days(stock_left + arriving - safety, demand, policy.lead_days)
    order_end = np.maximum(order_in, 0) + cycle_days
    target_stock = demand.sales_until(
        order_end
    ) + z_score * demand.standard_deviation_of_sum(cycle_days)
    is_due = is_known & (order_in >= 0)
    lacking = target_stock - stock_left - incoming.arriving_until(order_end)
    quantity = np.where(is_due, np.ceil(np.maximum(lacking, 0)), 0.0)
    quantity = np.where(quantity > 0, np.maximum(quantity, policy.minimum_quantity), 0.0)
    quantity = np.ceil(quantity / policy.pack_size) * policy.pack_size
    lead_demand = demand.sales_until(policy.lead_days)
    sellable = _sellable_with_stock_until(lead_days, stock_left, demand, incoming)
    lost_sales = _expected_lost_sales(lead_days, stock_left, demand, incoming)
    next_arrival = np.broadcast_to(cycle_days, stock.shape)
    lost_without_order = _expected_lost_sales(next_arrival, stock_left, demand, incoming)
    surplus = np.floor(
        np.maximum(stock_left - demand.sales_until(policy.overstock_days), 0)
    )
    return StockPlan(
        np.where(is_due & (quantity > 0), order_in, -1),
        quantity,
        np.where(is_known, lost_sales, np.nan),
        np.where(is_known, np.maximum(lost_without_order - lost_sales, 0), np.nan),
        np.where(is_known, np.maximum(lead_demand - sellable, 0), np.nan),
        np.where(is_known, surplus, np.nan),
        lead_demand,
        safety,
    )


def _sellable_with_stock_until(
    day: Floats, stock_left: Floats, demand: ExpectedDemand, incoming: IncomingGoods
) -> Floats:
    return np.maximum(stock_left, 0) + incoming.sellable_until(day, demand)


def _expected_lost_sales(
    day: Floats, stock_left: Floats, demand: ExpectedDemand, incoming: IncomingGoods
) -> Floats:
    """Return the expected sales up to the end of `day` that are lost without an order."""
    return _expected_shortfall(
        _sellable_with_stock_until(day, stock_left, demand, incoming),
        demand.sales_until(day),
        demand.standard_deviation_of_sum(day),
    )


def _first_order_days(
    stock_left: Floats, demand: ExpectedDemand, lead_days: Floats | float
) -> Ints:
    """Return the first day when `stock_left` does not cover the lead time.

    -1 beyond a year.
    """
    known_days = demand.means.shape[1]
    summed = np.cumsum(demand.means, axis=1)
    is_sold_out = summed >= stock_left[:, None]
    daily_sales = np.maximum(demand.daily_sales, _MIN_DAILY_SALES)
    days_beyond = known_days + np.ceil((stock_left - summed[:, -1]) / daily_sales)
    last_days = np.where(
        is_sold_out.any(axis=1), np.argmax(is_sold_out, axis=1) + 1, days_beyond
    )
    days = np.maximum(np.where(stock_left <= 0, 0, last_days) - lead_days, 0)
    is_finite = (demand.daily_sales > 0) & (days <= _MAX_ORDER_DAYS)
    return np.asarray(np.where(is_finite, days, -1), np.int64)


def _expected_shortfall(stock: Floats, mean: Floats, standard_deviation: Floats) -> Floats:
    """Return the expected demand beyond `stock`, at least 0."""
    spread = np.maximum(standard_deviation, 1e-9)
    gap = (stock - mean) / spread
    density = np.exp(-(gap**2) / 2) / np.sqrt(2 * np.pi)
    tail_probabilities = np.array([_NORMAL.cdf(-value) for value in gap.tolist()])
    shortfalls = np.maximum(spread * (density - gap * tail_probabilities), 0)
    return np.where(mean > 0, np.where(stock > 0, shortfalls, mean), 0.0)
