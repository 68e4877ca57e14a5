"""Weighted reciprocal rank fusion: one order of several lists, and what leads each item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from productrecs.core.caches import Cache, memoized
from productrecs.engines.fusion import reference

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from productrecs.engines.arrays import Floats, Ints, Items

RANK_OFFSET: Final = 20.0  # of short lists; the classic 60 suits lists of a thousand
_evaluators = [reference.order]  # the last one answers: the compiled one, once warm


class Fused(NamedTuple):
    """Items in one order, best first; equal scores stand by item number."""

    items: Items  # [n]
    scores: Floats  # [n] falling: the sum of an item's shares
    leaders: npt.NDArray[np.int8]  # [n] in which list the item has its largest share


def warm_up() -> None:
    """Make this process fuse by the compiled kernel from now on, alike but faster."""
    from productrecs.engines.fusion import kernel  # noqa: PLC0415 - it compiles

    _evaluators[1:] = [kernel.order]


def fuse(lists: Sequence[Items], weights: Sequence[float]) -> Fused:
    """Return every item of `lists` (each best first, its items distinct) in one order.

    An item's share in a list is weight / (20 + rank), rank from 0; its score is the sum of
    its shares; of equal shares the earlier list leads.

    Source: reciprocal rank fusion (Cormack 2009), requirements/algorithms.md 4.2.
    """
    heard = [place for place, one in enumerate(lists) if len(one)]
    if len(heard) == 1:  # as with few purchases: its order is used
        alone = heard[0]
        items = lists[alone]
        shares, _ = _shares((weights[alone],), (len(items),))
        return Fused(items, shares, np.full(len(items), alone, np.int8))
    items = np.concatenate(lists) if lists else _NONE
    shares, ends = _shares(tuple(weights), tuple([len(one) for one in lists]))
    return Fused(*_evaluators[-1](items, shares, ends))


@memoized(Cache.FUSION_WEIGHTS)
def _shares(weights: tuple[float, ...], counts: tuple[int, ...]) -> tuple[Floats, Ints]:
    """Return what each place of lists laid end to end is worth, and where each ends."""
    worth = [
        np.float64(weight) / (RANK_OFFSET + np.arange(count))
        for weight, count in zip(weights, counts, strict=True)
    ]
    shares: Floats = np.concatenate([_NO_SHARES, *worth])
    ends = np.cumsum(counts, dtype=np.int64)
    shares.flags.writeable = ends.flags.writeable = False
    return shares, ends


_NONE: Final = np.zeros(0, np.int32)
_NO_SHARES: Final = np.zeros(0)
