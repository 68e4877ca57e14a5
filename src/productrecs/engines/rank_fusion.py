"""Rank fusion: merges lists by weighted reciprocal ranks, with each item's leading list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from productrecs.core.cache_registry import RegisteredCache, memoized
from productrecs.engines.array_types_and_sorting import RankedItems

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from productrecs.engines.array_types_and_sorting import Floats, Ints, Items


RANK_OFFSET: Final = 20.0  # for short lists; the classic 60 suits lists of a thousand


class FusedList(NamedTuple):
    """Fused items, best first; ties by item number."""

    items: Items  # [n]
    scores: Floats  # [n] falling: the sum of an item's shares
    leaders: npt.NDArray[np.int8]  # [n] index of the list with the item's largest share


def fuse_lists(lists: Sequence[Items], weights: Sequence[float]) -> FusedList:
    """Return the items of all lists (each best first, its items distinct) in one order.

    An item's share in a list is weight / (20 + rank), rank from 0. Its score is the sum of
    its shares. Of equal shares the earlier list leads.

    Source: reciprocal rank fusion (Cormack 2009), requirements/algorithms.md 4.2.
    """
    nonempty = [index for index, ranked in enumerate(lists) if len(ranked)]
    if len(nonempty) == 1:  # a single list keeps its order
        single = nonempty[0]
        items = lists[single]
        shares, _ = _shares((weights[single],), (len(items),))
        return FusedList(items, shares, np.full(len(items), single, np.int8))
    items = np.concatenate(lists) if lists else _NONE
    shares, ends = _shares(tuple(weights), tuple([len(ranked) for ranked in lists]))
    return (
        _sum_shares_by_item(items, shares, ends)
        if len(items)
        else FusedList(_NONE, _NO_SHARES, _NO_LEADERS)
    )


def _sum_shares_by_item(items: Items, shares: Floats, ends: Ints) -> FusedList:
    """Return the distinct items by falling sum of shares; ties by item number.

    Items and shares are parallel and concatenated: each list ends at its index in `ends`,
    with falling shares. An item's shares are summed from the largest on.
    """
    lists = np.repeat(np.arange(len(ends), dtype=np.int8), np.diff(ends, prepend=0))
    order = np.lexsort((-shares, items))  # by item, its largest share first
    sorted_items = items[order]
    is_first = np.concatenate(([True], sorted_items[1:] != sorted_items[:-1]))
    starts = np.flatnonzero(is_first)
    sums = np.add.reduceat(shares[order], starts)
    best = np.argsort(-sums, kind="stable")
    leading = order[starts[best]]
    return FusedList(items[leading], sums[best], lists[leading])


def fuse_ranked(lists: Sequence[Items], weights: Sequence[float]) -> RankedItems:
    """Return the items of `fuse_lists` with scores, as the candidates of one engine."""
    fused = fuse_lists(lists, weights)
    return RankedItems(fused.items, fused.scores.astype(np.float32))


def ranked_by_position(items: Iterable[int]) -> RankedItems:
    """Return items in this order, with scores by rank as in `fuse_lists`."""
    item_array = np.fromiter(items, np.int32)
    scores = 1.0 / (RANK_OFFSET + np.arange(len(item_array)))
    return RankedItems(item_array, scores.astype(np.float32))


@memoized(RegisteredCache.FUSION_WEIGHTS)
def _shares(weights: tuple[float, ...], counts: tuple[int, ...]) -> tuple[Floats, Ints]:
    """Return the share of each place of the concatenated lists, and each list's end."""
    rank_shares = [
        np.float64(weight) / (RANK_OFFSET + np.arange(count))
        for weight, count in zip(weights, counts, strict=True)
    ]
    shares: Floats = np.concatenate([_NO_SHARES, *rank_shares])
    ends = np.cumsum(counts, dtype=np.int64)
    shares.flags.writeable = ends.flags.writeable = False
    return shares, ends


_NONE: Final = np.zeros(0, np.int32)
_NO_SHARES: Final = np.zeros(0)
_NO_LEADERS: Final = np.zeros(0, np.int8)
