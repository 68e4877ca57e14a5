"""Serving state: what a store's lists are made from, with eligible items and baskets."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np

from productrecs.core.cache_registry import BoundedCache, RegisteredCache
from productrecs.engines.array_types_and_sorting import Floats, Ints, Items
from productrecs.engines.rank_fusion import RANK_OFFSET
from productrecs.engines.trending_and_category import category_top_items
from productrecs.features.recommendations.recommendation_request import (
    EngineName,
    RecommendationRequest,
    ResolvedPlacement,
    Source,
)
from productrecs.records.catalog.catalog_view import CatalogView, Mask
from productrecs.records.catalog.item import NarrowestCategories
from productrecs.records.catalog.item_filters import NO_FILTERS, Filters, filter_masks
from productrecs.records.catalog.price_lists import parse_list_name
from productrecs.records.merchandising.rule import ListKind
from productrecs.records.merchandising.rules_in_force import (
    ListRuleEffects,
    RulesInForce,
    RulesView,
)
from productrecs.records.placements.bundle import Bundle
from productrecs.tenancy.accounts.store_settings import StoreSettings
from productrecs.training.trained_models import TrainedModels

Weights = Mapping[EngineName, float]

_MAX_CATEGORIES: Final = 6
_CATEGORY_LIMIT: Final = 200
_CHUNK: Final = 256
_HEAD: Final = 4_096  # ranks of an order that a boost can change
_TOP_ITEMS: Final = 20  # top items that show whether people buy several of a category
_MIN_ORDERS: Final = 3  # minimum number of orders with two items of a category
_MIN_OWN_SHARE: Final = 0.05  # minimum share of a category among its own co-purchases


@dataclass(slots=True, eq=False)
class EligibleItems:
    """Items that one kind of list may show, for one catalog, model and rules in force.

    `visible` is a mask by item number, without excluded items. The backfill orders are
    computed on first use and cached, as are the replacements of sold-out items. Their key
    is the item number and whether pictures count; they hold lookalikes, closest and
    best-selling items.
    """

    catalog: CatalogView
    models: TrainedModels
    visible: Mask
    rules: ListRuleEffects | None
    _best: dict[str, list[int]] = field(default_factory=dict)
    _head: list[int] | None = None
    narrowest: NarrowestCategories = field(init=False)
    _same_category_shares: dict[str, float] = field(default_factory=dict)
    replacements: dict[tuple[int, bool], tuple[Items, Items, Items]] = field(
        default_factory=dict
    )

    def __post_init__(self) -> None:
        """Remove what the rules exclude."""
        self.narrowest = self.catalog.narrowest
        if self.rules is not None:
            self.visible = self.rules.shown_mask(self.visible)

    def best_of_category(self, name: str) -> list[int]:
        """Return up to 200 visible items of a category, the most trending first."""
        best = self._best.get(name)
        if best is None:
            best = self._best[name] = self._rank_items_of_category(name)
        return best

    def category_combines_with_itself(
        self, category: str, min_share: float = _MIN_OWN_SHARE
    ) -> bool:
        """Return whether products of a category are bought together with each other.

        True if the category's share among its own co-purchases is above `min_share`.
        """
        share = self._same_category_shares.get(category)
        if share is None:
            share = self._same_category_shares[category] = self._same_category_share(
                category
            )
        return share > min_share

    def may_show(self, item: int) -> bool:
        """Return whether an item may be shown."""
        return item < len(self.visible) and bool(self.visible[item])

    def trending_then_newest(self, subset: Mask | None = None) -> Iterator[int]:
        """Return trending items, then the rest of the catalog, newest first.

        An item may occur twice. With `subset`, a subset of `visible`, only its items
        occur.
        """
        visible = self.visible if subset is None else subset
        if self.rules is None or self.rules.factors is None:
            return self._iterate_trending_then_newest(visible)
        if self._head is None:
            distinct = dict.fromkeys(
                self._iterate_trending_then_newest(self.visible, _HEAD)
            )
            items = np.fromiter(distinct, np.int64, len(distinct))
            self._head = self._order_by_rule_factors(items).tolist()
        return chain(
            (item for item in self._head if visible[item]),
            self._iterate_trending_then_newest(visible),
        )

    def by_sales(self) -> Iterator[int]:
        """Return the order of `trending` before any boost; an item may occur twice."""
        return self._iterate_trending_then_newest(self.visible)

    def _iterate_trending_then_newest(
        self, visible: Mask, limit: int = 2**62
    ) -> Iterator[int]:
        for items in (self.models.trending, self.catalog.newest_items()):
            for start in range(0, min(len(items), limit), _CHUNK):
                chunk = items[start : start + _CHUNK]
                chunk = chunk[chunk < len(visible)]
                yield from chunk[visible[chunk]].tolist()

    def newest(self, limit: int) -> Ints:
        """Return the newest items."""
        newest = self.catalog.newest_items()
        newest = newest[newest < len(self.visible)]
        return newest[self.visible[newest]][:limit]

    def smallest_categories_of_anchors(self, anchors: Sequence[int]) -> list[str]:
        """Return up to six categories of the anchors, those with the fewest items first."""
        catalog = self.catalog
        sizes = {
            name: len(catalog.members.get(name, ()))
            for anchor in anchors
            if anchor < len(catalog)
            for name in catalog.categories[anchor]
        }
        return sorted(sizes, key=lambda name: (sizes[name], name))[:_MAX_CATEGORIES]

    def categories_of(self, item: int) -> Sequence[str]:
        """Return the categories of an item."""
        return self.catalog.categories[item]

    def is_bought_with_same_category(self, item: int, cart: Sequence[int]) -> bool:
        """Return whether orders show an item with a cart's item of its narrowest category.

        At least three orders are needed: two may be chance.
        """
        narrowest = self.narrowest
        copurchase = self.models.copurchase
        size = len(self.narrowest)
        return any(
            other < size
            and narrowest[other] == narrowest[item]
            and copurchase.shared_basket_count(other, item) >= _MIN_ORDERS
            for other in cart
        )

    def _same_category_share(self, category: str) -> float:
        """Return the category's share among the co-purchases of its top items."""
        same_category, total, size = 0, 0, len(self.catalog)
        for item in self.best_of_category(category)[:_TOP_ITEMS]:
            for (
                other,
                baskets,
            ) in self.models.copurchase.evident_companions_with_basket_counts(item):
                total += baskets
                if other < size and self.narrowest[other] == category:
                    same_category += baskets
        return same_category / total if total else 0.0

    def _rank_items_of_category(self, name: str) -> list[int]:
        members = np.array(self.catalog.members.get(name, ()), dtype=np.int64)
        members = members[members < len(self.visible)]
        has_factors = self.rules is not None and self.rules.factors is not None
        limit = _HEAD if has_factors else _CATEGORY_LIMIT
        best = category_top_items(members[self.visible[members]], self.models.ranks, limit)
        top_items: list[int] = self._order_by_rule_factors(best.astype(np.int64))[
            :_CATEGORY_LIMIT
        ].tolist()
        return top_items

    def _order_by_rule_factors(self, items: Ints) -> Ints:
        """Return an order after the rules' boosts, scored by rank as in the fusion."""
        if self.rules is None or self.rules.factors is None:
            return items
        factors = self.rules.factors.take(items, mode="clip")
        scores = factors / (RANK_OFFSET + np.arange(len(items)))
        return items[np.argsort(-scores, kind="stable")]


_LIST_KINDS: Final[Mapping[str, ListKind]] = MappingProxyType(
    {kind.value: kind for kind in ListKind}
)


class _EligibleItemsCache(NamedTuple):
    visible: Mask
    models: TrainedModels
    rules_in_force: RulesInForce | None
    by_rules: BoundedCache[ListRuleEffects | None, EligibleItems]
    by_filters: BoundedCache[
        tuple[ListRuleEffects | None, tuple[Filters, ...]], EligibleItems
    ]


@dataclass(slots=True)
class StoreState:
    """A store's live catalog, its serving models, its settings and its rules.

    `models` and `settings` are replaced as a whole; a request reads each once.
    """

    catalog: CatalogView
    models: TrainedModels
    settings: StoreSettings
    rules: RulesView | None = None  # None: no rules
    earnings: Floats | None = None  # by item number; None: relevance only
    bundles: Mapping[str, tuple[Bundle, ...]] = field(default_factory=dict)  # by item id
    _eligible_cache: _EligibleItemsCache | None = None
    _priced: BoundedCache[str, "StoreState"] = field(
        default_factory=lambda: BoundedCache(RegisteredCache.PRICE_LISTS)
    )

    def with_price_list(self, name: str) -> "StoreState":
        """Return this store with the prices of one list; cached until the catalog changes.

        Raises:
            PriceListNameError: when the name has an invalid form.
            UnknownPriceListError: when no item has a price in the list.
        """
        name, version = str(parse_list_name(name)), self.catalog.version
        state = self._priced.get(name)
        if (
            state is None
            or state.catalog.version != version
            or state.settings.currency != self.settings.currency
        ):
            catalog = self.catalog.with_price_list(name, self.settings.currency)
            state = StoreState(catalog, self.models, self.settings, self.rules)
            self._priced.put(name, state)
        state.models, state.settings = self.models, self.settings
        state.earnings, state.bundles = self.earnings, self.bundles
        return state

    def visible(self, now_ms: int) -> Mask:
        """Return the mask of items that the store's settings allow to be shown now."""
        return self.catalog.visible(now_ms, hide_sold_out=self.settings.hide_out_of_stock)

    @property
    def rules_in_force(self) -> RulesInForce | None:
        """Return the store's active rules; None without any."""
        return None if self.rules is None else self.rules.in_force

    def eligible_items(
        self,
        now_ms: int,
        page_type: str,
        source: str | None = None,
        filters: Filters = NO_FILTERS,
        plan: ResolvedPlacement | None = None,
    ) -> EligibleItems:
        """Return the eligible items of one kind of list; cached until they change.

        They pass `filters` and those of `plan`, and follow the rules of its placement.
        """
        visible, models, in_force = self.visible(now_ms), self.models, self.rules_in_force
        cache = self._eligible_cache
        if (
            cache is None
            or cache.visible is not visible
            or cache.models is not models
            or cache.rules_in_force is not in_force
        ):
            cache = self._eligible_cache = _EligibleItemsCache(
                visible,
                models,
                in_force,
                BoundedCache(RegisteredCache.ELIGIBLE_ITEMS),
                BoundedCache(RegisteredCache.FILTERED_ITEMS),
            )
        rules = None
        if in_force is not None:
            kind = None if source is None else _LIST_KINDS[source]
            placement = "" if plan is None else plan.placement
            rules = in_force.effects_on_list(_LIST_KINDS[page_type], kind, placement)
        eligible = cache.by_rules.get(rules)
        if eligible is None:
            eligible = EligibleItems(self.catalog, models, visible, rules)
            cache.by_rules.put(rules, eligible)
        planned = () if plan is None else plan.filters
        conditions = tuple(
            condition for condition in (filters, *planned) if condition != NO_FILTERS
        )
        if not conditions:
            return eligible
        filtered = cache.by_filters.get((rules, conditions))
        if filtered is None:
            filtered_mask = self._filter_mask(visible, conditions, now_ms)
            filtered = EligibleItems(self.catalog, models, filtered_mask, rules)
            cache.by_filters.put((rules, conditions), filtered)
        return filtered

    def _filter_mask(
        self, visible: Mask, conditions: tuple[Filters, ...], now_ms: int
    ) -> Mask:
        """Return the items of `visible` that pass all filters."""
        filtered_mask = visible.copy()
        buyable = self.catalog.visible(now_ms, hide_sold_out=True)
        for filters in conditions:
            for mask in filter_masks(self.catalog, filters, buyable).values():
                size = min(len(mask), len(filtered_mask))
                filtered_mask[:size] &= mask[:size]
                filtered_mask[size:] = False
        return filtered_mask


def sold_out_anchor(
    store: StoreState, request: RecommendationRequest, now_ms: int
) -> int | None:
    """Return the product whose page shows replacements; None if it can be bought.

    Only `mix` lists of product pages lead with replacements, and only where the store's
    setting `replace_sold_out` is on.
    """
    if request.ruled_source is not Source.MIX or request.basket or not request.item_id:
        return None
    anchor = store.catalog.number(request.item_id)
    if anchor is None or not store.settings.replace_sold_out:
        return None
    buyable = store.catalog.visible(now_ms, hide_sold_out=True)
    return None if anchor < len(buyable) and buyable[anchor] else anchor
