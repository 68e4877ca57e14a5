"""Recommendation pipeline: candidates, fusion, re-ranking, filters, backfill, pins."""

import math
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

import numpy as np

from productrecs.engines.arrays import NO_RANKED, Ranked
from productrecs.features.recommendations.candidates import (
    FusedCandidates,
    StoreListRequest,
    backfill_items,
    effective_source,
    engine_request,
    fuse_candidates,
    generate_candidates,
)
from productrecs.features.recommendations.cooldown_and_fatigue import (
    backfill_anchors,
    cooldown_categories,
    discount_function,
    discounted_order,
    fatigue_factors,
    ignored_impressions,
)
from productrecs.features.recommendations.recipes import PageType, Recipe, recipe_of
from productrecs.features.recommendations.recommendation_request import (
    EngineName,
    Pick,
    RecommendationRequest,
)
from productrecs.features.recommendations.request_context import (
    ShopperContext,
    resolve_context,
    with_purchase_memory,
    with_purchases_due,
)
from productrecs.features.recommendations.reranking import (
    BACKFILL_SCORE,
    DiversityFilter,
    diverse_backfill,
    order_by_earnings,
    reserve_count,
    with_pins,
    within_limits,
)
from productrecs.features.recommendations.serving_state import (
    EligibleItems,
    StoreState,
    sold_out_anchor,
)
from productrecs.features.recommendations.sold_out_replacements import (
    ENGINES,
    leading_places,
    merge_leads,
    rank_replacements,
)
from productrecs.records.events.shopper_history_cache import ShopperHistory
from productrecs.records.merchandising.rule_book import ListRules

_REACH: Final = 3  # length of a list before limits, in lengths of the list after them


class Decision(NamedTuple):
    """A list, and every intermediate result behind it."""

    context: ShopperContext
    eligible: EligibleItems
    engine_request: StoreListRequest
    weights: Mapping[EngineName, float]
    candidates: tuple[Ranked, ...]  # of each engine in `weights`
    ranking: FusedCandidates  # the fused order after the store's rules
    not_listable: frozenset[int]  # never listed: anchors, excluded and bought items
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
    return decide(store, request, histories, now_ms).picks


def decide(
    store: StoreState,
    request: RecommendationRequest,
    histories: Sequence[ShopperHistory],
    now_ms: int,
) -> Decision:
    """Return the picks of `recommend`, with every intermediate result."""
    plan = request.plan
    recipe = recipe_of(effective_source(store, request), store.settings, plan)
    context, eligible = _context_and_eligible(store, request, recipe, histories, now_ms)
    not_listable = context.bought.union(
        context.anchors, store.catalog.numbers_of(request.excluded)
    )
    engine_call = engine_request(
        store, recipe, context, eligible, now_ms, request.num, not_listable
    )
    weights, candidates = generate_candidates(recipe, engine_call)
    fused = fuse_candidates(weights, candidates)
    if recipe.is_whole:
        picks = _eligible_picks(
            fused, context, eligible, not_listable, request.num, is_varied=False
        )
        return Decision(
            context, eligible, engine_call, weights, candidates, fused, not_listable, picks
        )
    ranking = _with_rules_and_fatigue(fused, eligible.rules, context.fatigue)
    is_limited = plan is not None and plan.is_limited
    reach = _REACH * request.num if is_limited else request.num + reserve_count(store)
    picks = _eligible_picks(
        ranking, context, eligible, not_listable, reach, is_varied=recipe.is_varied
    )
    replacements: list[Pick] = []
    if (sold_out := sold_out_anchor(store, request, now_ms)) is not None:
        visit = dict(zip(weights, candidates, strict=True)).get(
            EngineName.BROWSE, NO_RANKED
        )
        replacement_candidates = FusedCandidates(
            ENGINES, *rank_replacements(store, eligible, sold_out, visit, now_ms)
        )
        replacement_candidates = _with_rules_and_fatigue(
            replacement_candidates, eligible.rules, context.fatigue
        )
        replacements = _replacement_picks(
            replacement_candidates, picks, not_listable, leading_places(request.num)
        )
        picks = merge_leads(replacements, picks, reach)
    picks += _backfill(recipe, context, eligible, not_listable, picks, reach)
    picks = order_by_earnings(store, picks, len(replacements))
    if plan is not None and plan.is_limited:
        picks = within_limits(picks, eligible, plan)
    picks = picks[: request.num]
    if eligible.rules is not None and eligible.rules.pins:
        picks = _apply_pins(
            eligible,
            ranking,
            not_listable,
            picks,
            request.num,
            may_add=bool(recipe.backfill),
        )
    return Decision(
        context,
        eligible,
        engine_call,
        weights,
        candidates,
        ranking,
        not_listable,
        picks,
        replacements=frozenset(pick.item for pick in replacements),
    )


def _context_and_eligible(
    store: StoreState,
    request: RecommendationRequest,
    recipe: Recipe,
    histories: Sequence[ShopperHistory],
    now_ms: int,
) -> tuple[ShopperContext, EligibleItems]:
    """Return the context that the recipe needs, and the eligible items."""
    context = resolve_context(store, request, histories, now_ms)
    if recipe.has_fatigue and (ignored := ignored_impressions(histories, now_ms)):
        context = context._replace(ignored=ignored, fatigue=fatigue_factors(ignored))
    if recipe.uses_purchase_memory and context.page_type is PageType.SHOPPER:
        context = with_purchase_memory(context, histories)
    if recipe.rebuys:
        context = with_purchases_due(store, context, histories, now_ms)
    eligible = store.eligible(
        now_ms, context.page_type, request.ruled_source, request.filters, request.plan
    )
    if recipe.has_cooldown and (
        cooldown := cooldown_categories(eligible, context, histories, now_ms)
    ):
        context = context._replace(cooldown=cooldown)
    return context, eligible


def _with_rules_and_fatigue(
    ranking: FusedCandidates, rules: ListRules | None, fatigue: Mapping[int, float]
) -> FusedCandidates:
    """Return the order after the rules' boosts and impression fatigue.

    Ties keep their order.
    """
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
    ranking: FusedCandidates,
    context: ShopperContext,
    eligible: EligibleItems,
    not_listable: Container[int],
    num: int,
    *,
    is_varied: bool,
) -> list[Pick]:
    """Return the first `num` eligible items, diversified if `is_varied`."""
    items: list[int] = ranking.items.tolist()
    if is_varied:
        diversity = DiversityFilter(eligible, num, context.anchors, context.page_type)
        places = diversity.choose(items, not_listable, context.cooldown)
    else:
        eligible_places = (
            place
            for place, item in enumerate(items)
            if item not in not_listable
            and eligible.may_show(item)
            and eligible.narrowest[item] not in context.cooldown
        )
        places = list(islice(eligible_places, num))
    end = max(places, default=-1) + 1
    scores: list[float] = ranking.scores[:end].tolist()
    leaders, engines = ranking.leaders[:end].tolist(), ranking.engines
    picks: list[Pick] = []
    lowest = math.inf
    for place in places:
        score = scores[place]
        lowest = score if score < lowest else lowest
        picks.append(Pick(items[place], engines[leaders[place]], lowest))
    return picks


def _replacement_picks(
    candidates: FusedCandidates,
    picks: Sequence[Pick],
    not_listable: Container[int],
    limit: int,
) -> list[Pick]:
    """Return up to `limit` replacements, with scores above those of `picks`."""
    pairs = zip(candidates.items.tolist(), candidates.leaders.tolist(), strict=True)
    leads = list(islice((pair for pair in pairs if pair[0] not in not_listable), limit))
    score = picks[0].score if picks else BACKFILL_SCORE
    return [
        Pick(item, candidates.engines[leader_index], score * 1.05 ** (len(leads) - rank))
        for rank, (item, leader_index) in enumerate(leads)
    ]


def _backfill(
    recipe: Recipe,
    context: ShopperContext,
    eligible: EligibleItems,
    not_listable: frozenset[int],
    picks: list[Pick],
    num: int,
) -> list[Pick]:
    """Return the backfill of `picks`, up to `num` items together."""
    if len(picks) >= num or not recipe.backfill:
        return []
    anchors = backfill_anchors(context, eligible)
    discount = discount_function(context, eligible)
    listed = set(not_listable)
    listed.update([pick.item for pick in picks])
    score = min([BACKFILL_SCORE] + [pick.score for pick in picks])
    diversity = DiversityFilter(eligible, num, context.anchors, context.page_type)
    diversity.add_listed([pick.item for pick in picks])
    added: list[Pick] = []
    skipped_categories = context.cooldown if context.page_type is PageType.CART else ()
    for engine in recipe.backfill:
        head_size = num + len(listed) + len(context.fatigue)
        candidates = discounted_order(
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
            backfill = diverse_backfill(
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
    eligible: EligibleItems,
    ranking: FusedCandidates,
    not_listable: Container[int],
    picks: list[Pick],
    num: int,
    *,
    may_add: bool,
) -> list[Pick]:
    """Return `picks` with pins at their positions, up to `num`.

    `buy` has no backfill, so its pins only move items (`may_add` is False).
    """
    engines = {pick.item: pick.engine for pick in picks}
    leader_by_item = dict(
        zip(ranking.items.tolist(), ranking.leaders.tolist(), strict=True)
    )
    pins: list[tuple[int, Pick]] = []
    for place, item in eligible.rules.pins if eligible.rules is not None else ():
        if item in not_listable or not eligible.may_show(item):
            continue
        if item in leader_by_item:
            engine = engines.get(item, ranking.engines[leader_by_item[item]])
        elif may_add:
            engine = engines.get(item, EngineName.TRENDING)
        else:
            continue
        pins.append((place, Pick(item, engine, BACKFILL_SCORE)))
    return with_pins(picks, pins, num)
