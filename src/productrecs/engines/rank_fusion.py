"""Rank fusion: merges lists by the weighted ranks and the support of their items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from productrecs.core.cache_registry import RegisteredCache, memoized
from productrecs.engines.array_types_and_sorting import RankedItems

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from productrecs.engines.array_types_and_sorting import Floats, Items


RANK_OFFSET: Final = 20.0  # for short lists; the classic 60 suits lists of a thousand


class FusedList(NamedTuple):
    """Fused items, best first; ties by item number."""

    items: Items  # [n]
    scores: Floats  # [n] falling: the sum of an item's shares
    leaders: npt.NDArray[np.int8]  # [n] index of the list with the item's largest share


def fuse_lists(
    lists: Sequence[Items],
    weights: Sequence[float],
    support: Sequence[Items | None] = (),
) -> FusedList:
    """Return the items of all lists (each best first, its items distinct) in one order.

    An item's score is the sum of its shares (`shares_and_list_indexes`). Of equal shares
    the earlier list leads. A list beside empty ones keeps its order.

    Source: reciprocal rank fusion (Cormack 2009), requirements/algorithms.md 4.2.
    """
    shares, leaders = shares_and_list_indexes(lists, weights, support)
    nonempty = [ranked for ranked in lists if len(ranked)]
    if len(nonempty) <= 1:
        return FusedList(nonempty[0] if nonempty else _NONE, shares, leaders)
    return _sum_shares_by_item(np.concatenate(lists), shares, leaders)


def shares_and_list_indexes(
    lists: Sequence[Items],
    weights: Sequence[float],
    support: Sequence[Items | None] = (),
) -> tuple[Floats, npt.NDArray[np.int8]]:
    """Return the share of each item of the concatenated lists, and the index of its list.

    An item's share is weight / (20 + rank), rank from 0. Beside other lists it counts
    s / (s + 1) of this, where s visits or orders support the item: half for one. An item
    of unknown support, or of 1,000 and more, counts fully.
    """
    lengths = tuple([len(ranked) for ranked in lists])
    shares, list_indexes = _place_shares_and_list_indexes(tuple(weights), lengths)
    is_known = any(counts is not None for counts in support)
    if not is_known or lengths.count(0) == len(lengths) - 1:
        return shares, list_indexes
    counts = [
        np.full(length, _MAX_SUPPORT) if one is None else one
        for length, one in zip(lengths, support, strict=True)
    ]
    return shares * _FACTORS.take(np.concatenate(counts), mode="clip"), list_indexes


def _sum_shares_by_item(
    items: Items, shares: Floats, lists: npt.NDArray[np.int8]
) -> FusedList:
    """Return the distinct items by falling sum of shares; ties by item number.

    The arguments are parallel: an item of a list, its share, and the list's index. An
    item's shares are summed from the largest on.
    """
    order = np.lexsort((-shares, items))  # by item, its largest share first
    sorted_items = items[order]
    is_first = np.concatenate(([True], sorted_items[1:] != sorted_items[:-1]))
    starts = np.flatnonzero(is_first)
    sums = np.add.reduceat(shares[order], starts)
    best = np.argsort(-sums, kind="stable")
    leading = order[starts[best]]
    return FusedList(items[leading], sums[best], lists[leading])


def fuse_ranked(
    lists: Sequence[Items],
    weights: Sequence[float],
    support: Sequence[Items | None] = (),
) -> RankedItems:
    """Return the items of `fuse_lists` with scores, as the candidates of one engine."""
    fused = fuse_lists(lists, weights, support)
    return RankedItems(fused.items, fused.scores.astype(np.float32))


def ranked_by_position(items: Iterable[int]) -> RankedItems:
    """Return items in this order, with scores by rank as in `fuse_lists`."""
    item_array = np.fromiter(items, np.int32)
    scores = 1.0 / (RANK_OFFSET + np.arange(len(item_array)))
    return RankedItems(item_array, scores.astype(np.float32))


@memoized(RegisteredCache.FUSION_WEIGHTS)
def _place_shares_and_list_indexes(
    weights: tuple[float, ...], lengths: tuple[int, ...]
) -> tuple[Floats, npt.NDArray[np.int8]]:
    """Return the share of each place of the concatenated lists, and its list's index."""
    rank_shares = [
        np.float64(weight) / (RANK_OFFSET + np.arange(length))
        for weight, length in zip(weights, lengths, strict=True)
    ]
    shares: Floats = np.concatenate([_NO_SHARES, *rank_shares])
    lists = np.repeat(np.arange(len(lengths), dtype=np.int8), lengths)
    shares.flags.writeable = lists.flags.writeable = False
    return shares, lists


_NONE: Final = np.zeros(0, np.int32)
_NO_SHARES: Final = np.zeros(0)
_MAX_SUPPORT: Final = 1_000
_FACTORS: Final = np.append(1.0 - 1.0 / np.arange(1, _MAX_SUPPORT + 1), 1.0)
