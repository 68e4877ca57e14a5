"""Reference implementation of tree scoring in NumPy; the compiled kernel must equal it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from productrecs.engines.arrays import Floats, Items


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
    every = np.arange(len(rows))
    for root in roots.tolist():
        at = np.full(len(rows), root, dtype=np.int64)
        while (inside := at >= 0).any():
            nodes, row_index = at[inside], every[inside]
            low = rows[row_index, traits[nodes]] <= bounds[nodes]
            at[inside] = np.where(low, left[nodes], right[nodes])
        sums += values[~at]
    return sums
