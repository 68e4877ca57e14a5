"""Personal search: how well a product suits a shopper, by traits of items chosen earlier.

Five traits are compared: the product itself, its narrowest category, brand, size and price
level. The match lifts a product's score by at most `weight`, so that a product never passes
one that is more relevant than that.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Self, TypeVar

import numpy as np

from productrecs.engines.arrays import Floats

TRAITS: Final = ("seen", "category", "brand", "size", "price")
_MIN_PRICED: Final = 3  # products from which a shopper's price level is read


@dataclass(frozen=True, slots=True)
class PersonalSearchOptions:
    """The largest lift of a score, as a share of it, and the weight of each trait."""

    weight: float = 0.0  # 0: the same results for everybody
    seen: float = 1.0
    category: float = 1.0
    brand: float = 1.0
    size: float = 1.0
    price: float = 1.0

    def shares(self) -> Floats:
        """Return the share [5] of each of `TRAITS` in a match; they add up to 1."""
        weights = np.array([getattr(self, name) for name in TRAITS], dtype=np.float64)
        shares: Floats = weights / max(float(weights.sum()), 1e-9)
        return shares


class ItemTraits(NamedTuple):
    """The traits of one item; those it does not have are empty, NaN for the level."""

    category: str
    brands: tuple[int, ...]
    sizes: tuple[int, ...]
    level: float  # its price among those of its category, from 0 (lowest) to 1


_Key = TypeVar("_Key")
TraitsOf = Callable[[int], ItemTraits]


@dataclass(frozen=True, slots=True)
class ShopperProfile:
    """What a shopper chose before: shares of the strongest value of each trait."""

    seen: frozenset[int]
    categories: dict[str, float]
    brands: dict[int, float]
    sizes: dict[int, float]
    level: float  # NaN: unknown

    @classmethod
    def of(
        cls, weighted_items: Iterable[tuple[int, float]], traits_of: TraitsOf
    ) -> Self | None:
        """Return the profile of (item, weight) pairs; None without items."""
        categories: dict[str, float] = defaultdict(float)
        brands: dict[int, float] = defaultdict(float)
        sizes: dict[int, float] = defaultdict(float)
        levels: list[tuple[float, float]] = []
        seen: set[int] = set()
        for item, weight in weighted_items:
            traits = traits_of(item)
            seen.add(item)
            if traits.category:
                categories[traits.category] += weight
            for brand in traits.brands:
                brands[brand] += weight
            for size in traits.sizes:
                sizes[size] += weight
            if traits.level == traits.level:
                levels.append((traits.level, weight))
        if not seen:
            return None
        level = float("nan")
        if len(levels) >= _MIN_PRICED:
            values, weights = np.array(levels).T
            level = float(np.average(values, weights=weights))
        return cls(
            frozenset(seen),
            _relative_weights(categories),
            _relative_weights(brands),
            _relative_weights(sizes),
            level,
        )

    def matches(self, items: Sequence[int], traits_of: TraitsOf) -> Floats:
        """Return how well each item [n] matches by each of `TRAITS` [5], from 0 to 1."""
        matches = np.zeros((len(items), len(TRAITS)))
        for row, item in enumerate(items):
            traits = traits_of(item)
            price = 1.0 - abs(traits.level - self.level)
            matches[row] = (
                item in self.seen,
                self.categories.get(traits.category, 0.0),
                max((self.brands.get(brand, 0.0) for brand in traits.brands), default=0.0),
                max((self.sizes.get(size, 0.0) for size in traits.sizes), default=0.0),
                price if price == price else 0.0,  # noqa: PLR0124 - not NaN
            )
        return matches


def lift_scores(scores: Floats, matches: Floats, options: PersonalSearchOptions) -> Floats:
    """Return the scores [n], each raised by its match [n, 5], at most by `weight`."""
    lifted: Floats = scores * (1.0 + options.weight * (matches @ options.shares()))
    return lifted


def _relative_weights(weights: dict[_Key, float]) -> dict[_Key, float]:
    max_weight = max(weights.values(), default=0)
    return {key: weight / max_weight for key, weight in weights.items()}
