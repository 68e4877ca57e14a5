"""Variant pooling: an item with few baskets borrows those of its variant group.

Shops sell a shirt's sizes and colours as items of their own: bought with a pair of trousers
in ten others a hundred times, and never twice in the same two. So an item counts a share of
its variants' baskets as its own: all of them where it has none, almost none where it has
many.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from productrecs.engines.arrays import (
    Bools,
    Floats,
    Ints,
    Items,
    csr_offsets,
    ranks_within_runs,
    run_numbers,
    unique_sorted,
)
from productrecs.engines.copurchase.pair_counting import Baskets, PairCounts, count_pairs
from productrecs.engines.copurchase.pair_scoring import (
    Sales,
    item_popularity,
    pair_strengths,
    pairs_beyond_gifts,
    significant_pairs,
    top_per_owner,
)

if TYPE_CHECKING:
    from productrecs.engines.copurchase.options import CopurchaseOptions

_AT_ONCE: Final = 20_000  # items whose pairs are joined at once, which bounds the memory
_PRODUCTS: Final = 40  # with whose variants a product's own are paired
_MEMBERS: Final = 3  # variants of each of them: one may be sold out
_LATER: Final = 0.3  # what the next of them has of what is borrowed
_COLLECTED: Final = 0.2  # of its baskets: a product bought in several colours that often
_CHOICE: Final = 1e-3  # of baskets together: how an item's own sales count beside these,
_SAME_SIZE: Final = 1.5  # and the size of what it was bought with


class VariantGroups(NamedTuple):
    """Which items are one product, and in which size: both [n_items], 0 where unknown.

    Items of one family are variants of one product. Equal sizes have equal numbers.
    """

    families: Items
    sizes: Items


@dataclass(frozen=True, slots=True, eq=False)
class VariantPooling:
    """Which items are one product; an item without variants is a product by itself.

    `product` [n_items] numbers products; `members` [n_items] lists the items product by
    product, the most bought first, delimited by `offsets` [n_products + 1]. `shares`
    [n_items] is how much of its variants' baskets an item counts as its own, `sizes` as in
    `VariantGroups`, `sold` its own popularity, `popularity` that with what it borrows.
    `pairs` are of products, sorted, of which one at least has variants; `codes` are these
    pairs as numbers. `by_size` has product * `most_sizes` + size, rising, and where in
    `members` the best of them stands.
    """

    product: Ints
    members: Ints
    offsets: Ints
    shares: Floats
    sizes: Items
    most_sizes: int
    by_size: tuple[Ints, Ints]
    sold: Floats
    popularity: Floats
    prior: float
    pairs: PairCounts
    codes: Ints

    def joined(self, own: PairCounts, believed: Bools, owners: Ints) -> PairCounts:
        """Return the pairs of `owners`, a run of numbers, with what they borrow; sorted.

        `own` is what was counted of them. Of that the `believed` pairs stay, and those
        whose products are paired.
        """
        parts = []
        for some in np.array_split(owners, -(-len(owners) // _AT_ONCE)):
            begin, end = np.searchsorted(own.owners, (some[0], some[-1] + 1)).tolist()
            places = np.arange(begin, end)
            parts.append(self._joined(own[places], believed[begin:end], some))
        return PairCounts.joined(parts)

    def _joined(self, own: PairCounts, believed: Bools, owners: Ints) -> PairCounts:
        n_items = len(self.product)
        own = own[
            np.flatnonzero(believed | (self._paired(own.owners, own.companions) >= 0))
        ]
        codes = own.owners * n_items + own.companions
        wanted = unique_sorted(np.concatenate((codes, self._proposed(owners))))
        weights, support = np.zeros(len(wanted)), np.zeros(len(wanted), dtype=np.int32)
        at = np.searchsorted(wanted, codes)
        weights[at], support[at] = own.weights, own.support
        whose, others = wanted // n_items, (wanted % n_items).astype(np.int32)
        return self._borrowing(PairCounts(whose, others, weights, support))

    def _borrowing(self, pairs: PairCounts) -> PairCounts:
        """Return the pairs with the weights and the support that their products have."""
        owners, companions, own = pairs.owners, pairs.companions, pairs.weights
        doubt = self.prior
        weights = own * (self.popularity[owners] + doubt) / (self.sold[owners] + doubt)
        places = self._paired(owners, companions)
        which = np.flatnonzero(places >= 0)
        places, owners, companions = places[which], owners[which], companions[which]
        share = np.maximum(self.shares[owners], self.shares[companions])
        borrowed = share * (self.pairs.weights[places] - own[which])
        fit = own[which] + _CHOICE * self.sold[companions]
        sizes = self.sizes[owners]
        fit[(sizes > 0) & (sizes == self.sizes[companions])] += _SAME_SIZE
        ranks = ranks_by_fit(owners, places, fit)  # among the variants of one product
        weights[which] = own[which] + borrowed * _LATER**ranks
        shared = np.zeros(len(weights), dtype=np.int32)
        shared[which] = self.pairs.support[places]
        return PairCounts(pairs.owners, pairs.companions, weights, pairs.support, shared)

    def _proposed(self, owners: Ints) -> Ints:
        """Return the owners' pairs with the best members of what goes with their products.

        Each as owner * n_items + companion.
        """
        products = self.product[owners]
        begins = np.searchsorted(self.pairs.owners, products)
        ends = np.searchsorted(self.pairs.owners, products, side="right")
        whose, at = _runs(owners, begins, ends)
        others = self.pairs.companions[at]
        most = np.minimum(self.offsets[others] + _MEMBERS, self.offsets[others + 1])
        of_size = self._of_size(others, self.sizes[whose])
        whose, at = (
            np.concatenate(parts)
            for parts in zip(
                _runs(whose, self.offsets[others], most),
                (whose[of_size >= 0], of_size[of_size >= 0]),
                strict=True,
            )
        )
        companions = self.members[at]
        bought = self.sold[companions] > _CHOICE  # what nobody bought is no companion
        codes: Ints = whose[bought] * len(self.product) + companions[bought]
        return codes

    def _of_size(self, products: Ints | Items, sizes: Items) -> Ints:
        """Return the place in `members` of each product's best of a size; -1 for none."""
        codes, firsts = self.by_size
        asked = products * self.most_sizes + sizes
        at = np.minimum(np.searchsorted(codes, asked), len(codes) - 1)
        places: Ints = np.where((codes[at] == asked) & (sizes > 0), firsts[at], -1)
        return places

    def _paired(self, owners: Ints, companions: Items) -> Ints:
        """Return the place in `pairs` of each two items' products; -1 for none."""
        codes = self.product[owners] * (len(self.offsets) - 1) + self.product[companions]
        at = np.searchsorted(self.codes, codes)
        at[at == len(self.codes)] = 0
        found = self.codes[at] == codes if len(self.codes) else np.zeros(len(at), np.bool_)
        places: Ints = np.where(found, at, -1)
        return places


def variant_pooling(
    lines: Baskets, weights: Floats, products: VariantGroups, options: CopurchaseOptions
) -> VariantPooling | None:
    """Return what variants tell one another; None where nothing has any.

    What is often bought in several of its variants (the colours of a mug) is collected:
    each of them is a product by itself.
    """
    families = products.families
    if not families.any() or not options.siblings:
        return None
    product = _without_collected(lines, _products(families))
    sizes = np.bincount(product)
    if sizes.max(initial=0) < 2:  # noqa: PLR2004 - one is no variants
        return None
    of_products, _ = _lines_of(lines, product)
    sold, sold_products = (item_popularity(one, weights) for one in (lines, of_products))
    shares = options.siblings / (options.siblings + sold)
    pairs = _pairs(of_products, weights, sizes > 1, options)
    members = np.lexsort((-sold, product))
    most_sizes = int(products.sizes.max(initial=0)) + 1
    owned = product[members] * most_sizes + products.sizes[members]
    return VariantPooling(
        product=product,
        members=members,
        offsets=csr_offsets(product, len(sizes)),
        shares=shares,
        sizes=products.sizes,
        most_sizes=most_sizes,
        by_size=np.unique(owned, return_index=True),
        sold=sold,
        popularity=sold + shares * (sold_products[product] - sold),
        prior=options.prior,
        pairs=pairs,
        codes=pairs.owners * len(sizes) + pairs.companions,
    )


def ranks_by_fit(owners: Ints, places: Ints, fit: Floats) -> Ints:
    """Return each pair's place, from 0, by `fit` among its owner's of one product.

    `owners` must be sorted; equals, to some nine digits, stay in their order. `places` of
    one owner lie close together, for they are one run of its product's pairs.
    """
    whose = run_numbers(owners)
    begins = np.full(int(whose.max(initial=-1)) + 1, len(places))
    np.minimum.at(begins, whose, places)
    which = places - begins[whose]
    groups = whose * (int(which.max(initial=0)) + 1) + which
    # A positive float's bits rise with it: the group and the inverted fit make one key.
    bits = np.uint64(max(int(groups.max(initial=0)).bit_length(), 1))
    inverted = ~(fit.view(np.uint64) << np.uint64(1)) >> bits
    keys = (groups.astype(np.uint64) << (np.uint64(64) - bits)) | inverted
    order = np.argsort(keys, kind="stable")
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = ranks_within_runs(groups[order])
    return ranks


def _pairs(
    lines: Baskets, weights: Floats, has_variants: Bools, options: CopurchaseOptions
) -> PairCounts:
    """Return each product's strongest companions, of pairs that tell variants anything."""
    popularity, kept = item_popularity(lines, weights), []
    sales = Sales(popularity, np.ones(lines.n_items), float(weights.sum()))
    for _, counted in count_pairs(lines, weights):
        asked = has_variants[counted.owners] | has_variants[counted.companions]
        asked &= significant_pairs(counted, lines, options)
        asked &= pairs_beyond_gifts(counted, lines, options)
        pairs = counted[np.flatnonzero(asked)]
        scores = pair_strengths(pairs, sales, options)
        kept.append(pairs[np.sort(top_per_owner(pairs.owners, scores, _PRODUCTS))])
    return PairCounts.joined(kept)


def _products(families: Items) -> Ints:
    """Return each item's product, numbered from 0."""
    alone = families.max() + 1 + np.arange(len(families))
    return np.unique(np.where(families > 0, families, alone), return_inverse=True)[1]


def _without_collected(lines: Baskets, product: Ints) -> Ints:
    """Return the products, with each item of a collected one by itself."""
    of_products, held = _lines_of(lines, product)
    baskets = of_products.counts
    several = np.bincount(of_products.items[held > 1], minlength=len(baskets))
    collected = several >= _COLLECTED * baskets  # or never bought
    return _products(np.where(collected[product], 0, product + 1).astype(np.int32))


def _lines_of(lines: Baskets, product: Ints) -> tuple[Baskets, Ints]:
    """Return the distinct products of each basket, and how many items of each it holds."""
    size = int(product.max(initial=0)) + 1
    codes, held = np.unique(lines.baskets * size + product[lines.items], return_counts=True)
    items = (codes % size).astype(np.int32)
    return Baskets(codes // size, items, lines.ages_days, size), held


def _runs(owners: Ints, begins: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """Return each owner again for each place of its run, and these places."""
    lengths = ends - begins
    before = np.cumsum(lengths) - lengths
    places = np.arange(int(lengths.sum())) + np.repeat(begins - before, lengths)
    return np.repeat(owners, lengths), places
