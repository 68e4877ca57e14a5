"""Complement training: which categories are bought together more often than by chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from productrecs.engines.array_types_and_sorting import (
    Bools,
    Floats,
    Ints,
    Items,
    csr_offsets,
)
from productrecs.engines.complementary.model import ComplementModel

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class ComplementOptions:
    """Hyperparameters: when two categories are complementary.

    An item's category is the narrowest one that it has. Two categories are complementary if
    their products co-occur in baskets more often than by chance (lift > 1), by
    `min_standard_errors` standard errors and at least `min_pair_count` times. A category
    gets complements after `min_cooccurrences` co-occurrences of its products.
    """

    min_cooccurrences: int = 20
    # Standard errors of counts that contain most pairs twice.
    min_standard_errors: float = 4.0
    min_pair_count: int = 5
    min_complements: int = 2  # a list with fewer gets best sellers of other categories
    max_complements: int = 3  # complementary categories of a category
    # Variants that are bought together in more than this share of their sales are separate
    # products.
    max_joint_share: float = 0.2


class BoughtTogetherPairs(NamedTuple):
    """Co-purchased pairs, as one compressed sparse matrix over items.

    `offsets` [n_items + 1]; `companions` and `support` (number of baskets) [P].
    """

    offsets: Ints
    companions: Items
    support: Items


class _CategoryCooccurrence(NamedTuple):
    """Co-occurrence counts of category pairs; parallel arrays, by owner."""

    owners: Ints
    companions: Ints
    baskets: Floats  # number of baskets, summed over pairs of their items
    expected: Floats  # number of baskets by chance
    shares: Floats  # share of the owner's baskets with any other category
    noise: Floats  # random deviation of `baskets` from `expected`


def fit_complements(
    pairs: BoughtTogetherPairs,
    categories: Items,
    variant_groups: Items,
    units_sold: Ints,
    options: ComplementOptions | None = None,
) -> ComplementModel:
    """Return complementary categories, and the categories of which people buy several.

    `categories`, `variant_groups` and `units_sold` [n_items]; a category below 0 and
    group 0 are unknown. A category is complementary to itself if it co-occurs with itself
    more often than by chance (lift > 1). Variants that are often bought together are
    separate products.

    Source: requirements/algorithms.md 0 and 2.1.
    """
    options = options or ComplementOptions()
    n_categories = int(categories.max(initial=-1)) + 1
    owners = np.repeat(np.arange(len(categories)), np.diff(pairs.offsets))
    variant_groups = _ungroup_joint_variants(
        variant_groups, owners, pairs, units_sold, options
    )
    is_supported = pairs.support > 0  # else only their variants were co-purchased
    pair_index = np.flatnonzero(
        (categories[owners] >= 0) & (categories[pairs.companions] >= 0) & is_supported
    )
    counts = _category_cooccurrence(
        categories[owners[pair_index]].astype(np.int64),
        categories[pairs.companions[pair_index]].astype(np.int64),
        pairs.support[pair_index],
        n_categories,
        options,
    )
    is_self_complementary: Bools = np.zeros(n_categories, np.bool_)
    has_complements: Bools = np.zeros(n_categories, np.bool_)
    is_itself = (counts.owners == counts.companions) & (counts.baskets > counts.expected)
    is_self_complementary[counts.owners[is_itself]] = True
    # `baskets / shares` is the number of all co-occurrences of the owner.
    has_data = counts.baskets >= options.min_cooccurrences * counts.shares
    has_complements[counts.owners[has_data]] = True
    offsets, items, count_index = _best_sellers_of_complements(
        counts, categories, units_sold, n_categories, options
    )
    lifts = counts.baskets[count_index] / counts.expected[count_index]
    return ComplementModel(
        categories=categories,
        variant_groups=variant_groups if variant_groups.any() else variant_groups[:0],
        has_complements=has_complements,
        is_self_complementary=is_self_complementary,
        complement_offsets=offsets,
        complement_items=items,
        complement_lifts=lifts.astype(np.float32),
        complement_baskets=counts.baskets[count_index].astype(np.int32),
        min_complements=np.array([options.min_complements], dtype=np.int64),
    )


def _ungroup_joint_variants(
    variant_groups: Items,
    owners: Ints,
    pairs: BoughtTogetherPairs,
    units_sold: Ints,
    options: ComplementOptions,
) -> Items:
    """Return the variant groups, 0 for items whose variants are bought together.

    `owners` is the owner of each pair.
    """
    owner_groups = variant_groups[owners]
    pair_index = np.flatnonzero(
        (owner_groups > 0) & (owner_groups == variant_groups[pairs.companions])
    )
    n_groups = int(variant_groups.max(initial=0)) + 1
    joint_sales = np.bincount(
        owner_groups[pair_index], weights=pairs.support[pair_index], minlength=n_groups
    )
    sales = np.bincount(variant_groups, weights=units_sold, minlength=n_groups)
    is_joint = joint_sales > options.max_joint_share * sales
    return np.where(is_joint[variant_groups], 0, variant_groups).astype(np.int32)


def _category_cooccurrence(
    owners: Ints,
    companions: Ints,
    support: Items,
    n_categories: int,
    options: ComplementOptions,
) -> _CategoryCooccurrence:
    """Return how often the categories of item pairs co-occur; parallel arrays, by pair."""
    size = max(n_categories, 1)
    codes, code_index = np.unique(owners * size + companions, return_inverse=True)
    counts = np.zeros(len(codes))
    np.add.at(counts, code_index, support)
    owner_categories, companion_categories = codes // size, codes % size
    owner_totals = np.bincount(owner_categories, weights=counts, minlength=size)
    companion_totals = np.bincount(companion_categories, weights=counts, minlength=size)
    expected = (
        owner_totals[owner_categories]
        * companion_totals[companion_categories]
        / max(float(counts.sum()), 1.0)
    )
    return _CategoryCooccurrence(
        owners=owner_categories,
        companions=companion_categories,
        baskets=counts,
        expected=expected,
        shares=counts / owner_totals[owner_categories],
        noise=options.min_standard_errors * np.sqrt(expected),
    )


def _best_sellers_of_complements(
    cooccurrence: _CategoryCooccurrence,
    categories: Items,
    units_sold: Ints,
    n_categories: int,
    options: ComplementOptions,
) -> tuple[Ints, Items, Ints]:
    """Return the best seller of each complementary category, the likeliest category first.

    The result is offsets by category, items, and indexes into `cooccurrence`.
    """
    best_sellers = _best_seller_by_category(categories, units_sold, n_categories)
    is_significant = (cooccurrence.baskets > cooccurrence.expected + cooccurrence.noise) & (
        cooccurrence.baskets >= options.min_pair_count
    )
    index = np.flatnonzero(
        is_significant & (cooccurrence.owners != cooccurrence.companions)
    )
    index = index[best_sellers[cooccurrence.companions[index]] >= 0]
    order = (
        cooccurrence.companions[index],
        -cooccurrence.shares[index],
        cooccurrence.owners[index],
    )
    index = index[np.lexsort(order)]
    owners = cooccurrence.owners[index]
    ranks = np.arange(len(index)) - np.searchsorted(owners, owners)
    index = index[ranks < options.max_complements]
    items = best_sellers[cooccurrence.companions[index]].astype(np.int32)
    return csr_offsets(cooccurrence.owners[index], n_categories), items, index


def _best_seller_by_category(
    categories: Items, units_sold: Ints, n_categories: int
) -> npt.NDArray[np.int64]:
    """Return [n_categories] the best-selling item of each category; -1 if none was sold."""
    items = np.flatnonzero((categories >= 0) & (units_sold > 0))
    items = items[np.lexsort((items, -units_sold[items], categories[items]))]
    sold_categories, first_index = np.unique(categories[items], return_index=True)
    best_sellers = np.full(n_categories, -1, dtype=np.int64)
    best_sellers[sold_categories] = items[first_index]
    return best_sellers
