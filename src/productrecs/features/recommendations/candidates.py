"""Candidate generation: the candidates of each engine for one request, and the backfill."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from productrecs.engines.array_types_and_sorting import (
    MAX_CANDIDATES,
    NO_RANKED,
    Items,
    RankedItems,
)
from productrecs.engines.engine_protocol import ListRequest
from productrecs.engines.rank_fusion import fuse_lists
from productrecs.engines.registry import BY_NAME
from productrecs.features.recommendations.bundles import first_listable_missing_parts
from productrecs.features.recommendations.cooldown_and_fatigue import backfill_anchors
from productrecs.features.recommendations.recommendation_request import (
    EngineName,
    RecommendationRequest,
    Source,
)
from productrecs.features.recommendations.request_context import (
    ShopperContext,
    fuse_visit_with_interest_signals,
)
from productrecs.features.recommendations.serving_state import (
    EligibleItems,
    StoreState,
    Weights,
)
from productrecs.features.recommendations.source_recipes import Recipe


def effective_source(store: StoreState, request: RecommendationRequest) -> Source:
    """Return the source that is used: `mix` for `similar` when its item has no picture."""
    if request.source is not Source.SIMILAR:
        return request.source
    number = store.catalog.number(request.item_id or "")
    has_picture = number is not None and store.models.visual.row_of(number) is not None
    return Source.SIMILAR if has_picture else Source.MIX


def certain_bundle_companions(
    store: StoreState, request: RecommendationRequest | None
) -> frozenset[int] | None:
    """Return what is certainly bought together with the products of a bundle's request.

    None for any other list.
    """
    if request is None or not request.with_anchor or request.source is not Source.BUY:
        return None
    anchors = store.catalog.numbers_of([*filter(None, [request.item_id]), *request.basket])
    model = store.models.copurchase
    return frozenset(
        item
        for anchor in anchors
        for item in model.companions_with_certain_evidence(anchor).tolist()
    )


@dataclass(slots=True, kw_only=True)
class StoreListRequest(ListRequest):
    """One call with its recipe, its shopper and its store."""

    store: StoreState
    recipe: Recipe
    context: ShopperContext
    eligible: EligibleItems
    recent: Sequence[int]
    num: int  # length of the list
    not_listable: frozenset[int]

    def companions_of_purchases(self) -> RankedItems:
        """Return what is bought together with the purchases that count beside the visit."""
        purchases, weights = (
            self.context.remembered_purchases,
            self.context.purchase_weights,
        )
        if not purchases:
            return NO_RANKED
        return self.store.models.widest.complete(purchases, MAX_CANDIDATES, weights)

    def with_interest_signals(self, candidates: RankedItems) -> RankedItems:
        """Return candidates with those of the shopper's searches and category views."""
        signals = self.context.interest_signals
        if not signals:
            return candidates
        language = self.store.settings.language
        return fuse_visit_with_interest_signals(
            candidates, signals, self.eligible, language
        )

    def best_sellers(self, limit: int) -> Iterable[int]:
        """Return visible items by the store's trending metric, above its minimum price."""
        prices = self.store.catalog.usual.prices
        min_price = self.store.settings.trending_min_price
        best_sellers = dict.fromkeys(islice(self.eligible.by_sales(), limit))
        if min_price <= 0:
            return best_sellers
        return [item for item in best_sellers if prices[item] >= min_price]

    def backfill_anchors(self) -> Sequence[int]:
        """Return the items whose categories fill the list up, most relevant first."""
        return backfill_anchors(self.context, self.eligible)

    def missing_bundle_parts(self) -> Iterable[int]:
        """Return the missing parts of the bundle that the list can show whole."""
        anchors, eligible = self.anchors, self.eligible
        rules = eligible.rules
        if rules is not None and np.isin(anchors, rules.excluded).any():
            return ()

        def may_list(item: int) -> bool:
            return item not in self.not_listable and eligible.may_show(item)

        return first_listable_missing_parts(
            self.store, anchors, self.now_ms, may_list, self.num
        )


def weights_of(recipe: Recipe, context: ShopperContext) -> Weights:
    """Return the engines of a list and their weights, before complements join them."""
    return (context.has_habits and recipe.habit_blend) or recipe.blend[context.page_type]


def generate_weights_and_candidates(
    call: StoreListRequest,
) -> tuple[Weights, tuple[RankedItems, ...]]:
    """Return the engines of a list, their weights and their candidates.

    Complements join a recipe that blends them, if any are known.
    """
    models, recipe, context = call.store.models, call.recipe, call.context

    def candidates_of(name: EngineName) -> RankedItems:
        return BY_NAME[name].candidates(models.by_engine[name], call)

    weights = weights_of(recipe, context)
    candidates = {name: candidates_of(name) for name in weights}
    blend = recipe.blend_with_complements.get(context.page_type)
    if blend is not None:
        complements = candidates_of(EngineName.COMPLEMENTARY)
        if len(complements.items):
            candidates[EngineName.COMPLEMENTARY] = complements
            weights = blend
    return weights, tuple([candidates[name] for name in weights])


def backfill_items(
    name: EngineName, eligible: EligibleItems, anchors: Sequence[int]
) -> Iterator[int]:
    """Yield what an engine fills a short list up with."""
    return BY_NAME[name].backfill(eligible.models.by_engine[name], eligible, anchors)


class FusedCandidates(NamedTuple):
    """The engines' candidates, best first, before any filter."""

    engines: tuple[EngineName, ...]
    items: Items  # [n] distinct item numbers
    scores: npt.NDArray[np.floating[Any]]  # [n] in falling order
    leaders: npt.NDArray[np.int8]  # [n] index of the item's engine in `engines`


def fuse_candidates(
    weights: Mapping[EngineName, float], candidates: Sequence[RankedItems]
) -> FusedCandidates:
    """Return every engine's candidates fused into one order.

    A single engine keeps its own scores. Several are fused by weighted reciprocal ranks
    and the support of their candidates, and a product is attributed to the engine with the
    largest share of its score.
    """
    engines = tuple(weights)
    if len(candidates) == 1:
        items, scores, _ = candidates[0]
        return FusedCandidates(engines, items, scores, np.zeros(len(items), dtype=np.int8))
    fused = fuse_lists(
        [ranked.items for ranked in candidates],
        tuple(weights.values()),
        [ranked.support for ranked in candidates],
    )
    return FusedCandidates(engines, *fused)
