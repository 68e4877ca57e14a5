"""Candidate generation: the candidates of each engine for one request, and the backfill."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from productrecs.engines.arrays import NO_RANKED, Items, Ranked
from productrecs.engines.fusion import RANK_OFFSET, fuse
from productrecs.features.recommendations.bundles import listable_parts
from productrecs.features.recommendations.recipes import PageType, Recipe
from productrecs.features.recommendations.recommendation_request import (
    EngineName,
    RecommendationRequest,
    Source,
)
from productrecs.features.recommendations.request_context import (
    MAX_CANDIDATES,
    ShopperContext,
    context_basket,
    context_visit,
    with_interest_signals,
)
from productrecs.features.recommendations.serving_state import (
    Basket,
    BasketCandidates,
    EligibleItems,
    StoreState,
    Weights,
)
from productrecs.training.engine_specs import ENGINES

_MIN_NEIGHBOURS: Final = 20
"""Minimum number of visible precomputed neighbours; with fewer, all items are searched."""

_MAX_ANCHORS: Final = 5


def effective_source(store: StoreState, request: RecommendationRequest) -> Source:
    """Return the source that is used: `mix` for `similar` when its item has no picture."""
    if request.source is not Source.SIMILAR:
        return request.source
    number = store.catalog.number(request.item_id or "")
    has_picture = number is not None and store.models.visual.row_of(number) is not None
    return Source.SIMILAR if has_picture else Source.MIX


def certain_companions(
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


def similar_items(eligible: EligibleItems, anchors: Sequence[int]) -> Ranked:
    """Return visible items that look like the first anchor, best first."""
    if not anchors:
        return NO_RANKED
    visual = eligible.models.visual
    precomputed = visual.similar_to_item(anchors[0])
    visible_count = sum(eligible.may_show(item) for item in precomputed.items.tolist())
    if visible_count >= min(_MIN_NEIGHBOURS, len(precomputed.items)) and visible_count:
        return precomputed
    return visual.similar_to_item_exhaustive(anchors[0], _MIN_NEIGHBOURS, eligible.visible)


def items_similar_to_each(eligible: EligibleItems, anchors: Sequence[int]) -> Iterator[int]:
    """Yield items that look like the anchors, those similar to several anchors first."""
    visual = eligible.models.visual
    if not len(visual):
        return
    neighbours = [visual.similar_to_item(anchor) for anchor in anchors[:_MAX_ANCHORS]]
    if not any(len(ranked.items) for ranked in neighbours):
        return
    items = np.concatenate([ranked.items for ranked in neighbours])
    scores = np.concatenate([ranked.scores for ranked in neighbours])
    distinct, item_index = np.unique(items, return_inverse=True)
    totals = np.bincount(item_index, scores)
    for index in np.lexsort((distinct, -totals)).tolist():
        item = int(distinct[index])
        if eligible.may_show(item):
            yield item


_MAX_CATEGORIES: Final = 6

Backfill = Callable[[EligibleItems, Sequence[int]], Iterator[int]]


def category_items(eligible: EligibleItems, anchors: Sequence[int]) -> Iterator[int]:
    """Yield the top items of the anchors' categories, the narrowest category first."""
    for name in narrowest_categories(eligible, anchors):
        yield from eligible.best_of_category(name)


def narrowest_categories(eligible: EligibleItems, anchors: Sequence[int]) -> list[str]:
    """Return up to six categories of the anchors, those with the fewest items first."""
    catalog = eligible.catalog
    sizes = {
        name: len(catalog.members.get(name, ()))
        for anchor in anchors
        if anchor < len(catalog)
        for name in catalog.categories[anchor]
    }
    return sorted(sizes, key=lambda name: (sizes[name], name))[:_MAX_CATEGORIES]


def trending_items(eligible: EligibleItems, _anchors: Sequence[int] = ()) -> Iterator[int]:
    """Yield trending items, then the rest of the catalog, the newest first."""
    return eligible.trending()


BACKFILLS: Final[Mapping[EngineName, Backfill]] = MappingProxyType(
    {
        EngineName.SIMILAR: items_similar_to_each,
        EngineName.CATEGORY: category_items,
        EngineName.TRENDING: trending_items,
    }
)


# Weight of purchases relative to the visit (algorithms.md 4.2)
_PURCHASE_MEMORY_WEIGHT: Final = 0.6
_MAX_LENGTH: Final = 400  # maximum length of an order that the whole store shares
_COMPANION_WEIGHT: Final = 0.3  # weight relative to repurchased items


class CandidateCall(NamedTuple):
    """The arguments of candidate generation for one request."""

    store: StoreState
    recipe: Recipe
    context: ShopperContext
    eligible: EligibleItems
    now_ms: int
    is_only_engine: bool  # no other engine supplies candidates
    num: int  # length of the list
    not_listable: frozenset[int]


Candidates = Callable[[CandidateCall], Ranked]


def _browse_candidates(call: CandidateCall) -> Ranked:
    """Return next items of similar visits, and items that match the shopper's interests."""
    store, context = call.store, call.context
    visit, candidates = context_visit(context), NO_RANKED
    if visit:
        candidates = store.models.sessions.next_items(
            visit,
            call.now_ms,
            MAX_CANDIDATES,
            context.visitor,
            context.interactions,
            extend=call.is_only_engine,
        )
    if context.remembered_purchases:
        candidates = _fuse_purchase_memory(store, candidates, context)
    if not context.interest_signals:
        return candidates
    return with_interest_signals(
        candidates, context.interest_signals, call.eligible, store.settings.language
    )


def _fuse_purchase_memory(
    store: StoreState, candidates: Ranked, context: ShopperContext
) -> Ranked:
    """Return candidates of a visit, merged with those of all the shopper's purchases."""
    purchases, weights = context.remembered_purchases, context.purchase_weights
    companions = store.models.widest.complete(purchases, MAX_CANDIDATES, weights)
    if not len(companions.items):
        return candidates
    fused = fuse([candidates.items, companions.items], (1.0, _PURCHASE_MEMORY_WEIGHT))
    return Ranked(fused.items, fused.scores.astype(np.float32))


def _buy_candidates(call: CandidateCall) -> Ranked:
    """Return items bought together with the request's items.

    The recipe may add pairs of their variants and the items that the shopper rebuys.
    """
    companions, context = call.store.companions, call.context
    basket = context_basket(context)
    if not call.recipe.pools_variants:
        return companions.copurchases(basket)
    copurchases, rebuyable = companions.pooled_copurchases(basket), context.rebuyable
    if not len(rebuyable.items):
        return copurchases
    fused = fuse([rebuyable.items, copurchases.items], (1.0, _COMPANION_WEIGHT))
    return Ranked(fused.items, fused.scores.astype(np.float32))


def _complementary_candidates(call: CandidateCall) -> Ranked:
    return call.store.companions.complements(call.context.anchors)


def _similar_candidates(call: CandidateCall) -> Ranked:
    return similar_items(call.eligible, call.context.anchors)


def _recently_viewed_candidates(call: CandidateCall) -> Ranked:
    """Return the shopper's latest items, newest first."""
    return _ranked_by_position(dict.fromkeys(reversed(call.context.recent)))


def _due_candidates(call: CandidateCall) -> Ranked:
    return call.context.rebuyable


def _new_candidates(call: CandidateCall) -> Ranked:
    """Return the newest visible items."""
    visible, newest = call.eligible.visible, call.store.catalog.newest()
    newest = newest[newest < len(visible)]
    return _ranked_by_position(newest[visible[newest]][:_MAX_LENGTH].tolist())


def _bundle_candidates(call: CandidateCall) -> Ranked:
    """Return the other parts of a bundle that the list can show whole, in their order."""
    anchors, eligible = call.context.anchors, call.eligible
    rules = eligible.rules
    if rules is not None and np.isin(anchors, rules.excluded).any():
        return NO_RANKED

    def may_list(item: int) -> bool:
        return item not in call.not_listable and eligible.may_show(item)

    return _ranked_by_position(
        listable_parts(call.store, anchors, call.now_ms, may_list, call.num)
    )


def _best_seller_candidates(call: CandidateCall) -> Ranked:
    """Return visible items by the store's trending metric, above its minimum price."""
    prices = call.store.catalog.usual.prices
    min_price = call.store.settings.trending_min_price
    best_sellers = dict.fromkeys(islice(call.eligible.by_sales(), _MAX_LENGTH))
    if min_price > 0:
        best_sellers = dict.fromkeys(
            item for item in best_sellers if prices[item] >= min_price
        )
    return _ranked_by_position(best_sellers)


def _ranked_by_position(items: Iterable[int]) -> Ranked:
    """Return items with scores by rank, as in the fusion."""
    item_array = np.fromiter(items, np.int32)
    scores = 1.0 / (RANK_OFFSET + np.arange(len(item_array)))
    return Ranked(item_array, scores.astype(np.float32))


def _candidates_by_engine() -> dict[str, Candidates]:
    """Return the candidate function of each engine of the registry.

    Raises:
        ValueError: when an engine has none.
    """
    table: dict[str, Candidates] = {
        EngineName.BUY: _buy_candidates,
        EngineName.BROWSE: _browse_candidates,
        EngineName.COMPLEMENTARY: _complementary_candidates,
        EngineName.SIMILAR: _similar_candidates,
        EngineName.TRENDING: _best_seller_candidates,
        EngineName.RECENTLY_VIEWED: _recently_viewed_candidates,
        EngineName.BUY_AGAIN: _due_candidates,
        EngineName.NEW: _new_candidates,
        EngineName.BUNDLE: _bundle_candidates,
    }
    backfills: Mapping[Any, object] = BACKFILLS
    for spec in ENGINES:
        if spec.name not in (backfills if spec.is_filler else table):
            message = f"engine {spec.name!r}: no candidate function"
            raise ValueError(message)
    return table


CANDIDATES: Final[Mapping[str, Candidates]] = MappingProxyType(_candidates_by_engine())


class FusedCandidates(NamedTuple):
    """The engines' candidates, best first, before any filter."""

    engines: tuple[EngineName, ...]
    items: Items  # [n] distinct item numbers
    scores: npt.NDArray[np.floating[Any]]  # [n] in falling order
    leaders: npt.NDArray[np.int8]  # [n] index of the item's engine in `engines`


def fuse_candidates(
    weights: Mapping[EngineName, float], candidates: Sequence[Ranked]
) -> FusedCandidates:
    """Return every engine's candidates fused into one order.

    A single engine keeps its own scores. Several are fused by weighted reciprocal ranks,
    and a product is attributed to the engine with the largest share of its score.
    """
    engines = tuple(weights)
    if len(candidates) == 1:
        items, scores = candidates[0]
        return FusedCandidates(engines, items, scores, np.zeros(len(items), dtype=np.int8))
    fused = fuse([ranked.items for ranked in candidates], tuple(weights.values()))
    return FusedCandidates(engines, *fused)


def with_complements(
    companions: BasketCandidates,
    recipe: Recipe,
    page_type: PageType,
    basket: Basket,
    by_engine: Mapping[EngineName, Ranked],
) -> tuple[Weights, tuple[Ranked, ...]]:
    """Return the engines of a list about a basket, their weights and their candidates.

    `by_engine` has the candidates of the recipe's other engines. They are used alone if no
    complements are known.
    """
    weights = recipe.blend[page_type]
    blend = (recipe.blend_with_complements or {}).get(page_type)
    if blend is not None:
        complements = companions.complements(basket)
        if len(complements.items):
            weights = blend
            by_engine = {**by_engine, EngineName.COMPLEMENTARY: complements}
    return weights, tuple([by_engine[engine] for engine in weights])
