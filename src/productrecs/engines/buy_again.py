"""Repurchase prediction: which items a shopper buys again, and when they are due."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from productrecs.engines.arrays import NO_RANKED, Ranked, top_places

if TYPE_CHECKING:
    from productrecs.engines.arrays import Ints, Items

HALF_A_DAY_MS: Final = 12 * 60 * 60 * 1000
HABIT_SHARE: Final = 0.2  # minimum share of repeated items in a shopper's baskets
DECAY: Final = 0.9  # weight factor from one basket to the one before it
_REPEATS: Final = 3  # minimum number of repeats that show a usual interval
_DUE: Final = 0.75  # share of the interval after which a product is due
_LONG_OVER: Final = 3.0  # intervals after which the buyer has probably stopped
_DAY_MS: Final = 24 * 60 * 60 * 1000
_UNKNOWN_DUE_MS: Final = 14 * _DAY_MS
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
    found, item_index = np.unique(items, return_inverse=True)
    # Once a basket: the first line of an item counts.
    first_in_basket = np.unique(number * (int(found[-1]) + 1) + items, return_index=True)[1]
    weights = DECAY ** (number[-1] - number[first_in_basket])
    sums = np.bincount(item_index[first_in_basket], weights=weights, minlength=len(found))
    places = np.full(len(found), float(len(ranks)))
    is_ranked = found < len(ranks)
    places[is_ranked] = ranks[found[is_ranked]]
    scores = (sums / np.sqrt(_HEAD + places)).astype(np.float32)
    best = top_places(found, scores, limit)
    return Ranked(found[best].astype(np.int32), scores[best])


def usual_intervals(buyers: Ints, items: Items, times: Ints, n_items: int) -> Ints:
    """Return each item's usual interval between two purchases by one buyer, in ms.

    The result [n_items] is the median over all buyers, 0 with fewer than three repeats.
    `buyers`, `items` and `times` [n] are purchase lines in any order; purchases of an item
    within half a day count as one.
    """
    usual = np.zeros(n_items, dtype=np.int64)
    repeated, gaps = _repeats(buyers, items, times)
    order = np.lexsort((gaps, repeated))
    repeated, gaps = repeated[order], gaps[order]
    found, first, count = np.unique(repeated, return_index=True, return_counts=True)
    is_ranked = (count >= _REPEATS) & (found < n_items)
    usual[found[is_ranked]] = gaps[first[is_ranked] + (count[is_ranked] - 1) // 2]
    return usual


def due_again(items: Ints, times: Ints, usual: Ints, now_ms: int, limit: int) -> Ranked:
    """Return up to `limit` items of one buyer that are due for a repurchase, best first.

    `items` and `times` [n] are the buyer's lines, `usual` the result of `usual_intervals`.
    An item's interval is the median of the buyer's own, else the usual one. It is due from
    three quarters of the interval on, scores 1 at the whole interval, and less again when
    three intervals have passed. Items without an interval, which nobody has bought twice,
    follow from two weeks after the purchase on, the latest first.
    """
    if not len(items):
        return NO_RANKED
    distinct, item_index = np.unique(items, return_inverse=True)
    last = np.zeros(len(distinct), dtype=np.int64)
    np.maximum.at(last, item_index, times)
    intervals = np.zeros(len(distinct), dtype=np.int64)
    is_ranked = distinct < len(usual)
    intervals[is_ranked] = usual[distinct[is_ranked]]
    repeated, gaps = _repeats(np.zeros(len(items), np.int64), items, times)
    for item in np.unique(repeated).tolist():
        own = np.sort(gaps[repeated == item])
        intervals[np.searchsorted(distinct, item)] = own[(len(own) - 1) // 2]
    passed = np.maximum(now_ms - last, 0)
    share = passed / np.maximum(intervals, 1)
    scores = np.minimum(share, 1.0) * np.where(share > _LONG_OVER, 0.5, 1.0)
    unknown = intervals == 0
    scores[unknown] = 0.1 / (1.0 + passed[unknown] / _DAY_MS)
    due = np.flatnonzero(np.where(unknown, passed >= _UNKNOWN_DUE_MS, share >= _DUE))
    best = due[top_places(distinct[due], scores[due], limit)]
    return Ranked(distinct[best].astype(np.int32), scores[best].astype(np.float32))


def _repeats(buyers: Ints, items: Ints | Items, times: Ints) -> tuple[Ints, Ints]:
    """Return the item and the time since the purchase before, of each repeated purchase."""
    order = np.lexsort((times, items, buyers))
    buyer, item, time = buyers[order], items[order].astype(np.int64), times[order]
    again = (np.diff(buyer) == 0) & (np.diff(item) == 0)
    gaps = np.diff(time)
    again &= gaps > HALF_A_DAY_MS
    return item[1:][again], gaps[again]


def _baskets(times: Ints) -> Ints:
    """Return the basket number of each line, ascending."""
    is_start = np.zeros(len(times), dtype=np.int64)
    is_start[1:] = np.diff(times) > HALF_A_DAY_MS
    return np.cumsum(is_start)
