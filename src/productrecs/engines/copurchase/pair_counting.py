"""Pair counting: counts the common baskets of two items, block by block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from productrecs.engines.arrays import (
    Floats,
    Ints,
    Items,
    Scores,
    check_item_numbers,
    csr_offsets,
    unique_sorted,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt
    from scipy import sparse

    from productrecs.engines.copurchase.options import CopurchaseOptions

_BLOCK_PAIRS: Final = 4_000_000  # pairs in memory at once: at most about 300 MB


@dataclass(frozen=True, slots=True, eq=False)
class Baskets:
    """The distinct items of each basket: `baskets` (from 0, ascending) and `items`.

    `ages_days` [n_baskets] is the age of each basket's newest line, at least 0.
    """

    baskets: Ints
    items: Items
    ages_days: Floats
    n_items: int

    @property
    def sizes(self) -> Ints:
        """Number of distinct items of each basket."""
        return np.bincount(self.baskets, minlength=len(self.ages_days))

    @property
    def counts(self) -> Ints:
        """Number of baskets of each item."""
        return np.bincount(self.items, minlength=self.n_items)


@dataclass(frozen=True, slots=True, eq=False)
class PairCounts:
    """Pairs of items with common baskets, one entry per direction; parallel arrays.

    Sorted by owner, then companion. `weights` sums the weights of the common baskets,
    `support` counts them; `shared`, if known, counts those of the variant groups.
    """

    owners: Ints
    companions: Items
    weights: Floats
    support: Items
    shared: Items | None = None

    def __getitem__(self, chosen: Ints) -> PairCounts:
        """Return the pairs at the indexes `chosen`, in that order."""
        return PairCounts(
            self.owners[chosen],
            self.companions[chosen],
            self.weights[chosen],
            self.support[chosen],
            None if self.shared is None else self.shared[chosen],
        )

    def without_shared(self) -> PairCounts:
        """Return the pairs without the counts of their variant groups."""
        return PairCounts(self.owners, self.companions, self.weights, self.support)

    @classmethod
    def joined(cls, parts: list[PairCounts]) -> PairCounts:
        """Return the pairs of all parts, concatenated."""
        shared = [part.shared for part in parts if part.shared is not None]
        return PairCounts(
            np.concatenate([np.zeros(0, np.int64), *(part.owners for part in parts)]),
            np.concatenate([np.zeros(0, np.int32), *(part.companions for part in parts)]),
            np.concatenate([np.zeros(0), *(part.weights for part in parts)]),
            np.concatenate([np.zeros(0, np.int32), *(part.support for part in parts)]),
            np.concatenate(shared) if shared else None,
        )


def gather_baskets(
    baskets: Ints, items: Items, ages_days: Scores | None, n_items: int
) -> Baskets:
    """Return the distinct items of each basket; lines with a basket below 0 are ignored.

    Raises:
        ValueError: when an item number lies outside 0..n_items-1.
    """
    check_item_numbers(items, n_items)
    ages = np.zeros(len(items), np.float32) if ages_days is None else ages_days
    inside = baskets >= 0
    items, ages = items[inside], ages[inside]
    names, codes = np.unique(baskets[inside], return_inverse=True)
    newest = np.full(len(names), np.inf)
    np.minimum.at(newest, codes, ages)
    lines = unique_sorted(codes * np.int64(n_items) + items)
    return Baskets(
        baskets=lines // max(n_items, 1),
        items=(lines % max(n_items, 1)).astype(np.int32),
        ages_days=np.maximum(newest, 0.0),
        n_items=n_items,
    )


def without_repeated_baskets(lines: Baskets, baskets: Ints, buyers: Ints) -> Baskets:
    """Return the baskets without those that equal a newer basket of the same buyer.

    `lines` was gathered from `baskets` and `buyers` [n]; buyer 0 is unknown. A resent order
    under a new number is a duplicate, not new evidence.
    """
    names, places = np.unique(baskets[baskets >= 0], return_index=True)
    buyer = buyers[baskets >= 0][places]
    contents = np.zeros(len(names), dtype=np.uint64)
    np.add.at(contents, lines.baskets, _hashed(lines.items.astype(np.uint64)))
    order = np.lexsort((lines.ages_days, contents, buyer))
    is_repeated = np.zeros(len(names), dtype=np.bool_)
    is_repeated[order[1:]] = (np.diff(contents[order]) == 0) & (np.diff(buyer[order]) == 0)
    is_unique = ~is_repeated | (buyer == 0)
    renumbered = np.cumsum(is_unique) - 1
    is_kept = is_unique[lines.baskets]
    return Baskets(
        baskets=renumbered[lines.baskets[is_kept]],
        items=lines.items[is_kept],
        ages_days=lines.ages_days[is_unique],
        n_items=lines.n_items,
    )


def _hashed(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return 64 well-mixed bits for each number (splitmix64)."""
    hashed = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    hashed = (hashed ^ (hashed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashed = (hashed ^ (hashed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return hashed ^ (hashed >> np.uint64(31))


def basket_weights(lines: Baskets, options: CopurchaseOptions) -> Floats:
    """Return each basket's weight in 0..1: lower for wholesale and old orders."""
    large = np.minimum(1.0, options.large_basket / np.maximum(lines.sizes, 1))
    basket_weights_by_age: Floats = large * 0.5 ** (
        lines.ages_days / options.half_life_days
    )
    return basket_weights_by_age


def count_pairs(
    lines: Baskets, weights: Floats, block_pairs: int = _BLOCK_PAIRS
) -> Iterator[tuple[Ints, PairCounts]]:
    """Yield all pairs in blocks of consecutive owners.

    `weights` [n_baskets]. A block has about `block_pairs` pair occurrences, or one owner's
    if they are more.
    """
    from scipy import sparse  # noqa: PLC0415 - 20 MB, for training only

    shape, offsets = (len(weights), lines.n_items), csr_offsets(lines.baskets, len(weights))
    # The real part sums weights, the imaginary part counts: one matrix product.
    contents = sparse.csr_array(
        (weights[lines.baskets] + 1j, lines.items, offsets), shape=shape
    )
    ones = np.ones(len(lines.items))
    basket_matrix = sparse.csr_array((ones, lines.items, offsets), shape=shape)
    holders = sparse.csr_array(basket_matrix.T)
    blocks = np.cumsum(holders @ lines.sizes) // block_pairs
    borders = np.flatnonzero(np.diff(blocks)) + 1
    for some in np.split(np.arange(lines.n_items), borders):
        product = sparse.csr_array(holders[some] @ contents)
        product.sort_indices()
        yield some, _without_self(some, product)


def _without_self(owners: Ints, product: sparse.csr_array) -> PairCounts:
    pairs = PairCounts(
        owners=np.repeat(owners, np.diff(product.indptr)),
        companions=product.indices.astype(np.int32),
        weights=np.real(product.data),
        support=np.imag(product.data).astype(np.int32),
    )
    return pairs[np.flatnonzero(pairs.owners != pairs.companions)]
