"""Which products fit? Engines propose, the catalog strikes out, fills complete."""

from collections.abc import Container, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from productrecs.engines.contract import NOTHING, Items, Ranked
from productrecs.engines.fusion import fuse
from productrecs.features.recommendations.fill import FILLERS
from productrecs.features.recommendations.request import Engine, Pick, RecommendationRequest
from productrecs.features.recommendations.shop import Shop
from productrecs.features.recommendations.sources import RECIPES, Placement, Recipe
from productrecs.records.catalog.view import Mask
from productrecs.records.orders.history import History

_CANDIDATES: Final = 60
_PREFIX: Final = 9  # the newest items of a visit that its next one is told by
_FILL_SCORE: Final = 1e-3


@dataclass(frozen=True, slots=True)
class Situation:
    """What a call is about, in item numbers."""

    anchors: tuple[int, ...]  # the page's item or the cart's; known to the catalog
    recent: tuple[int, ...]  # the shopper's newest items, the newest last
    purchases: tuple[int, ...]  # what they bought last, the newest last
    bought: frozenset[int]
    visitor: int | None  # whose visit it is: the index must not answer with itself
    placement: Placement


@dataclass(frozen=True, slots=True)
class Ranking:
    """What the engines propose, best first, nothing struck out yet."""

    engines: tuple[Engine, ...]
    items: Items  # [n] distinct item numbers
    scores: npt.NDArray[np.floating[Any]]  # [n] falling
    leaders: npt.NDArray[np.int8]  # [n] places in `engines`: who supplied it


def recommend(
    shop: Shop, request: RecommendationRequest, histories: Sequence[History], now_ms: int
) -> list[Pick]:
    """Return up to `request.num` picks, best first, their scores falling.

    Anchors are never among them, nor (unless repeats are allowed) what the shopper
    bought; all are visible at `now_ms`. `buy` may return fewer, down to none; the other
    sources return fewer only when the catalog has no more to show.
    """
    recipe = RECIPES[request.source]
    situation = understand(shop, request, histories)
    visible = shop.visible(now_ms)
    refused = set(situation.anchors)
    if not shop.settings.allow_repeat_recommendations:
        refused |= situation.bought
    ranking = _blended(shop, recipe, situation, now_ms)
    kept = _shown(ranking, refused, visible, request.num)
    if len(kept) < request.num and recipe.fill:
        refused.update(pick.item for pick in kept)
        kept += _filled(shop, recipe, situation, visible, (refused, kept, request.num))
    return kept


def understand(
    shop: Shop, request: RecommendationRequest, histories: Sequence[History]
) -> Situation:
    """Return what the call is about; ids that the catalog does not know are passed over."""
    names = ((request.item_id,) if request.item_id else ()) + request.basket
    numbers = (shop.catalog.number(name) for name in names)
    anchors = tuple(dict.fromkeys(number for number in numbers if number is not None))
    recent = _interleaved([history.recent for history in histories])
    if request.basket:
        placement = Placement.CART
    elif request.item_id:
        placement = Placement.PRODUCT
    else:
        placement = Placement.SHOPPER if recent else Placement.NOBODY
    return Situation(
        anchors=anchors,
        recent=recent,
        purchases=_interleaved([history.bought_recently for history in histories]),
        bought=frozenset().union(*(history.bought for history in histories)),
        visitor=next((one.visitor for one in histories if one.recent), None),
        placement=placement,
    )


def _interleaved(lists: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return the lists merged from their newest ends, the first list's newest last."""
    if len(lists) == 1:
        return tuple(lists[0])
    turns = zip_longest(*(reversed(one) for one in lists))
    newest_first = [item for turn in turns for item in turn if item is not None]
    return tuple(reversed(newest_first))


def _blended(shop: Shop, recipe: Recipe, situation: Situation, now_ms: int) -> Ranking:
    """Return every engine's candidates in one order.

    One engine keeps its own scores; several are blended by weighted reciprocal ranks, and
    a product's engine is the one with the largest share in it.
    """
    weights = recipe.blend[situation.placement]
    engines = tuple(weights)
    lists = [_candidates(shop, engine, situation, now_ms) for engine in engines]
    if len(lists) == 1:
        items, scores = lists[0]
        return Ranking(engines, items, scores, np.zeros(len(items), dtype=np.int8))
    fused = fuse([one.items for one in lists], tuple(weights.values()))
    return Ranking(engines, *fused)


def _shown(
    ranking: Ranking, refused: Container[int], visible: Mask, num: int
) -> list[Pick]:
    """Return the first `num` that may be shown."""
    kept: list[Pick] = []
    known = len(visible)
    for place, item in enumerate(ranking.items.tolist()):
        if item in refused or item >= known or not visible[item]:
            continue
        engine = ranking.engines[ranking.leaders[place]]
        kept.append(Pick(item, engine, float(ranking.scores[place])))
        if len(kept) == num:
            break
    return kept


def _candidates(shop: Shop, engine: Engine, situation: Situation, now_ms: int) -> Ranked:
    if engine is Engine.BUY:
        anchors = situation.anchors or tuple(dict.fromkeys(situation.purchases))
        return shop.models.copurchase.complete(anchors, _CANDIDATES) if anchors else NOTHING
    visit = (situation.recent + situation.anchors)[-_PREFIX:]
    if not visit:
        return NOTHING
    return shop.models.sessions.next_items(visit, now_ms, _CANDIDATES, situation.visitor)


def _filled(
    shop: Shop,
    recipe: Recipe,
    situation: Situation,
    visible: Mask,
    open_list: tuple[set[int], list[Pick], int],
) -> list[Pick]:
    """Return what completes a list; `open_list` is what is refused, kept, and wanted."""
    refused, kept, wanted = open_list
    anchors = situation.anchors or situation.recent[: -_PREFIX - 1 : -1]
    score = min([_FILL_SCORE] + [pick.score for pick in kept])
    added: list[Pick] = []
    for engine in recipe.fill:
        for item in FILLERS[engine](shop, visible, anchors):
            if len(kept) + len(added) == wanted:
                return added
            if item not in refused:
                refused.add(item)
                score *= 0.9
                added.append(Pick(item, engine, score))
    return added
