"""Facets: result counts by category, price range and stock, and the filters for them."""

import math
from collections import Counter
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from productrecs.records.catalog.attribute_index import MAX_COUNTED, ValueCount
from productrecs.records.catalog.catalog_view import CatalogView, Mask

Items = npt.NDArray[np.int64]

_MAX_RANGES: Final = 6
_PERCENTILES: Final = (2.0, 98.0)  # percentile range of prices that the ranges cover
_STEPS: Final = (1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class RangeCount:
    """The number of results that cost from `low` to below `high`; None means no limit."""

    low: float | None
    high: float | None
    count: int


@dataclass(frozen=True, slots=True)
class PriceFacet:
    """The price distribution of the results; those without a price are not counted."""

    low: float | None
    high: float | None
    ranges: list[RangeCount]


@dataclass(frozen=True, slots=True)
class StockCount:
    """The numbers of results in stock and out of stock."""

    yes: int
    no: int


def matching(items: Items, masks: list[Mask]) -> Items:
    """Return the `items` that pass every mask, in their order."""
    for mask in masks:
        items = items[items < len(mask)]
        items = items[mask[items]]
    return items


def category_counts(catalog: CatalogView, items: Items) -> list[ValueCount]:
    """Return the categories of the items, the largest first, at most a hundred."""
    sets = Counter(catalog.categories[item] for item in items.tolist())
    counts: Counter[str] = Counter()
    for names, count in sets.items():
        for name in names:
            counts[name] += count
    ranked = sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:MAX_COUNTED]
    return [ValueCount(name, count) for name, count in ranked]


def price_facet(catalog: CatalogView, items: Items) -> PriceFacet:
    """Return the price distribution in up to eight ranges of round prices."""
    prices = catalog.prices[items]
    prices = prices[~np.isnan(prices)]
    if not len(prices):
        return PriceFacet(None, None, [])
    edges, ranges = _edges(prices), list[RangeCount]()
    for low, high in zip([None, *edges], [*edges, None], strict=True):
        above = np.ones(len(prices), np.bool_) if low is None else prices >= low
        below = np.ones(len(prices), np.bool_) if high is None else prices < high
        count = int((above & below).sum())
        if count and edges:
            ranges.append(RangeCount(low, high, count))
    return PriceFacet(float(prices.min()), float(prices.max()), ranges)


def _edges(prices: npt.NDArray[np.float64]) -> list[float]:
    """Return the limits between ranges: few round prices that cover most of the results."""
    low, high = (float(one) for one in np.percentile(prices, _PERCENTILES))
    if high <= low:
        return []
    target_width = (high - low) / _MAX_RANGES
    scale = 10.0 ** math.floor(math.log10(target_width))
    step = next(one * scale for one in _STEPS if one * scale >= target_width * (1 - 1e-9))
    first = math.floor(low / step) + 1
    last = math.ceil(high / step) - 1
    return [round(n * step, 6) for n in range(first, last + 1)]
