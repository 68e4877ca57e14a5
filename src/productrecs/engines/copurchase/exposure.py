"""Has every item a list in whose head it stands? Where it fits best, if it fits at all.

Ranking each list by itself shows the same best sellers everywhere and half of a catalog
nowhere. One place in the list where an item fits best costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from productrecs.engines.contract import Bools, Ints, Items, Scores
    from productrecs.engines.copurchase.options import CopurchaseOptions

_ROUNDS = 8


def promoted(
    owners: Ints, companions: Items, scores: Scores, options: CopurchaseOptions
) -> Scores:
    """Return the scores, some raised to just above the last place of a list's head.

    The three arrays [n] are parallel, by owner and best first. An item that stands in no
    list's head is raised in the one list where it comes closest to it, if it has at least
    `least_fit` of the score there; each list takes one such item.
    """
    if options.places < 1:
        return scores
    heads = _ranks(owners) < options.places
    last = np.flatnonzero(_ranks(owners) == options.places - 1)
    bars = np.zeros(int(owners.max(initial=-1)) + 1, dtype=np.float32)
    bars[owners[last]] = scores[last]
    shown = np.zeros(int(companions.max(initial=-1)) + 1, dtype=np.bool_)
    shown[companions[heads]] = True
    wish = ~heads & ~shown[companions] & (scores >= options.least_fit * bars[owners])
    raised = scores.copy()
    for chosen in _matched(np.flatnonzero(wish), owners, companions, scores, bars):
        raised[chosen] = np.nextafter(bars[owners[chosen]], np.float32(np.inf))
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


def _ranks(owners: Ints) -> Ints:
    return np.arange(len(owners)) - np.searchsorted(owners, owners)
