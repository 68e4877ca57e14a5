"""Which stretches of a past are asked, and what was before each? The newest two tenths."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from productrecs.engines.contract import Ints
from productrecs.training.past import Groups

STRETCHES: Final = 2
SHARE: Final = 0.1  # of all visits or orders, in each of them
ENOUGH: Final = 200  # visits or orders asked in each, or else nothing is chosen
MOST_ASKED: Final = 1_000


class Stretch(NamedTuple):
    """Visits or orders of one stretch, thinned out evenly, and when the first one began."""

    since_ms: int
    asked: Ints  # numbers of groups


def stretches_of(groups: Groups) -> list[Stretch]:
    """Return the stretches, the oldest first; none where there is too little to ask."""
    count = len(groups.begins)
    size = int(count * SHARE)
    if size < ENOUGH:
        return []
    return list(_cut(groups, count, size))


def _cut(groups: Groups, count: int, size: int) -> Iterator[Stretch]:
    for back in range(STRETCHES, 0, -1):
        first = count - back * size
        asked = np.arange(first, first + size)
        yield Stretch(int(groups.begins[first]), asked[:: -(-size // MOST_ASKED)])
