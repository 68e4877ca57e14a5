"""Repurchase prediction: items that a shopper often bought and that still sell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from productrecs.engines.arrays import NO_RANKED, Ranked, top_places

if TYPE_CHECKING:
    from productrecs.engines.arrays import Ints, Items

HALF_A_DAY_MS: Final = 12 * 60 * 60 * 1000
HABIT_SHARE: Final = 0.2  # minimum share of repeated items in a shopper's baskets
FADING: Final = 0.9  # weight factor from one basket to the one before it
_HEAD: Final = 20.0  # popularity ranks up to here count almost as the first


def is_habitual_buyer(items: Ints, times: Ints) -> bool:
    """Return whether a buyer rebuys: at least a fifth of their lines are repeats.

    `items` and `times` [n] are as in `buy_again`; repeats in one basket count once.
    """
    if not len(items):
        return False
    number = _baskets(times)
    lines = len(np.unique(np.stack((number, items)), axis=1)[0])
    return lines - len(np.unique(items)) >= HABIT_SHARE * lines


def buy_again(items: Ints, times: Ints, ranks: Items, limit: int) -> Ranked:
    """Return up to `limit` items that were bought before, the likeliest next one first.

    `items` and `times` [n] (UTC milliseconds, ascending) are one buyer's lines; lines
    within half a day form a basket. `ranks` holds each item's popularity rank, 0 the best;
    items beyond its end rank last. An item's score is the sum of 0.9 ** (baskets ago),
    times (20 + rank) ** -0.5.

    Source: requirements/algorithms.md 2.3; measured in benchmarks/quality.
    """
    if not len(items):
        return NO_RANKED
    number = _baskets(times)
    found, where = np.unique(items, return_inverse=True)
    # Once a basket: the first line of an item counts.
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
    """Return the basket number of each line, ascending."""
    begins = np.zeros(len(times), dtype=np.int64)
    begins[1:] = np.diff(times) > HALF_A_DAY_MS
    return np.cumsum(begins)
