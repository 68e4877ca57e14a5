"""Diversity: limits variants of one product and products of one category in a list.

Nothing is removed: items above a limit come after all other candidates and before the
backfill. In a cart's list, variants are not limited if the store's orders contain both
together, such as a clock in ivory and in green.
"""

import math
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from itertools import islice
from typing import Final

from productrecs.features.recommendations.list_request_and_picks import ListPlan, Pick
from productrecs.features.recommendations.recipes import PageType
from productrecs.features.recommendations.serving_state import EligibleItems
from productrecs.records.catalog.title_words import fold_text

SHARE_WITH_ANCHOR: Final = 0.75  # maximum share of one category in a list with an anchor
SHARE_WITHOUT_ANCHOR: Final = 0.4  # and in a list without one
_HEAD: Final = 100  # length of the diversified part of the backfill


class DiversityFilter:
    """State of one list: its variants, and how many items of each category it holds."""

    def __init__(
        self,
        eligible: EligibleItems,
        num: int,
        anchors: Sequence[int],
        page_type: PageType,
    ) -> None:
        """Start a list of `num` items; variants of its anchors count as already listed."""
        share = SHARE_WITH_ANCHOR if anchors else SHARE_WITHOUT_ANCHOR
        self._max_per_category = max(2, math.ceil(num * share))
        self._num = num
        self._eligible = eligible
        self._visible = eligible.visible
        self._narrowest = eligible.narrowest
        variants = eligible.catalog.variants
        size = len(variants)
        self._variants = variants
        self._listed_variants = {variants[anchor] for anchor in anchors if anchor < size}
        self._shares: dict[str, int] = {}
        self._anchors = anchors
        self._sold_with = eligible.models.copurchase if page_type is PageType.CART else None

    def admits(self, item: int, *, of_any: bool = False) -> bool:
        """Return whether an item is within the limits; if so, count it as listed.

        With `of_any` only variants are limited, not categories.
        """
        variant, category = self._variants[item], self._narrowest[item]
        share = self._shares.get(category, 0) + 1
        if variant and variant in self._listed_variants:
            return False
        if category and share > self._max_per_category and not of_any:
            return False
        if variant:
            self._listed_variants.add(variant)
        self._shares[category] = share
        return True

    def add_listed(self, items: Sequence[int]) -> None:
        """Count the items that are already in the list."""
        for item in items:
            self.admits(item, of_any=True)

    def choose(
        self, items: Sequence[int], not_listable: Container[int], cooldown: Container[str]
    ) -> list[int]:
        """Return the positions of the listed items, and of those above a limit.

        All may be shown. None is `not_listable`. None is of a category on cooldown, unless
        orders contain it together with a cart's item of that category. Only one variant of
        a product and no variant of an anchor is listed, and a narrowest category gets a
        limited share of the list.
        """
        # Inlines `admits` for speed: this runs for a dozen items of every list.
        visible, variants, narrowest = self._visible, self._variants, self._narrowest
        listed_variants, shares, max_per_category, num = (
            self._listed_variants,
            self._shares,
            self._max_per_category,
            self._num,
        )
        size = len(visible)
        chosen: list[int] = []
        deferred: list[int] = []
        for place, item in enumerate(items):
            if item in not_listable or item >= size or not visible[item]:
                continue
            variant, category = variants[item], narrowest[item]
            if category in cooldown and not self._is_kind_of_cart(item):
                continue
            share = shares.get(category, 0)
            if (category and share >= max_per_category) or (
                variant
                and variant in listed_variants
                and not self._is_collected(item, [items[one] for one in chosen])
            ):
                deferred.append(place)
                continue
            if variant:
                listed_variants.add(variant)
            shares[category] = share + 1
            chosen.append(place)
            if len(chosen) == num:
                return chosen
        return chosen + deferred[: num - len(chosen)]

    def _is_kind_of_cart(self, item: int) -> bool:
        """Return whether a cart's list may show an item of a category on cooldown."""
        return self._sold_with is not None and self._eligible.is_bought_with_same_category(
            item, self._anchors
        )

    def _is_collected(self, item: int, listed: Sequence[int]) -> bool:
        """Return whether orders combine an item with its variant in the cart or list."""
        sold, variants = self._sold_with, self._variants
        if sold is None:
            return False
        variant, size = variants[item], len(variants)
        return any(
            one < size and variants[one] == variant and sold.baskets_of(one, item)
            for one in (*self._anchors, *listed)
        )


def diverse_backfill(
    items: Iterator[int], diversity: DiversityFilter, *, of_any: bool
) -> Iterator[int]:
    """Yield backfill items, diversified.

    With `of_any` only variants are deferred, until the next backfill. Otherwise items of
    the first hundred that exceed a limit come after the others; the rest keeps its order.
    """
    if of_any:
        yield from (item for item in items if diversity.admits(item, of_any=True))
        return
    deferred = []
    for item in islice(items, _HEAD):
        if diversity.admits(item):
            yield item
        else:
            deferred.append(item)
    yield from deferred
    yield from items


def within_limits(
    picks: Sequence[Pick],
    eligible: EligibleItems,
    plan: ListPlan,
    held: Sequence[Pick] = (),
) -> list[Pick]:
    """Return the picks within a placement's limits for one category and one brand.

    Picks in `held` are in the list already. Products without a category or a brand have
    no limit.
    """
    counts = Counter[tuple[str, str]]()
    chosen: list[Pick] = []
    for place, pick in enumerate((*held, *picks)):
        brand = eligible.catalog.attributes.of(pick.item).get("brand", [""])[0]
        groups = [
            (kind, name, max_per_category)
            for kind, name, max_per_category in (
                ("category", eligible.narrowest[pick.item], plan.most_per_category),
                ("brand", fold_text(brand), plan.most_per_brand),
            )
            if name and max_per_category is not None
        ]
        is_held = place < len(held)
        if is_held or all(
            counts[kind, name] < max_per_category for kind, name, max_per_category in groups
        ):
            counts.update((kind, name) for kind, name, _ in groups)
            if not is_held:
                chosen.append(pick)
    return chosen
