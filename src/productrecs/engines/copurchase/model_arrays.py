"""Arrays of the co-purchase model, as the kernel and the reference read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from productrecs.engines.arrays import (
        Floats,
        Ints,
        Items,
        Scores,
    )


class CompanionArrays(NamedTuple):
    """Every item's companions, best first, as one compressed sparse matrix.

    `offsets` [n_items + 1] delimits each item's run in the arrays [P]; `lean` [n_items] is
    an item's popularity to the power 0.5 - `CopurchaseOptions.lean`.
    """

    offsets: Ints
    companions: Items
    scores: Scores  # for a single anchor
    likeness: Scores  # the pair's cosine; 0 for a pair that does not count in carts
    lean: Scores
    constants: Floats  # `doublings` of CopurchaseOptions; older models differ


_I4, _I8, _F4, _F8 = np.int32, np.int64, np.float32, np.float64
KINDS: Final = (_I8, _I4, _F4, _F4, _F4, _F8)  # of `CompanionArrays`
