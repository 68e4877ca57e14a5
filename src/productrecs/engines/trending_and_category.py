"""Engines `trending` and `category`: the best sellers of a store and of a category."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np

from productrecs.engines.array_types_and_sorting import (
    Arrays,
    Floats,
    Ints,
    Items,
    RankedItems,
)
from productrecs.engines.engine_protocol import (
    MAX_ORDER,
    EligibleProducts,
    Engine,
    EngineEvidence,
    Explainer,
    FitInputs,
    ListRequest,
    Metric,
)
from productrecs.engines.rank_fusion import ranked_by_position

_HALF_LIFE_MS: Final = 90 * 24 * 60 * 60 * 1000
_UNIT: Final = 1 << 20  # fixed point of decayed sales: sums independent of order


@dataclass(frozen=True, slots=True, eq=False)
class SaleAndReturnLines:
    """Purchase lines as parallel arrays, shapes [n]; returns have negative units.

    Each line with `baskets` below 0 counts as an order; `times` are
    UTC milliseconds; `revenue` is in the store's currency.
    """

    items: Items
    baskets: Ints
    units: Ints
    revenue: Floats
    times: Ints

    def between(self, since_ms: int, until_ms: int) -> "SaleAndReturnLines":
        """Return the lines with since_ms < time <= until_ms."""
        is_between = (self.times > since_ms) & (self.times <= until_ms)
        return SaleAndReturnLines(
            self.items[is_between],
            self.baskets[is_between],
            self.units[is_between],
            self.revenue[is_between],
            self.times[is_between],
        )


def rank_trending(
    sales: SaleAndReturnLines,
    carted: Ints,
    viewed: Ints,
    metric: Metric,
    earlier_sales: SaleAndReturnLines | None = None,
) -> Items:
    """Return item numbers, the most trending first, by sales, carts and views.

    `sales` [n] are those of the look-back window; `carted` and `viewed` [n_items] count
    each item's carts and views in it. An item is ranked by
    the metric, then by carts, views, its newest sale, and its number. Orders are distinct
    and do not count returns; units and revenue are net of them, and a net of zero or less
    ranks as unsold. Items without activity in the window follow by their `earlier_sales`,
    with a half-life of 90 days.

    Source: requirements/algorithms.md 4.7.
    """
    n_items = len(viewed)
    amounts = np.maximum(_amounts_by_metric(sales, n_items, metric), 0.0)
    newest = np.zeros(n_items, dtype=np.int64)
    np.maximum.at(newest, sales.items, sales.times)
    # A sale at an unknown price has no revenue, but it counts as a sale.
    units = np.bincount(sales.items, weights=sales.units, minlength=n_items)
    has_activity = (amounts > 0) | (units > 0) | (carted > 0) | (viewed > 0)
    active_items = np.flatnonzero(has_activity)
    keys = (
        active_items,
        -newest[active_items],
        -viewed[active_items],
        -carted[active_items],
        -amounts[active_items],
    )
    order = active_items[np.lexsort(keys)].astype(np.int32)
    if earlier_sales is None or not len(earlier_sales.items):
        return order
    earlier_units = np.where(has_activity, 0, _decayed_units(earlier_sales, n_items))
    earlier_items = np.flatnonzero(earlier_units > 0)
    by_sales = earlier_items[
        np.lexsort((earlier_items, -earlier_units[earlier_items]))
    ].astype(np.int32)
    return np.concatenate((order, by_sales))


def _decayed_units(earlier_sales: SaleAndReturnLines, n_items: int) -> Floats:
    ages = (earlier_sales.times.max() - earlier_sales.times) / _HALF_LIFE_MS
    decayed_units = np.floor(_UNIT * 0.5**ages) * (earlier_sales.units > 0)
    sums = np.bincount(earlier_sales.items, weights=decayed_units, minlength=n_items)
    return sums.astype(np.float64)


def _amounts_by_metric(sales: SaleAndReturnLines, n_items: int, metric: Metric) -> Floats:
    if metric == "orders":
        return _order_counts(sales, n_items)
    amounts = sales.units if metric == "units" else sales.revenue
    sums = np.bincount(sales.items, weights=amounts, minlength=n_items)
    return sums.astype(np.float64)


def _order_counts(sales: SaleAndReturnLines, n_items: int) -> Floats:
    is_sale = sales.units > 0
    items, baskets = sales.items[is_sale].astype(np.int64), sales.baskets[is_sale]
    is_single_line = baskets < 0
    pairs = np.unique(np.stack((baskets[~is_single_line], items[~is_single_line])), axis=1)
    counts = np.bincount(pairs[1].astype(np.int64), minlength=n_items)
    return (counts + np.bincount(items[is_single_line], minlength=n_items)).astype(
        np.float64
    )


def category_top_items(members: Items | Ints, ranks: Items, limit: int) -> Items:
    """Return up to `limit` of the distinct item numbers `members`, the most popular first.

    `ranks` [any length] holds each item's popularity rank, 0 the best; items beyond its end
    come last. Ties are ordered by item number. A category of a million members costs one
    partition, not a sort.
    """
    item_ranks = np.full(len(members), np.iinfo(np.int32).max, dtype=np.int32)
    is_ranked = members < len(ranks)
    item_ranks[is_ranked] = ranks[members[is_ranked]]
    if len(members) > 4 * limit > 0:
        max_rank = np.partition(item_ranks, limit - 1)[limit - 1]
        members = members[item_ranks <= max_rank]
        item_ranks = item_ranks[item_ranks <= max_rank]
    order = np.lexsort((members, item_ranks))[: max(limit, 0)]
    return members[order].astype(np.int32)


class TrendingModel(NamedTuple):
    """Item numbers, most trending first, and the rank of each item.

    The rank of an item that is not in `items` is their number, or it is missing.
    """

    items: Items
    ranks: Items

    @classmethod
    def from_ranking(cls, items: Items) -> "TrendingModel":
        """Return the model of items in this order."""
        ranks = np.full(int(items.max(initial=-1)) + 1, len(items), dtype=np.int32)
        ranks[items] = np.arange(len(items), dtype=np.int32)
        return cls(items, ranks)


class TrendingEngine(Engine[TrendingModel]):
    """Recommends what sells right now; the last backfill of a list."""

    name: ClassVar = "trending"
    label: ClassVar = "Trending"
    summary: ClassVar = "what sells right now"
    is_filler: ClassVar = True

    def fit(self, inputs: FitInputs, fitted_arrays: Arrays) -> Arrays:
        """Return the items, most trending first."""
        purchases, window = inputs.purchases, inputs.trending
        is_active = purchases.is_active
        sales = SaleAndReturnLines(
            items=purchases.items[is_active],
            baskets=purchases.baskets[is_active],
            units=purchases.quantities[is_active],
            revenue=np.nan_to_num(purchases.totals[is_active]),
            times=purchases.times[is_active],
        )
        recent_sales = sales.between(window.since_ms, inputs.now_ms)
        earlier_sales = sales.between(-1, window.since_ms)
        items = rank_trending(
            recent_sales, window.carted, window.viewed, window.metric, earlier_sales
        )
        return {self.name: items}

    def load(self, arrays: Arrays, loaded_models: Mapping[str, Any]) -> TrendingModel:
        """Return the stored order and its ranks."""
        if not arrays:
            return TrendingModel.from_ranking(np.zeros(0, np.int32))
        return TrendingModel.from_ranking(arrays[self.name])

    def candidates(self, model: TrendingModel, request: ListRequest) -> RankedItems:
        """Return visible items by the store's metric, before rules reorder them."""
        return ranked_by_position(request.best_sellers(MAX_ORDER))

    def backfill(
        self, model: TrendingModel, eligible: EligibleProducts, anchors: Sequence[int]
    ) -> Iterator[int]:
        """Yield trending items, then the rest of the catalog, the newest first."""
        return eligible.trending_then_newest()


class CategoryBestSellerEngine(Engine[None]):
    """Fills lists up with the best sellers of the anchors' categories."""

    name: ClassVar = "category"
    label: ClassVar = "Same category"
    summary: ClassVar = "best sellers of the category"
    is_filler: ClassVar = True
    is_trained: ClassVar = False

    def backfill(
        self, model: None, eligible: EligibleProducts, anchors: Sequence[int]
    ) -> Iterator[int]:
        """Yield the top items of the anchors' categories, the narrowest category first."""
        for name in eligible.smallest_categories_of_anchors(anchors):
            yield from eligible.best_of_category(name)

    def explain(self, model: None, request: ListRequest) -> Explainer:
        """Return a function that names the category whose best seller an item is."""
        names = request.eligible.smallest_categories_of_anchors(request.backfill_anchors())

        def explain(item: int) -> EngineEvidence:
            categories = request.eligible.categories_of(item)
            return EngineEvidence(
                category=next((n for n in names if n in categories), None)
            )

        return explain
