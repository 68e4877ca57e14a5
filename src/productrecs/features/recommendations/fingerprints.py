"""Fingerprint of a list without a shopper: a cached list stays valid while it is unchanged.

New models come every few seconds, and most lists do not change with them. The fingerprint
costs a fraction of what it costs to compute the list again.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import islice

from productrecs.features.recommendations.candidates import FILLERS, effective_source
from productrecs.features.recommendations.cooldown_and_fatigue import cooldown_in_cart
from productrecs.features.recommendations.eligible_items import EligibleItems
from productrecs.features.recommendations.recipes import Placement, Recipe, recipe_of
from productrecs.features.recommendations.request import Engine, RecommendationRequest
from productrecs.features.recommendations.serving_state import StoreState
from productrecs.features.recommendations.sold_out import sold_out_anchor

Fingerprint = int | None
"""Equal values mean equal inputs, except with probability 2^-61; None means unknown."""


class ListFingerprint:
    """What the list of one call depends on, at this moment."""

    __slots__ = ("_now_ms", "_request", "_shop")

    def __init__(
        self, shop: StoreState, request: RecommendationRequest, now_ms: int
    ) -> None:
        """Store the arguments; each fingerprint is computed on request."""
        self._shop = shop
        self._request = request
        self._now_ms = now_ms

    def own(self) -> Fingerprint:
        """Return a value that changes when the models' data of the call's items does.

        What engines of these items supply stays as it is so long, but for what moves all
        lists a little.
        """
        if sold_out_anchor(self._shop, self._request, self._now_ms) is not None:
            return None  # replacements depend on their whole category
        numbers = self._numbers()
        marks = [
            None if number is None else self._shop.models.mark(number) for number in numbers
        ]
        if not marks or None in marks:
            return None
        return hash((tuple(marks), self._cooldown(numbers)))

    def filling(self, engines: AbstractSet[Engine]) -> Fingerprint:
        """Return a value that changes with the first backfill items of `engines`.

        It covers as many items as the list can need, unless more variants and products
        of one category wait than the list is long.
        """
        eligible, recipe = self._eligible_and_recipe()
        numbers = self._numbers()
        cooldown, narrowest = self._cooldown(numbers), eligible.narrowest
        anchors = [one for one in numbers if one is not None]
        num = self._request.num
        # What rests is put further down, or left out, of more than a list takes.
        reach = 2 * (2 * num + len(anchors)) + 2 if cooldown else num + len(anchors)
        heads = (
            tuple(
                islice(
                    (
                        item
                        for item in FILLERS[engine](eligible, anchors)
                        if engine is Engine.TRENDING or narrowest[item] not in cooldown
                    ),
                    reach,
                )
            )
            for engine in recipe.fill
            if engine in engines
        )
        return hash((tuple(heads), cooldown))

    def _eligible_and_recipe(self) -> tuple[EligibleItems, Recipe]:
        shop, request = self._shop, self._request
        recipe = recipe_of(effective_source(shop, request), shop.settings)
        place = Placement.CART if request.basket else Placement.PRODUCT
        return shop.eligible(self._now_ms, place, request.source), recipe

    def _cooldown(self, numbers: Sequence[int | None]) -> frozenset[str]:
        """Return the categories that a cart's list holds back."""
        if not self._request.basket:
            return frozenset()
        eligible, recipe = self._eligible_and_recipe()
        cart = [number for number in numbers if number is not None]
        return cooldown_in_cart(eligible, cart) if recipe.has_cooldown else frozenset()

    def _numbers(self) -> list[int | None]:
        request, number = self._request, self._shop.catalog.number
        names = (request.item_id, *request.basket) if request.item_id else request.basket
        return [number(name) for name in names]
