"""Statistical forecast: level, weekdays and spread of an item without a trained model.

A ladder of methods: regular items use their recent level and the store's weekdays;
intermittent items use a slower level; new and rare items are shrunk towards their category;
items without a sale for half a year are forecast as zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy import stats

from productrecs.engines.demand.demand_series import (
    HORIZON,
    QUANTILES,
    USUAL_DOUBT,
    WEEK,
    Demand,
    DemandOptions,
    bulk_order_additions,
    bulk_order_caps,
    bulk_order_growth,
    weekdays,
    without_bulk_orders,
)
from productrecs.engines.demand.ensemble_and_calibration import (
    OFTEN,
    ForecastPaths,
    sale_classes,
)
from productrecs.engines.demand.forecast_features import (
    SALES_RATE_HALF_LIFE,
    own_quantiles,
    sales_rates,
    store_profile,
    year_factors,
)

if TYPE_CHECKING:
    from productrecs.engines.arrays import Bools, Floats


_SPARSE_HALF_LIFE: Final = 56.0
_LOOK_BACK: Final = 112
_PRIOR_DAYS: Final = 14.0
"""Prior weight of the category's rate, in days."""

_SPREAD_DAYS: Final = 56
"""Open days at which an item's own days determine its spread."""

_LEAST_DISPERSION, _MOST_DISPERSION = 0.05, 20.0
_CLASSES: Final = np.array([0.05, 0.2, 1.0, 5.0, 25.0])
"""Limits of volume classes, as mean per day."""


@dataclass(frozen=True, slots=True, eq=False)
class DemandClasses:
    """The class of each item at an origin: [items] each."""

    regular: Bools
    young: Bools  # new or rare: the category's rate is used
    obsolete: Bools


def classify_demand(demand: Demand, origin: int, options: DemandOptions) -> DemandClasses:
    """Return each item's class, from its days up to `origin`."""
    amounts, on_sale = demand.amounts[:, :origin], demand.on_sale[:, :origin]
    sold = amounts > 0
    sales, open_days = sold.sum(axis=1), on_sale.sum(axis=1)
    young = (sales < options.sparse_sales) | (open_days < options.sparse_days)
    recent_sales = sold[:, -_LOOK_BACK:].sum(axis=1)
    recent_open = on_sale[:, -_LOOK_BACK:].sum(axis=1)
    interval = recent_open / np.maximum(recent_sales, 1)
    regular = ~young & (interval < options.regular_interval)
    seen = on_sale[:, -options.obsolete_days :].sum(axis=1)
    silent = sold[:, -options.obsolete_days :].sum(axis=1) == 0
    # Obsolete: half a year without a sale, although on sale on most days.
    obsolete = silent & (sales > 0) & (seen >= options.obsolete_days // 2)
    return DemandClasses(regular, young, obsolete)


def statistical_forecast(
    demand: Demand, origin: int, options: DemandOptions, doubt: float = USUAL_DOUBT
) -> ForecastPaths:
    """Return each item's forecast for the HORIZON days after `origin`, by the ladder.

    `doubt` is the shrinkage of the store's season.
    """
    ahead = demand.ordinals(origin, HORIZON)
    rungs = classify_demand(demand, origin, options)
    profile = store_profile(demand, origin)
    most = bulk_order_caps(demand, origin)
    usual = without_bulk_orders(demand, origin, most)
    levels, grown = _levels(
        usual, bulk_order_additions(demand, origin, most), profile, rungs
    )
    shape = profile[weekdays(ahead)] * year_factors(demand, origin, doubt)
    quantiles = _by_own_days(usual, demand, levels[:, None] * shape)
    mean = ((levels * grown)[:, None] * shape).astype(np.float32)
    open_days = demand.on_sale[:, max(0, origin - _LOOK_BACK) : origin].sum(axis=1)
    strange = np.flatnonzero(rungs.young | (open_days < _SPREAD_DAYS))
    if len(strange):
        sizes = _dispersions(demand, origin)[strange]
        quantiles[:, strange] = negative_binomial(mean[strange], sizes[:, None])
    return ForecastPaths(mean, quantiles.astype(np.float32)).in_order()


def _levels(
    usual: Demand, additions: Floats, profile: Floats, rungs: DemandClasses
) -> tuple[Floats, Floats]:
    """Return each item's mean on an open day, and its increase by bulk orders.

    `usual` excludes bulk orders; [items] each.
    """
    classes = sale_classes(usual, usual.days)
    quick = sales_rates(usual, profile, SALES_RATE_HALF_LIFE)
    levels = np.where(
        classes >= OFTEN, quick, sales_rates(usual, profile, _SPARSE_HALF_LIFE)
    )
    grown = bulk_order_growth(levels, additions)
    levels = np.where(rungs.young, _young_levels(usual, rungs), levels)
    return np.where(rungs.obsolete, 0.0, levels), grown


def _young_levels(demand: Demand, rungs: DemandClasses) -> Floats:
    """Return (sold + 14 days of the category's rate) / (days on sale + 14): [items].

    The category's rate is the median of its items with enough data; the whole store's if
    there are none.
    """
    amounts = demand.amounts[:, -_LOOK_BACK:]
    on_sale = demand.on_sale[:, -_LOOK_BACK:]
    sums, days = amounts.sum(axis=1, dtype=np.float64), on_sale.sum(axis=1)
    rates = sums / np.maximum(days, 1)
    known = ~rungs.obsolete & (days > 0) & (sums > 0)
    overall = float(np.median(rates[known])) if known.any() else 0.0
    prior = np.full(demand.items, overall)
    grouped = known & (demand.categories >= 0)
    for code in np.unique(demand.categories[grouped]).tolist():
        members = demand.categories == code
        prior[members] = float(np.median(rates[members & known]))
    levels: Floats = (sums + _PRIOR_DAYS * prior) / (days + _PRIOR_DAYS)
    return levels


def _by_own_days(usual: Demand, demand: Demand, mean: Floats | np.ndarray) -> Floats:
    """Return the quantiles of an item's own days, shifted to its `mean` [items, h]."""
    recent = own_quantiles(demand, usual.days, _LOOK_BACK)
    held = usual.on_sale[:, -_LOOK_BACK:]
    sums = (usual.amounts[:, -_LOOK_BACK:] * held).sum(axis=1)
    average = sums / np.maximum(held.sum(axis=1), 1)
    ratios = [np.nan_to_num(one) / np.maximum(average, 1e-6) for one in recent]
    return np.stack([ratio[:, None] * mean for ratio in ratios])


def _dispersions(demand: Demand, origin: int) -> Floats:
    """Return k of var = mean + k mean^2 for each item: the median of its volume class.

    It is near 0 (Poisson) if days vary no more than by chance.
    """
    start = max(0, origin - _LOOK_BACK)
    amounts, held = demand.amounts[:, start:origin], demand.on_sale[:, start:origin]
    days = np.maximum(held.sum(axis=1), 1)
    average = (amounts * held).sum(axis=1) / days
    variance = (np.where(held, amounts - average[:, None], 0) ** 2).sum(axis=1) / days
    excess = (variance - average) / np.maximum(average, 1e-6) ** 2
    classes = np.searchsorted(_CLASSES, average)
    dispersion = np.full(len(_CLASSES) + 1, 1.0)
    for one in range(len(dispersion)):
        members = (classes == one) & (average > 0)
        if members.any():
            dispersion[one] = np.median(excess[members])
    return np.asarray(np.clip(dispersion, _LEAST_DISPERSION, _MOST_DISPERSION)[classes])


def negative_binomial(mean: Floats | np.ndarray, dispersion: Floats) -> Floats:
    """Return the QUANTILES of counts with var = mean + dispersion * mean^2.

    Shape [3, *mean.shape]; whole numbers. Equal means are looked up once.
    """
    size = np.broadcast_to(1 / dispersion, mean.shape)
    pairs = np.stack((np.round(mean, 2).ravel(), size.ravel()))
    distinct, places = np.unique(pairs, axis=1, return_inverse=True)
    mu, r = distinct
    found = [
        np.where(mu > 0, stats.nbinom.ppf(share, r, r / (r + np.maximum(mu, 1e-9))), 0)
        for share in QUANTILES
    ]
    return np.stack([one[places.ravel()].reshape(mean.shape) for one in found])


_FEWEST_WEEKS, _MOST_WEEKS = 8, 16
_BY_CHANCE: Final = 3.1
"""Critical value (F, 6 degrees): one item in a hundred without own weekdays exceeds it."""

_NOTHING: Final = 1e-9


def apply_item_weekdays(demand: Demand, paths: ForecastPaths) -> ForecastPaths:
    """Return the `paths` with each week's sum distributed by the item's own weekdays.

    Own weekdays are shrunk towards the store's unless they differ significantly.
    """
    weeks = min(_MOST_WEEKS, demand.days // WEEK)
    if weeks < _FEWEST_WEEKS:
        return paths
    start = demand.days - weeks * WEEK  # aligns the first column with tomorrow's weekday
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
    """Return the weight of each item's own weekdays, from 0 to 1: [items].

    A James-Stein estimate: the variance between weekdays relative to that between weeks, 0
    if chance explains it.
    """
    counts = held.sum(axis=1)
    means = sold.sum(axis=1) / np.maximum(counts, 1)
    expected = (counts * profile).sum(axis=1)
    pace = sold.sum(axis=(1, 2)) / np.maximum(expected, _NOTHING)
    between = (counts * (means - pace[:, None] * profile) ** 2).sum(axis=1) / (WEEK - 1)
    spare = np.maximum(counts.sum(axis=1) - WEEK, 1)
    within = (np.where(held, sold - means[:, None], 0) ** 2).sum(axis=(1, 2)) / spare
    # Identical days have no variance except rounding errors.
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
