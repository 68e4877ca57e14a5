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
    found, where = np.unique(items, return_inverse=True)
    sums = np.zeros(len(found))
    largest_first = np.argsort(-shares, kind="stable")
    np.add.at(sums, where[largest_first], shares[largest_first])
    largest = np.zeros(len(found))
    leaders = np.zeros(len(found), dtype=np.int8)
    for code in np.unique(codes):
        mine = codes == code
        at, share = where[mine], shares[mine]
        more = share > largest[at]
        largest[at[more]] = share[more]
        leaders[at[more]] = code
    best = np.lexsort((found, -sums))
    return found[best].astype(np.int32), sums[best], leaders[best]
