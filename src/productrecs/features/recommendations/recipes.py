"""Recipes: the engines, weights and backfill of each source, as data."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from productrecs.engines.engine_spec import EngineSpec
from productrecs.features.recommendations.request import Engine, ListPlan, Source
from productrecs.records.placements.placement import Strategy
from productrecs.tenancy.accounts.store_settings import StoreSettings
from productrecs.training.engine_registry import ENGINES


class PageType(StrEnum):
    """The page that a list is for, derived from the call's parameters."""

    PRODUCT = "product"
    CART = "cart"
    SHOPPER = "shopper"
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class Recipe:
    """Engines with their weights per page type, then the backfill of a short list."""

    blend: Mapping[PageType, Mapping[Engine, float]]
    fill: tuple[Engine, ...] = ()
    is_varied: bool = False  # limits variants and single categories in a list
    borrows: bool = False  # co-purchases include pooled variants and repurchased items
    learns: bool = False  # the learned ranker may reorder candidates
    explores: bool = False  # a share of lists has an explored item
    rebuys: bool = False  # lists the shopper's purchases that are due again
    remembers: bool = False  # the shopper's purchases count in addition to the visit
    has_fatigue: bool = False  # often ignored products are discounted
    has_cooldown: bool = False  # categories just bought or in the cart are demoted
    habit: Mapping[Engine, float] | None = None  # weights for habitual repurchasers
    completing: Mapping[PageType, Mapping[Engine, float]] | None = (
        None  # weights if complements are known
    )


# Similar pictures come before items of the same category: interface 4.1, rule 5.
_FILL: Final = (Engine.SIMILAR, Engine.CATEGORY, Engine.TRENDING)


def _everywhere(
    weights: Mapping[Engine, float],
) -> Mapping[PageType, Mapping[Engine, float]]:
    return MappingProxyType(dict.fromkeys(PageType, weights))


def _weights(place: PageType, engines: Iterable[EngineSpec]) -> dict[Engine, float]:
    """Return how much engines count in `mix`, the heaviest first."""
    weights = {
        Engine(one.name): one.weights[place] for one in engines if place in one.weights
    }
    return dict(sorted(weights.items(), key=lambda weighted: -weighted[1]))


# Weights of the reciprocal ranks (requirements/algorithms.md 4.2).
_MIX: Final = MappingProxyType({place: _weights(place, ENGINES) for place in PageType})
_OWN: Final = [one for one in ENGINES if one.model is not None]

# With complements, co-purchase keeps its total weight: half goes to the complements.
_COMPLETING: Final = MappingProxyType(
    {
        PageType.PRODUCT: {
            Engine.BROWSE: 1.0,
            Engine.COMPLEMENTARY: 0.4,
            Engine.BUY: 0.4,
            **_weights(PageType.PRODUCT, _OWN),
        },
        PageType.CART: {
            Engine.COMPLEMENTARY: 0.5,
            Engine.BUY: 0.5,
            Engine.BROWSE: 0.4,
            **_weights(PageType.CART, _OWN),
        },
    }
)
_RECIPES: Final[Mapping[Source, Recipe]] = MappingProxyType(
    {
        # Co-purchases only, no backfill: interface 4.1, rule 2.
        Source.BUY: Recipe(blend=_everywhere({Engine.BUY: 1.0})),
        Source.BROWSE: Recipe(
            _everywhere({Engine.BROWSE: 1.0}),
            _FILL,
            is_varied=True,
            remembers=True,
            explores=True,
            has_fatigue=True,
            has_cooldown=True,
        ),
        # An item without a picture is answered as `mix`: interface 4.1, rule 4.
        Source.SIMILAR: Recipe(blend=_everywhere({Engine.SIMILAR: 1.0}), fill=_FILL),
        Source.MIX: Recipe(
            _MIX,
            _FILL,
            is_varied=True,
            borrows=True,
            learns=True,
            explores=True,
            has_fatigue=True,
            has_cooldown=True,
            habit=_MIX[PageType.CART],
            completing=_COMPLETING,
        ),
    }
)
# Strategies of placements that are not a source. Their fallback is the placement's.
_STRATEGIES: Final[Mapping[Strategy, Recipe]] = MappingProxyType(
    {
        Strategy.COMPLEMENTARY: Recipe(
            _everywhere({Engine.COMPLEMENTARY: 1.0, Engine.BUY: 0.5}), borrows=True
        ),
        Strategy.RECENTLY_VIEWED: Recipe(_everywhere({Engine.RECENTLY_VIEWED: 1.0})),
        Strategy.BUY_AGAIN: Recipe(_everywhere({Engine.BUY_AGAIN: 1.0}), rebuys=True),
        Strategy.NEW: Recipe(_everywhere({Engine.NEW: 1.0})),
        **dict.fromkeys(
            (
                Strategy.TRENDING,
                Strategy.TOP_OF_CATEGORY,
                Strategy.TOP_OF_BRAND,
                Strategy.ON_SALE,
            ),
            Recipe(_everywhere({Engine.TRENDING: 1.0})),
        ),
    }
)
_UNSEEING: Final[Mapping[Source, Recipe]] = MappingProxyType(
    {
        source: replace(one, fill=tuple(e for e in one.fill if e is not Engine.SIMILAR))
        for source, one in _RECIPES.items()
    }
)


def recipe_of(
    source: Source, settings: StoreSettings, plan: ListPlan | None = None
) -> Recipe:
    """Return the recipe of a source, or of a placement's strategy that is no source.

    Visual similarity counts only in stores that have enabled it.
    """
    recipe = None if plan is None else _STRATEGIES.get(plan.strategy)
    if recipe is not None:
        return recipe
    if settings.visual_recommendations:
        return _RECIPES[source]
    return _UNSEEING[Source.MIX if source is Source.SIMILAR else source]
