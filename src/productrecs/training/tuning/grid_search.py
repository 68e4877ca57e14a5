"""Grid search on time splits: replaces defaults only by options that are clearly better.

Each hyperparameter is tried by itself, in order, on the same questions. Of many values one
always looks best by chance: a change must be better by more than that, in each time split
by itself, and by enough to be worth having.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

import numpy as np

from productrecs.engines.arrays import Floats, Ints
from productrecs.training.group_visits_and_orders import ItemGroups
from productrecs.training.tuning.hyperparameters import Changes, Options, with_changes

MIN_STANDARD_ERRORS: Final = 2.5  # standard errors
MIN_GAIN: Final = 0.005  # of the score
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class TuningTrial:
    """How some options did: each stretch's questions' scores, and the catalog they show."""

    scores: tuple[Floats, ...]
    shown: float = 0.0  # share of the products learned from

    @property
    def mean(self) -> float:
        """The mean over all questions."""
        return float(np.concatenate(self.scores).mean())


Judge = Callable[[Options], TuningTrial]


def is_better(found: TuningTrial, than: TuningTrial) -> bool:
    """Return whether a trial beats another one by more than chance, in each stretch."""
    gains = [mine - theirs for mine, theirs in zip(found.scores, than.scores, strict=True)]
    if any(float(gain.mean()) <= 0 for gain in gains):
        return False
    together = np.concatenate(gains)
    error = float(together.std()) / math.sqrt(len(together))
    gain = float(together.mean())
    return gain > MIN_STANDARD_ERRORS * error and gain > MIN_GAIN * than.mean


def grid_search(
    options: Options,
    grid: Sequence[Sequence[Changes]],
    judge: Judge[Options],
    least_shown: float = 0.0,
) -> tuple[Options, TuningTrial]:
    """Return the options with what is clearly better, and their trial.

    `grid` has one set of changes after another; the best of a set is taken before the next
    one is tried. Changes that show less of the catalog than `least_shown` are not taken.
    """
    best, trial = options, judge(options)
    for values in grid:
        tried = [with_changes(best, one) for one in values]
        found = [(judge(one), one) for one in tried if one != best]
        better = [(one, which) for one, which in found if is_better(one, trial)]
        better = [pair for pair in better if pair[0].shown >= least_shown]
        if better:
            trial, best = max(better, key=lambda pair: pair[0].mean)
    return best, trial


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
