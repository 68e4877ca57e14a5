"""Item pairs: co-purchase counts from baskets, and the strength of each pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from productrecs.engines.array_types_and_sorting import (
    Floats,
    Ints,
    Items,
    Scores,
    check_item_numbers,
    csr_offsets,
    ranks_within_runs,
    run_numbers,
    unique_sorted,
)
from productrecs.engines.copurchase.sparse_product import SparseRows, multiply

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from productrecs.engines.copurchase.copurchase_options import CopurchaseOptions


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
    def item_counts_by_basket(self) -> Ints:
        """Number of distinct items of each basket."""
        return np.bincount(self.baskets, minlength=len(self.ages_days))

    @property
    def basket_counts_by_item(self) -> Ints:
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

    def __getitem__(self, index: Ints) -> PairCounts:
        """Return the pairs at the indexes `index`, in that order."""
        return PairCounts(
            self.owners[index],
            self.companions[index],
            self.weights[index],
            self.support[index],
            None if self.shared is None else self.shared[index],
        )

    def without_shared(self) -> PairCounts:
        """Return the pairs without the counts of their variant groups."""
        return PairCounts(self.owners, self.companions, self.weights, self.support)

    @classmethod
    def concatenate(cls, parts: list[PairCounts]) -> PairCounts:
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
    in_basket = baskets >= 0
    items, ages = items[in_basket], ages[in_basket]
    basket_numbers, codes = np.unique(baskets[in_basket], return_inverse=True)
    newest_ages = np.full(len(basket_numbers), np.inf)
    np.minimum.at(newest_ages, codes, ages)
    line_codes = unique_sorted(codes * np.int64(n_items) + items)
    return Baskets(
        baskets=line_codes // max(n_items, 1),
        items=(line_codes % max(n_items, 1)).astype(np.int32),
        ages_days=np.maximum(newest_ages, 0.0),
        n_items=n_items,
    )


def without_repeated_baskets(lines: Baskets, baskets: Ints, buyers: Ints) -> Baskets:
    """Return the baskets without those that equal a newer basket of the same buyer.

    `lines` was gathered from `baskets` and `buyers` [n]; buyer 0 is unknown. A resent order
    under a new number is a duplicate, not new evidence.
    """
    basket_numbers, first_line = np.unique(baskets[baskets >= 0], return_index=True)
    buyer_of_basket = buyers[baskets >= 0][first_line]
    content_hashes = np.zeros(len(basket_numbers), dtype=np.uint64)
    np.add.at(content_hashes, lines.baskets, _splitmix64(lines.items.astype(np.uint64)))
    order = np.lexsort((lines.ages_days, content_hashes, buyer_of_basket))
    is_repeated = np.zeros(len(basket_numbers), dtype=np.bool_)
    is_repeated[order[1:]] = (np.diff(content_hashes[order]) == 0) & (
        np.diff(buyer_of_basket[order]) == 0
    )
    is_unique = ~is_repeated | (buyer_of_basket == 0)
    renumbered = np.cumsum(is_unique) - 1
    is_kept = is_unique[lines.baskets]
    return Baskets(
        baskets=renumbered[lines.baskets[is_kept]],
        items=lines.items[is_kept],
        ages_days=lines.ages_days[is_unique],
        n_items=lines.n_items,
    )


def _splitmix64(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return 64 well-mixed bits for each number (splitmix64)."""
    hashed = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    hashed = (hashed ^ (hashed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashed = (hashed ^ (hashed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return hashed ^ (hashed >> np.uint64(31))


def basket_weights(lines: Baskets, options: CopurchaseOptions) -> Floats:
    """Return each basket's weight in 0..1: lower for wholesale and old orders."""
    size_weights = np.minimum(
        1.0, options.large_basket / np.maximum(lines.item_counts_by_basket, 1)
    )
    weights: Floats = size_weights * 0.5 ** (lines.ages_days / options.half_life_days)
    return weights


def owner_blocks(lines: Baskets, block_pairs: int = _BLOCK_PAIRS) -> list[Ints]:
    """Return all items as blocks of consecutive owners, for `count_pairs`.

    A block has about `block_pairs` pair occurrences, or one owner's if they are more.
    """
    occurrences = np.bincount(
        lines.items,
        weights=lines.item_counts_by_basket[lines.baskets],
        minlength=lines.n_items,
    )
    blocks = np.cumsum(occurrences) // block_pairs
    borders = np.flatnonzero(np.diff(blocks)) + 1
    return np.split(np.arange(lines.n_items), borders)


def count_pairs(
    lines: Baskets, weights: Floats, blocks: list[Ints] | None = None
) -> Iterator[tuple[Ints, PairCounts]]:
    """Yield the pairs of `blocks` of consecutive owners; all of `owner_blocks` by default.

    `weights` [n_baskets].
    """
    offsets = csr_offsets(lines.baskets, len(weights))
    weighted_baskets = SparseRows(offsets, lines.items, weights[lines.baskets])
    item_baskets = SparseRows(offsets, lines.items, np.ones(len(lines.items))).transposed(
        lines.n_items
    )
    for owners in owner_blocks(lines) if blocks is None else blocks:
        if not len(owners):
            continue
        rows = item_baskets.rows(int(owners[0]), int(owners[-1]) + 1)
        product = multiply(rows, weighted_baskets, lines.n_items)
        pairs = PairCounts(
            owners[product.rows], product.columns, product.sums, product.counts
        )
        yield owners, pairs[np.flatnonzero(pairs.owners != pairs.companions)]


_MIN_POPULARITY: Final = 1e-9  # popularity of items without sales


class WeightedSales(NamedTuple):
    """Sales, as sums of basket weights."""

    popularity: Floats  # [n_items] weight of the baskets with an item, above 0
    seasons: Floats  # [n_items] seasonal factor of a companion's strength
    baskets: float  # weight of all baskets


def item_popularity(lines: Baskets, weights: Floats) -> Floats:
    """Return the summed weight of each item's baskets, always above 0."""
    sums = np.bincount(lines.items, weights=weights[lines.baskets], minlength=lines.n_items)
    return np.maximum(sums, _MIN_POPULARITY)


def pair_strengths(
    pairs: PairCounts, sales: WeightedSales, options: CopurchaseOptions
) -> Scores:
    """Return each pair's strength by `options`, above 0."""
    popularity, prior = sales.popularity, options.prior
    prior_weights = popularity[pairs.companions] * (
        prior / max(sales.baskets, _MIN_POPULARITY)
    )
    probabilities = (pairs.weights + prior_weights) / (popularity[pairs.owners] + prior)
    companion_factors = sales.seasons / popularity**options.exponent
    scores = probabilities * companion_factors[pairs.companions]
    return np.maximum(scores, np.finfo(np.float32).tiny).astype(np.float32)


def cart_strengths(
    pairs: PairCounts, popularity: Floats, options: CopurchaseOptions
) -> Scores:
    """Return the ranking score of each owner's companions in carts, above 0."""
    votes = pairs.weights / popularity[pairs.companions] ** options.lean
    return np.maximum(votes, np.finfo(np.float32).tiny).astype(np.float32)


def top_indexes_per_owner(owners: Ints, scores: Scores, limit: int) -> Ints:
    """Return the indexes of each owner's `limit` highest scores, best first.

    `owners` must be sorted; ties keep their order.
    """
    # Bits of a positive float32 sort like its value: owner and inverted score form the key.
    inverted = ~scores.view(np.uint32)
    owner_runs = run_numbers(owners).astype(np.uint64)
    order = np.argsort((owner_runs << np.uint64(32)) | inverted, kind="stable")
    return order[ranks_within_runs(owners) < limit]  # owners keep their order
