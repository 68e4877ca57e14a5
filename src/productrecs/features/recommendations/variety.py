"""How is one list kept from being all of a kind? Variants and one category wait their turn.

What waits is not struck out: it comes when there is nothing else among what the engines
proposed, before anything fills the list up.
"""

import math
from collections.abc import Iterable
from typing import Final

from productrecs.features.recommendations.shelf import Shelf

ABOUT_AN_ITEM: Final = 0.75  # of a list may be of one category, where a page has an item,
ABOUT_NOBODY: Final = 0.4  # and where it has none


def varied(
    places: Iterable[tuple[int, int]], shelf: Shelf, num: int, anchors: tuple[int, ...]
) -> list[int]:
    """Return up to `num` of the places of (place, item), those that have to wait last.

    One of a product's variants goes first, the anchors' own variants wait, and of the
    narrowest category of an item at most a share of the list.
    """
    most = max(2, math.ceil(num * (ABOUT_AN_ITEM if anchors else ABOUT_NOBODY)))
    variants = shelf.catalog.variants
    known = len(variants)
    met = {variants[anchor] for anchor in anchors if anchor < known}
    shares: dict[str, int] = {}
    chosen: list[int] = []
    waiting: list[int] = []
    for place, item in places:
        variant, category = variants[item], shelf.narrowest_category(item)
        share = shares.get(category, 0) + 1
        if (variant and variant in met) or (category and share > most):
            waiting.append(place)
            continue
        met.add(variant)
        shares[category] = share
        chosen.append(place)
        if len(chosen) == num:
            return chosen
    return chosen + waiting[: num - len(chosen)]
