"""Trending lists: the best sellers by the store's metric, the same for every shopper."""

from collections.abc import Collection
from typing import Final

import numpy as np

from productrecs.features.recommendations.recommendation_request import EngineName, Pick
from productrecs.features.recommendations.reranking import place_pins
from productrecs.features.recommendations.serving_state import EligibleItems, StoreState
from productrecs.records.catalog.catalog_view import Mask
from productrecs.records.catalog.item_filters import NO_FILTERS, Filters

PLACE: Final = "trending"  # its name in rules


def trending_list(
    store: StoreState,
    num: int,
    now_ms: int,
    excluded: Collection[str] = (),
    filters: Filters = NO_FILTERS,
) -> list[Pick]:
    """Return up to `num` products, the most trending first; never personalised.

    Products in `excluded` and products that fail `filters` are left out.

    Products are ranked by the store's metric in its look-back window, then by carts, views
    and age. The store's rules boost, bury and pin. If the store sets a minimum price,
    cheaper products and products without a price are left out.
    """
    eligible = store.eligible_items(now_ms, PLACE, filters=filters)
    visible = _mask_above_min_price(store, eligible.visible)
    if excluded:
        visible = visible.copy()
        numbers = store.catalog.numbers_of(excluded)
        visible[[number for number in numbers if number < len(visible)]] = False
    picks = _first_trending_picks(eligible, visible, num)
    pins = eligible.rules.pins if eligible.rules is not None else ()
    if not pins:
        return picks
    pinned_picks = [
        (pin.place, Pick(pin.item, EngineName.TRENDING, 0.0))
        for pin in pins
        if eligible.may_show(pin.item) and visible[pin.item]
    ]
    return place_pins(picks, pinned_picks, num)


def trending_picks_without_rules(store: StoreState, visible: Mask, num: int) -> list[Pick]:
    """Return the trending list of the `visible` items, without rules."""
    eligible = EligibleItems(store.catalog, store.models, visible, None)
    return _first_trending_picks(eligible, _mask_above_min_price(store, visible), num)


def _mask_above_min_price(store: StoreState, visible: Mask) -> Mask:
    min_price = store.settings.trending_min_price
    if min_price <= 0:
        return visible
    prices = store.catalog.usual.prices[: len(visible)]
    return visible & (np.nan_to_num(prices, nan=-1.0) >= min_price)


def _first_trending_picks(eligible: EligibleItems, visible: Mask, num: int) -> list[Pick]:
    picks: list[Pick] = []
    listed_items: set[int] = set()
    for item in eligible.trending_then_newest(visible):
        if len(picks) == num:
            break
        if item not in listed_items:
            listed_items.add(item)
            picks.append(Pick(item, EngineName.TRENDING, 1.0 / (1.0 + len(picks))))
    return picks
