"""Which products does a shopper look for? The index proposes, the catalog strikes out."""

import math
from dataclasses import dataclass
from typing import Final

from productrecs.features.search.request import Hit, Results, SearchRequest
from productrecs.records.catalog.view import CatalogView
from productrecs.training.search.served import ServedIndex
from productrecs.training.trained_models import Ranks

_CANDIDATES: Final = 3  # times as many as wanted: popularity reorders among them
_LEAST_CANDIDATES: Final = 30
_POPULARITY: Final = 0.08
"""At most this share is added to a score: it decides between equals, no more."""


@dataclass(frozen=True, slots=True)
class Searchable:
    """What searching needs to know of one store, at one moment."""

    catalog: CatalogView
    index: ServedIndex
    ranks: Ranks  # per item number its place in what trends
    trending: int  # how many items trend

    def popularity(self, item: int) -> float:
        """Return how well an item sells, from 0 for not at all to 1 for the best."""
        rank = int(self.ranks[item]) if item < len(self.ranks) else self.trending
        if rank >= self.trending:
            return 0.0
        return 1.0 - math.log1p(rank) / math.log1p(self.trending)


def find(shop: Searchable, request: SearchRequest, now_ms: int) -> Results:
    """Return up to `request.num` products, best first, their scores falling.

    All are visible at `now_ms`, with `in_stock` they can be bought too. What is named by
    its id or sku comes first; sales decide between products that fit alike.

    Raises:
        BrokenIndexError: when the index turns out to be damaged.
    """
    visible = shop.catalog.visible(now_ms, hide_sold_out=request.in_stock)
    wanted = max(_CANDIDATES * request.num, _LEAST_CANDIDATES)
    found = shop.index.find(request.query, wanted, visible)
    hits = [
        Hit(item, score * (1.0 + _POPULARITY * shop.popularity(item)))
        for item, score in zip(found.items, found.scores, strict=True)
    ]
    named, others = hits[: found.exact], hits[found.exact :]
    others.sort(key=lambda hit: (-hit.score, hit.item))
    return Results([*named, *others][: request.num], found.relaxed)
