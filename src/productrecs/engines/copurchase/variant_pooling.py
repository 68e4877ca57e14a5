"""Variant pooling: an item with few baskets also uses those of its variant group.

Shops sell the sizes and colours of a shirt as separate items: the shirt may be bought with
a pair of trousers a hundred times, but never twice in the same two variants. So an item
counts a share of its variants' baskets as its own: all if it has none, almost none if it
has many.
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

_AT_ONCE: Final = 20_000  # items per block, which bounds the memory
_PRODUCTS: Final = 40  # companion products per product
_MEMBERS: Final = 3  # variants per companion product: one may be sold out
_LATER: Final = 0.3  # decay of borrowed weight from one variant of a companion to the next
_COLLECTED: Final = 0.2  # maximum share of baskets with several variants, to be one product
_CHOICE: Final = 1e-3  # fit of a variant, in common baskets: per own sale,
_SAME_SIZE: Final = 1.5  # and for the same size


class VariantGroups(NamedTuple):
    """Variant group and size of each item: both [n_items], 0 if unknown.

    Equal sizes have equal numbers.
    """

    families: Items
    sizes: Items


@dataclass(frozen=True, slots=True, eq=False)
class VariantPooling:
    """Products and their variants; an item without variants is its own product.

    `product` [n_items] numbers products. `members` [n_items] lists the items by product,
    best-selling first, delimited by `offsets` [n_products + 1]. `shares` [n_items] is the
    share of its variants' baskets that an item counts as its own, `sizes` as in
    `VariantGroups`, `sold` its own popularity, `popularity` that including borrowed
    baskets. `pairs` are sorted product pairs of which at least one has variants; `codes`
    are these pairs as numbers. `by_size` has product * `most_sizes` + size, ascending, and
    the index in `members` of the best such item.
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
        """Return the pairs of `owners`, a range of numbers, with borrowed baskets; sorted.

        `own` are their counted pairs. Of these, the `believed` pairs and those of paired
        products remain.
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
        """Return the pairs with the weights and the support of their products."""
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
        ranks = ranks_by_fit(owners, places, fit)  # rank among the variants of one product
        weights[which] = own[which] + borrowed * _LATER**ranks
        shared = np.zeros(len(weights), dtype=np.int32)
        shared[which] = self.pairs.support[places]
        return PairCounts(pairs.owners, pairs.companions, weights, pairs.support, shared)

    def _proposed(self, owners: Ints) -> Ints:
        """Return candidate pairs: the owners with the best variants of companion products.

        Each is coded as owner * n_items + companion.
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
        bought = self.sold[companions] > _CHOICE  # items without sales are no companions
        codes: Ints = whose[bought] * len(self.product) + companions[bought]
        return codes

    def _of_size(self, products: Ints | Items, sizes: Items) -> Ints:
        """Return the index in `members` of each product's best of a size; -1 for none."""
        codes, firsts = self.by_size
        asked = products * self.most_sizes + sizes
        at = np.minimum(np.searchsorted(codes, asked), len(codes) - 1)
        places: Ints = np.where((codes[at] == asked) & (sizes > 0), firsts[at], -1)
        return places

    def _paired(self, owners: Ints, companions: Items) -> Ints:
        """Return the index in `pairs` of the items' products; -1 for none."""
        codes = self.product[owners] * (len(self.offsets) - 1) + self.product[companions]
        at = np.searchsorted(self.codes, codes)
        at[at == len(self.codes)] = 0
        found = self.codes[at] == codes if len(self.codes) else np.zeros(len(at), np.bool_)
        places: Ints = np.where(found, at, -1)
        return places


def variant_pooling(
    lines: Baskets, weights: Floats, products: VariantGroups, options: CopurchaseOptions
) -> VariantPooling | None:
    """Return the pooling of variant groups; None if no item has variants.

    If several variants are often bought together (the colours of a mug), each of them is a
    separate product.
    """
    families = products.families
    if not families.any() or not options.siblings:
        return None
    product = _without_collected(lines, _products(families))
    sizes = np.bincount(product)
    if sizes.max(initial=0) < 2:  # noqa: PLR2004 - a single item has no variants
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
    """Return each pair's rank, from 0, by `fit` among its owner's pairs of one product.

    `owners` must be sorted; ties, to about nine digits, keep their order. `places` of one
    owner are close together: they are one run of its product's pairs.
    """
    whose = run_numbers(owners)
    begins = np.full(int(whose.max(initial=-1)) + 1, len(places))
    np.minimum.at(begins, whose, places)
    which = places - begins[whose]
    groups = whose * (int(which.max(initial=0)) + 1) + which
    # Bits of a positive float sort like its value: group and inverted fit form the key.
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
    """Return each product's strongest companions, of pairs with variants."""
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
    """Return the products; variants that are bought together are separate products."""
    of_products, held = _lines_of(lines, product)
    baskets = of_products.counts
    several = np.bincount(of_products.items[held > 1], minlength=len(baskets))
    collected = several >= _COLLECTED * baskets  # or never bought
    return _products(np.where(collected[product], 0, product + 1).astype(np.int32))


def _lines_of(lines: Baskets, product: Ints) -> tuple[Baskets, Ints]:
    """Return the distinct products of each basket, and the number of items of each."""
    size = int(product.max(initial=0)) + 1
    codes, held = np.unique(lines.baskets * size + product[lines.items], return_counts=True)
    items = (codes % size).astype(np.int32)
    return Baskets(codes // size, items, lines.ages_days, size), held


def _runs(owners: Ints, begins: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """Return each owner repeated for each index of its run, and these indexes."""
    lengths = ends - begins
    before = np.cumsum(lengths) - lengths
    places = np.arange(int(lengths.sum())) + np.repeat(begins - before, lengths)
    return np.repeat(owners, lengths), places
