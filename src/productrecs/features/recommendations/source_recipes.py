"""Source recipes: the engines, weights and backfill of each source, as data."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from productrecs.engines.registry import ENGINES
from productrecs.features.recommendations.recommendation_request import (
    EngineName,
    ResolvedPlacement,
    Source,
)
from productrecs.records.placements.placement import Strategy
from productrecs.tenancy.accounts.store_settings import StoreSettings


class PageType(StrEnum):
    """The page that a list is for, derived from the call's parameters."""

    PRODUCT = "product"
    CART = "cart"
    SHOPPER = "shopper"
    NO_CONTEXT = "nobody"


@dataclass(frozen=True, slots=True)
class Recipe:
    """Engines with their weights per page type, then the backfill of a short list."""

    blend: Mapping[PageType, Mapping[EngineName, float]]
    backfill: tuple[EngineName, ...] = ()
    is_varied: bool = False  # limits variants and single categories in a list
    # Co-purchases include pooled variants and repurchased items.
    pools_variants: bool = False
    rebuys: bool = False  # lists the shopper's purchases that are due again
    # The shopper's purchases count in addition to the visit.
    uses_purchase_memory: bool = False
    is_whole: bool = False  # one set in its order: nothing is added, moved or left out
    has_fatigue: bool = False  # often ignored products are discounted
    has_cooldown: bool = False  # categories just bought or in the cart are demoted
    habit_blend: Mapping[EngineName, float] | None = (
        None  # weights for habitual repurchasers
    )
    # The blend of a list whose complements are known, on pages that have one.
    blend_with_complements: Mapping[PageType, Mapping[EngineName, float]] = field(
        default_factory=dict
    )


# Similar pictures come before items of the same category: interface 4.1, rule 5.
_BACKFILL: Final = (EngineName.SIMILAR, EngineName.CATEGORY, EngineName.TRENDING)


def _on_all_pages(
    weights: Mapping[EngineName, float],
) -> Mapping[PageType, Mapping[EngineName, float]]:
    return MappingProxyType(dict.fromkeys(PageType, weights))


def _mix_weights(page_type: PageType) -> dict[EngineName, float]:
    """Return how much engines count in `mix`, the heaviest first."""
    weights = {
        EngineName(engine.name): engine.weights[page_type]
        for engine in ENGINES
        if page_type in engine.weights
    }
    return _heaviest_first(weights)


def _with_complements(weights: Mapping[EngineName, float]) -> Mapping[EngineName, float]:
    """Return weights where half of the co-purchases' weight goes to complements."""
    half = weights[EngineName.BUY] / 2
    shared = {EngineName.COMPLEMENTARY: half, EngineName.BUY: half}
    return _heaviest_first({**shared, **weights, **shared})


def _heaviest_first(weights: Mapping[EngineName, float]) -> dict[EngineName, float]:
    return dict(sorted(weights.items(), key=lambda weighted: -weighted[1]))


# Weights of the reciprocal ranks (requirements/algorithms.md 4.2).
_MIX: Final = MappingProxyType(
    {page_type: _mix_weights(page_type) for page_type in PageType}
)
_BLEND_WITH_COMPLEMENTS: Final = MappingProxyType(
    {
        page_type: _with_complements(_MIX[page_type])
        for page_type in (PageType.PRODUCT, PageType.CART)
    }
)
_RECIPES: Final[Mapping[Source, Recipe]] = MappingProxyType(
    {
        # Co-purchases only, no backfill: interface 4.1, rule 2.
        Source.BUY: Recipe(blend=_on_all_pages({EngineName.BUY: 1.0})),
        Source.BROWSE: Recipe(
            _on_all_pages({EngineName.BROWSE: 1.0}),
            _BACKFILL,
            is_varied=True,
            pools_variants=True,
            uses_purchase_memory=True,
            has_fatigue=True,
            has_cooldown=True,
        ),
        # An item without a picture is answered as `mix`: interface 4.1, rule 4.
        Source.SIMILAR: Recipe(
            blend=_on_all_pages({EngineName.SIMILAR: 1.0}), backfill=_BACKFILL
        ),
        Source.MIX: Recipe(
            _MIX,
            _BACKFILL,
            is_varied=True,
            pools_variants=True,
            has_fatigue=True,
            has_cooldown=True,
            habit_blend=_MIX[PageType.CART],
            blend_with_complements=_BLEND_WITH_COMPLEMENTS,
        ),
    }
)
# Strategies of placements that are not a source. Their fallback is the placement's.
_STRATEGIES: Final[Mapping[Strategy, Recipe]] = MappingProxyType(
    {
        Strategy.COMPLEMENTARY: Recipe(
            _on_all_pages({EngineName.COMPLEMENTARY: 1.0, EngineName.BUY: 0.5}),
            pools_variants=True,
        ),
        Strategy.RECENTLY_VIEWED: Recipe(_on_all_pages({EngineName.RECENTLY_VIEWED: 1.0})),
        Strategy.BUY_AGAIN: Recipe(_on_all_pages({EngineName.BUY_AGAIN: 1.0}), rebuys=True),
        Strategy.NEW: Recipe(_on_all_pages({EngineName.NEW: 1.0})),
        Strategy.BUNDLE: Recipe(_on_all_pages({EngineName.BUNDLE: 1.0}), is_whole=True),
        **dict.fromkeys(
            (
                Strategy.TRENDING,
                Strategy.TOP_OF_CATEGORY,
                Strategy.TOP_OF_BRAND,
                Strategy.ON_SALE,
            ),
            Recipe(_on_all_pages({EngineName.TRENDING: 1.0})),
        ),
    }
)
_RECIPES_WITHOUT_PICTURES: Final[Mapping[Source, Recipe]] = MappingProxyType(
    {
        source: replace(
            recipe,
            backfill=tuple(
                engine for engine in recipe.backfill if engine is not EngineName.SIMILAR
            ),
        )
        for source, recipe in _RECIPES.items()
    }
)


def choose_recipe(
    source: Source, settings: StoreSettings, plan: ResolvedPlacement | None = None
) -> Recipe:
    """Return the recipe of a source, or of a placement's strategy that is no source.

    Visual similarity counts only in stores that have enabled it.
    """
    recipe = None if plan is None else _STRATEGIES.get(plan.strategy)
    if recipe is not None:
        return recipe
    if settings.visual_recommendations:
        return _RECIPES[source]
    return _RECIPES_WITHOUT_PICTURES[Source.MIX if source is Source.SIMILAR else source]
