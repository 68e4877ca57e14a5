"""Backfill: items of the same categories, then trending items, for a short list."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from productrecs.features.recommendations.eligible_items import EligibleItems
from productrecs.features.recommendations.request import Engine
from productrecs.features.recommendations.visual_similarity import visually_similar_to_each

_CATEGORIES: Final = 6

Filler = Callable[[EligibleItems, Sequence[int]], Iterator[int]]


def from_categories(eligible: EligibleItems, anchors: Sequence[int]) -> Iterator[int]:
    """Yield the top items of the anchors' categories, the narrowest category first."""
    for name in narrowest_categories(eligible, anchors):
        yield from eligible.best_of_category(name)


def narrowest_categories(eligible: EligibleItems, anchors: Sequence[int]) -> list[str]:
    """Return up to six categories of the anchors, those with the fewest items first."""
    catalog = eligible.catalog
    sizes = {
        name: len(catalog.members.get(name, ()))
        for anchor in anchors
        if anchor < len(catalog)
        for name in catalog.categories[anchor]
    }
    return sorted(sizes, key=lambda name: (sizes[name], name))[:_CATEGORIES]


def trending(eligible: EligibleItems, _anchors: Sequence[int] = ()) -> Iterator[int]:
    """Yield trending items, then the rest of the catalog, the newest first."""
    return eligible.trending()


FILLERS: Final[Mapping[Engine, Filler]] = MappingProxyType(
    {
        Engine.SIMILAR: visually_similar_to_each,
        Engine.CATEGORY: from_categories,
        Engine.TRENDING: trending,
    }
)
