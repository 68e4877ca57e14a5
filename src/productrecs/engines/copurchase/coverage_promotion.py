"""Catalog coverage: promotes each item into the list in which it ranks closest to the head.

Without promotion, all lists show the same best sellers and half of a catalog appears
nowhere. One place in its best list for each item costs almost no relevance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from productrecs.engines.arrays import ranks_within_runs

if TYPE_CHECKING:
    from productrecs.engines.arrays import (
        Bools,
        Ints,
        Items,
        Scores,
    )
    from productrecs.engines.copurchase.options import CopurchaseOptions

_ROUNDS = 8


def promote_for_coverage(
    owners: Ints,
    companions: Items,
    scores: Scores,
    is_in_head: Bools,
    options: CopurchaseOptions,
) -> Scores:
    """Return the scores, with some raised to just above the last place of a list's head.

    The four arrays [n] are parallel, by owner and best first. An item in the heads of fewer
    than `heads` lists is promoted in the lists where it is closest to the head, if its
    score is at least `least_fit` of the last score there. Each list promotes one item;
    items in no head come first. Pairs that only variants were bought in (not
    `is_in_head`) are skipped: another variant is already listed.
    """
    if options.places < 1:
        return scores
    ranks = ranks_within_runs(owners)
    last = np.flatnonzero(ranks == options.places - 1)
    bars = np.zeros(int(owners.max(initial=-1)) + 1, dtype=np.float32)
    bars[owners[last]] = scores[last]
    list_counts = np.bincount(
        companions[ranks < options.places], minlength=int(companions.max(initial=-1)) + 1
    )
    has_promotion = np.zeros(len(bars), dtype=np.bool_)  # lists with a promoted item
    below = (ranks >= options.places) & (scores >= options.least_fit * bars[owners])
    below &= is_in_head
    promoted_scores = scores.copy()
    for position in range(1, options.heads + 1):
        is_candidate = (
            below
            & (list_counts[companions] < position)
            & ~has_promotion[owners]
            & (promoted_scores == scores)
        )
        for promoted in _matched(
            np.flatnonzero(is_candidate), owners, companions, scores, bars
        ):
            promoted_scores[promoted] = np.nextafter(
                bars[owners[promoted]], np.float32(np.inf)
            )
            has_promotion[owners[promoted]] = True
            list_counts[companions[promoted]] += 1
    return promoted_scores


def _matched(
    candidates: Ints, owners: Ints, companions: Items, scores: Scores, bars: Scores
) -> list[Ints]:
    """Return indexes of pairs, no owner and no companion twice, the closest ones first."""
    closeness = scores[candidates] / bars[owners[candidates]]
    order = np.lexsort((owners[candidates], companions[candidates], -closeness))
    candidates = candidates[order]
    found: list[Ints] = []
    for _ in range(_ROUNDS):
        position = candidates[
            _first_of_each(companions[candidates])
        ]  # each item's closest list ...
        promoted = position[
            _first_of_each(owners[position])
        ]  # ... and each list's closest item of these
        if not len(promoted):
            break
        found.append(promoted)
        is_available = ~np.isin(companions[candidates], companions[promoted])
        is_available &= ~np.isin(owners[candidates], owners[promoted])
        candidates = candidates[is_available]
    return found


def _first_of_each(codes: Ints | Items) -> Bools:
    """Return which entries are the first of their code."""
    first = np.zeros(len(codes), dtype=np.bool_)
    first[np.unique(codes, return_index=True)[1]] = True
    return first
