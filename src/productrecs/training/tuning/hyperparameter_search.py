"""Hyperparameter search: the engines' defaults, and a grid search on time splits.

Each hyperparameter is searched separately, in order, on the same test cases. The best of
many values looks better by chance (multiple comparisons), so a change needs a significant
gain in each time split, and a minimum gain.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, NamedTuple, Self, TypeVar

import numpy as np

from productrecs.engines.arrays import Floats, Ints
from productrecs.engines.browse import SessionOptions
from productrecs.engines.copurchase import CopurchaseOptions
from productrecs.training.group_visits_and_orders import ItemGroups

Options = TypeVar("Options", CopurchaseOptions, SessionOptions)
Changes = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """The hyperparameters of the tunable engines."""

    companions: CopurchaseOptions = field(default_factory=CopurchaseOptions)
    visits: SessionOptions = field(default_factory=SessionOptions)

    @classmethod
    def of(cls, changes: Mapping[str, Changes]) -> Self:
        """Return the defaults with the stored changes.

        Names that this release does not know are ignored.
        """
        return cls(
            companions=with_changes(CopurchaseOptions(), changes.get("companions", {})),
            visits=with_changes(SessionOptions(), changes.get("visits", {})),
        )

    def changes(self) -> dict[str, dict[str, float]]:
        """Return the differences from the defaults: by engine, then by name."""
        return {
            "companions": _differences(self.companions, CopurchaseOptions()),
            "visits": _differences(self.visits, SessionOptions()),
        }


def with_changes(options: Options, changes: Changes) -> Options:
    """Return the options with some values changed, each converted to its field's type."""
    values: dict[str, Any] = {
        name: type(getattr(options, name))(value)
        for name, value in changes.items()
        if name in options.__dataclass_fields__
    }
    return replace(options, **values)


def _differences(options: Options, defaults: Options) -> dict[str, float]:
    default_values = asdict(defaults)
    return {
        name: one for name, one in asdict(options).items() if one != default_values[name]
    }


MIN_STANDARD_ERRORS: Final = 2.5  # standard errors
MIN_GAIN: Final = 0.005  # minimum gain of the score
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class TuningTrial:
    """Scores of one set of options, by time split and test case, and catalog coverage."""

    scores: tuple[Floats, ...]
    shown: float = 0.0  # share of the trained products

    @property
    def mean(self) -> float:
        """The mean over all test cases."""
        return float(np.concatenate(self.scores).mean())


Evaluate = Callable[[Options], TuningTrial]


def is_better(found: TuningTrial, baseline: TuningTrial) -> bool:
    """Return whether a trial is significantly better than another, in each split."""
    gains = [
        own_score - baseline_score
        for own_score, baseline_score in zip(found.scores, baseline.scores, strict=True)
    ]
    if any(float(gain.mean()) <= 0 for gain in gains):
        return False
    all_gains = np.concatenate(gains)
    error = float(all_gains.std()) / math.sqrt(len(all_gains))
    gain = float(all_gains.mean())
    return gain > MIN_STANDARD_ERRORS * error and gain > MIN_GAIN * baseline.mean


def grid_search(
    options: Options,
    grid: Sequence[Sequence[Changes]],
    evaluate: Evaluate[Options],
    min_shown: float = 0.0,
) -> tuple[Options, TuningTrial]:
    """Return the best options and their trial.

    `grid` is a sequence of sets of changes; the best of each set is adopted before the next
    set is searched. Changes with a catalog coverage below `min_shown` are rejected.
    """
    best, trial = options, evaluate(options)
    for values in grid:
        trials = [with_changes(best, one) for one in values]
        found = [(evaluate(one), one) for one in trials if one != best]
        improvements = [(one, index) for one, index in found if is_better(one, trial)]
        improvements = [pair for pair in improvements if pair[0].shown >= min_shown]
        if improvements:
            trial, best = max(improvements, key=lambda pair: pair[0].mean)
    return best, trial


N_SPLITS: Final = 2
SPLIT_SHARE: Final = 0.1  # of all visits or orders, per split
MIN_GROUPS: Final = 200  # minimum visits or orders per test split
MAX_GROUPS: Final = 1_000


class TimeSplit(NamedTuple):
    """A test split: a sample of one period's visits or orders, and the period's start."""

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
