"""Statistical forecast: level, weekdays and spread of an item without a trained model.

A ladder of methods: items that sell regularly follow their recent level and the store's
weekdays; intermittent items do the same more slowly; new and rare items lean on their
category; items that have not sold for half a year are expected to sell nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy import stats

from productrecs.engines.demand.bulk_orders import (
    bulk_order_additions,
    bulk_order_caps,
    bulk_order_growth,
    without_bulk_orders,
)
from productrecs.engines.demand.calibration import OFTEN, sale_classes
from productrecs.engines.demand.demand_series import Demand, weekdays
from productrecs.engines.demand.forecast_features import (
    SALES_RATE_HALF_LIFE,
    own_quantiles,
    sales_rates,
    store_profile,
    year_factors,
)
from productrecs.engines.demand.forecast_paths import ForecastPaths
from productrecs.engines.demand.options import (
    HORIZON,
    QUANTILES,
    USUAL_DOUBT,
    DemandOptions,
)

if TYPE_CHECKING:
    from productrecs.engines.arrays import Bools, Floats

_SPARSE_HALF_LIFE: Final = 56.0
_LOOK_BACK: Final = 112
_PRIOR_DAYS: Final = 14.0
"""How many days of its category's rate an item's own days are weighed against."""

_SPREAD_DAYS: Final = 56
"""The number of open days from which an item's spread is estimated from its own days."""

_LEAST_DISPERSION, _MOST_DISPERSION = 0.05, 20.0
_CLASSES: Final = np.array([0.05, 0.2, 1.0, 5.0, 25.0])
"""Where volume classes end, in a day's mean."""


@dataclass(frozen=True, slots=True, eq=False)
class DemandClasses:
    """The class of each item at an origin: [items] each."""

    regular: Bools
    young: Bools  # or rare: its category speaks for it
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
    # Half a year without a sale, though it could be bought on most of its days.
    obsolete = silent & (sales > 0) & (seen >= options.obsolete_days // 2)
    return DemandClasses(regular, young, obsolete)


def statistical_forecast(
    demand: Demand, origin: int, options: DemandOptions, doubt: float = USUAL_DOUBT
) -> ForecastPaths:
    """Return what each item sells on the HORIZON days after `origin`, by the ladder.

    `doubt` says how large a move of the store's season must be to be believed.
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
    """Return each item's amount on an average open day, and by what huge orders raise it.

    `usual` is without these; [items] each.
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

    The category's rate is that of its items that are known well, at the median; the whole
    store's where it has none.
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
    """Return the quantiles of an item's own days, moved to its usual `mean` [items, h]."""
    recent = own_quantiles(demand, usual.days, _LOOK_BACK)
    held = usual.on_sale[:, -_LOOK_BACK:]
    sums = (usual.amounts[:, -_LOOK_BACK:] * held).sum(axis=1)
    average = sums / np.maximum(held.sum(axis=1), 1)
    ratios = [np.nan_to_num(one) / np.maximum(average, 1e-6) for one in recent]
    return np.stack([ratio[:, None] * mean for ratio in ratios])


def _dispersions(demand: Demand, origin: int) -> Floats:
    """Return k of var = mean + k mean^2 for each item: its class of volume's median.

    Poisson, or nearly so, where days scatter no more than chance has them.
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
