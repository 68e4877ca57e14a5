"""Cooldown and fatigue: holds back what a shopper just bought, or saw often and ignored.

A cooldown starts when the visit of the purchase ends, lasts two weeks and holds for this
shopper alone, unless they viewed more of the category since. During the visit itself people
go on looking for minutes (docs/measured/quality.md), so that nothing is held back yet. In a
cart's list the categories in the cart are held back. A category of which people buy several
is never held back. What is held back is still shown where nothing else is left.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from productrecs.core.clock import DAY_MS, MINUTE_MS
from productrecs.engines.buy_again import HALF_A_DAY_MS
from productrecs.engines.fusion import RANK_OFFSET
from productrecs.features.recommendations.eligible_items import EligibleItems
from productrecs.features.recommendations.recipes import Placement
from productrecs.features.recommendations.request_context import (
    ShopperContext,
    context_anchors,
)
from productrecs.records.orders.shopper_history import ShopperHistory

COOLDOWN_MS: Final = 14 * DAY_MS
_VISIT_MS: Final = 30 * MINUTE_MS
COOLDOWN_FACTOR: Final = 0.3  # what a cooldown category counts where lists are filled up
_IN_A_CART: Final = 0.02  # of what is bought with a category: more is of it
_OLDEST_MS: Final = 365 * DAY_MS  # purchases that tell what this shopper buys again
_LINES: Final = 200


def cooldown_categories(
    eligible: EligibleItems,
    context: ShopperContext,
    histories: Sequence[ShopperHistory],
    now_ms: int,
) -> frozenset[str]:
    """Return the narrowest categories that a list holds back.

    Those of a cart's items do, that of a page's item does not.
    """
    found: set[str] = set()
    for history in histories:
        ago = now_ms - history.bought_at[-1] if history.bought_at else COOLDOWN_MS
        if _VISIT_MS <= ago < COOLDOWN_MS:
            found |= _of(eligible, history, now_ms)
    is_cart = context.placement is Placement.CART
    if not (found or is_cart):
        return frozenset()
    known = len(eligible.catalog)
    found -= {eligible.narrowest[item] for item in context.anchors if item < known}
    cooldown = {name for name in found if name and not eligible.goes_with_itself(name)}
    if is_cart:
        return cooldown_in_cart(eligible, context.anchors).union(cooldown)
    return frozenset(cooldown)


def cooldown_in_cart(eligible: EligibleItems, cart: Sequence[int]) -> frozenset[str]:
    """Return the narrowest categories of a cart's items of which people buy just one."""
    known, several = len(eligible.catalog), eligible.goes_with_itself
    held = {eligible.narrowest[item] for item in cart if item < known}
    return frozenset(name for name in held if name and not several(name, _IN_A_CART))


def discount_factor(
    context: ShopperContext, eligible: EligibleItems
) -> Callable[[int], float] | None:
    """Return the factor of an item's place in the backfill; None where all count fully."""
    fatigue, cooldown = context.fatigue, context.cooldown
    if not cooldown:
        return (lambda item: fatigue.get(item, 1.0)) if fatigue else None

    def factor(item: int) -> float:
        cools = eligible.narrowest[item] in cooldown
        return fatigue.get(item, 1.0) * (COOLDOWN_FACTOR if cools else 1.0)

    return factor


def backfill_anchors(context: ShopperContext, eligible: EligibleItems) -> tuple[int, ...]:
    """Return the items whose categories serve the backfill.

    Of what rests none does, but for a cart's: their wider categories fill its list.
    """
    anchors, known = context_anchors(context), len(eligible.catalog)
    if not context.cooldown or context.placement is Placement.CART:
        return anchors
    return tuple(
        item
        for item in anchors
        if item >= known or eligible.narrowest[item] not in context.cooldown
    )


def _of(eligible: EligibleItems, history: ShopperHistory, now_ms: int) -> set[str]:
    """Return the categories of one history's last purchase that are on cooldown."""
    known, since_ms, narrowest = (
        len(eligible.catalog),
        now_ms - COOLDOWN_MS,
        eligible.narrowest,
    )
    lately = {item for item in history.purchases_since(since_ms) if item < known}
    found = {narrowest[item] for item in lately}
    open_ = set(found)  # what the newest things done did not settle yet
    for item in reversed(history.recent):
        if not open_:
            break
        category = narrowest[item] if item < known else ""
        if category in open_:
            open_.discard(category)
            if item not in lately:
                found.discard(category)
    return found - _bought_before(eligible, history, since_ms) if found else found


def _bought_before(
    eligible: EligibleItems, history: ShopperHistory, since_ms: int
) -> set[str]:
    """Return the categories that a shopper bought on more than one day of the last year."""
    known, found, last = len(eligible.catalog), set[str](), dict[str, int]()
    lines = zip(history.bought[-_LINES:], history.bought_at[-_LINES:], strict=True)
    for item, at in lines:
        if item >= known or at < since_ms - _OLDEST_MS:
            continue
        category = eligible.narrowest[item]
        if at - last.setdefault(category, at) > HALF_A_DAY_MS:
            found.add(category)
        last[category] = at
    return found


_FREE: Final = 2.0  # times that a product may be shown before it sinks
_STEEPNESS: Final = 0.15


def ignored_impressions(
    histories: Sequence[ShopperHistory], now_ms: int
) -> Mapping[int, float]:
    """Return how often a shopper saw each ignored product."""
    times: dict[int, float] = {}
    for history in histories:
        for item, seen in history.shown.ignored(now_ms).items():
            times[item] = times.get(item, 0.0) + seen
    return times


def fatigue_factors(ignored: Mapping[int, float]) -> Mapping[int, float]:
    """Return the score factors of a shopper's ignored products, each below 1.

    Shown three times and never taken up, a product counts 0.87, five times 0.69, ten times
    0.45; the times fade with the days since. What either name of a call saw counts.
    """
    return {
        item: 1.0 / (1.0 + _STEEPNESS * (seen - _FREE))
        for item, seen in ignored.items()
        if seen > _FREE
    }


def discounted_order(
    items: Iterator[int], sinking: Callable[[int], float] | None, wanted: int
) -> Iterator[int]:
    """Yield items in order, with discounted ones moved down among the first `wanted`.

    An order without scores is weighed by its places, as ranks are in a blend.
    """
    if sinking is None:
        yield from items
        return
    order = dict.fromkeys(islice(items, 2 * wanted + 2))
    head = sorted(
        enumerate(order),
        key=lambda placed: -sinking(placed[1]) / (RANK_OFFSET + placed[0]),
    )
    yield from (item for _, item in head)
    yield from items
