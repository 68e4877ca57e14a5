"""Sold-out rescue: replacements for a product that cannot be bought, on its page.

Replacements can be bought and share at least half of the product's categories. Four orders
are fused: next items of similar visits, similar pictures, closeness of categories, title
words and price, and best sellers.
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from productrecs.engines.array_types_and_sorting import Items, RankedItems
from productrecs.engines.rank_fusion import FusedList, fuse_lists
from productrecs.features.recommendations.recommendation_request import (
    EngineName,
    Pick,
)
from productrecs.features.recommendations.serving_state import EligibleItems, StoreState
from productrecs.records.catalog.catalog_view import CatalogView, Mask
from productrecs.records.catalog.title_words import folded_words

ENGINES: Final = (
    EngineName.BROWSE,
    EngineName.SIMILAR,
    EngineName.CATEGORY,
    EngineName.CATEGORY,
)
"""The engine that a replacement is attributed to, by the order that ranks it highest."""

_WEIGHTS: Final = (1.0, 0.7, 1.0, 0.3)
_SHARE: Final = 0.5  # share of a list for replacements; companions follow
_MIN_CATEGORY_OVERLAP: Final = 0.5  # minimum share of common categories
_ENOUGH_CANDIDATES: Final = 40  # enough candidates: wider categories are then not searched


def leading_places(num: int) -> int:
    """Return the maximum number of replacements in a list of `num`."""
    return math.ceil(num * _SHARE)


def rank_replacements(
    store: StoreState, eligible: EligibleItems, anchor: int, visit: RankedItems, now_ms: int
) -> FusedList:
    """Return replacements of `anchor`, scores and indexes into `ENGINES`; best first.

    `visit` are the candidates of similar visits. Every product may be shown and bought.
    """
    is_visual = store.settings.visual_recommendations
    orders = eligible.replacements.get((anchor, is_visual))
    if orders is None:
        buyable = store.catalog.visible(now_ms, hide_sold_out=True)
        orders = _replacement_orders(eligible, anchor, buyable, is_visual=is_visual)
        eligible.replacements[anchor, is_visual] = orders
    in_visits = visit.items[np.isin(visit.items, orders[1])]
    return fuse_lists([in_visits, *orders], _WEIGHTS)


def _replacement_orders(
    eligible: EligibleItems, anchor: int, buyable: Mask, *, is_visual: bool
) -> tuple[Items, Items, Items]:
    """Return replacements in three orders: similar, closest, best-selling."""
    similar: list[int] = []
    if is_visual:
        similar = eligible.models.visual.similar_to_item(anchor).items.tolist()
    same_category = _replacements_sharing_categories(eligible, anchor, buyable)
    # A product without categories is compared by picture only.
    members = set(
        same_category or [item for item in similar if _may_replace(item, eligible, buyable)]
    )
    members.discard(anchor)
    orders = (
        [item for item in similar if item in members],
        _sort_by_closeness(eligible.catalog, anchor, sorted(members)),
        [item for item in same_category if item in members],
    )
    similar_items, closest, best_selling = (np.array(item, np.int32) for item in orders)
    return similar_items, closest, best_selling


def put_leads_first(leads: list[Pick], picks: list[Pick], num: int) -> list[Pick]:
    """Return `leads`, then the other picks, up to `num`."""
    items = {pick.item for pick in leads}
    return leads + [pick for pick in picks if pick.item not in items][: num - len(leads)]


def starts_with_replacement(
    catalog: CatalogView, anchor: int, picks: Sequence[Pick]
) -> bool:
    """Return whether the first product of a list can replace `anchor`."""
    if not picks:
        return False
    overlap = _category_overlap(catalog, anchor, picks[0].item)
    return picks[0].engine is EngineName.SIMILAR or overlap >= _MIN_CATEGORY_OVERLAP


def _replacements_sharing_categories(
    eligible: EligibleItems, anchor: int, buyable: Mask
) -> list[int]:
    """Return buyable items that share half of the anchor's categories, narrowest first."""
    items: dict[int, None] = {}
    for name in eligible.smallest_categories_of_anchors((anchor,)):
        for item in eligible.best_of_category(name):
            is_similar = (
                _category_overlap(eligible.catalog, anchor, item) >= _MIN_CATEGORY_OVERLAP
            )
            if is_similar and _may_replace(item, eligible, buyable):
                items[item] = None
        if len(items) >= _ENOUGH_CANDIDATES:
            break
    return list(items)


def _category_overlap(catalog: CatalogView, item: int, other: int) -> float:
    """Return the share of two items' categories that both have, 0 to 1."""
    categories = set(catalog.categories[item])
    other_categories = set(catalog.categories[other])
    return len(categories & other_categories) / max(len(categories | other_categories), 1)


def _may_replace(item: int, eligible: EligibleItems, buyable: Mask) -> bool:
    return eligible.may_show(item) and item < len(buyable) and bool(buyable[item])


def _sort_by_closeness(
    catalog: CatalogView, anchor: int, items: Sequence[int]
) -> list[int]:
    """Return items by closeness of title words and price to the anchor, closest first."""
    words, price = folded_words(catalog.title(anchor)), catalog.prices[anchor]

    def closeness(item: int) -> float:
        other_words = folded_words(catalog.title(item))
        common_words = len(words & other_words) / max(len(words | other_words), 1)
        overlap = _category_overlap(catalog, anchor, item)
        return (
            overlap * (0.2 + common_words) * _price_closeness(price, catalog.prices[item])
        )

    return sorted(items, key=closeness, reverse=True)


def _price_closeness(price: float, other: float) -> float:
    """Return 1 for equal prices, falling to 0; one half where a price is unknown."""
    low, high = min(price, other), max(price, other)
    if not (math.isfinite(low) and math.isfinite(high)):
        return 0.5
    return 1.0 if high <= 0 else max(low, 0.0) / high
