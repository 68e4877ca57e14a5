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

from productrecs.engines.array_types_and_sorting import (
    Bools,
    Floats,
    Ints,
    Items,
    csr_offsets,
    ranks_within_runs,
    run_numbers,
    unique_sorted,
)
from productrecs.engines.copurchase.pair_counts import (
    Baskets,
    PairCounts,
    WeightedSales,
    count_pairs,
    item_popularity,
    pair_strengths,
    top_indexes_per_owner,
)
from productrecs.engines.copurchase.pair_evidence import EVIDENT, PairGrader

if TYPE_CHECKING:
    from productrecs.engines.copurchase.copurchase_options import (
        CopurchaseOptions,
    )

_BLOCK_ITEMS: Final = 20_000  # items per block, which bounds the memory
_COMPANION_PRODUCTS: Final = 40  # companion products per product
_VARIANTS_PER_PRODUCT: Final = 3  # variants per companion product: one may be sold out
# Decay of borrowed weight from one variant of a companion to the next.
_NEXT_VARIANT_DECAY: Final = 0.3
# Maximum share of baskets with several variants, to be one product.
_MAX_JOINT_SHARE: Final = 0.2
_FIT_PER_SALE: Final = 1e-3  # fit of a variant, in common baskets: per own sale,
_FIT_OF_SAME_SIZE: Final = 1.5  # and for the same size


class VariantGroups(NamedTuple):
    """Variant group, size and category of each item: all [n_items].

    Equal sizes have equal numbers. Unknown groups and sizes are 0, unknown categories below
    0.
    """

    groups: Items
    sizes: Items
    categories: Items | None = None


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

    def with_borrowed_baskets(self, own_pairs: PairCounts, owners: Ints) -> PairCounts:
        """Return the pairs of `owners`, a range of numbers, with borrowed baskets; sorted.

        `own_pairs` are their counted pairs.
        """
        blocks = []
        for block_owners in np.array_split(owners, -(-len(owners) // _BLOCK_ITEMS)):
            begin, end = np.searchsorted(
                own_pairs.owners, (block_owners[0], block_owners[-1] + 1)
            ).tolist()
            blocks.append(
                self._block_with_borrowed_baskets(
                    own_pairs[np.arange(begin, end)], block_owners
                )
            )
        return PairCounts.concatenate(blocks)

    def _block_with_borrowed_baskets(
        self, own_pairs: PairCounts, owners: Ints
    ) -> PairCounts:
        n_items = len(self.product)
        codes = own_pairs.owners * n_items + own_pairs.companions
        pair_codes = unique_sorted(
            np.concatenate((codes, self._codes_of_owners_with_companion_variants(owners)))
        )
        weights = np.zeros(len(pair_codes))
        support = np.zeros(len(pair_codes), dtype=np.int32)
        index = np.searchsorted(pair_codes, codes)
        weights[index], support[index] = own_pairs.weights, own_pairs.support
        owners_of_pairs = pair_codes // n_items
        other_items = (pair_codes % n_items).astype(np.int32)
        return self._with_pooled_weights(
            PairCounts(owners_of_pairs, other_items, weights, support)
        )

    def _with_pooled_weights(self, pairs: PairCounts) -> PairCounts:
        """Return the pairs with the weights and the support of their products."""
        owners, companions, own_weights = pairs.owners, pairs.companions, pairs.weights
        prior_weight = self.prior
        weights = (
            own_weights
            * (self.popularity[owners] + prior_weight)
            / (self.sold[owners] + prior_weight)
        )
        product_pairs = self._product_pair_index(owners, companions)
        paired_index = np.flatnonzero(product_pairs >= 0)
        product_pairs = product_pairs[paired_index]
        owners = owners[paired_index]
        companions = companions[paired_index]
        shares = np.maximum(self.shares[owners], self.shares[companions])
        borrowed_weights = shares * (
            self.pairs.weights[product_pairs] - own_weights[paired_index]
        )
        fit = own_weights[paired_index] + _FIT_PER_SALE * self.sold[companions]
        sizes = self.sizes[owners]
        fit[(sizes > 0) & (sizes == self.sizes[companions])] += _FIT_OF_SAME_SIZE
        ranks = ranks_by_fit(
            owners, product_pairs, fit
        )  # rank among the variants of one product
        weights[paired_index] = (
            own_weights[paired_index] + borrowed_weights * _NEXT_VARIANT_DECAY**ranks
        )
        shared = np.zeros(len(weights), dtype=np.int32)
        shared[paired_index] = self.pairs.support[product_pairs]
        return PairCounts(pairs.owners, pairs.companions, weights, pairs.support, shared)

    def _codes_of_owners_with_companion_variants(self, owners: Ints) -> Ints:
        """Return candidate pairs: the owners with the best variants of companion products.

        Each is coded as owner * n_items + companion.
        """
        products = self.product[owners]
        starts = np.searchsorted(self.pairs.owners, products)
        ends = np.searchsorted(self.pairs.owners, products, side="right")
        owners_of_pairs, index = _owners_and_indexes_of_runs(owners, starts, ends)
        companion_products = self.pairs.companions[index]
        limits = np.minimum(
            self.offsets[companion_products] + _VARIANTS_PER_PRODUCT,
            self.offsets[companion_products + 1],
        )
        same_size_index = self._member_index_of_best_in_size(
            companion_products, self.sizes[owners_of_pairs]
        )
        owners_of_pairs, index = (
            np.concatenate(blocks)
            for blocks in zip(
                _owners_and_indexes_of_runs(
                    owners_of_pairs, self.offsets[companion_products], limits
                ),
                (
                    owners_of_pairs[same_size_index >= 0],
                    same_size_index[same_size_index >= 0],
                ),
                strict=True,
            )
        )
        companions = self.members[index]
        has_sales = (
            self.sold[companions] > _FIT_PER_SALE
        )  # items without sales are no companions
        codes: Ints = owners_of_pairs[has_sales] * len(self.product) + companions[has_sales]
        return codes

    def _member_index_of_best_in_size(self, products: Ints | Items, sizes: Items) -> Ints:
        """Return the index in `members` of each product's best of a size; -1 for none."""
        codes, first_index = self.by_size
        size_codes = products * self.size_limit + sizes
        index = np.minimum(np.searchsorted(codes, size_codes), len(codes) - 1)
        member_index: Ints = np.where(
            (codes[index] == size_codes) & (sizes > 0), first_index[index], -1
        )
        return member_index

    def _product_pair_index(self, owners: Ints, companions: Items) -> Ints:
        """Return the index in `pairs` of the items' products; -1 for none."""
        codes = self.product[owners] * (len(self.offsets) - 1) + self.product[companions]
        index = np.searchsorted(self.codes, codes)
        index[index == len(self.codes)] = 0
        is_pair = (
            self.codes[index] == codes
            if len(self.codes)
            else np.zeros(len(index), np.bool_)
        )
        pair_index: Ints = np.where(is_pair, index, -1)
        return pair_index


def build_variant_pooling(
    lines: Baskets,
    weights: Floats,
    variants: VariantGroups,
    options: CopurchaseOptions,
) -> VariantPooling | None:
    """Return the pooling of variant groups; None if no item has variants.

    If several variants are often bought together (the colours of a mug), each of them is a
    separate product.
    """
    groups = variants.groups
    if not groups.any() or not options.siblings:
        return None
    product = _split_joint_variants(lines, _number_products(groups))
    variant_counts = np.bincount(product)
    if variant_counts.max(initial=0) < 2:  # noqa: PLR2004 - a single item has no variants
        return None
    product_lines, _ = _product_baskets_and_item_counts(lines, product)
    sold, product_sales = (
        item_popularity(basket_lines, weights) for basket_lines in (lines, product_lines)
    )
    shares = options.siblings / (options.siblings + sold)
    categories = variants.categories
    if categories is not None:  # variants of a product have its category
        categories = categories[np.unique(product, return_index=True)[1]]
    evidence = PairGrader(product_lines, categories, options)
    pairs = _strongest_evident_pairs_involving_variants(
        product_lines, weights, variant_counts > 1, evidence, options
    )
    members = np.lexsort((-sold, product))
    size_limit = int(variants.sizes.max(initial=0)) + 1
    size_codes = product[members] * size_limit + variants.sizes[members]
    return VariantPooling(
        product=product,
        members=members,
        offsets=csr_offsets(product, len(variant_counts)),
        shares=shares,
        sizes=variants.sizes,
        size_limit=size_limit,
        by_size=np.unique(size_codes, return_index=True),
        sold=sold,
        popularity=sold + shares * (product_sales[product] - sold),
        prior=options.prior,
        pairs=pairs,
        codes=pairs.owners * len(variant_counts) + pairs.companions,
    )


def ranks_by_fit(owners: Ints, product_pairs: Ints, fit: Floats) -> Ints:
    """Return each pair's rank, from 0, by `fit` among its owner's pairs of one product.

    `owners` must be sorted; ties, to about nine digits, keep their order. `product_pairs`
    of one owner are close together: they are one run of its product's pairs.
    """
    owner_runs = run_numbers(owners)
    starts = np.full(int(owner_runs.max(initial=-1)) + 1, len(product_pairs))
    np.minimum.at(starts, owner_runs, product_pairs)
    relative_index = product_pairs - starts[owner_runs]
    owner_product = owner_runs * (int(relative_index.max(initial=0)) + 1) + relative_index
    # Bits of a positive float sort like its value: group and inverted fit form the key.
    bits = np.uint64(max(int(owner_product.max(initial=0)).bit_length(), 1))
    inverted = ~(fit.view(np.uint64) << np.uint64(1)) >> bits
    keys = (owner_product.astype(np.uint64) << (np.uint64(64) - bits)) | inverted
    order = np.argsort(keys, kind="stable")
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = ranks_within_runs(owner_product[order])
    return ranks


def _strongest_evident_pairs_involving_variants(
    lines: Baskets,
    weights: Floats,
    has_variants: Bools,
    evidence: PairGrader,
    options: CopurchaseOptions,
) -> PairCounts:
    """Return each product's strongest companions, of pairs with variants."""
    popularity, blocks = item_popularity(lines, weights), []
    sales = WeightedSales(popularity, np.ones(lines.n_items), float(weights.sum()))
    for _, counts in count_pairs(lines, weights):
        is_stored = has_variants[counts.owners] | has_variants[counts.companions]
        is_stored &= evidence.grade_pairs(counts) >= EVIDENT
        pairs = counts[np.flatnonzero(is_stored)]
        scores = pair_strengths(pairs, sales, options)
        blocks.append(
            pairs[np.sort(top_indexes_per_owner(pairs.owners, scores, _COMPANION_PRODUCTS))]
        )
    return PairCounts.concatenate(blocks)


def _number_products(groups: Items) -> Ints:
    """Return each item's product, numbered from 0."""
    single_groups = groups.max() + 1 + np.arange(len(groups))
    return np.unique(np.where(groups > 0, groups, single_groups), return_inverse=True)[1]


def _split_joint_variants(lines: Baskets, product: Ints) -> Ints:
    """Return each item's product number; variants often bought together are separate."""
    product_lines, line_counts = _product_baskets_and_item_counts(lines, product)
    baskets = product_lines.basket_counts_by_item
    joint_baskets = np.bincount(
        product_lines.items[line_counts > 1], minlength=len(baskets)
    )
    is_joint = joint_baskets >= _MAX_JOINT_SHARE * baskets  # or never bought
    return _number_products(np.where(is_joint[product], 0, product + 1).astype(np.int32))


def _product_baskets_and_item_counts(lines: Baskets, product: Ints) -> tuple[Baskets, Ints]:
    """Return the distinct products of each basket, and the number of items of each."""
    n_products = int(product.max(initial=0)) + 1
    codes, line_counts = np.unique(
        lines.baskets * n_products + product[lines.items], return_counts=True
    )
    items = (codes % n_products).astype(np.int32)
    return Baskets(codes // n_products, items, lines.ages_days, n_products), line_counts


def _owners_and_indexes_of_runs(
    owners: Ints, starts: Ints, ends: Ints
) -> tuple[Ints, Ints]:
    """Return each owner repeated for each index of its run, and these indexes."""
    lengths = ends - starts
    run_starts = np.cumsum(lengths) - lengths
    index = np.arange(int(lengths.sum())) + np.repeat(starts - run_starts, lengths)
    return np.repeat(owners, lengths), index
