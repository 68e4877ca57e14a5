"""Co-purchase training: selects each item's strongest significant companions."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from productrecs.engines.array_types_and_sorting import (
    Bools,
    Bytes,
    Floats,
    Ints,
    Items,
    Scores,
    csr_offsets,
    ranks_within_runs,
    unique_sorted,
)
from productrecs.engines.copurchase.copurchase_options import (
    CopurchaseOptions,
)
from productrecs.engines.copurchase.model import CopurchaseModel, CopurchaseModels
from productrecs.engines.copurchase.pair_counts import (
    Baskets,
    PairCounts,
    WeightedSales,
    basket_weights,
    cart_strengths,
    count_pairs,
    gather_baskets,
    item_popularity,
    owner_blocks,
    pair_strengths,
    top_indexes_per_owner,
    without_repeated_baskets,
)
from productrecs.engines.copurchase.pair_evidence import CHANCE, EVIDENT, PairGrader
from productrecs.engines.copurchase.variant_pooling import (
    VariantGroups,
    VariantPooling,
    build_variant_pooling,
)

_ROUNDS = 8


def promote_for_coverage(
    owners: Ints,
    companions: Items,
    scores: Scores,
    is_observed: Bools,
    options: CopurchaseOptions,
) -> Scores:
    """Return the scores, with some raised to just above the last place of a list's head.

    The four arrays [n] are parallel, by owner and best first. An item in the heads of fewer
    than `heads` lists is promoted in the lists where it is closest to the head, if its
    score is at least `least_fit` of the last score there. Each list promotes one item;
    items in no head come first. Pairs that only variants were bought in (not
    `is_observed`) are skipped: another variant is already listed.
    """
    if options.places < 1:
        return scores
    ranks = ranks_within_runs(owners)
    last = np.flatnonzero(ranks == options.places - 1)
    head_scores = np.zeros(int(owners.max(initial=-1)) + 1, dtype=np.float32)
    head_scores[owners[last]] = scores[last]
    list_counts = np.bincount(
        companions[ranks < options.places], minlength=int(companions.max(initial=-1)) + 1
    )
    has_promotion = np.zeros(len(head_scores), dtype=np.bool_)  # lists with a promoted item
    is_below_head = (ranks >= options.places) & (
        scores >= options.least_fit * head_scores[owners]
    )
    is_below_head &= is_observed
    promoted_scores = scores.copy()
    for min_lists in range(1, options.heads + 1):
        is_candidate = (
            is_below_head
            & (list_counts[companions] < min_lists)
            & ~has_promotion[owners]
            & (promoted_scores == scores)
        )
        for promoted in _closest_pair_indexes(
            np.flatnonzero(is_candidate), owners, companions, scores, head_scores
        ):
            promoted_scores[promoted] = np.nextafter(
                head_scores[owners[promoted]], np.float32(np.inf)
            )
            has_promotion[owners[promoted]] = True
            list_counts[companions[promoted]] += 1
    return promoted_scores


def _closest_pair_indexes(
    candidates: Ints, owners: Ints, companions: Items, scores: Scores, head_scores: Scores
) -> list[Ints]:
    """Return indexes of pairs, no owner and no companion twice, the closest ones first."""
    closeness = scores[candidates] / head_scores[owners[candidates]]
    order = np.lexsort((owners[candidates], companions[candidates], -closeness))
    candidates = candidates[order]
    chosen_pairs: list[Ints] = []
    for _ in range(_ROUNDS):
        closest_lists = candidates[
            _first_of_each(companions[candidates])
        ]  # each item's closest list ...
        promoted = closest_lists[
            _first_of_each(owners[closest_lists])
        ]  # ... and each list's closest item of these
        if not len(promoted):
            break
        chosen_pairs.append(promoted)
        is_available = ~np.isin(companions[candidates], companions[promoted])
        is_available &= ~np.isin(owners[candidates], owners[promoted])
        candidates = candidates[is_available]
    return chosen_pairs


def _first_of_each(codes: Ints | Items) -> Bools:
    """Return which entries are the first of their code."""
    first = np.zeros(len(codes), dtype=np.bool_)
    first[np.unique(codes, return_index=True)[1]] = True
    return first


_MIN_DIVISOR: Final = 1e-9  # lower bound of a divisor
_CHANCE_FACTOR: Final = np.float32(
    1e-12
)  # what remains of the strength that chance explains


def fit_copurchase(
    baskets: Ints,
    items: Items,
    ages_days: Scores | None,
    n_items: int,
    options: CopurchaseOptions | None = None,
    buyers: Ints | None = None,
    *,
    variants: VariantGroups | None = None,
) -> CopurchaseModels:
    """Return every item's strongest companions from parallel arrays, one entry a line.

    Shapes: `baskets`, `items`, `ages_days`, `buyers` [n]. Lines with a basket below 0 are
    ignored; an item counts once per basket; without ages there is no decay. Of a buyer's
    identical baskets only the newest counts (buyers are any code; 0 is unknown). Lists and
    carts use the pairs that `PairGrader` accepts. A separate model pools the baskets of
    variants.

    Source: requirements/algorithms.md 2.1; measured in benchmarks/quality.

    Raises:
        ValueError: when an item number lies outside 0..n_items-1.
    """
    lines = _distinct_baskets(baskets, items, ages_days, n_items, buyers)
    return fit_baskets(lines, options or CopurchaseOptions(), variants)


def fit_widest_copurchase(
    baskets: Ints,
    items: Items,
    ages_days: Scores | None,
    n_items: int,
    options: CopurchaseOptions,
    buyers: Ints | None,
    variants: VariantGroups | None,
) -> CopurchaseModel:
    """Return the model of `fit_copurchase` with the highest coverage, and make no other."""
    lines = _distinct_baskets(baskets, items, ages_days, n_items, buyers)
    return fit_baskets(lines, options, variants, widest_only=True).widest


def _distinct_baskets(
    baskets: Ints,
    items: Items,
    ages_days: Scores | None,
    n_items: int,
    buyers: Ints | None,
) -> Baskets:
    lines = gather_baskets(baskets, items, ages_days, n_items)
    return lines if buyers is None else without_repeated_baskets(lines, baskets, buyers)


def fit_baskets(
    lines: Baskets,
    options: CopurchaseOptions,
    variants: VariantGroups | None = None,
    *,
    widest_only: bool = False,
) -> CopurchaseModels:
    """Return the models of gathered baskets.

    With `widest_only`, only the one with the highest coverage.
    """
    weights = basket_weights(lines, options)
    popularity = item_popularity(lines, weights)
    pooling = None
    if variants is not None:
        pooling = build_variant_pooling(lines, weights, variants, options)
    if pooling is not None:
        popularity = pooling.popularity
    seasons = _season_factors(lines, weights, options)
    sales = WeightedSales(popularity, seasons, float(weights.sum()))
    plain, pooled = _TopCompanions(sales, options), _TopCompanions(sales, options)
    widest_only &= pooling is not None
    categories = None if variants is None else variants.categories
    evidence = PairGrader(lines, categories, options)
    inputs = _PairCountingInputs(
        lines, weights, sales, pooling, evidence, options, widest_only
    )
    item_pairs, pooled_pairs = _strongest_own_and_pooled_pairs(inputs)
    plain.add(item_pairs)
    pooled.add(pooled_pairs)
    if widest_only:
        return CopurchaseModels(pooled.take_model(), None)
    return CopurchaseModels(
        plain.take_model(), None if pooling is None else pooled.take_model()
    )


class _PairCountingInputs(NamedTuple):
    """What the counting of pairs reads."""

    lines: Baskets
    weights: Floats
    sales: WeightedSales
    pooling: VariantPooling | None
    evidence: PairGrader
    options: CopurchaseOptions
    widest_only: bool


class _SelectedPairs(NamedTuple):
    """Some owners' strongest pairs, with the evidence of each."""

    pairs: PairCounts
    evidence: Bytes


def _strongest_own_and_pooled_pairs(
    inputs: _PairCountingInputs,
) -> tuple[list[_SelectedPairs], list[_SelectedPairs]]:
    """Return every owner's strongest pairs: its own, and pooled by variants."""
    lines, weights, sales, pooling, pair_evidence, options, widest_only = inputs
    plain: list[_SelectedPairs] = []
    pooled: list[_SelectedPairs] = []
    for owners, counted in count_pairs(lines, weights, owner_blocks(lines)):
        pairs = (
            counted if pooling is None else pooling.with_borrowed_baskets(counted, owners)
        )
        evidence = pair_evidence.grade_pairs(pairs)
        if pooling is not None:
            if pairs.shared is not None:  # pooled pairs have their products' evidence
                group_evidence = np.where(pairs.shared > 0, EVIDENT, CHANCE).astype(np.int8)
                evidence = np.maximum(evidence, group_evidence)
            pooled.append(_select_list_and_cart_candidates(pairs, evidence, sales, options))
            if widest_only:
                continue
            observed = np.flatnonzero(pairs.support > 0)
            pairs, evidence = pairs[observed].without_shared(), evidence[observed]
        plain.append(_select_list_and_cart_candidates(pairs, evidence, sales, options))
    return plain, pooled


def _select_list_and_cart_candidates(
    pairs: PairCounts, evidence: Bytes, sales: WeightedSales, options: CopurchaseOptions
) -> _SelectedPairs:
    """Return the pairs that may be stored, before promotion."""
    candidate_count = max(options.considered, options.neighbours)
    selected = _SelectedPairs(pairs, evidence)
    scores = _ranking_scores(selected, sales, options)
    best_index = _best_pair_indexes(selected, scores, candidate_count, sales, options)
    return _SelectedPairs(pairs[best_index], evidence[best_index])


def _ranking_scores(
    selected: _SelectedPairs, sales: WeightedSales, options: CopurchaseOptions
) -> Scores:
    """Return the strengths of pairs; those that chance explains come after all others."""
    strengths = pair_strengths(selected.pairs, sales, options)
    strengths[selected.evidence == CHANCE] *= _CHANCE_FACTOR
    return strengths


def _best_pair_indexes(
    selected: _SelectedPairs,
    scores: Scores,
    candidate_count: int,
    sales: WeightedSales,
    options: CopurchaseOptions,
) -> Ints:
    """Return each owner's best indexes for its own list and for carts, ascending."""
    pairs, evidence = selected
    for_lists = top_indexes_per_owner(pairs.owners, scores, candidate_count)
    evident_index = np.flatnonzero(evidence >= EVIDENT)
    cart_scores = cart_strengths(pairs[evident_index], sales.popularity, options)
    for_carts = evident_index[
        top_indexes_per_owner(pairs.owners[evident_index], cart_scores, options.neighbours)
    ]
    return unique_sorted(np.concatenate((for_lists, for_carts)))


class _TopCompanions:
    """Each item's strongest companions, from pairs that arrive block by block."""

    def __init__(self, sales: WeightedSales, options: CopurchaseOptions) -> None:
        self._sales = sales
        self._options = options
        self._pairs: list[PairCounts] = []
        self._evidence = [np.zeros(0, np.int8)]

    def add(self, selected: list[_SelectedPairs]) -> None:
        """Add some owners' strongest pairs."""
        self._pairs += [block.pairs for block in selected]
        self._evidence += [block.evidence for block in selected]

    def take_model(self) -> CopurchaseModel:
        """Return the model of the added pairs, which are gone then."""
        options, popularity = self._options, self._sales.popularity
        pairs = PairCounts.concatenate(self._pairs)
        evidence = np.concatenate(self._evidence)
        self._pairs.clear()  # half of the memory
        scores = _ranking_scores(_SelectedPairs(pairs, evidence), self._sales, options)
        best_first = top_indexes_per_owner(pairs.owners, scores, len(scores))
        pairs, evidence = pairs[best_first], evidence[best_first]
        scores = promote_for_coverage(
            pairs.owners,
            pairs.companions,
            scores[best_first],
            (pairs.support > 0) & (evidence != CHANCE),
            options,
        )
        selected = _SelectedPairs(pairs, evidence)
        best_index = _best_pair_indexes(
            selected, scores, options.neighbours, self._sales, options
        )
        pairs = pairs[best_index]
        evidence = evidence[best_index]
        scores = scores[best_index]
        best_first = top_indexes_per_owner(pairs.owners, scores, len(scores))
        pairs, evidence = pairs[best_first], evidence[best_first]
        cosines = _pair_cosines(pairs, popularity)
        return CopurchaseModel(
            offsets=csr_offsets(pairs.owners, len(popularity)),
            companions=pairs.companions,
            scores=scores[best_first],
            support=pairs.support,
            likeness=np.where(evidence >= EVIDENT, cosines, np.float32(0)),
            shared=pairs.support[:0] if pairs.shared is None else pairs.shared,
            evidence=evidence,
            lean=(popularity ** (0.5 - options.lean)).astype(np.float32),
            constants=np.array([options.doublings]),
        )


def _pair_cosines(pairs: PairCounts, popularity: Floats) -> Scores:
    """Return each pair's cosine, in (0, 1]."""
    sizes = np.sqrt(popularity)
    cosines = pairs.weights / (sizes[pairs.owners] * sizes[pairs.companions])
    clipped: Floats = np.clip(cosines, np.finfo(np.float32).tiny, 1.0)
    return clipped.astype(np.float32)


def _season_factors(lines: Baskets, weights: Floats, options: CopurchaseOptions) -> Floats:
    """Return the seasonal factor of each item's strength: above 1 for recent best sellers.

    Factors of few sales are shrunk by `prior` baskets.
    """
    recent_weights = weights * (lines.ages_days < options.season_days)
    sold = np.bincount(lines.items, weights=weights[lines.baskets], minlength=lines.n_items)
    recent_sales = np.bincount(
        lines.items, weights=recent_weights[lines.baskets], minlength=lines.n_items
    )
    share = float(recent_weights.sum()) / max(float(weights.sum()), _MIN_DIVISOR)
    prior = max(options.prior, 1.0)
    ratios: Floats = (recent_sales + prior) / (sold * share + prior)
    seasons: Floats = ratios**options.season
    return seasons
