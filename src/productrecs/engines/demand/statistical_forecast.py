"""Statistical forecast: a ladder of methods, by the class of each item.

Regular items use their recent level and the store's weekdays; intermittent items use a
slower level; new and rare items are shrunk towards their category; items without a sale for
half a year are forecast as zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from productrecs.engines import probability_distributions
from productrecs.engines.demand.demand_series import (
    DEFAULT_SHRINKAGE,
    HORIZON,
    QUANTILES,
    WEEK,
    DailyDemand,
    bulk_order_additions,
    bulk_order_caps,
    bulk_order_growth,
    weekdays,
    without_bulk_orders,
)
from productrecs.engines.demand.ensemble_and_calibration import (
    MIN_SALES_A_WEEK,
    sales_frequency_classes,
)
from productrecs.engines.demand.forecast_features import (
    SALES_RATE_HALF_LIFE,
    open_day_quantiles,
    sales_rates,
    seasonal_factors,
    shrink_season,
    store_totals,
    store_weekday_factors,
)
from productrecs.engines.demand.forecast_paths import (
    ForecastPaths,
)

if TYPE_CHECKING:
    from productrecs.engines.array_types_and_sorting import Bools, Floats
    from productrecs.engines.demand.demand_forecast_options import (
        DemandForecastOptions,
    )


_SPARSE_HALF_LIFE: Final = 56.0
_LOOK_BACK: Final = 112
_PRIOR_DAYS: Final = 14.0
_PRIOR_SALES: Final = 3.0
"""The most that the category's rate weighs, in days and in sales.

Items of one category differ widely, so a rate of several sales a day says little about an
item that was on sale for weeks without one.
"""

_SPREAD_DAYS: Final = 56
"""Open days at which an item's own days determine its spread."""

_MIN_DISPERSION, _MAX_DISPERSION = 0.05, 20.0
_VOLUME_CLASS_LIMITS: Final = np.array([0.05, 0.2, 1.0, 5.0, 25.0])
"""Limits of volume classes, as mean per day."""


@dataclass(frozen=True, slots=True, eq=False)
class DemandClasses:
    """The class of each item at an origin: [items] each."""

    regular: Bools
    young: Bools  # new or rare: the category's rate is used
    obsolete: Bools


def classify_demand(
    demand: DailyDemand, origin: int, options: DemandForecastOptions
) -> DemandClasses:
    """Return each item's class, from its days up to `origin`."""
    amounts, on_sale = demand.amounts[:, :origin], demand.on_sale[:, :origin]
    sold = amounts > 0
    sales, open_days = sold.sum(axis=1), on_sale.sum(axis=1)
    young = (sales < options.sparse_sales) | (open_days < options.sparse_days)
    recent_sales = sold[:, -_LOOK_BACK:].sum(axis=1)
    recent_open = on_sale[:, -_LOOK_BACK:].sum(axis=1)
    interval = recent_open / np.maximum(recent_sales, 1)
    regular = ~young & (interval < options.regular_interval)
    days_on_sale = on_sale[:, -options.obsolete_days :].sum(axis=1)
    has_no_sales = sold[:, -options.obsolete_days :].sum(axis=1) == 0
    # Obsolete: half a year without a sale, although on sale on most days.
    obsolete = has_no_sales & (sales > 0) & (days_on_sale >= options.obsolete_days // 2)
    return DemandClasses(regular, young, obsolete)


def statistical_forecast(
    demand: DailyDemand,
    origin: int,
    options: DemandForecastOptions,
    season_shrinkage: float = DEFAULT_SHRINKAGE,
) -> ForecastPaths:
    """Return each item's forecast for the HORIZON days after `origin`, by the ladder.

    `season_shrinkage` is the shrinkage of the store's season.
    """
    future_days = demand.ordinals(origin, HORIZON)
    demand_classes = classify_demand(demand, origin, options)
    profile = store_weekday_factors(demand, origin)
    caps = bulk_order_caps(demand, origin)
    without_bulk = without_bulk_orders(demand, origin, caps)
    levels, growth = _levels_and_bulk_growth(
        without_bulk, bulk_order_additions(demand, origin, caps), profile, demand_classes
    )
    season = seasonal_factors(store_totals(demand.until(origin)), origin)
    shape = profile[weekdays(future_days)] * shrink_season(season, season_shrinkage)
    quantiles = _quantiles_of_own_days(without_bulk, demand, levels[:, None] * shape)
    mean = ((levels * growth)[:, None] * shape).astype(np.float32)
    open_days = demand.on_sale[:, max(0, origin - _LOOK_BACK) : origin].sum(axis=1)
    irregular_items = np.flatnonzero(demand_classes.young | (open_days < _SPREAD_DAYS))
    if len(irregular_items):
        sizes = _overdispersions(demand, origin)[irregular_items]
        quantiles[:, irregular_items] = negative_binomial_quantiles(
            mean[irregular_items], sizes[:, None]
        )
    return ForecastPaths(mean, quantiles.astype(np.float32)).with_sorted_quantiles()


def _levels_and_bulk_growth(
    without_bulk: DailyDemand,
    additions: Floats,
    profile: Floats,
    demand_classes: DemandClasses,
) -> tuple[Floats, Floats]:
    """Return each item's mean on an open day, and its increase by bulk orders.

    `without_bulk` excludes bulk orders; [items] each.
    """
    frequency_classes = sales_frequency_classes(without_bulk, without_bulk.days)
    recent_rates = sales_rates(without_bulk, profile, SALES_RATE_HALF_LIFE)
    levels = np.where(
        frequency_classes >= MIN_SALES_A_WEEK,
        recent_rates,
        sales_rates(without_bulk, profile, _SPARSE_HALF_LIFE),
    )
    growth = bulk_order_growth(levels, additions)
    levels = np.where(
        demand_classes.young, _levels_of_young_items(without_bulk, demand_classes), levels
    )
    return np.where(demand_classes.obsolete, 0.0, levels), growth


def _levels_of_young_items(demand: DailyDemand, demand_classes: DemandClasses) -> Floats:
    """Return (sold + prior) / (days on sale + days of the prior): [items].

    The prior is 14 days of the category's rate, or the time of three sales at that rate.
    The category's rate is the median of its items with enough data; the whole store's if
    there are none.
    """
    amounts = demand.amounts[:, -_LOOK_BACK:]
    on_sale = demand.on_sale[:, -_LOOK_BACK:]
    sums, days = amounts.sum(axis=1, dtype=np.float64), on_sale.sum(axis=1)
    rates = sums / np.maximum(days, 1)
    is_known = ~demand_classes.obsolete & (days > 0) & (sums > 0)
    overall = float(np.median(rates[is_known])) if is_known.any() else 0.0
    prior = np.full(demand.items, overall)
    grouped = is_known & (demand.categories >= 0)
    for code in np.unique(demand.categories[grouped]).tolist():
        members = demand.categories == code
        prior[members] = float(np.median(rates[members & is_known]))
    prior_days = np.minimum(_PRIOR_DAYS, _PRIOR_SALES / np.maximum(prior, _EPSILON))
    levels: Floats = (sums + prior_days * prior) / (days + prior_days)
    return levels


def _quantiles_of_own_days(
    without_bulk: DailyDemand, demand: DailyDemand, mean: Floats | np.ndarray
) -> Floats:
    """Return the quantiles of an item's own days, shifted to its `mean` [items, h]."""
    item_quantiles = open_day_quantiles(demand, without_bulk.days, _LOOK_BACK)
    is_on_sale = without_bulk.on_sale[:, -_LOOK_BACK:]
    sums = (without_bulk.amounts[:, -_LOOK_BACK:] * is_on_sale).sum(axis=1)
    average = sums / np.maximum(is_on_sale.sum(axis=1), 1)
    ratios = [
        np.nan_to_num(quantile) / np.maximum(average, 1e-6) for quantile in item_quantiles
    ]
    return np.stack([ratio[:, None] * mean for ratio in ratios])


def _overdispersions(demand: DailyDemand, origin: int) -> Floats:
    """Return k of var = mean + k mean^2 for each item: the median of its volume class.

    It is near 0 (Poisson) if days vary no more than by chance.
    """
    start = max(0, origin - _LOOK_BACK)
    amounts, is_on_sale = demand.amounts[:, start:origin], demand.on_sale[:, start:origin]
    days = np.maximum(is_on_sale.sum(axis=1), 1)
    average = (amounts * is_on_sale).sum(axis=1) / days
    variance = (np.where(is_on_sale, amounts - average[:, None], 0) ** 2).sum(axis=1) / days
    excess = (variance - average) / np.maximum(average, 1e-6) ** 2
    classes = np.searchsorted(_VOLUME_CLASS_LIMITS, average)
    dispersion = np.full(len(_VOLUME_CLASS_LIMITS) + 1, 1.0)
    for volume_class in range(len(dispersion)):
        members = (classes == volume_class) & (average > 0)
        if members.any():
            dispersion[volume_class] = np.median(excess[members])
    return np.asarray(np.clip(dispersion, _MIN_DISPERSION, _MAX_DISPERSION)[classes])


def negative_binomial_quantiles(mean: Floats | np.ndarray, dispersion: Floats) -> Floats:
    """Return the QUANTILES of counts with var = mean + dispersion * mean^2.

    Shape [3, *mean.shape]; whole numbers. Equal means are looked up once.
    """
    size = np.broadcast_to(1 / dispersion, mean.shape)
    pairs = np.stack((np.round(mean, 2).ravel(), size.ravel()))
    distinct_pairs, pair_index = np.unique(pairs, axis=1, return_inverse=True)
    mu, r = distinct_pairs
    quantiles = probability_distributions.negative_binomial_quantiles(mu, r, QUANTILES)
    return quantiles[:, pair_index.ravel()].reshape(len(QUANTILES), *mean.shape)


_MIN_WEEKS, _MAX_WEEKS = 8, 16
_MAX_RANDOM_RATIO: Final = 3.1
"""Critical value (F, 6 degrees): one item in a hundred without own weekdays exceeds it."""

_EPSILON: Final = 1e-9


def apply_item_weekdays(demand: DailyDemand, paths: ForecastPaths) -> ForecastPaths:
    """Return the `paths` with each week's sum distributed by the item's own weekdays.

    Own weekdays are shrunk towards the store's unless they differ significantly.
    """
    weeks = min(_MAX_WEEKS, demand.days // WEEK)
    if weeks < _MIN_WEEKS:
        return paths
    start = demand.days - weeks * WEEK  # aligns the first column with tomorrow's weekday
    without_bulk = without_bulk_orders(
        demand, demand.days, bulk_order_caps(demand, demand.days)
    )
    shape = (demand.items, weeks, WEEK)
    is_on_sale = without_bulk.on_sale[:, start:].reshape(shape)
    sold = np.where(is_on_sale, without_bulk.amounts[:, start:].reshape(shape), 0).astype(
        np.float64
    )
    profile = store_weekday_factors(demand, demand.days)[
        weekdays(demand.ordinals(start, WEEK))
    ]
    weights = _item_weekday_weights(sold, is_on_sale, profile)
    rows = np.flatnonzero(weights > 0)
    if not len(rows):
        return paths
    days = np.where(is_on_sale[rows], sold[rows], np.nan)
    item_paths = _item_weekday_paths(days, paths.of(rows))
    weights_of_rows = weights[rows, None].astype(np.float32)
    mean, quantiles = paths.mean.copy(), paths.quantiles.copy()
    mean[rows] += weights_of_rows * (item_paths.mean - mean[rows])
    quantiles[:, rows] += weights_of_rows * (item_paths.quantiles - quantiles[:, rows])
    return ForecastPaths(mean, quantiles).with_sorted_quantiles()


def _item_weekday_weights(sold: Floats, is_on_sale: Bools, profile: Floats) -> Floats:
    """Return the weight of each item's own weekdays, from 0 to 1: [items].

    A James-Stein estimate: the variance between weekdays relative to that between weeks, 0
    if chance explains it.
    """
    counts = is_on_sale.sum(axis=1)
    weekday_means = sold.sum(axis=1) / np.maximum(counts, 1)
    expected = (counts * profile).sum(axis=1)
    level = sold.sum(axis=(1, 2)) / np.maximum(expected, _EPSILON)
    variance_between = (counts * (weekday_means - level[:, None] * profile) ** 2).sum(
        axis=1
    ) / (WEEK - 1)
    degrees_of_freedom = np.maximum(counts.sum(axis=1) - WEEK, 1)
    variance_within = (np.where(is_on_sale, sold - weekday_means[:, None], 0) ** 2).sum(
        axis=(1, 2)
    ) / degrees_of_freedom
    # Identical days have no variance except rounding errors.
    is_significant = variance_between > _MAX_RANDOM_RATIO * variance_within + _EPSILON
    has_enough_weeks = (
        counts.min(axis=1, where=profile > 0, initial=_MAX_WEEKS) >= _MIN_WEEKS
    )
    shrinkage = _MAX_RANDOM_RATIO * variance_within / np.maximum(variance_between, _EPSILON)
    return np.where(is_significant & has_enough_weeks, 1 - shrinkage, 0.0)


def _item_weekday_paths(days: Floats, paths: ForecastPaths) -> ForecastPaths:
    """Return `paths` with the shape of `days` [items, weeks, 7], NaN where not on sale."""
    is_closed = np.asarray(np.isnan(days).all(axis=1))  # [items, 7]
    amounts = np.where(is_closed[:, None], 0, days)
    weeks = HORIZON // WEEK
    weekday_means = np.nanmean(amounts, axis=1)
    weekly_paths = paths.mean.reshape(len(days), weeks, WEEK).astype(np.float64)
    shape = weekday_means[:, None] * (weekly_paths > 0)
    sums = shape.sum(axis=2, keepdims=True)
    factors = weekly_paths.sum(axis=2, keepdims=True) / np.maximum(sums, _EPSILON)
    quantiles = (
        np.nanquantile(amounts, QUANTILES, axis=1)[:, :, None]
        * (weekly_paths > 0)
        * factors
    )
    mean = (shape * factors).reshape(paths.mean.shape).astype(np.float32)
    return ForecastPaths(mean, quantiles.reshape(paths.quantiles.shape).astype(np.float32))
