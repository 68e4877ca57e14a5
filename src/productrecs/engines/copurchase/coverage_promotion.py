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
    were_together: Bools,
    options: CopurchaseOptions,
) -> Scores:
    """Return the scores, with some raised to just above the last place of a list's head.

    The four arrays [n] are parallel, by owner and best first. An item in the heads of fewer
    than `heads` lists is promoted in the lists where it is closest to the head, if its
    score is at least `least_fit` of the last score there. Each list promotes one item;
    items in no head come first. Pairs that only variants were bought in (not
    `were_together`) are skipped: another variant is already listed.
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
    gave = np.zeros(len(bars), dtype=np.bool_)  # lists with a promoted item
    below = (ranks >= options.places) & (scores >= options.least_fit * bars[owners])
    below &= were_together
    raised = scores.copy()
    for wanted in range(1, options.heads + 1):
        wish = (
            below & (list_counts[companions] < wanted) & ~gave[owners] & (raised == scores)
        )
        for taken in _matched(np.flatnonzero(wish), owners, companions, scores, bars):
            raised[taken] = np.nextafter(bars[owners[taken]], np.float32(np.inf))
            gave[owners[taken]] = True
            list_counts[companions[taken]] += 1
    return raised


def _matched(
    wishes: Ints, owners: Ints, companions: Items, scores: Scores, bars: Scores
) -> list[Ints]:
    """Return indexes of pairs, no owner and no companion twice, the closest ones first."""
    closeness = scores[wishes] / bars[owners[wishes]]
    order = np.lexsort((owners[wishes], companions[wishes], -closeness))
    wishes = wishes[order]
    found: list[Ints] = []
    for _ in range(_ROUNDS):
        wanted = wishes[_firsts(companions[wishes])]  # each item's closest list ...
        taken = wanted[_firsts(owners[wanted])]  # ... and each list's closest item of these
        if not len(taken):
            break
        found.append(taken)
        left = ~np.isin(companions[wishes], companions[taken])
        left &= ~np.isin(owners[wishes], owners[taken])
        wishes = wishes[left]
    return found


def _firsts(codes: Ints | Items) -> Bools:
    """Return which entries are the first of their code."""
    first = np.zeros(len(codes), dtype=np.bool_)
    first[np.unique(codes, return_index=True)[1]] = True
    return first
