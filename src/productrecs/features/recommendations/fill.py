"""What fills a list that the engines left short? Used so often that it never rusts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from productrecs.features.recommendations.likeness import from_looks
from productrecs.features.recommendations.request import Engine
from productrecs.features.recommendations.shelf import Shelf

_CATEGORIES: Final = 6

Filler = Callable[[Shelf, Sequence[int]], Iterator[int]]


def from_categories(shelf: Shelf, anchors: Sequence[int]) -> Iterator[int]:
    """Give the best of the anchors' categories, the narrowest category first."""
    for name in narrowest_categories(shelf, anchors):
        yield from shelf.best_of_category(name)


def narrowest_categories(shelf: Shelf, anchors: Sequence[int]) -> list[str]:
    """Return up to six categories of the anchors, those with the fewest items first."""
    catalog = shelf.catalog
    sizes = {
        name: len(catalog.members.get(name, ()))
        for anchor in anchors
        if anchor < len(catalog)
        for name in catalog.categories[anchor]
    }
    return sorted(sizes, key=lambda name: (sizes[name], name))[:_CATEGORIES]


def trending(shelf: Shelf, _anchors: Sequence[int] = ()) -> Iterator[int]:
    """Give what trends, then the rest of the catalog, the newest first."""
    return shelf.trending()


FILLERS: Final[Mapping[Engine, Filler]] = MappingProxyType(
    {
        Engine.SIMILAR: from_looks,
        Engine.CATEGORY: from_categories,
        Engine.TRENDING: trending,
    }
)
