"""What does a list that names no shopper rest on? It stays as it is while that does.

New models come every few seconds, and hardly any of them changes a given list. Asking what
a list rests on takes a fraction of making it anew.
"""

from collections.abc import Set as AbstractSet
from itertools import islice

from productrecs.features.recommendations.backfill import FILLERS
from productrecs.features.recommendations.recipes import Placement, recipe_of
from productrecs.features.recommendations.request import Engine, RecommendationRequest
from productrecs.features.recommendations.serving_state import StoreState
from productrecs.features.recommendations.visual_similarity import effective_source

Fingerprint = int | None
"""Equal while what it stands for is, but for one chance in 2^61; None tells nothing."""


class ListFingerprint:
    """What the list for one call rests on, as it is known now."""

    __slots__ = ("_now_ms", "_request", "_shop")

    def __init__(
        self, shop: StoreState, request: RecommendationRequest, now_ms: int
    ) -> None:
        """Reckon nothing before it is asked."""
        self._shop = shop
        self._request = request
        self._now_ms = now_ms

    def own(self) -> Fingerprint:
        """Return what changes when what is known of the call's items does.

        What engines of these items supply stays as it is so long, but for what moves all
        lists a little.
        """
        marks = [
            None if number is None else self._shop.models.mark(number)
            for number in self._numbers()
        ]
        return hash(tuple(marks)) if marks and None not in marks else None

    def filling(self, engines: AbstractSet[Engine]) -> Fingerprint:
        """Return the heads of those orders from which `engines` filled the list up.

        As far as a list can reach down that takes what it does not hold yet, unless more
        variants and products of one category waited their turn than it is long.
        """
        shop, request = self._shop, self._request
        recipe = recipe_of(effective_source(shop, request), shop.settings)
        place = Placement.CART if request.basket else Placement.PRODUCT
        shelf = shop.shelf(self._now_ms, place, request.source)
        anchors = [one for one in self._numbers() if one is not None]
        reach = request.num + len(anchors)
        heads = (
            tuple(islice(FILLERS[engine](shelf, anchors), reach))
            for engine in recipe.fill
            if engine in engines
        )
        return hash(tuple(heads))

    def _numbers(self) -> list[int | None]:
        request, number = self._request, self._shop.catalog.number
        names = (request.item_id, *request.basket) if request.item_id else request.basket
        return [number(name) for name in names]
