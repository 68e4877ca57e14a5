"""Random choice: seeded random sources, and weighted draws."""

import random
from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate
from typing import Generic, TypeVar

Member = TypeVar("Member")


class WeightedChoice(Generic[Member]):
    """Weighted random choice with replacement."""

    def __init__(self, weighted: Iterable[tuple[Member, float]]) -> None:
        """Store the weights; at least one must be above zero."""
        pairs = list(weighted)
        self._members = [member for member, _ in pairs]
        self._bounds = list(accumulate(weight for _, weight in pairs))

    def draw(self, rng: random.Random) -> Member:
        """Return one member."""
        index = bisect_right(self._bounds, rng.random() * self._bounds[-1])
        return self._members[min(index, len(self._members) - 1)]


def happens_with_probability(probability: float, rng: random.Random) -> bool:
    """Return true with the given probability (0 to 1)."""
    return rng.random() < probability


def seeded_random(seed: int, purpose: str) -> random.Random:
    """Return a separate random source for each purpose.

    So a change in the sampling of shoppers does not change the prices of products.
    """
    return random.Random(f"{seed}/{purpose}")  # noqa: S311  a shop to look at, no secrets
