"""Compiled tree scoring: the same sums in the same order as the reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import types

from productrecs.engines.numba_jit import jit_compiled, readonly_array

if TYPE_CHECKING:
    from productrecs.engines.arrays import Floats, Items

_ITEMS = readonly_array(types.int32)
_FLOATS = readonly_array(types.float64)
_ROWS = types.float64[:, ::1]


@jit_compiled(types.float64[::1](_ITEMS, _FLOATS, _ITEMS, _ITEMS, _FLOATS, _ITEMS, _ROWS))
def score(
    traits: Items,
    bounds: Floats,
    left: Items,
    right: Items,
    values: Floats,
    roots: Items,
    rows: Floats,
) -> Floats:
    """Return the sum of each row's leaves, tree after tree."""
    sums = np.zeros(len(rows))
    for row in range(len(rows)):
        total = 0.0
        for tree in range(len(roots)):
            node = roots[tree]
            while node >= 0:
                goes_left = rows[row, traits[node]] <= bounds[node]
                node = left[node] if goes_left else right[node]
            total += values[-1 - node]
        sums[row] = total
    return sums
