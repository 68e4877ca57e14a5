"""Basket candidates: items bought with a product or a cart, and those that complete it."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from productrecs.core.cache_registry import Cache, memoized
from productrecs.engines.arrays import NO_RANKED, Ranked
from productrecs.engines.copurchase import CopurchaseModel
from productrecs.features.recommendations.list_request_and_picks import Engine
from productrecs.features.recommendations.recipes import PageType, Recipe
from productrecs.training.trained_models import TrainedModels

_CANDIDATES: Final = 60

Basket = tuple[int, ...]
Weights = Mapping[Engine, float]
_CandidateFunction = Callable[[Basket], Ranked]


class BasketCandidates:
    """Candidates for baskets by one store's models, each computed once.

    They do not depend on the shopper, and most requests share a few products. The returned
    arrays must not be changed.
    """

    __slots__ = ("bought_with", "completing", "goes_with", "models")

    bought_with: _CandidateFunction
    """Returns items bought together with a basket, best first."""
    goes_with: _CandidateFunction
    """Returns the same with the pooled baskets of variant groups, if there are any."""
    completing: _CandidateFunction
    """Returns complements of a basket, best first; none if categories are unknown."""

    def __init__(self, models: TrainedModels) -> None:
        """Start with nothing computed."""
        self.models = models
        cached = memoized(Cache.BASKET_CANDIDATES)
        self.bought_with = cached(partial(_bought_together, models.copurchase))
        self.goes_with = self.bought_with
        if models.pooled is not None:
            self.goes_with = cached(partial(_bought_together, models.pooled))
        self.completing = cached(partial(_complements, models, self.goes_with))


def _bought_together(model: CopurchaseModel, basket: Basket) -> Ranked:
    return model.complete(basket, _CANDIDATES)


def _complements(
    models: TrainedModels, bought_with_pooled: _CandidateFunction, basket: Basket
) -> Ranked:
    """Return complements, by the cart model if there is one."""
    if not models.complements.n_items:
        return NO_RANKED
    if models.carts is None:
        bought_together = bought_with_pooled(basket)
    else:
        bought_together = models.carts.complete(basket, _CANDIDATES)
    return models.complements.complements_among(bought_together, basket)


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
    complements_of = (recipe.completing or {}).get(place)
    if complements_of is not None:
        complements = companions.completing(basket)
        if len(complements.items):
            weights, found = complements_of, {**found, Engine.COMPLEMENTARY: complements}
    return weights, tuple([found[one] for one in weights])
