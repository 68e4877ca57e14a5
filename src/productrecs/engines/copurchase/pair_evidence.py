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

from productrecs.engines.arrays import ranks_within_runs, run_numbers

if TYPE_CHECKING:
    from productrecs.engines.arrays import Bools, Bytes, Floats, Ints, Items
    from productrecs.engines.copurchase.item_pairs import (
        Baskets,
        CopurchaseOptions,
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
_YOUNG: Final = 50  # orders of a store below which every pair is listed
_GROWTH: Final = 250  # orders of a store from which one more common order is needed
_MOST_NEEDED: Final = 3
_CATEGORY_PRIOR: Final = 5.0  # orders by chance that two categories' lift is shrunk by


class _CategoryPairs(NamedTuple):
    """How often items of two categories stand together, and would by chance."""

    kinds: Items  # [n_items] the last number is for unknown categories
    codes: Ints  # owner's * n_kinds + companion's, ascending
    together: Floats
    lines: Floats  # [n_kinds] lines beside the category's items


class PairEvidence:
    """Judges the pairs of one store's baskets."""

    def __init__(
        self, lines: Baskets, kinds: Items | None, options: CopurchaseOptions
    ) -> None:
        """Count what chance would do. `kinds` [n_items] are below 0 where unknown."""
        self._options = options
        self._counts = lines.counts
        self._orders = len(lines.ages_days)
        self._sold = int((self._counts > 0).sum())
        beside = (lines.sizes - 1.0)[lines.baskets]
        self._lines = np.zeros(lines.n_items)
        np.add.at(self._lines, lines.items, beside)
        self._all_lines = max(float(self._lines.sum()), 1.0)
        self._categories = None
        if kinds is not None and (kinds >= 0).any():
            self._categories = _category_pairs(lines, kinds, self._lines)

    def of(self, pairs: PairCounts) -> Bytes:
        """Return `CHANCE` to `CERTAIN` for each of the pairs, which are sorted by owner."""
        if not self._options.needs_evidence:
            return np.full(len(pairs.owners), EVIDENT, np.int8)
        support = pairs.support.astype(np.float64)
        expected = self._lines[pairs.owners] * self._lines[pairs.companions]
        expected /= self._all_lines
        shares = self._least_shares(pairs, support)
        needed = min(_MOST_NEEDED, 1 + self._orders // _GROWTH)
        frequent = (support >= needed) & (shares >= _LISTED_SHARE)
        evidence = self._beyond_chance(pairs, support, expected)
        evidence[frequent | (self._orders < _YOUNG)] = EVIDENT
        evidence[support == 0] = CHANCE  # only variants were bought together
        low = support - _Z * np.sqrt(support)
        certain = (low >= _CERTAIN_LIFT * expected) | (shares >= _CERTAIN_SHARE)
        certain &= support >= _CERTAIN_ORDERS
        evidence[certain] = CERTAIN
        return evidence

    def _least_shares(self, pairs: PairCounts, support: Floats) -> Floats:
        """Return the least share of the owner's orders: Wilson's lower limit."""
        orders = np.maximum(self._counts[pairs.owners], 1.0)
        share, scaled = support / orders, _Z**2 / orders
        spread = _Z * np.sqrt((share * (1.0 - share) + scaled / 4.0) / orders)
        lower: Floats = (share + scaled / 2.0 - spread) / (1.0 + scaled)
        return lower

    def _beyond_chance(self, pairs: PairCounts, support: Floats, expected: Floats) -> Bytes:
        from scipy.special import gammainc  # noqa: PLC0415 - 20 MB, for training only

        # The chance of at least `support` orders, by the Poisson distribution.
        chances: Floats = -np.expm1(-expected)
        several = np.flatnonzero(support > 1)
        chances[several] = gammainc(support[several], expected[several])
        # Without categories, nothing tells related products from others.
        evidence = np.where(support > 1, EVIDENT, CHANCE).astype(np.int8)
        evidence[(support == 1) & (chances <= self._options.chance)] = POSSIBLE
        if self._categories is None:
            return evidence
        lifts, known = self._lifts(self._categories, pairs, support, expected)
        accepted = self._few_false(pairs.owners, chances / lifts)
        evidence[known] = CHANCE
        evidence[accepted] = EVIDENT
        return evidence

    def _few_false(self, owners: Ints, chances: Floats) -> Bools:
        """Return the pairs that Benjamini-Hochberg accepts among each owner's."""
        rate = self._options.false_discoveries / max(self._sold - 1, 1)
        accepted = np.zeros(len(owners), np.bool_)
        small = np.flatnonzero(chances <= self._options.false_discoveries)
        if not len(small):
            return accepted
        order = small[np.lexsort((chances[small], owners[small]))]
        places = ranks_within_runs(owners[order]) + 1
        runs = run_numbers(owners[order])
        last = np.zeros(int(runs[-1]) + 1, np.int64)
        np.maximum.at(last, runs, np.where(chances[order] <= rate * places, places, 0))
        accepted[order[places <= last[runs]]] = True
        return accepted

    def _lifts(
        self,
        categories: _CategoryPairs,
        pairs: PairCounts,
        support: Floats,
        expected: Floats,
    ) -> tuple[Floats, Bools]:
        """Return the lift of each pair's categories without it, and which are known."""
        unknown = len(categories.lines) - 1
        one, two = categories.kinds[pairs.owners], categories.kinds[pairs.companions]
        codes = one.astype(np.int64) * len(categories.lines) + two
        together = categories.together[np.searchsorted(categories.codes, codes)]
        by_chance = categories.lines[one] * categories.lines[two] / self._all_lines
        known = (one < unknown) & (two < unknown)
        # Rounding may leave a little less than nothing without the pair.
        lifts = np.maximum(together - support, 0.0) + _CATEGORY_PRIOR
        lifts /= np.maximum(by_chance - expected, 0.0) + _CATEGORY_PRIOR
        return np.where(known, lifts, 1.0), known


def _category_pairs(lines: Baskets, kinds: Items, beside: Floats) -> _CategoryPairs:
    from scipy import sparse  # noqa: PLC0415 - 20 MB, for training only

    unknown = int(kinds.max()) + 1
    kinds = np.where(kinds < 0, unknown, kinds).astype(np.int32)
    size, of_lines = unknown + 1, kinds[lines.items]
    orders = sparse.csr_array(
        (np.ones(len(of_lines)), (lines.baskets, of_lines)),
        shape=(len(lines.ages_days), size),
    )
    product = sparse.coo_array(orders.T @ orders)
    codes = product.coords[0].astype(np.int64) * size + product.coords[1]
    order = np.argsort(codes)
    together = product.data - np.where(
        product.coords[0] == product.coords[1],
        np.bincount(of_lines, minlength=size)[product.coords[0]],  # an item beside itself
        0,
    )
    of_kinds = np.zeros(size)
    np.add.at(of_kinds, kinds, beside)
    return _CategoryPairs(kinds, codes[order], together[order], of_kinds)
