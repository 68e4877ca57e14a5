"""Bulk orders: removes single very large orders before levels are estimated.

Their next date is unknown. Afterwards they return as what they added to an average
day of the whole history, within bounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from productrecs.engines.arrays import Floats
    from productrecs.engines.demand.demand_series import Amounts, Demand

_CAP_DAYS: Final = 112
_MOST: Final = 2  # so many days of these may hold a huge order,
_SALES_EACH: Final = 10  # and so many with a sale go to each
_ADDED_MOST: Final = 1.0
"""What huge orders add at most to an item, in what it sells without them: more made no
better forecasts on earlier origins, and implausible means."""


def bulk_order_caps(demand: Demand, origin: int) -> Floats:
    """Return above which amount a day of an item is a single huge order: [items].

    Of its last 112 days the largest but two is the largest ordinary one; in an item that
    seldom sells the largest but one, or the largest.
    """
    part = demand.amounts[:, max(0, origin - _CAP_DAYS) : origin]
    if part.shape[1] <= _MOST:
        return np.full(demand.items, np.inf)
    largest = -np.sort(-np.partition(part, -_MOST - 1, axis=1)[:, -_MOST - 1 :], axis=1)
    beyond = np.minimum((part > 0).sum(axis=1) // _SALES_EACH, _MOST)
    return np.asarray(largest[np.arange(demand.items), beyond], np.float64)


def without_bulk_orders(demand: Demand, origin: int, most: Floats) -> Demand:
    """Return what was known at `origin`, with no day above `most` [items]."""
    known = demand.until(origin)
    held: Amounts = np.minimum(known.amounts, most[:, None].astype(np.float32))
    return known.with_amounts(held)


def bulk_order_additions(demand: Demand, origin: int, most: Floats) -> Floats:
    """Return what days above `most` added to an average open day: [items]."""
    known = demand.until(origin)
    over = known.amounts - most[:, None].astype(np.float32)
    sums = np.maximum(over, 0, out=over).sum(axis=1, dtype=np.float64)
    return np.asarray(sums / np.maximum(known.on_sale.sum(axis=1), 1))


def bulk_order_growth(levels: Floats, additions: Floats) -> Floats:
    """Return by what `levels` grow when `additions` come back: [items], from 1 on.

    Both are of an average day, [items].
    """
    return np.asarray(1 + np.minimum(additions / np.maximum(levels, 1e-9), _ADDED_MOST))
