"""Eligible items: the items that a list may show now, and its backfill orders."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

import numpy as np

from productrecs.engines.arrays import Floats, Ints, Items
from productrecs.engines.fusion import RANK_OFFSET
from productrecs.engines.item_stats import category_top_items
from productrecs.records.catalog.catalog_view import CatalogView, Mask
from productrecs.records.catalog.item import NarrowestCategories
from productrecs.records.merchandising.rule_book import ListRules
from productrecs.training.trained_models import TrainedModels

_BEST_LIMIT: Final = 200
_CHUNK: Final = 256
_COLD_START_LIMIT: Final = 200
_HEAD: Final = 4_096  # ranks of an order that a boost can change
_MEMBERS: Final = 20  # top items that show whether people buy several of a category
_MIN_ORDERS: Final = 3  # minimum number of orders with two items of a category
_MIN_OWN_SHARE: Final = 0.05  # minimum share of a category among its own co-purchases


@dataclass(slots=True, eq=False)
class EligibleItems:
    """Items that one kind of list may show, for one catalog, model and rule book.

    `visible` is a mask by item number, without excluded items. The backfill orders are
    computed on first use and cached, as are the replacements of sold-out items. Their key
    is the item number and whether pictures count; they hold lookalikes, closest and
    best-selling items.
    """

    catalog: CatalogView
    models: TrainedModels
    visible: Mask
    rules: ListRules | None
    _best: dict[str, list[int]] = field(default_factory=dict)
    _head: list[int] | None = None
    narrowest: NarrowestCategories = field(init=False)
    _cold_start_items: dict[str, tuple[Ints, Floats]] = field(default_factory=dict)
    _same_category_shares: dict[str, float] = field(default_factory=dict)
    replacements: dict[tuple[int, bool], tuple[Items, Items, Items]] = field(
        default_factory=dict
    )

    def __post_init__(self) -> None:
        """Remove what the rules exclude."""
        self.narrowest = self.catalog.narrowest
        if self.rules is not None:
            self.visible = self.rules.shown(self.visible)

    def best_of_category(self, name: str) -> list[int]:
        """Return up to 200 visible items of a category, the most trending first."""
        best = self._best.get(name)
        if best is None:
            best = self._best[name] = self._rank_category(name)
        return best

    def sells_several_of(self, category: str, min_share: float = _MIN_OWN_SHARE) -> bool:
        """Return whether products of a category are bought together with each other.

        True if the category's share among its own co-purchases is above `min_share`.
        """
        share = self._same_category_shares.get(category)
        if share is None:
            share = self._same_category_shares[category] = self._same_category_share(
                category
            )
        return share > min_share

    def cold_start_items(self, category: str = "") -> tuple[Ints, Floats]:
        """Return up to 200 visible items with few impressions, and exploration weights.

        They are the newest of a category, or of the catalog. Boosts and buries change the
        weights.
        """
        found = self._cold_start_items.get(category)
        if found is None:
            found = self._cold_start_items[category] = self._find_cold_start_items(category)
        return found

    def _find_cold_start_items(self, category: str) -> tuple[Ints, Floats]:
        catalog, item_stats = self.catalog, self.models.trials
        if category:
            members = np.array(catalog.members.get(category, ()), dtype=np.int64)
            members = members[np.argsort(-catalog.created[members], kind="stable")]
        else:
            members = catalog.newest()
        members = members[members < len(self.visible)]
        items = members[self.visible[members]]
        items = items[item_stats.are_new(items)][:_COLD_START_LIMIT]
        weights = item_stats.exploration_weights(items, members)
        if self.rules is not None and self.rules.factors is not None:
            weights *= self.rules.factors.take(items, mode="clip")
        return items, weights

    def may_show(self, item: int) -> bool:
        """Return whether an item may be shown."""
        return item < len(self.visible) and bool(self.visible[item])

    def trending(self, subset: Mask | None = None) -> Iterator[int]:
        """Return trending items, then the rest of the catalog, newest first.

        An item may occur twice. With `subset`, a subset of `visible`, only its items
        occur.
        """
        shown = self.visible if subset is None else subset
        if self.rules is None or self.rules.factors is None:
            return self._trending(shown)
        if self._head is None:
            first = dict.fromkeys(self._trending(self.visible, _HEAD))
            ordered = np.fromiter(first, np.int64, len(first))
            self._head = self._weighted(ordered).tolist()
        return chain((item for item in self._head if shown[item]), self._trending(shown))

    def by_sales(self) -> Iterator[int]:
        """Return the order of `trending` before any boost; an item may occur twice."""
        return self._trending(self.visible)

    def _trending(self, shown: Mask, limit: int = 2**62) -> Iterator[int]:
        for ordered in (self.models.trending, self.catalog.newest()):
            for start in range(0, min(len(ordered), limit), _CHUNK):
                chunk = ordered[start : start + _CHUNK]
                chunk = chunk[chunk < len(shown)]
                yield from chunk[shown[chunk]].tolist()

    def is_bought_with_same_category(self, item: int, cart: Sequence[int]) -> bool:
        """Return whether orders show an item with a cart's item of its narrowest category.

        At least three orders are needed: two may be chance.
        """
        narrowest, sold, size = self.narrowest, self.models.copurchase, len(self.narrowest)
        return any(
            one < size
            and narrowest[one] == narrowest[item]
            and sold.baskets_of(one, item) >= _MIN_ORDERS
            for one in cart
        )

    def _same_category_share(self, category: str) -> float:
        """Return the category's share among the co-purchases of its top items."""
        same_category, total, size = 0, 0, len(self.catalog)
        for item in self.best_of_category(category)[:_MEMBERS]:
            for other, baskets in self.models.copurchase.baskets_with(item):
                total += baskets
                if other < size and self.narrowest[other] == category:
                    same_category += baskets
        return same_category / total if total else 0.0

    def _rank_category(self, name: str) -> list[int]:
        members = np.array(self.catalog.members.get(name, ()), dtype=np.int64)
        members = members[members < len(self.visible)]
        has_factors = self.rules is not None and self.rules.factors is not None
        limit = _HEAD if has_factors else _BEST_LIMIT
        best = category_top_items(members[self.visible[members]], self.models.ranks, limit)
        ranked: list[int] = self._weighted(best.astype(np.int64))[:_BEST_LIMIT].tolist()
        return ranked

    def _weighted(self, ordered: Ints) -> Ints:
        """Return an order after the rules' boosts, scored by rank as in the fusion."""
        if self.rules is None or self.rules.factors is None:
            return ordered
        factors = self.rules.factors.take(ordered, mode="clip")
        scores = factors / (RANK_OFFSET + np.arange(len(ordered)))
        return ordered[np.argsort(-scores, kind="stable")]
