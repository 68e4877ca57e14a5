"""Diversity: limits variants of one product and products of one category in a list.

Nothing is removed: what exceeds a limit comes after all other candidates and before the
backfill. In a cart's list a variant is not limited where the store's baskets show it
together with the one it resembles: a clock in ivory beside the one in green.
"""

import math
from collections.abc import Container, Iterator, Sequence
from itertools import islice
from typing import Final

from productrecs.features.recommendations.eligible_items import EligibleItems
from productrecs.features.recommendations.recipes import Placement

ABOUT_AN_ITEM: Final = 0.75  # of a list may be of one category, where a page has an item,
ABOUT_NOBODY: Final = 0.4  # and where it has none
_HEAD: Final = 100  # of what fills a list up: further down nothing waits any more


class DiversityFilter:
    """State of one list: its variants, and how many items of each category it holds."""

    def __init__(
        self,
        eligible: EligibleItems,
        num: int,
        anchors: Sequence[int],
        placement: Placement,
    ) -> None:
        """Begin a list of `num`; variants of its anchors are in it already."""
        share = ABOUT_AN_ITEM if anchors else ABOUT_NOBODY
        self._most = max(2, math.ceil(num * share))
        self._num = num
        self._eligible = eligible
        self._visible = eligible.visible
        self._narrowest = eligible.narrowest
        variants = eligible.catalog.variants
        known = len(variants)
        self._variants = variants
        self._met = {variants[anchor] for anchor in anchors if anchor < known}
        self._shares: dict[str, int] = {}
        self._anchors = anchors
        self._sold_with = (
            eligible.models.copurchase if placement is Placement.CART else None
        )

    def admits(self, item: int, *, of_any: bool = False) -> bool:
        """Return whether an item need not wait its turn; then it is in the list.

        With `of_any` its category may fill the list, and only variants wait.
        """
        variant, category = self._variants[item], self._narrowest[item]
        share = self._shares.get(category, 0) + 1
        if variant and variant in self._met:
            return False
        if category and share > self._most and not of_any:
            return False
        if variant:
            self._met.add(variant)
        self._shares[category] = share
        return True

    def hold(self, items: Sequence[int]) -> None:
        """Count the items that are already in the list."""
        for item in items:
            self.admits(item, of_any=True)

    def choose(
        self, items: Sequence[int], refused: Container[int], cooldown: Container[str]
    ) -> list[int]:
        """Return the positions of the items that make a list, and of those that wait.

        All may be shown; none is `refused`, or of a category on cooldown unless orders show
        it with a cart's item of that category. One variant of
        a product comes first, variants of the anchors wait, and the narrowest category
        of an item gets at most a share of the list.
        """
        # Asks what `admits` asks, for a dozen items of every list that is made.
        visible, variants, narrowest = self._visible, self._variants, self._narrowest
        met, shares, most, num = self._met, self._shares, self._most, self._num
        known = len(visible)
        chosen: list[int] = []
        waiting: list[int] = []
        for place, item in enumerate(items):
            if item in refused or item >= known or not visible[item]:
                continue
            variant, category = variants[item], narrowest[item]
            if category in cooldown and not self._is_kind_of_cart(item):
                continue
            share = shares.get(category, 0)
            if (category and share >= most) or (
                variant
                and variant in met
                and not self._is_collected(item, [items[one] for one in chosen])
            ):
                waiting.append(place)
                continue
            if variant:
                met.add(variant)
            shares[category] = share + 1
            chosen.append(place)
            if len(chosen) == num:
                return chosen
        return chosen + waiting[: num - len(chosen)]

    def _is_kind_of_cart(self, item: int) -> bool:
        """Return whether a cart's list may show an item of a category on cooldown."""
        return self._sold_with is not None and self._eligible.goes_with_its_kind(
            item, self._anchors
        )

    def _is_collected(self, item: int, listed: Sequence[int]) -> bool:
        """Return whether baskets show an item with a variant of it in the cart or list."""
        sold, variants = self._sold_with, self._variants
        if sold is None:
            return False
        variant, known = variants[item], len(variants)
        return any(
            one < known and variants[one] == variant and sold.baskets_of(one, item)
            for one in (*self._anchors, *listed)
        )


def diverse_backfill(
    items: Iterator[int], variety: DiversityFilter, *, of_any: bool
) -> Iterator[int]:
    """Yield backfill items, diversified.

    With `of_any` only variants wait, until the next backfill. Otherwise, of the first
    hundred, the waiting ones come after the others, then the rest in its order.
    """
    if of_any:
        yield from (item for item in items if variety.admits(item, of_any=True))
        return
    waiting = []
    for item in islice(items, _HEAD):
        if variety.admits(item):
            yield item
        else:
            waiting.append(item)
    yield from waiting
    yield from items
