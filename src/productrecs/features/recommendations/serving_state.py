"""Serving state of one store: its catalog, models, settings and rules at one moment."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple

from productrecs.core.cache_registry import BoundedCache, Cache
from productrecs.core.clock import DAY_MS
from productrecs.engines.arrays import Floats
from productrecs.features.recommendations.complements import BasketCandidates
from productrecs.features.recommendations.eligible_items import EligibleItems
from productrecs.features.recommendations.list_request_and_picks import (
    ListPlan,
    RecommendationRequest,
    Source,
)
from productrecs.records.catalog.catalog_view import CatalogView, Mask
from productrecs.records.catalog.item_filters import NO_FILTERS, Filters, filter_masks
from productrecs.records.merchandising.rule import ListKind
from productrecs.records.merchandising.rule_book import ListRules, RuleBook
from productrecs.records.merchandising.rules_view import RulesView
from productrecs.tenancy.accounts.store_settings import StoreSettings
from productrecs.training.trained_models import TrainedModels

_WORDS: Final[Mapping[str, ListKind]] = MappingProxyType(
    {one.value: one for one in ListKind}
)
MIN_IMPRESSIONS: Final = 1_000  # minimum number of store impressions for exploration


class _EligibleCache(NamedTuple):
    visible: Mask
    models: TrainedModels
    book: RuleBook | None
    by_rules: BoundedCache[ListRules | None, EligibleItems]
    by_filters: BoundedCache[tuple[ListRules | None, tuple[Filters, ...]], EligibleItems]


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
    _eligible_cache: _EligibleCache | None = None
    _companions: BasketCandidates | None = None

    def visible(self, now_ms: int) -> Mask:
        """Return the mask of items that the store's settings allow to be shown now."""
        return self.catalog.visible(now_ms, hide_sold_out=self.settings.hide_out_of_stock)

    @property
    def book(self) -> RuleBook | None:
        """Return the store's active rules; None without any."""
        return None if self.rules is None else self.rules.book

    @property
    def companions(self) -> BasketCandidates:
        """Candidates for baskets, cached until the models change."""
        cache = self._companions
        if cache is None or cache.models is not self.models:
            cache = self._companions = BasketCandidates(self.models)
        return cache

    def eligible(
        self,
        now_ms: int,
        page_type: str,
        source: str | None = None,
        filters: Filters = NO_FILTERS,
        plan: ListPlan | None = None,
    ) -> EligibleItems:
        """Return the eligible items of one kind of list; cached until they change.

        They pass `filters` and those of `plan`, and follow the rules of its placement.
        """
        visible, models, book = self.visible(now_ms), self.models, self.book
        cache = self._eligible_cache
        if (
            cache is None
            or cache.visible is not visible
            or cache.models is not models
            or cache.book is not book
        ):
            cache = self._eligible_cache = _EligibleCache(
                visible,
                models,
                book,
                BoundedCache(Cache.ELIGIBLE_ITEMS),
                BoundedCache(Cache.FILTERED_ITEMS),
            )
        rules = None
        if book is not None:
            kind = None if source is None else _WORDS[source]
            placement = "" if plan is None else plan.placement
            rules = book.of(_WORDS[page_type], kind, placement)
        eligible = cache.by_rules.get(rules)
        if eligible is None:
            eligible = EligibleItems(self.catalog, models, visible, rules)
            cache.by_rules.put(rules, eligible)
        planned = () if plan is None else plan.filters
        conditions = tuple(one for one in (filters, *planned) if one != NO_FILTERS)
        if not conditions:
            return eligible
        filtered = cache.by_filters.get((rules, conditions))
        if filtered is None:
            filtered_mask = self._filtered(visible, conditions, now_ms)
            filtered = EligibleItems(self.catalog, models, filtered_mask, rules)
            cache.by_filters.put((rules, conditions), filtered)
        return filtered

    def _filtered(
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


def exploration_day(shop: StoreState, now_ms: int) -> int:
    """Return the day of the current exploration; 0 if a store's lists do not explore.

    Anonymous lists are cached for as long as this value stays the same.
    """
    if not shop.settings.explore_percent or shop.models.trials.total < MIN_IMPRESSIONS:
        return 0
    return now_ms // DAY_MS


def sold_out_anchor(
    shop: StoreState, request: RecommendationRequest, now_ms: int
) -> int | None:
    """Return the product whose page shows replacements; None if it can be bought.

    Only `mix` lists of product pages lead with replacements, and only where the store's
    setting `replace_sold_out` is on.
    """
    if request.ruled_source is not Source.MIX or request.basket or not request.item_id:
        return None
    anchor = shop.catalog.number(request.item_id)
    if anchor is None or not shop.settings.replace_sold_out:
        return None
    buyable = shop.catalog.visible(now_ms, hide_sold_out=True)
    return None if anchor < len(buyable) and buyable[anchor] else anchor
