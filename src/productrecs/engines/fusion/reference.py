"""Reference implementation of rank fusion in NumPy; the compiled kernel must equal it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from productrecs.engines.arrays import Floats, Ints, Items


def order(
    items: Items, shares: Floats, ends: Ints
) -> tuple[Items, Floats, npt.NDArray[np.int8]]:
    """Return distinct items by falling sum of shares, the sums, and their leading lists.

    Items and shares are parallel and concatenated: each list ends at its index in `ends`,
    with falling shares. An item's shares are summed from the largest on.
    """
    codes = np.repeat(np.arange(len(ends), dtype=np.int8), np.diff(ends, prepend=0))
    found, item_index = np.unique(items, return_inverse=True)
    sums = np.zeros(len(found))
    largest_first = np.argsort(-shares, kind="stable")
    np.add.at(sums, item_index[largest_first], shares[largest_first])
    largest = np.zeros(len(found))
    leaders = np.zeros(len(found), dtype=np.int8)
    for code in np.unique(codes):
        is_item = codes == code
        positions, own_shares = item_index[is_item], shares[is_item]
        is_larger = own_shares > largest[positions]
        largest[positions[is_larger]] = own_shares[is_larger]
        leaders[positions[is_larger]] = code
    best = np.lexsort((found, -sums))
    return found[best].astype(np.int32), sums[best], leaders[best]
