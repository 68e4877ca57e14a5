"""What fills a list that the engines left short? Used so often that it never rusts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from productrecs.features.recommendations.request import Engine
from productrecs.features.recommendations.shop import Shop
from productrecs.records.catalog.view import Mask

_CATEGORIES: Final = 6
_CHUNK: Final = 256

Filler = Callable[[Shop, Mask, Sequence[int]], Iterator[int]]


def from_categories(shop: Shop, visible: Mask, anchors: Sequence[int]) -> Iterator[int]:
    """Give the best of the anchors' categories, the narrowest category first."""
    catalog = shop.catalog
    sizes = {
        name: len(catalog.members.get(name, ()))
        for anchor in anchors
        if anchor < len(catalog)
        for name in catalog.categories[anchor]
    }
    for name in sorted(sizes, key=lambda name: (sizes[name], name))[:_CATEGORIES]:
        yield from shop.best_of_category(name, visible)


def trending(shop: Shop, visible: Mask, _anchors: Sequence[int] = ()) -> Iterator[int]:
    """Give what trends, then the rest of the catalog, the newest first."""
    for ordered in (shop.models.trending, shop.catalog.newest()):
        for start in range(0, len(ordered), _CHUNK):
            chunk = ordered[start : start + _CHUNK]
            chunk = chunk[chunk < len(visible)]
            yield from chunk[visible[chunk]].tolist()


FILLERS: Final[Mapping[Engine, Filler]] = MappingProxyType(
    {Engine.CATEGORY: from_categories, Engine.TRENDING: trending}
)
