"""Demand series: each item's sales by day, and the days on which it was on sale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from productrecs.engines.demand.options import WEEK

if TYPE_CHECKING:
    from productrecs.engines.arrays import Bools, Ints, Items

Amounts = npt.NDArray[np.float32]

_MONDAY: Final = 1  # the ordinal of a Monday


@dataclass(frozen=True, slots=True, eq=False)
class Demand:
    """What was sold of each item on each day, oldest day first.

    `amounts` [items, days] are units or order lines, returns netted, never negative.
    `on_sale` [items, days] is false where an item could not be bought (outside its window,
    sold out, before its first sale, the store closed): such a day says nothing of demand.
    `categories` [items] are dense codes, -1 for none; `first_day` is a date's ordinal.
    """

    amounts: Amounts
    on_sale: Bools
    categories: Items
    first_day: int

    @property
    def items(self) -> int:
        """How many items there are."""
        return int(self.amounts.shape[0])

    @property
    def days(self) -> int:
        """How many days of history there are."""
        return int(self.amounts.shape[1])

    def until(self, days: int) -> Demand:
        """Return what was known after the first `days` days."""
        return Demand(
            self.amounts[:, :days], self.on_sale[:, :days], self.categories, self.first_day
        )

    def of(self, items: Ints | Bools) -> Demand:
        """Return the demand of these items alone."""
        return Demand(
            self.amounts[items], self.on_sale[items], self.categories[items], self.first_day
        )

    def with_amounts(self, amounts: Amounts) -> Demand:
        """Return the same with other `amounts` [items, days]."""
        return Demand(amounts, self.on_sale, self.categories, self.first_day)

    def ordinals(self, start: int, count: int) -> Ints:
        """Return the date ordinals of `count` days from the day number `start` on."""
        return self.first_day + start + np.arange(count, dtype=np.int64)


def weekdays(ordinals: Ints) -> Ints:
    """Return the weekday of each date ordinal, Monday 0."""
    return (ordinals - _MONDAY) % WEEK


def net_returns(amounts: Amounts) -> Amounts:
    """Return sales by day [items, days] with returns (negative) taken off earlier sales.

    A return undoes the newest sales before it, so that demand falls on the days it was
    mistaken for and no day is negative. What exceeds all earlier sales is dropped.
    """
    netted = np.array(amounts, dtype=np.float32)
    for item in np.flatnonzero((netted < 0).any(axis=1)).tolist():
        _net_one(netted[item])
    return netted


def _net_one(row: Amounts) -> None:
    owed = 0.0
    for day in np.flatnonzero(row)[::-1].tolist():
        if row[day] < 0:
            owed -= float(row[day])
            row[day] = 0
        elif owed > 0:
            taken = min(owed, float(row[day]))
            row[day] -= taken
            owed -= taken
