"""Compiled rank fusion: the same sums in the same order as the reference implementation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numba import types

from productrecs.engines.numba_jit import jit_compiled, readonly_array

if TYPE_CHECKING:
    import numpy.typing as npt

    from productrecs.engines.arrays import Floats, Ints, Items

_ITEMS, _SHARES, _CODES = types.int32[::1], types.float64[::1], types.int8[::1]
_SORTED: Any = types.Tuple((_ITEMS, _SHARES, _CODES))  # type: ignore[no-untyped-call]  # numba
_SPREAD: Final = 2_654_435_761  # Knuth's multiplicative hash: spreads neighbouring keys


@jit_compiled(types.int64(_ITEMS, _ITEMS, types.int32))
def slot_of(table: Items, distinct: Items, item: int) -> int:
    """Return an item's slot in a hash table of at least twice the size, used or free."""
    last = len(table) - 1
    slot = (item * _SPREAD >> 7) & last
    while table[slot] > 0 and distinct[table[slot] - 1] != item:
        slot = (slot + 1) & last
    return slot


@jit_compiled(types.void(_ITEMS, _SHARES, _CODES))
def insertion_sort(
    distinct: Items, sums: Floats, leader_indices: npt.NDArray[np.int8]
) -> None:
    """Insertion sort by falling sum, ties by item number; fast on nearly sorted input."""
    for index in range(1, len(distinct)):
        item, score, leader_index = distinct[index], sums[index], leader_indices[index]
        position = index
        while position > 0 and (
            sums[position - 1] < score
            or (sums[position - 1] == score and distinct[position - 1] > item)
        ):
            distinct[position] = distinct[position - 1]
            sums[position] = sums[position - 1]
            leader_indices[position] = leader_indices[position - 1]
            position -= 1
        distinct[position] = item
        sums[position] = score
        leader_indices[position] = leader_index


@jit_compiled(_SORTED(_ITEMS, readonly_array(types.float64), readonly_array(types.int64)))
def order(
    items: Items, shares: Floats, ends: Ints
) -> tuple[Items, Floats, npt.NDArray[np.int8]]:
    """Return distinct items by falling sum of shares, the sums, and their leading lists.

    The lists are merged by falling share, so that the result is nearly sorted.
    """
    total = len(items)
    next_index = np.zeros(len(ends), dtype=np.int64)
    next_index[1:] = ends[:-1]
    size = 8
    while size < 2 * total:
        size *= 2
    table = np.zeros(size, dtype=np.int32)  # 1 + index in `distinct`
    distinct = np.empty(total, dtype=np.int32)
    sums = np.empty(total)
    leader_indices = np.empty(total, dtype=np.int8)
    count = 0
    for _ in range(total):
        leader, largest_share = 0, -1.0
        for code in range(len(ends)):
            if next_index[code] < ends[code] and shares[next_index[code]] > largest_share:
                leader, largest_share = code, shares[next_index[code]]
        item = items[next_index[leader]]
        next_index[leader] += 1
        slot = slot_of(table, distinct, item)
        if table[slot] > 0:
            sums[table[slot] - 1] += largest_share
            continue
        distinct[count], sums[count], leader_indices[count] = item, largest_share, leader
        count += 1
        table[slot] = count
    distinct, sums, leader_indices = distinct[:count], sums[:count], leader_indices[:count]
    insertion_sort(distinct, sums, leader_indices)
    return distinct, sums, leader_indices
