"""Click evaluation: compares a new order with the shown one, without position bias."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from productrecs.engines.ranking.ranker_training import GAINS, LAST_POSITION

if TYPE_CHECKING:
    from productrecs.engines.arrays import Floats, Ints
    from productrecs.engines.ranking.ranker_training import RankingData

_STEEPNESS: Final = 0.8  # of looking down a list, where little is known
_DOUBT: Final = 50.0  # impressions of a place that weigh as much as that belief
_MOST: Final = 5.0  # times a rare look at a place far down may count


def examination_probabilities(shown: Ints, clicked: Ints) -> Floats:
    """Return how likely each place is looked at beside the first [FARTHEST].

    `shown` and `clicked` [FARTHEST] count by place. Clicks fall from place to place because
    fewer look and because the items there are worse; all of it is put down to looking, and
    never more than 1 / place ** 0.8. So what stood far down is not made too much of: an
    order that tells nothing is not found better than the present one.
    """
    places = np.arange(1, len(shown) + 1)
    believed = 1.0 / places**_STEEPNESS
    first = (clicked[0] + 1.0) / (shown[0] + _DOUBT)
    rates = (clicked + _DOUBT * first * believed) / (shown + _DOUBT)
    looked: Floats = np.clip(np.maximum(believed, rates / rates[0]), 0.0, 1.0)
    return looked


def ranking_gains(
    lists: RankingData, scores: Floats, looked: Floats
) -> tuple[Floats, Floats]:
    """Return per list what an order by `scores` is worth beyond the shown, and the shown.

    Worth is the sum of what was taken up, by its kind, by how rarely its place is looked at
    (at most five times), and by 1 / log2(1 + rank).
    """
    which = np.repeat(np.arange(len(lists)), np.diff(lists.offsets))
    at = np.minimum(lists.places, LAST_POSITION) - 1
    worth = np.array(GAINS)[lists.taken] * np.minimum(1.0 / looked[at], _MOST)
    shown_order = np.lexsort((lists.places, which))
    new_order = np.lexsort((lists.places, -scores, which))
    present = _summed(worth * _discounts(shown_order, lists.offsets, which), which)
    other = _summed(worth * _discounts(new_order, lists.offsets, which), which)
    return other - present, present


def _summed(values: Floats, which: Ints) -> Floats:
    return np.bincount(which, weights=values).astype(np.float64)


def _discounts(order: Ints, offsets: Ints, which: Ints) -> Floats:
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order)) - offsets[:-1][which[order]]
    found: Floats = 1.0 / np.log2(2.0 + ranks)
    return found
