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
from productrecs.engines.copurchase.item_pairs import (
    Baskets,
    PairCounts,
    Sales,
    count_pairs,
    item_popularity,
    pair_strengths,
    top_per_owner,
)
from productrecs.engines.copurchase.pair_evidence import EVIDENT, PairEvidence

if TYPE_CHECKING:
    from productrecs.engines.copurchase.item_pairs import CopurchaseOptions

_BLOCK_ITEMS: Final = 20_000  # items per block, which bounds the memory
_PRODUCTS: Final = 40  # companion products per product
_MEMBERS: Final = 3  # variants per companion product: one may be sold out
_LATER: Final = 0.3  # decay of borrowed weight from one variant of a companion to the next
_COLLECTED: Final = 0.2  # maximum share of baskets with several variants, to be one product
_CHOICE: Final = 1e-3  # fit of a variant, in common baskets: per own sale,
_SAME_SIZE: Final = 1.5  # and for the same size


class VariantGroups(NamedTuple):
    """Variant group, size and category of each item: all [n_items].

    Equal sizes have equal numbers. Unknown groups and sizes are 0, unknown kinds below 0.
    """

    category_sets: Items
    sizes: Items
    kinds: Items | None = None


@dataclass(frozen=True, slots=True, eq=False)
class VariantPooling:
    """Products and their variants; an item without variants is its own product.

    `product` [n_items] numbers products. `members` [n_items] lists the items by product,
    best-selling first, delimited by `offsets` [n_products + 1]. `shares` [n_items] is the
    share of its variants' baskets that an item counts as its own, `sizes` as in
    `VariantGroups`, `sold` its own popularity, `popularity` that including borrowed
    baskets. `pairs` are sorted product pairs of which at least one has variants; `codes`
    are these pairs as numbers. `by_size` has product * `size_limit` + size, ascending, and
    the index in `members` of the best such item.
    """

    product: Ints
    members: Ints
    offsets: Ints
    shares: Floats
    sizes: Items
    size_limit: int
    by_size: tuple[Ints, Ints]
    sold: Floats
    popularity: Floats
    prior: float
    pairs: PairCounts
    codes: Ints

    def joined(self, own_pairs: PairCounts, owners: Ints) -> PairCounts:
        """Return the pairs of `owners`, a range of numbers, with borrowed baskets; sorted.

        `own_pairs` are their counted pairs.
        """
        blocks = []
        for some in np.array_split(owners, -(-len(owners) // _BLOCK_ITEMS)):
            begin, end = np.searchsorted(own_pairs.owners, (some[0], some[-1] + 1)).tolist()
            blocks.append(self._joined(own_pairs[np.arange(begin, end)], some))
        return PairCounts.joined(blocks)

    def _joined(self, own_pairs: PairCounts, owners: Ints) -> PairCounts:
        n_items = len(self.product)
        codes = own_pairs.owners * n_items + own_pairs.companions
        pair_codes = unique_sorted(np.concatenate((codes, self._candidate_codes(owners))))
        weights, support = (
            np.zeros(len(pair_codes)),
            np.zeros(len(pair_codes), dtype=np.int32),
        )
        index = np.searchsorted(pair_codes, codes)
        weights[index], support[index] = own_pairs.weights, own_pairs.support
        owners_of_pairs, other_items = (
            pair_codes // n_items,
            (pair_codes % n_items).astype(np.int32),
        )
        return self._with_pooled_weights(
            PairCounts(owners_of_pairs, other_items, weights, support)
        )

    def _with_pooled_weights(self, pairs: PairCounts) -> PairCounts:
        """Return the pairs with the weights and the support of their products."""
        owners, companions, own_pairs = pairs.owners, pairs.companions, pairs.weights
        prior_weight = self.prior
        weights = (
            own_pairs
            * (self.popularity[owners] + prior_weight)
            / (self.sold[owners] + prior_weight)
        )
        places = self._paired(owners, companions)
        indices = np.flatnonzero(places >= 0)
        places, owners, companions = places[indices], owners[indices], companions[indices]
        share = np.maximum(self.shares[owners], self.shares[companions])
        pooled_weights = share * (self.pairs.weights[places] - own_pairs[indices])
        fit = own_pairs[indices] + _CHOICE * self.sold[companions]
        sizes = self.sizes[owners]
        fit[(sizes > 0) & (sizes == self.sizes[companions])] += _SAME_SIZE
        ranks = ranks_by_fit(owners, places, fit)  # rank among the variants of one product
        weights[indices] = own_pairs[indices] + pooled_weights * _LATER**ranks
        shared = np.zeros(len(weights), dtype=np.int32)
        shared[indices] = self.pairs.support[places]
        return PairCounts(pairs.owners, pairs.companions, weights, pairs.support, shared)

    def _candidate_codes(self, owners: Ints) -> Ints:
        """Return candidate pairs: the owners with the best variants of companion products.

        Each is coded as owner * n_items + companion.
        """
        products = self.product[owners]
        starts = np.searchsorted(self.pairs.owners, products)
        ends = np.searchsorted(self.pairs.owners, products, side="right")
        owners_of_pairs, index = _runs(owners, starts, ends)
        other_items = self.pairs.companions[index]
        limits = np.minimum(
            self.offsets[other_items] + _MEMBERS, self.offsets[other_items + 1]
        )
        of_size = self._of_size(other_items, self.sizes[owners_of_pairs])
        owners_of_pairs, index = (
            np.concatenate(blocks)
            for blocks in zip(
                _runs(owners_of_pairs, self.offsets[other_items], limits),
                (owners_of_pairs[of_size >= 0], of_size[of_size >= 0]),
                strict=True,
            )
        )
        companions = self.members[index]
        bought = self.sold[companions] > _CHOICE  # items without sales are no companions
        codes: Ints = owners_of_pairs[bought] * len(self.product) + companions[bought]
        return codes

    def _of_size(self, products: Ints | Items, sizes: Items) -> Ints:
        """Return the index in `members` of each product's best of a size; -1 for none."""
        codes, first_index = self.by_size
        size_codes = products * self.size_limit + sizes
        index = np.minimum(np.searchsorted(codes, size_codes), len(codes) - 1)
        places: Ints = np.where(
            (codes[index] == size_codes) & (sizes > 0), first_index[index], -1
        )
        return places

    def _paired(self, owners: Ints, companions: Items) -> Ints:
        """Return the index in `pairs` of the items' products; -1 for none."""
        codes = self.product[owners] * (len(self.offsets) - 1) + self.product[companions]
        index = np.searchsorted(self.codes, codes)
        index[index == len(self.codes)] = 0
        found = (
            self.codes[index] == codes
            if len(self.codes)
            else np.zeros(len(index), np.bool_)
        )
        places: Ints = np.where(found, index, -1)
        return places


def variant_pooling(
    lines: Baskets,
    weights: Floats,
    products: VariantGroups,
    options: CopurchaseOptions,
) -> VariantPooling | None:
    """Return the pooling of variant groups; None if no item has variants.

    If several variants are often bought together (the colours of a mug), each of them is a
    separate product.
    """
    category_sets = products.category_sets
    if not category_sets.any() or not options.siblings:
        return None
    product = _without_collected(lines, _products(category_sets))
    sizes = np.bincount(product)
    if sizes.max(initial=0) < 2:  # noqa: PLR2004 - a single item has no variants
        return None
    of_products, _ = _lines_of(lines, product)
    sold, sold_products = (item_popularity(one, weights) for one in (lines, of_products))
    shares = options.siblings / (options.siblings + sold)
    kinds = products.kinds
    if kinds is not None:  # variants of a product have its category
        kinds = kinds[np.unique(product, return_index=True)[1]]
    evidence = PairEvidence(of_products, kinds, options)
    pairs = _pairs(of_products, weights, sizes > 1, evidence, options)
    members = np.lexsort((-sold, product))
    size_limit = int(products.sizes.max(initial=0)) + 1
    owned_sizes = product[members] * size_limit + products.sizes[members]
    return VariantPooling(
        product=product,
        members=members,
        offsets=csr_offsets(product, len(sizes)),
        shares=shares,
        sizes=products.sizes,
        size_limit=size_limit,
        by_size=np.unique(owned_sizes, return_index=True),
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
    owners_of_pairs = run_numbers(owners)
    starts = np.full(int(owners_of_pairs.max(initial=-1)) + 1, len(places))
    np.minimum.at(starts, owners_of_pairs, places)
    indices = places - starts[owners_of_pairs]
    groups = owners_of_pairs * (int(indices.max(initial=0)) + 1) + indices
    # Bits of a positive float sort like its value: group and inverted fit form the key.
    bits = np.uint64(max(int(groups.max(initial=0)).bit_length(), 1))
    inverted = ~(fit.view(np.uint64) << np.uint64(1)) >> bits
    keys = (groups.astype(np.uint64) << (np.uint64(64) - bits)) | inverted
    order = np.argsort(keys, kind="stable")
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = ranks_within_runs(groups[order])
    return ranks


def _pairs(
    lines: Baskets,
    weights: Floats,
    has_variants: Bools,
    evidence: PairEvidence,
    options: CopurchaseOptions,
) -> PairCounts:
    """Return each product's strongest companions, of pairs with variants."""
    popularity, blocks_kept = item_popularity(lines, weights), []
    sales = Sales(popularity, np.ones(lines.n_items), float(weights.sum()))
    for _, counted in count_pairs(lines, weights):
        size_codes = has_variants[counted.owners] | has_variants[counted.companions]
        size_codes &= evidence.of(counted) >= EVIDENT
        pairs = counted[np.flatnonzero(size_codes)]
        scores = pair_strengths(pairs, sales, options)
        blocks_kept.append(pairs[np.sort(top_per_owner(pairs.owners, scores, _PRODUCTS))])
    return PairCounts.joined(blocks_kept)


def _products(category_sets: Items) -> Ints:
    """Return each item's product, numbered from 0."""
    own_groups = category_sets.max() + 1 + np.arange(len(category_sets))
    return np.unique(
        np.where(category_sets > 0, category_sets, own_groups), return_inverse=True
    )[1]


def _without_collected(lines: Baskets, product: Ints) -> Ints:
    """Return the products; variants that are bought together are separate products."""
    of_products, line_counts = _lines_of(lines, product)
    baskets = of_products.counts
    with_several = np.bincount(of_products.items[line_counts > 1], minlength=len(baskets))
    collected = with_several >= _COLLECTED * baskets  # or never bought
    return _products(np.where(collected[product], 0, product + 1).astype(np.int32))


def _lines_of(lines: Baskets, product: Ints) -> tuple[Baskets, Ints]:
    """Return the distinct products of each basket, and the number of items of each."""
    size = int(product.max(initial=0)) + 1
    codes, line_counts = np.unique(
        lines.baskets * size + product[lines.items], return_counts=True
    )
    items = (codes % size).astype(np.int32)
    return Baskets(codes // size, items, lines.ages_days, size), line_counts


def _runs(owners: Ints, starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """Return each owner repeated for each index of its run, and these indexes."""
    lengths = ends - starts
    before = np.cumsum(lengths) - lengths
    places = np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths)
    return np.repeat(owners, lengths), places
