"""Category co-occurrence: learns from item pairs which categories are bought together."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from productrecs.engines.arrays import (
    Bools,
    Floats,
    Ints,
    Items,
    csr_offsets,
)
from productrecs.engines.complementary.model import ComplementModel
from productrecs.engines.complementary.options import ComplementOptions

if TYPE_CHECKING:
    import numpy.typing as npt


class BoughtTogetherPairs(NamedTuple):
    """What was bought together, as one compressed sparse matrix over items.

    `offsets` [n_items + 1]; `companions` and `support` (in how many baskets) [P].
    """

    offsets: Ints
    companions: Items
    support: Items


class _CategoryCooccurrence(NamedTuple):
    """Co-occurrence counts of category pairs; parallel arrays, by owner."""

    owners: Ints
    companions: Ints
    baskets: Floats  # in how many baskets, summed over pairs of their items
    by_chance: Floats
    shares: Floats  # of the owner's baskets with any other category
    noise: Floats  # random deviation of `baskets` from `by_chance`


def fit_complements(
    pairs: BoughtTogetherPairs,
    kinds: Items,
    families: Items,
    sold: Ints,
    options: ComplementOptions | None = None,
) -> ComplementModel:
    """Return complementary categories, and those of which several are bought at a time.

    `kinds`, `families` and `sold` (how often) [n_items]; a kind below 0 and family 0 are
    unknown. A kind goes with itself when it co-occurs with itself more often than by
    chance (lift > 1). Variants that are often bought together are products of their own.

    Source: requirements/algorithms.md 0 and 2.1.
    """
    chosen = options or ComplementOptions()
    n_items, n_kinds = len(kinds), int(kinds.max(initial=-1)) + 1
    owners = np.repeat(np.arange(n_items), np.diff(pairs.offsets))
    families = _without_collected(families, (owners, pairs), sold, chosen)
    is_supported = pairs.support > 0  # else their variants alone did
    named = np.flatnonzero(
        (kinds[owners] >= 0) & (kinds[pairs.companions] >= 0) & is_supported
    )
    counts = _category_cooccurrence(
        kinds[owners[named]].astype(np.int64),
        kinds[pairs.companions[named]].astype(np.int64),
        pairs.support[named],
        n_kinds,
        chosen,
    )
    several: Bools = np.zeros(n_kinds, np.bool_)
    is_known: Bools = np.zeros(n_kinds, np.bool_)
    itself = (counts.owners == counts.companions) & (counts.baskets > counts.by_chance)
    several[counts.owners[itself]] = True
    is_known[counts.owners[counts.baskets >= chosen.enough * counts.shares]] = (
        True  # all that they met
    )
    kind_offsets, kind_items, which = _partners(counts, kinds, sold, n_kinds, chosen)
    return ComplementModel(
        kinds=kinds,
        families=families if families.any() else families[:0],
        told=is_known,
        several=several,
        kind_offsets=kind_offsets,
        kind_items=kind_items,
        kind_lifts=(counts.baskets[which] / counts.by_chance[which]).astype(np.float32),
        kind_baskets=counts.baskets[which].astype(np.int32),
        few=np.array([chosen.few], dtype=np.int64),
    )


def _without_collected(
    families: Items,
    pairs: tuple[Ints, BoughtTogetherPairs],
    sold: Ints,
    options: ComplementOptions,
) -> Items:
    """Return the families, 0 for the items of those that are bought several at a time.

    `pairs` comes with the owner of each.
    """
    owners, bought_together = pairs
    mine = families[owners]
    own = np.flatnonzero((mine > 0) & (mine == families[bought_together.companions]))
    size = int(families.max(initial=0)) + 1
    together = np.bincount(mine[own], weights=bought_together.support[own], minlength=size)
    bought = np.bincount(families, weights=sold, minlength=size)
    collected = together > options.collected * bought
    return np.where(collected[families], 0, families).astype(np.int32)


def _category_cooccurrence(
    owners: Ints, companions: Ints, support: Items, n_kinds: int, options: ComplementOptions
) -> _CategoryCooccurrence:
    size = max(n_kinds, 1)
    codes, where = np.unique(owners * size + companions, return_inverse=True)
    counts = np.zeros(len(codes))
    np.add.at(counts, where, support)
    whose, others = codes // size, codes % size
    of_owner = np.bincount(whose, weights=counts, minlength=size)
    of_other = np.bincount(others, weights=counts, minlength=size)
    by_chance = of_owner[whose] * of_other[others] / max(float(counts.sum()), 1.0)
    noise = options.sureness * np.sqrt(by_chance)
    return _CategoryCooccurrence(
        whose, others, counts, by_chance, counts / of_owner[whose], noise
    )


def _partners(
    counts: _CategoryCooccurrence,
    kinds: Items,
    sold: Ints,
    n_kinds: int,
    options: ComplementOptions,
) -> tuple[Ints, Items, Ints]:
    """Return the best seller of each kind that goes with a kind, the likeliest first.

    As offsets by kind, items, and indexes into `counts`.
    """
    best = _best_sellers(kinds, sold, n_kinds)
    are_sure = (counts.baskets > counts.by_chance + counts.noise) & (
        counts.baskets >= options.least_met
    )
    which = np.flatnonzero(are_sure & (counts.owners != counts.companions))
    which = which[best[counts.companions[which]] >= 0]
    order = (counts.companions[which], -counts.shares[which], counts.owners[which])
    which = which[np.lexsort(order)]
    whose = counts.owners[which]
    first = np.searchsorted(whose, whose)
    which = which[np.arange(len(which)) - first < options.partners]
    items = best[counts.companions[which]].astype(np.int32)
    return csr_offsets(counts.owners[which], n_kinds), items, which


def _best_sellers(kinds: Items, sold: Ints, n_kinds: int) -> npt.NDArray[np.int64]:
    """Return [n_kinds] the item of each kind that sold best; -1 where none did."""
    items = np.flatnonzero((kinds >= 0) & (sold > 0))
    items = items[np.lexsort((items, -sold[items], kinds[items]))]
    owners, firsts = np.unique(kinds[items], return_index=True)
    best = np.full(n_kinds, -1, dtype=np.int64)
    best[owners] = items[firsts]
    return best
