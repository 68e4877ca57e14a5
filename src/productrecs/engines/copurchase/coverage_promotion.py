"""Catalog coverage: promotes each item into the list in which it fits best.

Ranking each list by itself shows the same best sellers everywhere and half of a catalog
nowhere. One place in the lists where an item fits best costs almost no relevance.
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
    """Return the scores, some raised to just above the last place of a list's head.

    The four arrays [n] are parallel, by owner and best first. An item that stands in the
    heads of fewer than `heads` lists is raised in those where it comes closest to it, if it
    has at least `least_fit` of the score there; each list takes one such item. Who stands
    in none comes first. Of what its variants alone were bought with (not `were_together`)
    it is given no place: its product stands there already.
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
    gave = np.zeros(len(bars), dtype=np.bool_)  # lists that took one
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
    """Return places of pairs, no owner and no companion twice, the closest ones first."""
    closeness = scores[wishes] / bars[owners[wishes]]
    order = np.lexsort((owners[wishes], companions[wishes], -closeness))
    wishes = wishes[order]
    found: list[Ints] = []
    for _ in range(_ROUNDS):
        wanted = wishes[_firsts(companions[wishes])]  # each item's closest list ...
        taken = wanted[_firsts(owners[wanted])]  # ... which takes the closest of them
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
