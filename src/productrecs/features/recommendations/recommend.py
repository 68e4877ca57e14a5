"""Recommendation pipeline: candidates, fusion, re-ranking, filters, backfill, pins."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

import numpy as np

from productrecs.engines.array_types_and_sorting import NO_RANKED, RankedItems
from productrecs.features.recommendations.candidates import (
    FusedCandidates,
    StoreListRequest,
    backfill_items,
    effective_source,
    fuse_candidates,
    generate_weights_and_candidates,
    weights_of,
)
from productrecs.features.recommendations.cooldown_and_fatigue import (
    build_discount_function,
    cooldown_categories,
    fatigue_factors,
    ignored_impressions_by_item,
    order_head_by_discount,
)
from productrecs.features.recommendations.recommendation_request import (
    EngineName,
    Pick,
    RecommendationRequest,
)
from productrecs.features.recommendations.request_context import (
    ShopperContext,
    context_basket,
    context_visit,
    resolve_context,
    with_purchases_due,
    with_remembered_purchases,
)
from productrecs.features.recommendations.reranking import (
    BACKFILL_SCORE,
    DiversityFilter,
    diversify_backfill,
    order_by_store_earnings,
    picks_within_limits,
    place_pins,
    reserve_count,
)
from productrecs.features.recommendations.serving_state import (
    EligibleItems,
    StoreState,
    sold_out_anchor,
)
from productrecs.features.recommendations.sold_out_replacements import (
    ENGINES,
    leading_places,
    put_leads_first,
    rank_replacements,
)
from productrecs.features.recommendations.source_recipes import (
    PageType,
    Recipe,
    choose_recipe,
)
from productrecs.records.events.shopper_history_cache import ShopperHistory

_REACH: Final = 3  # length of a list before limits, in lengths of the list after them


class ListDecision(NamedTuple):
    """A list, and every intermediate result behind it."""

    call: StoreListRequest
    weights: Mapping[EngineName, float]
    candidates: tuple[RankedItems, ...]  # of each engine in `weights`
    ranking: FusedCandidates  # the fused order after the store's rules
    picks: list[Pick]
    replacements: frozenset[int] = frozenset()  # of a sold-out anchor; they come first


def recommend(
    store: StoreState,
    request: RecommendationRequest,
    histories: Sequence[ShopperHistory],
    now_ms: int,
) -> list[Pick]:
    """Return up to `request.num` picks, best first, by falling score.

    They never include anchors, items that the call excludes, or (unless repeats are
    allowed) items that the shopper bought. All are visible at `now_ms` and none is excluded
    by a rule. `buy` may return fewer, even none; other sources return fewer only if the
    catalog has no more.
    """
    return decide_list(store, request, histories, now_ms).picks


def decide_list(
    store: StoreState,
    request: RecommendationRequest,
    histories: Sequence[ShopperHistory],
    now_ms: int,
) -> ListDecision:
    """Return the picks of `recommend`, with every intermediate result."""
    plan, num = request.plan, request.num
    call = _build_list_request(store, request, histories, now_ms)
    recipe, eligible = call.recipe, call.eligible
    weights, candidates = generate_weights_and_candidates(call)
    fused = fuse_candidates(weights, candidates)
    if recipe.is_whole:
        picks = _eligible_picks(call, fused, num, is_varied=False)
        return ListDecision(call, weights, candidates, fused, picks)
    ranking = _apply_boosts_and_fatigue(call, fused)
    is_limited = plan is not None and plan.is_limited
    reach = _REACH * num if is_limited else num + reserve_count(store)
    picks = _eligible_picks(call, ranking, reach, is_varied=recipe.is_varied)
    replacements: list[Pick] = []
    if (sold_out := sold_out_anchor(store, request, now_ms)) is not None:
        by_engine = dict(zip(weights, candidates, strict=True))
        visit = by_engine.get(EngineName.BROWSE, NO_RANKED)
        ranked = rank_replacements(store, eligible, sold_out, visit, now_ms)
        ordered = _apply_boosts_and_fatigue(call, FusedCandidates(ENGINES, *ranked))
        replacements = _replacement_picks(call, ordered, picks)
        picks = put_leads_first(replacements, picks, reach)
    picks += _backfill_picks(call, picks, reach)
    picks = order_by_store_earnings(store, picks, len(replacements))
    if plan is not None and plan.is_limited:
        picks = picks_within_limits(picks, eligible, plan)
    picks = picks[:num]
    if eligible.rules is not None and eligible.rules.pins:
        picks = _apply_pins(call, ranking, picks)
    replaced = frozenset(pick.item for pick in replacements)
    return ListDecision(call, weights, candidates, ranking, picks, replaced)


def _build_list_request(
    store: StoreState,
    request: RecommendationRequest,
    histories: Sequence[ShopperHistory],
    now_ms: int,
) -> StoreListRequest:
    """Return what a call asks of the engines and of every later step."""
    recipe = choose_recipe(effective_source(store, request), store.settings, request.plan)
    context, eligible = _context_and_eligible_items(
        store, request, recipe, histories, now_ms
    )
    excluded = store.catalog.numbers_of(request.excluded)
    return StoreListRequest(
        store=store,
        recipe=recipe,
        context=context,
        eligible=eligible,
        num=request.num,
        not_listable=context.bought.union(context.anchors, excluded),
        now_ms=now_ms,
        anchors=context.anchors,
        basket=context_basket(context),
        visit=context_visit(context),
        recent=context.recent,
        is_only_engine=len(weights_of(recipe, context)) == 1,
        pools_variants=recipe.pools_variants,
        visitor=context.visitor,
        interactions=context.interactions,
        rebuyable=context.rebuyable,
    )


def _context_and_eligible_items(
    store: StoreState,
    request: RecommendationRequest,
    recipe: Recipe,
    histories: Sequence[ShopperHistory],
    now_ms: int,
) -> tuple[ShopperContext, EligibleItems]:
    """Return the context that the recipe needs, and the eligible items."""
    context = resolve_context(store, request, histories, now_ms)
    if recipe.has_fatigue and (ignored := ignored_impressions_by_item(histories, now_ms)):
        context = context._replace(ignored=ignored, fatigue=fatigue_factors(ignored))
    if recipe.uses_purchase_memory and context.page_type is PageType.SHOPPER:
        context = with_remembered_purchases(context, histories)
    if recipe.rebuys:
        context = with_purchases_due(store, context, histories, now_ms)
    eligible = store.eligible_items(
        now_ms, context.page_type, request.ruled_source, request.filters, request.plan
    )
    if recipe.has_cooldown and (
        cooldown := cooldown_categories(eligible, context, histories, now_ms)
    ):
        context = context._replace(cooldown=cooldown)
    return context, eligible


def _apply_boosts_and_fatigue(
    call: StoreListRequest, ranking: FusedCandidates
) -> FusedCandidates:
    """Return the order after the rules' boosts and impression fatigue.

    Ties keep their order.
    """
    rules, fatigue = call.eligible.rules, call.context.fatigue
    factors = None if rules is None else rules.factors
    if factors is None and not fatigue:
        return ranking
    engines, items, scores, leaders = ranking
    if factors is not None:
        scores = factors.take(items, mode="clip") * scores
    if fatigue:
        scores = np.array([fatigue.get(item, 1.0) for item in items.tolist()]) * scores
    order = (-scores).argsort(kind="stable")
    return FusedCandidates(engines, items[order], scores[order], leaders[order])


def _eligible_picks(
    call: StoreListRequest, ranking: FusedCandidates, num: int, *, is_varied: bool
) -> list[Pick]:
    """Return the first `num` eligible items, diversified if `is_varied`."""
    context, eligible, not_listable = call.context, call.eligible, call.not_listable
    items: list[int] = ranking.items.tolist()
    if is_varied:
        diversity = DiversityFilter(eligible, num, context.anchors, context.page_type)
        indexes = diversity.choose_positions(items, not_listable, context.cooldown)
    else:
        eligible_indexes = (
            index
            for index, item in enumerate(items)
            if item not in not_listable
            and eligible.may_show(item)
            and eligible.narrowest[item] not in context.cooldown
        )
        indexes = list(islice(eligible_indexes, num))
    end = max(indexes, default=-1) + 1
    scores: list[float] = ranking.scores[:end].tolist()
    leaders, engines = ranking.leaders[:end].tolist(), ranking.engines
    picks: list[Pick] = []
    lowest = math.inf
    for index in indexes:
        score = scores[index]
        lowest = score if score < lowest else lowest
        picks.append(Pick(items[index], engines[leaders[index]], lowest))
    return picks


def _replacement_picks(
    call: StoreListRequest, candidates: FusedCandidates, picks: Sequence[Pick]
) -> list[Pick]:
    """Return the leading replacements, with scores above those of `picks`."""
    pairs = zip(candidates.items.tolist(), candidates.leaders.tolist(), strict=True)
    listable = (pair for pair in pairs if pair[0] not in call.not_listable)
    leads = list(islice(listable, leading_places(call.num)))
    score = picks[0].score if picks else BACKFILL_SCORE
    return [
        Pick(item, candidates.engines[leader_index], score * 1.05 ** (len(leads) - rank))
        for rank, (item, leader_index) in enumerate(leads)
    ]


def _backfill_picks(call: StoreListRequest, picks: list[Pick], num: int) -> list[Pick]:
    """Return the backfill of `picks`, up to `num` items together."""
    recipe, context, eligible = call.recipe, call.context, call.eligible
    if len(picks) >= num or not recipe.backfill:
        return []
    anchors = call.backfill_anchors()
    discount = build_discount_function(context, eligible)
    listed = set(call.not_listable)
    listed.update([pick.item for pick in picks])
    score = min([BACKFILL_SCORE] + [pick.score for pick in picks])
    diversity = DiversityFilter(eligible, num, context.anchors, context.page_type)
    diversity.add_listed([pick.item for pick in picks])
    added: list[Pick] = []
    skipped_categories = context.cooldown if context.page_type is PageType.CART else ()
    for engine in recipe.backfill:
        head_size = num + len(listed) + len(context.fatigue)
        candidates = order_head_by_discount(
            backfill_items(engine, eligible, anchors), discount, head_size
        )
        backfill: Iterator[int] = (item for item in candidates if item not in listed)
        if skipped_categories and engine is not EngineName.TRENDING:
            backfill = (
                item
                for item in backfill
                if eligible.narrowest[item] not in skipped_categories
            )
        if recipe.is_varied:
            ignore_categories = engine is not EngineName.TRENDING
            backfill = diversify_backfill(
                backfill, diversity, ignore_categories=ignore_categories
            )
        for item in backfill:
            if len(picks) + len(added) == num:
                return added
            if item not in listed:
                listed.add(item)
                score *= 0.9
                added.append(Pick(item, engine, score))
    return added


def _apply_pins(
    call: StoreListRequest, ranking: FusedCandidates, picks: list[Pick]
) -> list[Pick]:
    """Return `picks` with pins at their positions.

    `buy` has no backfill, so its pins only move items.
    """
    eligible, may_add = call.eligible, bool(call.recipe.backfill)
    engines = {pick.item: pick.engine for pick in picks}
    leader_by_item = dict(
        zip(ranking.items.tolist(), ranking.leaders.tolist(), strict=True)
    )
    pins: list[tuple[int, Pick]] = []
    for position, item in eligible.rules.pins if eligible.rules is not None else ():
        if item in call.not_listable or not eligible.may_show(item):
            continue
        if item in leader_by_item:
            engine = engines.get(item, ranking.engines[leader_by_item[item]])
        elif may_add:
            engine = engines.get(item, EngineName.TRENDING)
        else:
            continue
        pins.append((position, Pick(item, engine, BACKFILL_SCORE)))
    return place_pins(picks, pins, call.num)
