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
def slot_of(table: Items, found: Items, item: int) -> int:
    """Return an item's slot in a hash table of at least twice the size, used or free."""
    last = len(table) - 1
    slot = (item * _SPREAD >> 7) & last
    while table[slot] > 0 and found[table[slot] - 1] != item:
        slot = (slot + 1) & last
    return slot


@jit_compiled(types.void(_ITEMS, _SHARES, _CODES))
def insertion_sort(
    found: Items, sums: Floats, leader_indices: npt.NDArray[np.int8]
) -> None:
    """Insertion sort by falling sum, ties by item number; fast on nearly sorted input."""
    for place in range(1, len(found)):
        item, score, leader_index = found[place], sums[place], leader_indices[place]
        at = place
        while at > 0 and (
            sums[at - 1] < score or (sums[at - 1] == score and found[at - 1] > item)
        ):
            found[at], sums[at], leader_indices[at] = (
                found[at - 1],
                sums[at - 1],
                leader_indices[at - 1],
            )
            at -= 1
        found[at], sums[at], leader_indices[at] = item, score, leader_index


@jit_compiled(_SORTED(_ITEMS, readonly_array(types.float64), readonly_array(types.int64)))
def order(
    items: Items, shares: Floats, ends: Ints
) -> tuple[Items, Floats, npt.NDArray[np.int8]]:
    """Return distinct items by falling sum of shares, the sums, and their leading lists.

    The lists are merged by falling share, so that the result is nearly sorted.
    """
    total = len(items)
    heads = np.zeros(len(ends), dtype=np.int64)
    heads[1:] = ends[:-1]
    size = 8
    while size < 2 * total:
        size *= 2
    table = np.zeros(size, dtype=np.int32)  # 1 + index in `found`
    found = np.empty(total, dtype=np.int32)
    sums = np.empty(total)
    leader_indices = np.empty(total, dtype=np.int8)
    count = 0
    for _ in range(total):
        one, largest = 0, -1.0
        for code in range(len(ends)):
            if heads[code] < ends[code] and shares[heads[code]] > largest:
                one, largest = code, shares[heads[code]]
        item = items[heads[one]]
        heads[one] += 1
        slot = slot_of(table, found, item)
        if table[slot] > 0:
            sums[table[slot] - 1] += largest
            continue
        found[count], sums[count], leader_indices[count] = item, largest, one
        count += 1
        table[slot] = count
    found, sums, leader_indices = found[:count], sums[:count], leader_indices[:count]
    insertion_sort(found, sums, leader_indices)
    return found, sums, leader_indices
