"""Cooldown and fatigue: demotes just-bought categories and often ignored products.

A cooldown starts when the visit of the purchase ends. It lasts two weeks, applies to this
shopper only, and ends early if they view more of the category. Shoppers browse on for
minutes after a purchase (docs/measured/quality.md), so there is no cooldown during that
visit. A cart's list has a cooldown on the categories in the cart. A category of which
people buy several never has one. Products on cooldown still appear if nothing else is left.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from productrecs.core.clock import DAY_MS, MINUTE_MS
from productrecs.engines.buy_again import HALF_A_DAY_MS
from productrecs.engines.rank_fusion import RANK_OFFSET
from productrecs.features.recommendations.request_context import (
    ShopperContext,
    context_anchors,
)
from productrecs.features.recommendations.serving_state import EligibleItems
from productrecs.features.recommendations.source_recipes import PageType
from productrecs.records.events.shopper_history_cache import ShopperHistory

COOLDOWN_MS: Final = 14 * DAY_MS
_VISIT_MS: Final = 30 * MINUTE_MS
COOLDOWN_FACTOR: Final = 0.3  # score factor of a cooldown category in the backfill
_CART_SHARE: Final = 0.02  # minimum share of the same category among co-purchases
_MAX_HABIT_AGE_MS: Final = 365 * DAY_MS  # older purchases show no repurchase habit
_MAX_LINES: Final = 200


def cooldown_categories(
    eligible: EligibleItems,
    context: ShopperContext,
    histories: Sequence[ShopperHistory],
    now_ms: int,
) -> frozenset[str]:
    """Return the narrowest categories on cooldown for a list.

    A cart's items put their categories on cooldown; the item of a product page does not.
    """
    recent_categories: set[str] = set()
    for history in histories:
        since_purchase_ms = (
            now_ms - history.bought_at[-1] if history.bought_at else COOLDOWN_MS
        )
        if _VISIT_MS <= since_purchase_ms < COOLDOWN_MS:
            recent_categories |= _categories_on_cooldown(eligible, history, now_ms)
    is_cart = context.page_type is PageType.CART
    if not (recent_categories or is_cart):
        return frozenset()
    catalog_size = len(eligible.catalog)
    recent_categories -= {
        eligible.narrowest[item] for item in context.anchors if item < catalog_size
    }
    cooldown = {
        name
        for name in recent_categories
        if name and not eligible.category_combines_with_itself(name)
    }
    if is_cart:
        return cooldown_categories_of_cart(eligible, context.anchors).union(cooldown)
    return frozenset(cooldown)


def cooldown_categories_of_cart(
    eligible: EligibleItems, cart: Sequence[int]
) -> frozenset[str]:
    """Return the narrowest categories of a cart's items of which people buy only one."""
    catalog_size, sells_several = (
        len(eligible.catalog),
        eligible.category_combines_with_itself,
    )
    cart_categories = {eligible.narrowest[item] for item in cart if item < catalog_size}
    return frozenset(
        name for name in cart_categories if name and not sells_several(name, _CART_SHARE)
    )


def build_discount_function(
    context: ShopperContext, eligible: EligibleItems
) -> Callable[[int], float] | None:
    """Return the score factor of an item in the backfill; None if no item is discounted."""
    fatigue, cooldown = context.fatigue, context.cooldown
    if not cooldown:
        return (lambda item: fatigue.get(item, 1.0)) if fatigue else None

    def factor(item: int) -> float:
        is_on_cooldown = eligible.narrowest[item] in cooldown
        return fatigue.get(item, 1.0) * (COOLDOWN_FACTOR if is_on_cooldown else 1.0)

    return factor


def backfill_anchors(context: ShopperContext, eligible: EligibleItems) -> tuple[int, ...]:
    """Return the items whose categories supply the backfill.

    Items on cooldown are left out, except those of a cart, whose wider categories are used.
    """
    anchors, catalog_size = context_anchors(context), len(eligible.catalog)
    if not context.cooldown or context.page_type is PageType.CART:
        return anchors
    return tuple(
        item
        for item in anchors
        if item >= catalog_size or eligible.narrowest[item] not in context.cooldown
    )


def _categories_on_cooldown(
    eligible: EligibleItems, history: ShopperHistory, now_ms: int
) -> set[str]:
    """Return the categories of one history's last purchase that are on cooldown."""
    catalog_size = len(eligible.catalog)
    since_ms = now_ms - COOLDOWN_MS
    narrowest = eligible.narrowest
    recently_bought = {
        item for item in history.purchases_since(since_ms) if item < catalog_size
    }
    categories = {narrowest[item] for item in recently_bought}
    unviewed = set(categories)  # categories without a newer view yet
    for item in reversed(history.recent):
        if not unviewed:
            break
        category = narrowest[item] if item < catalog_size else ""
        if category in unviewed:
            unviewed.discard(category)
            if item not in recently_bought:
                categories.discard(category)
    if not categories:
        return categories
    return categories - _rebought_categories(eligible, history, since_ms)


def _rebought_categories(
    eligible: EligibleItems, history: ShopperHistory, since_ms: int
) -> set[str]:
    """Return the categories that a shopper bought on more than one day of the last year."""
    catalog_size = len(eligible.catalog)
    rebought: set[str] = set()
    last_bought_at: dict[str, int] = {}
    lines = zip(history.bought[-_MAX_LINES:], history.bought_at[-_MAX_LINES:], strict=True)
    for item, bought_at in lines:
        if item >= catalog_size or bought_at < since_ms - _MAX_HABIT_AGE_MS:
            continue
        category = eligible.narrowest[item]
        if bought_at - last_bought_at.setdefault(category, bought_at) > HALF_A_DAY_MS:
            rebought.add(category)
        last_bought_at[category] = bought_at
    return rebought


_FREE_IMPRESSIONS: Final = 2.0  # impressions without a discount
_STEEPNESS: Final = 0.15


def ignored_impressions_by_item(
    histories: Sequence[ShopperHistory], now_ms: int
) -> Mapping[int, float]:
    """Return how often a shopper saw each ignored product."""
    impressions_by_item: dict[int, float] = {}
    for history in histories:
        for item, impressions in history.shown.discounted_repeat_counts(now_ms).items():
            impressions_by_item[item] = impressions_by_item.get(item, 0.0) + impressions
    return impressions_by_item


def fatigue_factors(ignored: Mapping[int, float]) -> Mapping[int, float]:
    """Return the score factors of a shopper's ignored products, each below 1.

    A product that was shown and ignored three times gets factor 0.87, five times 0.69, ten
    times 0.45. Impressions fade with their age in days. All of a call's identities count.
    """
    return {
        item: 1.0 / (1.0 + _STEEPNESS * (impressions - _FREE_IMPRESSIONS))
        for item, impressions in ignored.items()
        if impressions > _FREE_IMPRESSIONS
    }


def order_head_by_discount(
    items: Iterator[int], discount: Callable[[int], float] | None, head_size: int
) -> Iterator[int]:
    """Yield items in order, with discounted ones moved down among the first `head_size`.

    An order without scores is scored by rank, as in the fusion.
    """
    if discount is None:
        yield from items
        return
    distinct = dict.fromkeys(islice(items, 2 * head_size + 2))
    ordered_head = sorted(
        enumerate(distinct),
        key=lambda ranked: -discount(ranked[1]) / (RANK_OFFSET + ranked[0]),
    )
    yield from (item for _, item in ordered_head)
    yield from items
