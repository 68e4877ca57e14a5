"""Evidence for pairs: which items orders contain together beyond chance.

Under chance, every order keeps its size and draws its items by how often they stand beside
others: items i and j then meet in S_i * S_j / sum(S) orders, where S counts the lines
beside an item. How rarely chance alone makes at least the observed number follows from the
Poisson distribution.

An item has hundreds of possible companions, so one or two common orders with some of them
are no surprise. The Benjamini-Hochberg procedure bounds the share of such pairs in each
item's list. It weights a pair by its categories: a jacket and wax of a category that sells
with jackets need less evidence than a jacket and coffee.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from productrecs.engines.array_types_and_sorting import (
    csr_offsets,
    ranks_within_runs,
    run_numbers,
)
from productrecs.engines.copurchase.sparse_product import SparseRows, multiply
from productrecs.engines.probability_distributions import gamma_p

if TYPE_CHECKING:
    from productrecs.engines.array_types_and_sorting import (
        Bools,
        Bytes,
        Floats,
        Ints,
        Items,
    )
    from productrecs.engines.copurchase.copurchase_options import (
        CopurchaseOptions,
    )
    from productrecs.engines.copurchase.pair_counts import (
        Baskets,
        PairCounts,
    )

CHANCE: Final = 0
"""A pair that chance explains: in no list."""
POSSIBLE: Final = 1
"""A pair of one order that may be chance: listed, but does not count in carts."""
EVIDENT: Final = 2
"""A pair that is listed, and counts in carts."""
CERTAIN: Final = 3
"""A pair whose own orders are enough evidence, even without its categories."""

_Z: Final = 1.645  # one-sided 95 %
_CERTAIN_LIFT: Final = 1.5  # as for bundles
_CERTAIN_ORDERS: Final = 3
_CERTAIN_SHARE: Final = 0.3  # of an item's orders; where a store sells little else
_LISTED_SHARE: Final = 0.05
_MIN_ORDERS: Final = 50  # orders of a store below which every pair is listed
# Orders of a store from which one more common order is needed.
_ORDERS_PER_NEEDED: Final = 250
_MAX_NEEDED: Final = 3
_CATEGORY_PRIOR: Final = 5.0  # orders by chance that two categories' lift is shrunk by


class _CategoryPairCounts(NamedTuple):
    """How often items of two categories stand together, and would by chance."""

    categories: Items  # [n_items] the last number is for unknown categories
    codes: Ints  # owner * n_categories + companion, ascending
    together: Floats  # co-occurrences of the pair of categories
    totals: Floats  # [n_categories] co-occurrences of the items of a category


class PairGrader:
    """Judges the pairs of one store's baskets."""

    def __init__(
        self, lines: Baskets, categories: Items | None, options: CopurchaseOptions
    ) -> None:
        """Count what chance would do. `categories` [n_items] are below 0 where unknown."""
        self._options = options
        self._counts = lines.basket_counts_by_item
        self._orders = len(lines.ages_days)
        self._sold = int((self._counts > 0).sum())
        neighbours = (lines.item_counts_by_basket - 1.0)[lines.baskets]
        self._neighbours = np.zeros(lines.n_items)
        np.add.at(self._neighbours, lines.items, neighbours)
        self._total = max(float(self._neighbours.sum()), 1.0)
        self._categories = None
        if categories is not None and (categories >= 0).any():
            self._categories = _count_category_pairs(lines, categories, self._neighbours)

    def grade_pairs(self, pairs: PairCounts) -> Bytes:
        """Return `CHANCE` to `CERTAIN` for each of the pairs, which are sorted by owner."""
        if not self._options.needs_evidence:
            return np.full(len(pairs.owners), EVIDENT, np.int8)
        support = pairs.support.astype(np.float64)
        expected = self._neighbours[pairs.owners] * self._neighbours[pairs.companions]
        expected /= self._total
        min_shares = self._lower_limits_of_shares(pairs, support)
        min_orders = min(_MAX_NEEDED, 1 + self._orders // _ORDERS_PER_NEEDED)
        is_frequent = (support >= min_orders) & (min_shares >= _LISTED_SHARE)
        evidence = self._evidence_beyond_chance(pairs, support, expected)
        evidence[is_frequent | (self._orders < _MIN_ORDERS)] = EVIDENT
        evidence[support == 0] = CHANCE  # only variants were bought together
        lower_bound = support - _Z * np.sqrt(support)
        is_certain = (lower_bound >= _CERTAIN_LIFT * expected) | (
            min_shares >= _CERTAIN_SHARE
        )
        is_certain &= support >= _CERTAIN_ORDERS
        evidence[is_certain] = CERTAIN
        return evidence

    def _lower_limits_of_shares(self, pairs: PairCounts, support: Floats) -> Floats:
        """Return the least share of the owner's orders: Wilson's lower limit."""
        orders = np.maximum(self._counts[pairs.owners], 1.0)
        share, scaled = support / orders, _Z**2 / orders
        spread = _Z * np.sqrt((share * (1.0 - share) + scaled / 4.0) / orders)
        lower: Floats = (share + scaled / 2.0 - spread) / (1.0 + scaled)
        return lower

    def _evidence_beyond_chance(
        self, pairs: PairCounts, support: Floats, expected: Floats
    ) -> Bytes:
        # The chance of at least `support` orders, by the Poisson distribution.
        chances: Floats = -np.expm1(-expected)
        repeated = np.flatnonzero(support > 1)
        chances[repeated] = gamma_p(support[repeated], expected[repeated])
        # Without categories, nothing tells related products from others.
        evidence = np.where(support > 1, EVIDENT, CHANCE).astype(np.int8)
        evidence[(support == 1) & (chances <= self._options.chance)] = POSSIBLE
        if self._categories is None:
            return evidence
        lifts, is_known = self._category_lifts_and_is_known(
            self._categories, pairs, support, expected
        )
        accepted = self._passes_false_discovery_test(pairs.owners, chances / lifts)
        evidence[is_known] = CHANCE
        evidence[accepted] = EVIDENT
        return evidence

    def _passes_false_discovery_test(self, owners: Ints, chances: Floats) -> Bools:
        """Return the pairs that Benjamini-Hochberg accepts among each owner's."""
        rate = self._options.false_discoveries / max(self._sold - 1, 1)
        is_accepted = np.zeros(len(owners), np.bool_)
        candidates = np.flatnonzero(chances <= self._options.false_discoveries)
        if not len(candidates):
            return is_accepted
        order = candidates[np.lexsort((chances[candidates], owners[candidates]))]
        ranks = ranks_within_runs(owners[order]) + 1
        runs = run_numbers(owners[order])
        last_accepted = np.zeros(int(runs[-1]) + 1, np.int64)
        np.maximum.at(
            last_accepted, runs, np.where(chances[order] <= rate * ranks, ranks, 0)
        )
        is_accepted[order[ranks <= last_accepted[runs]]] = True
        return is_accepted

    def _category_lifts_and_is_known(
        self,
        category_pairs: _CategoryPairCounts,
        pairs: PairCounts,
        support: Floats,
        expected: Floats,
    ) -> tuple[Floats, Bools]:
        """Return the lift of each pair's categories without it, and which are known."""
        unknown = len(category_pairs.totals) - 1
        owner_categories = category_pairs.categories[pairs.owners]
        companion_categories = category_pairs.categories[pairs.companions]
        codes = (
            owner_categories.astype(np.int64) * len(category_pairs.totals)
            + companion_categories
        )
        together = category_pairs.together[np.searchsorted(category_pairs.codes, codes)]
        expected_together = (
            category_pairs.totals[owner_categories]
            * category_pairs.totals[companion_categories]
            / self._total
        )
        is_known = (owner_categories < unknown) & (companion_categories < unknown)
        # Rounding may leave a little less than nothing without the pair.
        lifts = np.maximum(together - support, 0.0) + _CATEGORY_PRIOR
        lifts /= np.maximum(expected_together - expected, 0.0) + _CATEGORY_PRIOR
        return np.where(is_known, lifts, 1.0), is_known


def _count_category_pairs(
    lines: Baskets, categories: Items, item_cooccurrences: Floats
) -> _CategoryPairCounts:
    unknown = int(categories.max()) + 1
    categories = np.where(categories < 0, unknown, categories).astype(np.int32)
    n_categories, line_categories = unknown + 1, categories[lines.items]
    orders = SparseRows(
        csr_offsets(lines.baskets, len(lines.ages_days)),
        line_categories,
        np.ones(len(line_categories)),
    )
    product = multiply(orders.transposed(n_categories), orders, n_categories)
    codes = product.rows * n_categories + product.columns
    lines_of_category = np.bincount(line_categories, minlength=n_categories)
    # Without an item beside itself.
    together = product.sums - np.where(
        product.rows == product.columns, lines_of_category[product.rows], 0
    )
    totals = np.zeros(n_categories)
    np.add.at(totals, categories, item_cooccurrences)
    return _CategoryPairCounts(categories, codes, together, totals)
