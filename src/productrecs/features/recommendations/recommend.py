"""Which products fit? Engines propose, the catalog strikes out, fills complete."""

import math
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from productrecs.engines.contract import NOTHING, Items, Ranked
from productrecs.engines.fusion import fuse
from productrecs.features.recommendations.complements import with_complements
from productrecs.features.recommendations.exploration import (
    Try,
    day_of_tries,
    draw_of,
    try_of,
)
from productrecs.features.recommendations.fatigue import rested, tired_of, untaken_by
from productrecs.features.recommendations.fill import FILLERS
from productrecs.features.recommendations.likeness import answered_source, looks_like
from productrecs.features.recommendations.ordering import Asked, learned_order
from productrecs.features.recommendations.pins import FILL_SCORE, with_pins
from productrecs.features.recommendations.request import Engine, Pick, RecommendationRequest
from productrecs.features.recommendations.resting import (
    filling_anchors,
    resting_categories,
    sinking_of,
)
from productrecs.features.recommendations.shelf import Shelf
from productrecs.features.recommendations.shop import Shop
from productrecs.features.recommendations.signs import with_signs
from productrecs.features.recommendations.situation import (
    CANDIDATES,
    Situation,
    basket_of,
    remembering,
    understand,
    visit_of,
)
from productrecs.features.recommendations.sources import Placement, Recipe, recipe_of
from productrecs.features.recommendations.variety import Variety, filling
from productrecs.records.merchandising.book import ListRules
from productrecs.records.orders.history import History

_REMEMBERED: Final = 0.6  # weight of purchases beside the visit (algorithms.md 4.2)
_COMPANIONS: Final = 0.3  # weight beside what is bought again


class Ranking(NamedTuple):
    """What the engines propose, best first, nothing struck out yet."""

    engines: tuple[Engine, ...]
    items: Items  # [n] distinct item numbers
    scores: npt.NDArray[np.floating[Any]]  # [n] falling
    leaders: npt.NDArray[np.int8]  # [n] places in `engines`: who supplied it


class Decision(NamedTuple):
    """A list, and all that led to it."""

    situation: Situation
    shelf: Shelf
    weights: Mapping[Engine, float]
    proposals: tuple[Ranked, ...]  # of each engine in `weights`
    ranking: Ranking  # in one order, as the store's rules weigh it
    refused: frozenset[int]  # never in this list: anchors, excluded, bought
    picks: list[Pick]
    tried: Try | None = None  # a new product that the list has a place for
    is_learned: bool = False  # whether clicks ordered what the engines proposed


def recommend(
    shop: Shop,
    request: RecommendationRequest,
    histories: Sequence[History],
    now_ms: int,
    note: Callable[[Decision], None] | None = None,
) -> list[Pick]:
    """Return up to `request.num` picks, best first, their scores falling.

    Anchors are never among them, nor what the call excludes, nor (unless repeats are
    allowed) what the shopper bought; all are visible at `now_ms` and none is excluded by a
    rule. `buy` may return fewer, down to none; the other sources return fewer only when the
    catalog has no more to show. `note` is told all that led to them.
    """
    decision = decide(shop, request, histories, now_ms)
    if note is not None:
        note(decision)
    return decision.picks


def decide(
    shop: Shop, request: RecommendationRequest, histories: Sequence[History], now_ms: int
) -> Decision:
    """Return what `recommend` returns, with all that led to it."""
    recipe = recipe_of(answered_source(shop, request), shop.settings)
    situation, shelf = _understood(shop, request, recipe, histories, now_ms)
    refused = situation.bought.union(
        situation.anchors, shop.catalog.numbers_of(request.excluded)
    )
    weights, proposals = _proposed(shop, recipe, situation, shelf, now_ms)
    blended = _blended(weights, proposals)
    ordered = None
    if recipe.learns and shop.settings.learned_order:
        ordered = _learned(blended, proposals, situation, shelf, (request.num, now_ms))
    ranking = _weighted(ordered or blended, shelf.rules, situation.tired)
    picks = _shown(ranking, situation, shelf, refused, (request.num, recipe.is_varied))
    if len(picks) < request.num and recipe.fill:
        picks += _filled(recipe, situation, shelf, (refused, picks, request.num))
    if shelf.rules is not None and shelf.rules.pins:
        picks = _pinned(shelf, ranking, refused, (picks, request.num, bool(recipe.fill)))
    tried = None
    if recipe.explores and situation.placement is not Placement.CART:
        shown = min(request.shown or request.num, request.num)
        barred = refused.union(pick.item for pick in picks[shown:])
        tried = _tried(shop, situation, shelf, (picks[:shown], shown, barred), now_ms)
    if tried is not None:
        picks[tried.place] = tried.pick
    return Decision(
        situation,
        shelf,
        weights,
        proposals,
        ranking,
        refused,
        picks,
        tried,
        is_learned=ordered is not None,
    )


def _understood(
    shop: Shop,
    request: RecommendationRequest,
    recipe: Recipe,
    histories: Sequence[History],
    now_ms: int,
) -> tuple[Situation, Shelf]:
    """Return what a call is about, as far as its recipe asks, and what may be shown."""
    situation = understand(shop, request, histories, now_ms)
    if recipe.tires and (untaken := untaken_by(histories, now_ms)):
        situation = situation._replace(untaken=untaken, tired=tired_of(untaken))
    if recipe.remembers and situation.placement is Placement.SHOPPER:
        situation = remembering(situation, histories)
    shelf = shop.shelf(now_ms, situation.placement, request.source)
    if recipe.rests and (
        resting := resting_categories(shelf, histories, situation.anchors, now_ms)
    ):
        situation = situation._replace(resting=resting)
    return situation, shelf


def _proposed(
    shop: Shop, recipe: Recipe, situation: Situation, shelf: Shelf, now_ms: int
) -> tuple[Mapping[Engine, float], tuple[Ranked, ...]]:
    """Return each engine's candidates, and how much it counts."""
    place = situation.placement
    weights = (situation.has_habits and recipe.habit) or recipe.blend[place]
    is_alone = len(weights) == 1  # nobody else has better to say than what comes later
    proposals = tuple(
        [
            _bought_candidates(shop, recipe, situation)
            if one is Engine.BUY
            else _candidates(shop, one, situation, shelf, now_ms, is_alone=is_alone)
            for one in weights
        ]
    )
    if recipe.completing is None or place not in recipe.completing:
        return weights, proposals
    found = dict(zip(weights, proposals, strict=True))
    return with_complements(shop.companions, recipe, place, situation.anchors, found)


def _blended(weights: Mapping[Engine, float], proposals: Sequence[Ranked]) -> Ranking:
    """Return every engine's candidates in one order.

    One engine keeps its own scores; several are blended by weighted reciprocal ranks, and
    a product's engine is the one with the largest share in it.
    """
    engines = tuple(weights)
    if len(proposals) == 1:
        items, scores = proposals[0]
        return Ranking(engines, items, scores, np.zeros(len(items), dtype=np.int8))
    fused = fuse([one.items for one in proposals], tuple(weights.values()))
    return Ranking(engines, *fused)


def _learned(
    ranking: Ranking,
    proposals: Sequence[Ranked],
    situation: Situation,
    shelf: Shelf,
    wanted: tuple[int, int],
) -> Ranking | None:
    """Return the order that the store's clicks teach; None where they teach none.

    The scores stay where they were: each product gets that of its new place, so that rules
    weigh it as ever. `wanted` is how many products, and the moment.
    """
    if not len(shelf.models.trees) or situation.placement is Placement.CART:
        return None
    engines, items, scores, leaders = ranking
    asked = Asked(
        dict(zip(engines, (one.items for one in proposals), strict=True)),
        next(iter(situation.anchors or situation.recent[::-1]), None),
        situation.recent,
        situation.untaken,
        *wanted,
    )
    order = learned_order(shelf, items, np.asarray(scores, np.float64), asked)
    if order is None:
        return None
    return Ranking(engines, items[order], scores, leaders[order])


def _weighted(
    ranking: Ranking, rules: ListRules | None, tired: Mapping[int, float]
) -> Ranking:
    """Return the order as rules boost and bury, and a shopper tires of what they saw.

    Equals keep their places.
    """
    factors = None if rules is None else rules.factors
    if factors is None and not tired:
        return ranking
    engines, items, scores, leaders = ranking
    if factors is not None:
        scores = factors.take(items, mode="clip") * scores
    if tired:
        scores = np.array([tired.get(item, 1.0) for item in items.tolist()]) * scores
    order = (-scores).argsort(kind="stable")
    return Ranking(engines, items[order], scores[order], leaders[order])


def _shown(
    ranking: Ranking,
    situation: Situation,
    shelf: Shelf,
    refused: Container[int],
    wanted: tuple[int, bool],
) -> list[Pick]:
    """Return the first that may be shown; `wanted`: how many, and whether of all kinds."""
    num, is_varied = wanted
    items: list[int] = ranking.items.tolist()
    if is_varied:
        variety = Variety(shelf, num, situation.anchors)
        chosen = variety.choose(items, refused, situation.resting)
    else:
        shown = (
            place
            for place, item in enumerate(items)
            if item not in refused
            and shelf.shows(item)
            and shelf.narrowest[item] not in situation.resting
        )
        chosen = list(islice(shown, num))
    looked_at = max(chosen, default=-1) + 1
    scores: list[float] = ranking.scores[:looked_at].tolist()
    leaders, engines = ranking.leaders[:looked_at].tolist(), ranking.engines
    kept: list[Pick] = []
    lowest = math.inf
    for place in chosen:
        score = scores[place]
        lowest = score if score < lowest else lowest
        kept.append(Pick(items[place], engines[leaders[place]], lowest))
    return kept


def _candidates(
    shop: Shop,
    engine: Engine,
    situation: Situation,
    shelf: Shelf,
    now_ms: int,
    *,
    is_alone: bool,
) -> Ranked:
    if engine is Engine.SIMILAR:
        return looks_like(shelf, situation.anchors)
    visit, found = visit_of(situation), NOTHING
    if visit:
        sessions, visitor = shop.models.sessions, situation.visitor
        asked = (visit, now_ms, CANDIDATES, visitor, situation.deeds)
        found = sessions.next_items(*asked, goes_on=is_alone)
    if situation.remembered:
        found = _with_remembered(shop, found, situation)
    if not situation.looks:
        return found
    return with_signs(found, situation.looks, shelf, shop.settings.language)


def _with_remembered(shop: Shop, found: Ranked, situation: Situation) -> Ranked:
    """Return what a visit tells with what goes with all that its shopper bought."""
    bought, counts = situation.remembered, situation.fading
    companions = shop.models.widest.complete(bought, CANDIDATES, counts)
    if not len(companions.items):
        return found
    fused = fuse([found.items, companions.items], (1.0, _REMEMBERED))
    return Ranked(fused.items, fused.scores.astype(np.float32))


def _bought_candidates(shop: Shop, recipe: Recipe, situation: Situation) -> Ranked:
    """Return what was bought together with the call's items.

    Where the recipe borrows, also what variants lend, and what a shopper alone rebuys.
    """
    basket = basket_of(situation)
    if not recipe.borrows:
        return shop.companions.bought_with(basket)
    companions, regulars = shop.companions.goes_with(basket), situation.regulars
    if not len(regulars.items):
        return companions
    fused = fuse([regulars.items, companions.items], (1.0, _COMPANIONS))
    return Ranked(fused.items, fused.scores.astype(np.float32))


def _filled(
    recipe: Recipe,
    situation: Situation,
    shelf: Shelf,
    open_list: tuple[frozenset[int], list[Pick], int],
) -> list[Pick]:
    """Return what completes a list; `open_list` is what is refused, kept, and wanted."""
    refused, kept, wanted = open_list
    anchors, sinking = filling_anchors(situation, shelf), sinking_of(situation, shelf)
    taken = set(refused)
    taken.update([pick.item for pick in kept])
    score = min([FILL_SCORE] + [pick.score for pick in kept])
    variety = Variety(shelf, wanted, situation.anchors)
    for pick in kept:
        variety.admits(pick.item, of_any=True)
    added: list[Pick] = []
    for engine in recipe.fill:
        head = wanted + len(taken) + len(situation.tired)
        proposed = rested(FILLERS[engine](shelf, anchors), sinking, head)
        filler: Iterator[int] = (item for item in proposed if item not in taken)
        if recipe.is_varied:
            of_any = engine is not Engine.TRENDING
            filler = filling(filler, variety, of_any=of_any)
        for item in filler:
            if len(kept) + len(added) == wanted:
                return added
            if item not in taken:
                taken.add(item)
                score *= 0.9
                added.append(Pick(item, engine, score))
    return added


def _tried(
    shop: Shop,
    situation: Situation,
    shelf: Shelf,
    full_list: tuple[list[Pick], int, frozenset[int]],
    now_ms: int,
) -> Try | None:
    """Return what a list that is complete tries at its last place, unless it is pinned."""
    picks, num, refused = full_list
    percent = shop.settings.explore_percent
    if len(picks) < num or not day_of_tries(shop, now_ms):
        return None
    anchors, catalog = filling_anchors(situation, shelf), shop.catalog
    draw = draw_of(catalog.store_id, situation.person, situation.anchors, now_ms)
    tried = try_of(shelf, draw, percent, anchors, (picks, refused))
    pins = shelf.rules.pins if shelf.rules is not None else ()
    if tried is None or any(item == picks[-1].item for _, item in pins):
        return None
    return tried


def _pinned(
    shelf: Shelf,
    ranking: Ranking,
    refused: Container[int],
    open_list: tuple[list[Pick], int, bool],
) -> list[Pick]:
    """Return the list with pins in their places.

    `open_list` is the list so far, how many are wanted, and whether strangers may come in:
    `buy` is never padded, so there a pin only moves what was bought together.
    """
    picks, wanted, may_add = open_list
    engines = {pick.item: pick.engine for pick in picks}
    proposed = dict(zip(ranking.items.tolist(), ranking.leaders.tolist(), strict=True))
    pinned: list[tuple[int, Pick]] = []
    for place, item in shelf.rules.pins if shelf.rules is not None else ():
        if item in refused or not shelf.shows(item):
            continue
        if item in proposed:
            engine = engines.get(item, ranking.engines[proposed[item]])
        elif may_add:
            engine = engines.get(item, Engine.TRENDING)
        else:
            continue
        pinned.append((place, Pick(item, engine, FILL_SCORE)))
    return with_pins(picks, pinned, wanted)
