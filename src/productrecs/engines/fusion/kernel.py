"""One order of several lists, compiled: the same sums in the same order as the twin's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import types

from productrecs.engines.compiling import compiled, fixed

if TYPE_CHECKING:
    import numpy.typing as npt

    from productrecs.engines.contract import Floats, Items

_ITEMS, _SHARES, _CODES = types.int32[::1], types.float64[::1], types.int8[::1]
_SORTED: Any = types.Tuple((_ITEMS, _SHARES, _CODES))  # type: ignore[no-untyped-call]  # numba


@compiled(_SORTED(_ITEMS, fixed(types.float64), fixed(types.int8)))
def order(
    items: Items, shares: Floats, codes: npt.NDArray[np.int8]
) -> tuple[Items, Floats, npt.NDArray[np.int8]]:
    """Return distinct items by falling sum of shares, the sums, and who leads each."""
    by_item = np.argsort(items, kind="mergesort")
    count = 0
    for place in range(len(by_item)):
        count += place == 0 or items[by_item[place]] != items[by_item[place - 1]]
    found = np.empty(count, dtype=np.int32)
    sums, largest = np.zeros(count), np.zeros(count)
    leaders = np.zeros(count, dtype=np.int8)
    at = -1
    for place in range(len(by_item)):
        one = by_item[place]
        if place == 0 or items[one] != found[at]:
            at += 1
            found[at] = items[one]
        sums[at] += shares[one]
        if shares[one] > largest[at]:
            largest[at] = shares[one]
            leaders[at] = codes[one]
    best = np.argsort(-sums, kind="mergesort")  # stable: equals stay by item number
    return found[best], sums[best], leaders[best]
