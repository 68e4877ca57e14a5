"""Is a difference more than chance? Intervals that respect who was asked together."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from productrecs.engines.array_types_and_sorting import Floats, Ints

_DRAWS = 2_000
_SEED = 11


class Interval(NamedTuple):
    """A mean difference and its 95 % interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        """Return the mean and the interval in brackets, all with their sign."""
        return f"{self.mean:+.4f} [{self.low:+.4f}, {self.high:+.4f}]"


def difference(ours: Floats, theirs: Floats, groups: Ints) -> Interval:
    """Return ours - theirs, paired by question; whole groups are drawn by bootstrap.

    The questions of one order or session stand or fall together, so `groups` (codes 0..)
    are drawn, not questions. Shapes [questions]. The draws are the same in every run.
    """
    gains = np.bincount(groups, weights=ours - theirs).astype(np.float64)
    sizes = np.bincount(groups).astype(np.float64)
    rng = np.random.default_rng(_SEED)
    means = np.empty(_DRAWS)
    for draw in range(_DRAWS):
        chosen = rng.integers(len(sizes), size=len(sizes))
        means[draw] = gains[chosen].sum() / max(sizes[chosen].sum(), 1.0)
    low, high = np.quantile(means, (0.025, 0.975))
    return Interval(float(gains.sum() / sizes.sum()), float(low), float(high))
