"""Hyperparameter search: a grid search on time splits.

The best of many values looks better by chance (multiple comparisons), so a change needs a
significant gain in each time split, and a minimum gain.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np

from productrecs.engines.arrays import Floats, Ints
from productrecs.engines.copurchase import CopurchaseOptions
from productrecs.training.item_groups import ItemGroups

Changes = Mapping[str, float]


def with_changes(options: CopurchaseOptions, changes: Changes) -> CopurchaseOptions:
    """Return the options with some values changed, each converted to its field's type.

    Names that this release does not know are ignored.
    """
    values: dict[str, Any] = {
        name: type(getattr(options, name))(value)
        for name, value in changes.items()
        if name in options.__dataclass_fields__
    }
    return replace(options, **values)


def changes_of(options: CopurchaseOptions) -> dict[str, float]:
    """Return the differences from the defaults, by name."""
    defaults = asdict(CopurchaseOptions())
    return {
        name: value for name, value in asdict(options).items() if value != defaults[name]
    }


MIN_STANDARD_ERRORS: Final = 2.5  # standard errors
MIN_GAIN: Final = 0.005  # minimum gain of the score


@dataclass(frozen=True, slots=True)
class TuningTrial:
    """Scores of one set of options, by time split and test case, and catalog coverage."""

    scores: tuple[Floats, ...]
    shown: float = 0.0  # share of the trained products

    @property
    def mean(self) -> float:
        """The mean over all test cases."""
        return float(np.concatenate(self.scores).mean())


Evaluate = Callable[[CopurchaseOptions], TuningTrial]


def is_better(trial: TuningTrial, baseline: TuningTrial) -> bool:
    """Return whether a trial is significantly better than another, in each split."""
    gains = [
        own_score - baseline_score
        for own_score, baseline_score in zip(trial.scores, baseline.scores, strict=True)
    ]
    if any(float(gain.mean()) <= 0 for gain in gains):
        return False
    all_gains = np.concatenate(gains)
    error = float(all_gains.std()) / math.sqrt(len(all_gains))
    gain = float(all_gains.mean())
    return gain > MIN_STANDARD_ERRORS * error and gain > MIN_GAIN * baseline.mean


def grid_search(
    grid: Sequence[Changes], evaluate: Evaluate, min_coverage: float
) -> CopurchaseOptions:
    """Return the defaults, or the best of the changes to them that is clearly better.

    Changes with a catalog coverage below `min_coverage` are rejected.
    """
    defaults = CopurchaseOptions()
    default_trial = evaluate(defaults)
    best, best_mean = defaults, 0.0
    for options in [with_changes(defaults, changes) for changes in grid]:
        trial = evaluate(options)
        if (
            is_better(trial, default_trial)
            and trial.shown >= min_coverage
            and trial.mean > best_mean
        ):
            best, best_mean = options, trial.mean
    return best


N_SPLITS: Final = 2
SPLIT_SHARE: Final = 0.1  # of all orders, per split
MIN_GROUPS: Final = 200  # minimum orders per test split
MAX_GROUPS: Final = 1_000


class TimeSplit(NamedTuple):
    """A test split: a sample of one period's orders, and the period's start."""

    since_ms: int
    test_groups: Ints  # indexes of groups


def time_splits(groups: ItemGroups) -> list[TimeSplit]:
    """Return the test splits, the oldest first; none if there is too little data."""
    count = len(groups.starts)
    size = int(count * SPLIT_SHARE)
    if size < MIN_GROUPS:
        return []
    return list(_cut(groups, count, size))


def _cut(groups: ItemGroups, count: int, size: int) -> Iterator[TimeSplit]:
    for back in range(N_SPLITS, 0, -1):
        first = count - back * size
        chosen = np.arange(first, first + size)
        yield TimeSplit(int(groups.starts[first]), chosen[:: -(-size // MAX_GROUPS)])
