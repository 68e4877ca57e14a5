"""Repurchase prediction: what a shopper bought often and that still sells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from productrecs.engines.arrays import NO_RANKED, Ranked, top_places

if TYPE_CHECKING:
    from productrecs.engines.arrays import Ints, Items

HALF_A_DAY_MS: Final = 12 * 60 * 60 * 1000
HABIT_SHARE: Final = 0.2  # share of repeated items in a shopper's baskets
FADING: Final = 0.9  # from one basket to the one before it
_HEAD: Final = 20.0  # places of what trends that are as good as the first


def is_habitual_buyer(items: Ints, times: Ints) -> bool:
    """Return whether a buyer buys the same again: a fifth of their lines had come before.

    `items` and `times` [n] are as in `buy_again`; of one basket a line counts once.
    """
    if not len(items):
        return False
    number = _baskets(times)
    lines = len(np.unique(np.stack((number, items)), axis=1)[0])
    return lines - len(np.unique(items)) >= HABIT_SHARE * lines


def buy_again(items: Ints, times: Ints, ranks: Items, limit: int) -> Ranked:
    """Return up to `limit` items that were bought before, the likeliest next one first.

    `items` and `times` [n] (UTC milliseconds, rising) are one buyer's lines; what was
    bought within half a day is one basket. `ranks` holds each item's place in the order of
    popularity, 0 the best; an item beyond its end comes last there. An item's score is the
    sum of 0.9 ** (baskets ago), times (20 + rank) ** -0.5.

    Source: requirements/algorithms.md 2.3; measured in benchmarks/quality.
    """
    if not len(items):
        return NO_RANKED
    number = _baskets(times)
    found, where = np.unique(items, return_inverse=True)
    # Once a basket: of lines of one item in one basket the first counts.
    fresh = np.unique(number * (int(found[-1]) + 1) + items, return_index=True)[1]
    faded = FADING ** (number[-1] - number[fresh])
    sums = np.bincount(where[fresh], weights=faded, minlength=len(found))
    places = np.full(len(found), float(len(ranks)))
    known = found < len(ranks)
    places[known] = ranks[found[known]]
    scores = (sums / np.sqrt(_HEAD + places)).astype(np.float32)
    best = top_places(found, scores, limit)
    return Ranked(found[best].astype(np.int32), scores[best])


def _baskets(times: Ints) -> Ints:
    """Return of each line the number of its basket, rising."""
    begins = np.zeros(len(times), dtype=np.int64)
    begins[1:] = np.diff(times) > HALF_A_DAY_MS
    return np.cumsum(begins)
