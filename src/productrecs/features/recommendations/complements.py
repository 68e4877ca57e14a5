"""Basket candidates: items bought with a product or a cart, and those that complete it."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from productrecs.core.cache_registry import Cache, memoized
from productrecs.engines.arrays import NO_RANKED, Ranked
from productrecs.engines.copurchase import CopurchaseModel
from productrecs.features.recommendations.recipes import PageType, Recipe
from productrecs.features.recommendations.request import Engine
from productrecs.training.trained_models import TrainedModels

_CANDIDATES: Final = 60

Basket = tuple[int, ...]
Weights = Mapping[Engine, float]
_Find = Callable[[Basket], Ranked]


class BasketCandidates:
    """Candidates for baskets by one store's models, each computed once.

    They do not depend on the shopper, and most requests share a few products. The returned
    arrays must not be changed.
    """

    __slots__ = ("bought_with", "completing", "goes_with", "models")

    bought_with: _Find
    """Returns items bought together with a basket, best first."""
    goes_with: _Find
    """Returns the same with the pooled baskets of variant groups, if there are any."""
    completing: _Find
    """Returns complements of a basket, best first; none if categories are unknown."""

    def __init__(self, models: TrainedModels) -> None:
        """Start with nothing computed."""
        self.models = models
        cached = memoized(Cache.BASKET_CANDIDATES)
        self.bought_with = cached(partial(_together, models.copurchase))
        self.goes_with = self.bought_with
        if models.lent is not None:
            self.goes_with = cached(partial(_together, models.lent))
        self.completing = cached(partial(_completing, models, self.goes_with))


def _together(model: CopurchaseModel, basket: Basket) -> Ranked:
    return model.complete(basket, _CANDIDATES)


def _completing(models: TrainedModels, goes_with: _Find, basket: Basket) -> Ranked:
    """Return complements, by the cart model if there is one."""
    if not models.complements.n_items:
        return NO_RANKED
    if models.carts is None:
        together = goes_with(basket)
    else:
        together = models.carts.complete(basket, _CANDIDATES)
    return models.complements.among(together, basket)


def with_complements(
    companions: BasketCandidates,
    recipe: Recipe,
    place: PageType,
    basket: Basket,
    found: Mapping[Engine, Ranked],
) -> tuple[Weights, tuple[Ranked, ...]]:
    """Return the engines of a list about a basket, their weights and their candidates.

    `found` has the candidates of the recipe's other engines. They are used alone if no
    complements are known.
    """
    weights = recipe.blend[place]
    completing = (recipe.completing or {}).get(place)
    if completing is not None:
        completes = companions.completing(basket)
        if len(completes.items):
            weights, found = completing, {**found, Engine.COMPLEMENTARY: completes}
    return weights, tuple([found[one] for one in weights])
