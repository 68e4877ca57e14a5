"""In which arrays do companions lie? The one form that both evaluators read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from productrecs.engines.contract import Floats, Ints, Items, Scores


class Companions(NamedTuple):
    """Every item's companions, best first, as one compressed sparse matrix.

    `offsets` [n_items + 1] delimits each item's run in the arrays [P]; `lean` [n_items] is
    an item's popularity to the power 0.5 - `CopurchaseOptions.lean`.
    """

    offsets: Ints
    companions: Items
    scores: Scores  # of an anchor by itself
    likeness: Scores  # the pair's cosine
    lean: Scores
    constants: Floats  # `doublings` and `alike` of CopurchaseOptions
