"""Time splits: the newest two tenths of a history, each with the history before it."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from productrecs.engines.arrays import Ints
from productrecs.training.group_visits_and_orders import ItemGroups

N_SPLITS: Final = 2
SPLIT_SHARE: Final = 0.1  # of all visits or orders, in each of them
MIN_GROUPS: Final = 200  # visits or orders in each test; with fewer nothing is tuned
MAX_GROUPS: Final = 1_000


class TimeSplit(NamedTuple):
    """A test split: a sample of one period's visits or orders, and the period's start."""

    since_ms: int
    test_groups: Ints  # numbers of groups


def time_splits(groups: ItemGroups) -> list[TimeSplit]:
    """Return the test splits, the oldest first; none when there is too little data."""
    count = len(groups.begins)
    size = int(count * SPLIT_SHARE)
    if size < MIN_GROUPS:
        return []
    return list(_cut(groups, count, size))


def _cut(groups: ItemGroups, count: int, size: int) -> Iterator[TimeSplit]:
    for back in range(N_SPLITS, 0, -1):
        first = count - back * size
        chosen = np.arange(first, first + size)
        yield TimeSplit(int(groups.begins[first]), chosen[:: -(-size // MAX_GROUPS)])
