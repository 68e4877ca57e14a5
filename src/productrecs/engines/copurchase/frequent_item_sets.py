"""Item sets: two to four items that orders contain together far more often than by chance.

The lists of one item come from `CopurchaseModel`; here its significant pairs grow into sets
for bundles. A set's lift is cautious in two ways. Chance is the best explanation by a
smaller set: all its items but one are together anyway, and the last one joins them by
chance. And the number of orders is the lower end of its 95 % interval.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final, NamedTuple, Self

import numpy as np

from productrecs.engines.array_types_and_sorting import (
    Arrays,
    Floats,
    Ints,
    Items,
    Scores,
    csr_offsets,
)
from productrecs.engines.copurchase.pair_counts import (
    Baskets,
    gather_baskets,
    without_repeated_baskets,
)
from productrecs.engines.copurchase.sparse_product import SparseRows, multiply

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from productrecs.engines.copurchase.model import CopurchaseModel
    from productrecs.engines.copurchase.sparse_product import SparseProductEntries

MAX_SET: Final = 4
"""The largest number of items of a set; the smallest is two."""

_NO_ITEM: Final = -1
_BLOCK: Final = 64  # sets that are counted at once, which bounds the memory


@dataclass(frozen=True, slots=True)
class ItemSetOptions:
    """Hyperparameters of item sets."""

    recent_days: float = 365.0  # older orders do not count
    min_orders: int = 3  # that contain the whole set
    min_lift: float = 1.5
    standard_errors: float = 1.645  # below the number of orders: one-sided 95 %
    pairs: int = 600  # stored pairs; as many sets of three, and of four
    counted: int = 2_000  # pairs whose recent orders are counted
    growths: int = 4  # items that a set grows by, in turn
    min_share: float = 0.25  # of a set's orders that contain an item that it grows by


@dataclass(frozen=True, slots=True, eq=False)
class ItemSets:
    """Candidate sets for bundles, best first; parallel arrays.

    `items` [n_sets, 4] are item numbers, best sellers first; -1 fills up. `orders` counts
    the recent orders that contain the whole set. `lifts` is a lower bound of
    these orders relative to chance.
    """

    items: Items
    orders: Items
    lifts: Scores

    @classmethod
    def empty(cls) -> Self:
        """Return the sets of a store without orders."""
        none = np.zeros(0, np.int32)
        return cls(none.reshape(0, MAX_SET), none, np.zeros(0, np.float32))

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """Return the sets stored as `arrays`; none without any.

        Raises:
            KeyError: when only some exist.
        """
        if not arrays:
            return cls.empty()
        return cls(**{field.name: np.asarray(arrays[field.name]) for field in fields(cls)})

    def to_arrays(self) -> Arrays:
        """Return the sets as plain arrays, named as the fields."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def members(self, index: int) -> tuple[int, ...]:
        """Return the items of one set."""
        return tuple(item for item in self.items[index].tolist() if item != _NO_ITEM)

    def choose_set_indexes(
        self,
        limit: int,
        may_use: Callable[[tuple[int, ...]], bool],
        max_per_item: int = 3,
    ) -> list[int]:
        """Return the indexes of up to `limit` different sets, best first.

        `may_use` decides on a set by its items. Two chosen sets have at most one item in
        common, and an item is in at most `max_per_item` sets.
        """
        chosen: list[int] = []
        used_pairs: set[tuple[int, int]] = set()
        uses: dict[int, int] = {}
        for index in range(len(self.orders)):
            if len(chosen) == limit:
                break
            members = self.members(index)
            pairs = {
                (first, second) for first in members for second in members if first < second
            }
            is_crowded = any(uses.get(item, 0) >= max_per_item for item in members)
            if is_crowded or pairs & used_pairs or not may_use(members):
                continue
            chosen.append(index)
            used_pairs |= pairs
            uses |= {item: uses.get(item, 0) + 1 for item in members}
        return chosen


class _CandidateSets(NamedTuple):
    """Sets of one size: items [n, size] ascending, number of orders, excess and lift."""

    items: Ints
    orders: Ints
    excess: Floats  # orders beyond chance, at least
    lifts: Floats

    def best(self, limit: int) -> _CandidateSets:
        """Return the `limit` sets with the highest excess; ties by item."""
        order = np.lexsort((*self.items.T[::-1], -self.excess))[:limit]
        return _CandidateSets(
            self.items[order], self.orders[order], self.excess[order], self.lifts[order]
        )


def fit_item_sets(
    model: CopurchaseModel,
    baskets: Ints,
    items: Items,
    ages_days: Scores,
    buyers: Ints,
    options: ItemSetOptions | None = None,
) -> ItemSets:
    """Return the sets that the significant pairs of `model` grow into.

    Parallel arrays as in `fit_copurchase`, of the same orders. Sets are ranked by the
    number of additional items that they sell: (size - 1) times the orders beyond chance.
    """
    options = options or ItemSetOptions()
    is_recent = (ages_days <= options.recent_days) & (items < model.n_items)
    lines = gather_baskets(
        baskets[is_recent], items[is_recent], ages_days[is_recent], model.n_items
    )
    lines = without_repeated_baskets(lines, baskets[is_recent], buyers[is_recent])
    if not len(lines.items) or not len(model.companions):
        return ItemSets.empty()
    grower = _SetGrower(lines, options)
    sets = grower.best_pairs(model)
    sets_by_size = [sets]
    while sets.items.shape[1] < MAX_SET and len(sets.items):
        sets = grower.grow_sets_by_one_item(sets)
        sets_by_size.append(sets)
    return grower.to_item_sets(sets_by_size)


class _SetGrower:
    """Counts the orders of sets, and makes larger sets of smaller ones."""

    def __init__(self, lines: Baskets, options: ItemSetOptions) -> None:
        self._options = options
        self._counts = lines.basket_counts_by_item
        self._n_orders = len(lines.ages_days)
        self._orders = SparseRows(
            csr_offsets(lines.baskets, self._n_orders),
            lines.items,
            np.ones(len(lines.items)),
        )
        self._by_item = self._orders.transposed(lines.n_items)
        self._is_marked = np.zeros(self._n_orders, np.bool_)  # all False between sets

    def best_pairs(self, model: CopurchaseModel) -> _CandidateSets:
        """Return the best pairs of a model."""
        owners = np.repeat(np.arange(model.n_items), np.diff(model.offsets))
        evident = np.flatnonzero(model.likeness > 0)
        owner, companion = owners[evident], model.companions[evident].astype(np.int64)
        codes = np.minimum(owner, companion) * model.n_items + np.maximum(owner, companion)
        codes, first_index = np.unique(codes, return_index=True)
        pairs = np.column_stack((codes // model.n_items, codes % model.n_items))
        support = model.support[evident][first_index].astype(
            np.int64
        )  # at least the recent orders
        candidates = (
            self._sets_beyond_chance(pairs, support).best(self._options.counted).items
        )
        return self._sets_beyond_chance(candidates, self._count_orders(candidates)).best(
            self._options.pairs
        )

    def grow_sets_by_one_item(self, sets: _CandidateSets) -> _CandidateSets:
        """Return the best sets that have one item more than the given ones."""
        max_growths = self._options.growths
        larger, orders = [np.zeros((0, sets.items.shape[1] + 1), np.int64)], [_NO_COUNTS]
        for start in range(0, len(sets.items), _BLOCK):
            block = sets.items[start : start + _BLOCK]
            product = self._count_items_beside(block)
            min_orders = self._options.min_share * sets.orders[start + product.rows]
            frequent = np.flatnonzero(product.counts >= min_orders)
            owner = product.rows[frequent]
            item = product.columns[frequent].astype(np.int64)
            count = product.counts[frequent].astype(np.int64)
            is_new = (block[owner] != item[:, None]).all(axis=1)
            owner, item, count = owner[is_new], item[is_new], count[is_new]
            expected = sets.orders[start + owner] * (self._counts[item] / self._n_orders)
            rank = np.lexsort((item, -(self._lower_bound(count) - expected), owner))
            rank_in_set = np.arange(len(rank)) - np.searchsorted(owner[rank], owner[rank])
            rank = rank[rank_in_set < max_growths]
            larger.append(np.column_stack((block[owner[rank]], item[rank])))
            orders.append(count[rank])
        items, first = np.unique(
            np.sort(np.concatenate(larger), axis=1), axis=0, return_index=True
        )
        return self._sets_beyond_chance(items, np.concatenate(orders)[first]).best(
            self._options.pairs
        )

    def to_item_sets(self, sets_by_size: list[_CandidateSets]) -> ItemSets:
        """Return sets of all sizes, best first, each with its best sellers first."""
        padded = np.full((sum(len(sets.items) for sets in sets_by_size), MAX_SET), _NO_ITEM)
        start = 0
        for sets in sets_by_size:
            size = sets.items.shape[1]
            sales_order = np.argsort(-self._counts[sets.items], axis=1, kind="stable")
            rows = slice(start, start + len(sets.items))
            padded[rows, :size] = np.take_along_axis(sets.items, sales_order, axis=1)
            start += len(sets.items)
        additional_items = np.concatenate(
            [(sets.items.shape[1] - 1) * sets.excess for sets in sets_by_size]
        )
        order = np.lexsort((*padded.T[::-1], -additional_items))
        return ItemSets(
            padded[order].astype(np.int32),
            np.concatenate([sets.orders for sets in sets_by_size])[order].astype(np.int32),
            np.concatenate([sets.lifts for sets in sets_by_size])[order].astype(np.float32),
        )

    def _sets_beyond_chance(self, items: Ints, orders: Ints) -> _CandidateSets:
        """Return the sets that chance does not explain."""
        size = items.shape[1]
        expected = np.zeros(len(items))
        for place in range(size):
            others = np.delete(items, place, axis=1)
            is_pair = size == 2  # noqa: PLR2004
            together = self._counts[others[:, 0]] if is_pair else self._count_orders(others)
            item_share = self._counts[items[:, place]] / self._n_orders
            expected = np.maximum(expected, together * item_share)
        lower_bound = self._lower_bound(orders)
        lifts = lower_bound / np.maximum(expected, 1e-9)
        options = self._options
        is_significant = (orders >= options.min_orders) & (lifts >= options.min_lift)
        return _CandidateSets(
            items[is_significant],
            orders[is_significant],
            (lower_bound - expected)[is_significant],
            lifts[is_significant],
        )

    def _lower_bound(self, orders: Ints) -> Floats:
        low: Floats = orders - self._options.standard_errors * np.sqrt(orders)
        return low

    def _count_orders(self, sets: Ints) -> Ints:
        """Return how many orders contain each set."""
        counts = [len(self._orders_containing(items)) for items in sets.tolist()]
        return np.array(counts, np.int64)

    def _count_items_beside(self, sets: Ints) -> SparseProductEntries:
        """Return how many of the orders that contain each set contain each item."""
        orders = [self._orders_containing(items) for items in sets.tolist()]
        offsets = np.cumsum([0, *map(len, orders)])
        rows = SparseRows(offsets, np.concatenate(orders), np.ones(offsets[-1]))
        return multiply(rows, self._orders, len(self._counts))

    def _orders_containing(self, items: Sequence[int]) -> Items:
        """Return the orders that contain all the items, ascending."""
        offsets, orders = self._by_item.offsets, self._by_item.columns
        first, *others = (orders[offsets[item] : offsets[item + 1]] for item in items)
        for other in others:
            self._is_marked[first] = True
            both = other[self._is_marked[other]]
            self._is_marked[first] = False
            first = both
        return first


_NO_COUNTS: Final = np.zeros(0, np.int64)
