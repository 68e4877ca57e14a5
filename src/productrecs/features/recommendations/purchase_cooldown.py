"""Of what has this shopper just bought? Who has a new kettle is not shown ten kettles.

From the end of that visit on its category rests for two weeks, for them alone: nothing of
it is shown before all else that may be. Unless they looked at more of it since, or it is a
kind of which they, or others, buy several. In the visit itself people look on for minutes
(measured in docs/measured.md), so that it goes on as it would have.
"""

from collections.abc import Callable, Sequence
from typing import Final

from productrecs.core.clock import DAY_MS, MINUTE_MS
from productrecs.engines.repurchase import HALF_A_DAY_MS
from productrecs.features.recommendations.eligible_items import EligibleItems
from productrecs.features.recommendations.request_context import (
    ShopperContext,
    context_anchors,
)
from productrecs.records.orders.shopper_history import ShopperHistory

COOLDOWN_MS: Final = 14 * DAY_MS
_VISIT_MS: Final = 30 * MINUTE_MS
COOLDOWN_FACTOR: Final = 0.3  # what a resting category counts where lists are filled up
_OLDEST_MS: Final = 365 * DAY_MS  # purchases that tell what this shopper buys again
_LINES: Final = 200


def cooldown_categories(
    shelf: EligibleItems,
    histories: Sequence[ShopperHistory],
    anchors: Sequence[int],
    now_ms: int,
) -> frozenset[str]:
    """Return the narrowest categories that rest for a shopper; that of `anchors` does not.

    What is anchored is what the page or the cart is about.
    """
    found: set[str] = set()
    for history in histories:
        ago = now_ms - history.bought_at[-1] if history.bought_at else COOLDOWN_MS
        if _VISIT_MS <= ago < COOLDOWN_MS:
            found |= _of(shelf, history, now_ms)
    if not found:
        return frozenset()
    known = len(shelf.catalog)
    found -= {shelf.narrowest[item] for item in anchors if item < known}
    return frozenset(name for name in found if name and not shelf.goes_with_itself(name))


def discount_factor(
    situation: ShopperContext, shelf: EligibleItems
) -> Callable[[int], float] | None:
    """Return what an item's place counts where a list is filled up; None: all fully."""
    tired, resting = situation.tired, situation.resting
    if not resting:
        return (lambda item: tired.get(item, 1.0)) if tired else None

    def factor(item: int) -> float:
        rests = shelf.narrowest[item] in resting
        return tired.get(item, 1.0) * (COOLDOWN_FACTOR if rests else 1.0)

    return factor


def backfill_anchors(situation: ShopperContext, shelf: EligibleItems) -> tuple[int, ...]:
    """Return the items whose categories fill a list: none of what rests."""
    anchors, known = context_anchors(situation), len(shelf.catalog)
    if not situation.resting:
        return anchors
    return tuple(
        item
        for item in anchors
        if item >= known or shelf.narrowest[item] not in situation.resting
    )


def _of(shelf: EligibleItems, history: ShopperHistory, now_ms: int) -> set[str]:
    """Return of what one history just bought, once in a while and looked at no more."""
    known, since_ms, narrowest = len(shelf.catalog), now_ms - COOLDOWN_MS, shelf.narrowest
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
    return found - _bought_before(shelf, history, since_ms) if found else found


def _bought_before(
    shelf: EligibleItems, history: ShopperHistory, since_ms: int
) -> set[str]:
    """Return of what a shopper bought on another day of the last year, too."""
    known, found, last = len(shelf.catalog), set[str](), dict[str, int]()
    lines = zip(history.bought[-_LINES:], history.bought_at[-_LINES:], strict=True)
    for item, at in lines:
        if item >= known or at < since_ms - _OLDEST_MS:
            continue
        category = shelf.narrowest[item]
        if at - last.setdefault(category, at) > HALF_A_DAY_MS:
            found.add(category)
        last[category] = at
    return found
