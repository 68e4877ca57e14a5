"""What completes the page's product or the cart, of what goes with it?"""

from collections.abc import Mapping, Sequence
from typing import Final

from productrecs.engines.contract import Ranked
from productrecs.features.recommendations.request import Engine
from productrecs.features.recommendations.sources import Placement, Recipe
from productrecs.training.trained_models import TrainedModels

_CANDIDATES: Final = 60

Weights = Mapping[Engine, float]


def complements(models: TrainedModels, basket: Sequence[int], bought: Ranked) -> Ranked:
    """Return what completes a basket, best first; nothing where categories tell nothing.

    `bought` is what was bought together with it. Where carts tell more than orders, what
    lay in a cart beside what was bought counts as well.
    """
    together = bought
    if models.carts is not None:
        together = models.carts.complete(basket, _CANDIDATES)
    return models.complements.among(together, basket)


def with_complements(
    models: TrainedModels,
    recipe: Recipe,
    place: Placement,
    basket: Sequence[int],
    found: Mapping[Engine, Ranked],
) -> tuple[Weights, tuple[Ranked, ...]]:
    """Return who speaks for a list about a basket, how loudly, and what they propose.

    `found` is what the other engines of the recipe propose. They speak as they would alone
    where nothing is known to complete the basket.
    """
    weights = recipe.blend[place]
    completing = (recipe.completing or {}).get(place)
    if completing is not None and models.complements.n_items:
        completes = complements(models, basket, found[Engine.BUY])
        if len(completes.items):
            weights, found = completing, {**found, Engine.COMPLEMENTARY: completes}
    return weights, tuple(found[one] for one in weights)
