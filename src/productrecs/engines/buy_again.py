"""Engine `buy_again`: which items a shopper buys again, and when they are due."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import numpy as np

from productrecs.engines.array_types_and_sorting import (
    NO_RANKED,
    Arrays,
    Ints,
    Items,
    RankedItems,
    top_score_indexes,
)
from productrecs.engines.engine_protocol import (
    Engine,
    FitFingerprint,
    FitInputs,
    ListContext,
)

_INTERVALS: Final = "intervals"
HALF_A_DAY_MS: Final = 12 * 60 * 60 * 1000
HABIT_SHARE: Final = 0.2  # minimum share of repeated items in a shopper's baskets
DECAY: Final = 0.9  # weight factor from one basket to the one before it
_REPEATS: Final = 3  # minimum number of repeats that show a usual interval
_DUE_SHARE: Final = 0.75  # share of the interval after which a product is due
_LONG_OVER: Final = 3.0  # intervals after which the buyer has probably stopped
_DAY_MS: Final = 24 * 60 * 60 * 1000
_UNKNOWN_DUE_MS: Final = 14 * _DAY_MS
_HEAD: Final = 20.0  # popularity ranks up to here count almost as the first


def is_habitual_buyer(items: Ints, times: Ints) -> bool:
    """Return whether a buyer rebuys: at least a fifth of their lines are repeats.

    `items` and `times` [n] are as in `rank_repurchases`; repeats in one basket count once.
    """
    if not len(items):
        return False
    basket_numbers = _basket_numbers(times)
    line_count = len(np.unique(np.stack((basket_numbers, items)), axis=1)[0])
    return line_count - len(np.unique(items)) >= HABIT_SHARE * line_count


def rank_repurchases(
    items: Ints, times: Ints, popularity_ranks: Items, limit: int
) -> RankedItems:
    """Return up to `limit` items that were bought before, the likeliest next one first.

    `items` and `times` [n] (UTC milliseconds, ascending) are one buyer's lines; lines
    within half a day form a basket. `popularity_ranks` [n_items] starts at 0, the best;
    items beyond its end rank last. An item's score is the sum of 0.9 ** (baskets ago),
    times (20 + rank) ** -0.5.

    Source: requirements/algorithms.md 2.3; measured in benchmarks/quality.
    """
    if not len(items):
        return NO_RANKED
    basket_numbers = _basket_numbers(times)
    distinct, item_index = np.unique(items, return_inverse=True)
    # Once a basket: the first line of an item counts.
    first_in_basket = np.unique(
        basket_numbers * (int(distinct[-1]) + 1) + items, return_index=True
    )[1]
    weights = DECAY ** (basket_numbers[-1] - basket_numbers[first_in_basket])
    sums = np.bincount(
        item_index[first_in_basket], weights=weights, minlength=len(distinct)
    )
    rank_of_item = np.full(len(distinct), float(len(popularity_ranks)))
    is_ranked = distinct < len(popularity_ranks)
    rank_of_item[is_ranked] = popularity_ranks[distinct[is_ranked]]
    scores = (sums / np.sqrt(_HEAD + rank_of_item)).astype(np.float32)
    best = top_score_indexes(distinct, scores, limit)
    return RankedItems(distinct[best].astype(np.int32), scores[best])


def usual_repurchase_intervals(
    buyers: Ints, items: Items, times: Ints, n_items: int
) -> Ints:
    """Return each item's usual interval between two purchases by one buyer, in ms.

    The result [n_items] is the median over all buyers, 0 with fewer than three repeats.
    `buyers`, `items` and `times` [n] are purchase lines in any order; purchases of an item
    within half a day count as one.
    """
    usual_intervals = np.zeros(n_items, dtype=np.int64)
    repeated_items, gaps = _repurchased_items_and_intervals(buyers, items, times)
    order = np.lexsort((gaps, repeated_items))
    repeated_items, gaps = repeated_items[order], gaps[order]
    distinct, first, repeat_counts = np.unique(
        repeated_items, return_index=True, return_counts=True
    )
    has_enough_repeats = (repeat_counts >= _REPEATS) & (distinct < n_items)
    usual_intervals[distinct[has_enough_repeats]] = gaps[
        first[has_enough_repeats] + (repeat_counts[has_enough_repeats] - 1) // 2
    ]
    return usual_intervals


def due_for_repurchase(
    items: Ints, times: Ints, usual_intervals: Ints, now_ms: int, limit: int
) -> RankedItems:
    """Return up to `limit` items of one buyer that are due for a repurchase, best first.

    `items` and `times` [n] are the buyer's lines, `usual_intervals` the result of
    `usual_repurchase_intervals`.
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
    has_usual_interval = distinct < len(usual_intervals)
    intervals[has_usual_interval] = usual_intervals[distinct[has_usual_interval]]
    repeated_items, gaps = _repurchased_items_and_intervals(
        np.zeros(len(items), np.int64), items, times
    )
    for item in np.unique(repeated_items).tolist():
        own_gaps = np.sort(gaps[repeated_items == item])
        intervals[np.searchsorted(distinct, item)] = own_gaps[(len(own_gaps) - 1) // 2]
    elapsed = np.maximum(now_ms - last, 0)
    elapsed_share = elapsed / np.maximum(intervals, 1)
    scores = np.minimum(elapsed_share, 1.0) * np.where(elapsed_share > _LONG_OVER, 0.5, 1.0)
    is_unknown = intervals == 0
    scores[is_unknown] = 0.1 / (1.0 + elapsed[is_unknown] / _DAY_MS)
    is_due = np.where(is_unknown, elapsed >= _UNKNOWN_DUE_MS, elapsed_share >= _DUE_SHARE)
    due = np.flatnonzero(is_due)
    best = due[top_score_indexes(distinct[due], scores[due], limit)]
    return RankedItems(distinct[best].astype(np.int32), scores[best].astype(np.float32))


def _repurchased_items_and_intervals(
    buyers: Ints, items: Ints | Items, times: Ints
) -> tuple[Ints, Ints]:
    """Return the item and the time since the purchase before, of each repeated purchase."""
    order = np.lexsort((times, items, buyers))
    sorted_buyers = buyers[order]
    sorted_items = items[order].astype(np.int64)
    sorted_times = times[order]
    is_repeated = (np.diff(sorted_buyers) == 0) & (np.diff(sorted_items) == 0)
    gaps = np.diff(sorted_times)
    is_repeated &= gaps > HALF_A_DAY_MS
    return sorted_items[1:][is_repeated], gaps[is_repeated]


def _basket_numbers(times: Ints) -> Ints:
    """Return the basket number of each line, ascending."""
    starts_basket = np.zeros(len(times), dtype=np.bool_)
    starts_basket[1:] = np.diff(times) > HALF_A_DAY_MS
    return np.cumsum(starts_basket)


class BuyAgainEngine(Engine[Ints]):
    """Lists purchases that are due; its model has each item's usual interval [n_items]."""

    name: ClassVar = "buy_again"
    label: ClassVar = "Due again"
    summary: ClassVar = "bought by this shopper before, and due again"
    guide: ClassVar = "placements"
    is_trained: ClassVar = False

    def fingerprint(self, inputs: FitInputs) -> FitFingerprint:
        """Return what the fit depends on."""
        return inputs.purchase_fingerprint

    def fit(self, inputs: FitInputs, fitted_arrays: Arrays) -> Arrays:
        """Return the usual intervals, of buyers who are known."""
        lines = inputs.purchases
        is_counted = lines.is_active & (lines.quantities > 0) & (lines.buyers != 0)
        intervals = usual_repurchase_intervals(
            lines.buyers[is_counted],
            lines.items[is_counted],
            lines.times[is_counted],
            inputs.n_items,
        )
        return {_INTERVALS: intervals}

    def load(self, arrays: Arrays, loaded_models: Mapping[str, Any]) -> Ints:
        """Return the stored intervals."""
        return np.asarray(arrays.get(_INTERVALS, np.zeros(0, np.int64)))

    def candidates(self, model: Ints, request: ListContext) -> RankedItems:
        """Return what the shopper buys again."""
        return request.rebuyable
