"""Earnings re-ranking: margin and stock decide among products of similar relevance.

The loss of relevance is bounded. With the weight `w`, from 0 to 1, a product moves at most
`4 w` places (rounded up) either way, and only past products whose relevance score is at
most `1 / (1 - 0.3 w)` times its own. So no irrelevant product comes first.
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from productrecs.engines.arrays import Floats
from productrecs.features.recommendations.list_request_and_picks import Pick
from productrecs.features.recommendations.serving_state import StoreState

MOST_PLACES: Final = 4
"""How many places a product moves at most, with the weight 1."""

RELEVANCE_LOSS: Final = 0.3
"""The share of its relevance score that a place loses at most, with the weight 1."""

_STRENGTH: Final = 0.5  # of the index, relative to the relevance score
_SURPLUS: Final = 0.5
_DOUBLINGS: Final = 2.0  # margins of four times the median have the index 1


def earning_index(
    prices: Floats, costs: Floats, runs_out: Sequence[int], surplus: Sequence[int]
) -> Floats:
    """Return how much the store earns by each item, from -1 to 1; 0 where unknown.

    The margin is compared with the median of the known ones, on a logarithmic scale.
    `runs_out` are the items that run out before they can be re-ordered: they have -1.
    `surplus` are those in overstock: their index is one half higher.
    """
    margins = prices - costs
    known = np.isfinite(margins)
    index = np.zeros(len(prices))
    if known.any():
        gains = margins[known]
        typical = float(np.median(gains[gains > 0])) if (gains > 0).any() else 1.0
        ratio = np.maximum(gains, 1e-9) / typical
        index[known] = (np.log2(ratio) / _DOUBLINGS).clip(-1.0, 1.0)
    index[list(surplus)] = (index[list(surplus)] + _SURPLUS).clip(-1.0, 1.0)
    index[list(runs_out)] = -1.0
    return index


def reserve_places(shop: StoreState) -> int:
    """Return how many products beyond a list's end may move into it."""
    return 0 if shop.earnings is None else _reach(shop.settings.earnings_weight)


def earning_order(shop: StoreState, picks: list[Pick], fixed: int) -> list[Pick]:
    """Return the picks in the order of a store's setting, which may be relevance only.

    The first `fixed` keep their places.
    """
    if shop.earnings is None:
        return picks
    return rank_by_earnings(picks, shop.earnings, shop.settings.earnings_weight, fixed)


def earning_of(shop: StoreState, item: int) -> float | None:
    """Return an item's earning index; None where lists do not follow it."""
    index = shop.earnings
    if index is None or item >= len(index):
        return None
    return float(index[item])


def rank_by_earnings(
    picks: Sequence[Pick], index: Floats, weight: float, fixed: int = 0
) -> list[Pick]:
    """Return the picks, those that earn more before others of similar relevance.

    The first `fixed` keep their places. Scores are reassigned by place.
    """
    most, least = _reach(weight), 1.0 - RELEVANCE_LOSS * weight
    waiting = list(enumerate(picks))[fixed:]
    found = list(picks[:fixed])
    while waiting:
        place = len(found)
        first, head = waiting[0]
        chosen, best = 0, -math.inf
        for at, (rank, pick) in enumerate(waiting):
            if rank > place + most or pick.score < least * head.score:
                break
            worth = pick.score * (1.0 + weight * _STRENGTH * _index_of(pick, index))
            if worth > best:
                chosen, best = at, worth
            if first + most <= place:  # the first cannot wait longer
                break
        pick = waiting.pop(chosen)[1]
        found.append(pick._replace(score=picks[place].score))
    return found


def _reach(weight: float) -> int:
    return math.ceil(MOST_PLACES * weight)


def _index_of(pick: Pick, index: Floats) -> float:
    return float(index[pick.item]) if pick.item < len(index) else 0.0
