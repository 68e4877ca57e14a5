"""Item weekdays: gives an item its own weekly pattern where its past is clear enough.

Otherwise the store's weekdays apply: they are steadier than a few weeks of one item. A
trained model learns this by itself; this module serves stores that are too small for one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from productrecs.engines.demand.bulk_orders import bulk_order_caps, without_bulk_orders
from productrecs.engines.demand.demand_series import weekdays
from productrecs.engines.demand.forecast_features import store_profile
from productrecs.engines.demand.forecast_paths import ForecastPaths
from productrecs.engines.demand.options import HORIZON, QUANTILES, WEEK

if TYPE_CHECKING:
    from productrecs.engines.arrays import Bools, Floats
    from productrecs.engines.demand.demand_series import Demand

_FEWEST_WEEKS, _MOST_WEEKS = 8, 16
_BY_CHANCE: Final = 3.1
"""So far differs one item in a hundred that has no weekdays of its own (F, 6 degrees)."""

_NOTHING: Final = 1e-9


def apply_item_weekdays(demand: Demand, paths: ForecastPaths) -> ForecastPaths:
    """Return the `paths` after `demand` with each week's sum on the item's own weekdays.

    Only as far as an item's weeks differ from the store's by more than chance.
    """
    weeks = min(_MOST_WEEKS, demand.days // WEEK)
    if weeks < _FEWEST_WEEKS:
        return paths
    start = demand.days - weeks * WEEK  # so that the first column is tomorrow's weekday
    usual = without_bulk_orders(demand, demand.days, bulk_order_caps(demand, demand.days))
    shape = (demand.items, weeks, WEEK)
    held = usual.on_sale[:, start:].reshape(shape)
    sold = np.where(held, usual.amounts[:, start:].reshape(shape), 0).astype(np.float64)
    profile = store_profile(demand, demand.days)[weekdays(demand.ordinals(start, WEEK))]
    belief = _belief(sold, held, profile)
    rows = np.flatnonzero(belief > 0)
    if not len(rows):
        return paths
    days = np.where(held[rows], sold[rows], np.nan)
    own = _own(days, paths.of(rows))
    share = belief[rows, None].astype(np.float32)
    mean, quantiles = paths.mean.copy(), paths.quantiles.copy()
    mean[rows] += share * (own.mean - mean[rows])
    quantiles[:, rows] += share * (own.quantiles - quantiles[:, rows])
    return ForecastPaths(mean, quantiles).in_order()


def _belief(sold: Floats, held: Bools, profile: Floats) -> Floats:
    """Return how far each item's own weekdays are believed, from 0 to 1: [items].

    How far weekdays differ from the store's, held against how weeks differ from each
    other: a shrunken estimate (James and Stein), 0 where chance alone may differ so far.
    """
    counts = held.sum(axis=1)
    means = sold.sum(axis=1) / np.maximum(counts, 1)
    expected = (counts * profile).sum(axis=1)
    pace = sold.sum(axis=(1, 2)) / np.maximum(expected, _NOTHING)
    between = (counts * (means - pace[:, None] * profile) ** 2).sum(axis=1) / (WEEK - 1)
    spare = np.maximum(counts.sum(axis=1) - WEEK, 1)
    within = (np.where(held, sold - means[:, None], 0) ** 2).sum(axis=(1, 2)) / spare
    # Of days that are all the same nothing is left to chance, but what rounding leaves.
    differs = between > _BY_CHANCE * within + _NOTHING
    enough = counts.min(axis=1, where=profile > 0, initial=_MOST_WEEKS) >= _FEWEST_WEEKS
    ratio = _BY_CHANCE * within / np.maximum(between, _NOTHING)
    return np.where(differs & enough, 1 - ratio, 0.0)


def _own(days: Floats, paths: ForecastPaths) -> ForecastPaths:
    """Return `paths` with the shape of `days` [items, weeks, 7], NaN where not on sale."""
    closed = np.asarray(np.isnan(days).all(axis=1))  # [items, 7]
    known = np.where(closed[:, None], 0, days)
    weeks = HORIZON // WEEK
    means = np.nanmean(known, axis=1)
    ahead = paths.mean.reshape(len(days), weeks, WEEK).astype(np.float64)
    shape = means[:, None] * (ahead > 0)
    sums = shape.sum(axis=2, keepdims=True)
    factor = ahead.sum(axis=2, keepdims=True) / np.maximum(sums, _NOTHING)
    bands = np.nanquantile(known, QUANTILES, axis=1)[:, :, None] * (ahead > 0) * factor
    mean = (shape * factor).reshape(paths.mean.shape).astype(np.float32)
    return ForecastPaths(mean, bands.reshape(paths.quantiles.shape).astype(np.float32))
