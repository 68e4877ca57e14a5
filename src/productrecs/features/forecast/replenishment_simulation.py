"""Replenishment simulation: stock and lost sales if a rule had ordered from suppliers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from productrecs.engines.array_types_and_sorting import Floats, Ints

ReplenishmentRule: TypeAlias = "Callable[[int, Floats, Floats], Floats]"
"""Returns the units to order [items] on the evening of a day.

It takes the day, the stock [items], and what arrives on later days [items, days]."""


MEAN_DAYS: Final = 28
"""Days whose mean sales the plain rule expects."""


@dataclass(frozen=True, slots=True, eq=False)
class ReplenishmentOutcome:
    """What a rule leads to on the counted days: [items] each."""

    days_out: Ints  # days on which there was less stock than demand, or none
    lost: Floats  # units that were asked for and not there
    stock: Floats  # mean units at the end of a day
    lines: Ints  # orders of the item
    order_days: int  # days on which anything was ordered


@dataclass(frozen=True, slots=True, eq=False)
class ReplenishmentScenario:
    """The sales, first stock and lead times that each rule is simulated with."""

    demand: Floats  # [items, days]
    first_stock: Floats  # [items]
    lead_days: Ints  # [items], at least 1
    counted_from: int  # the days before depend on the first stock


def simulate_replenishment(
    scenario: ReplenishmentScenario, rule: ReplenishmentRule
) -> ReplenishmentOutcome:
    """Return the stock and lost sales that `rule` leads to.

    What is ordered on the evening of a day can be sold `lead_days` days later.
    """
    items, days = scenario.demand.shape
    rows = np.arange(items)
    arrivals = np.zeros((items, days + int(scenario.lead_days.max(initial=1)) + 1))
    stock = scenario.first_stock.astype(np.float64)
    days_out, lines = np.zeros(items, np.int64), np.zeros(items, np.int64)
    lost, stock_sum, order_days = np.zeros(items), np.zeros(items), 0
    for day in range(days):
        stock = stock + arrivals[:, day]
        demand = scenario.demand[:, day]
        is_out = (stock <= 0) | (demand > stock)
        missing = np.maximum(demand - stock, 0)
        stock = np.maximum(stock - demand, 0)
        ordered = rule(day, stock, arrivals[:, day + 1 :])
        arrivals[rows, day + scenario.lead_days] += ordered
        if day >= scenario.counted_from:
            days_out += is_out
            lost += missing
            stock_sum += stock
            lines += ordered > 0
            order_days += bool((ordered > 0).any())
    counted = max(days - scenario.counted_from, 1)
    return ReplenishmentOutcome(days_out, lost, stock_sum / counted, lines, order_days)


def build_average_sales_rule(
    demand: Floats, start: int, terms: ReplenishmentTerms, reserve_days: int
) -> ReplenishmentRule:
    """Return the rule to order up to the mean sales of the last 28 days.

    These are times the lead time, the days to the next order, and `reserve_days`. `demand`
    [items, days] begins before the simulation, whose first day is `start`.
    """
    days_covered = terms.lead_days + terms.order_days + reserve_days

    def units_to_order(day: int, stock: Floats, arriving: Floats) -> Floats:
        known = demand[:, start + day + 1 - MEAN_DAYS : start + day + 1]
        lacking = known.mean(axis=1) * days_covered - stock - arriving.sum(axis=1)
        is_due = day % terms.order_days == 0
        return np.where(is_due, terms.rounded_to_packs(lacking), 0.0)

    return units_to_order


@dataclass(frozen=True, slots=True, eq=False)
class ReplenishmentTerms:
    """The terms on which items are ordered from suppliers: [items] each."""

    lead_days: Ints
    order_days: Ints  # between two orders
    pack_size: Floats
    minimum_quantity: Floats

    def rounded_to_packs(self, quantity: Floats) -> Floats:
        """Return quantities in whole packs, of at least the minimum; 0 stays 0."""
        units = np.where(
            quantity > 0, np.maximum(np.ceil(quantity), self.minimum_quantity), 0.0
        )
        return np.asarray(np.ceil(units / self.pack_size) * self.pack_size)
