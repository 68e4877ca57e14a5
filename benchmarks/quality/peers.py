"""Whom do we stand beside? Plain methods of the literature, written for clarity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.quality.datasets import Sessions
    from productrecs.engines.array_types_and_sorting import Floats, Ints, Items

_LAST_ITEMS: Final = 9


def count_together(
    groups: Ints, items: Items, n_items: int, limit: int
) -> Callable[[int], Items]:
    """Return lists by how many groups (orders or sessions) hold both items; no more.

    Equal counts stand by item number. On sessions these are association rules.
    """
    pairs = np.unique(groups * np.int64(n_items) + items)
    n_groups = int(groups.max()) + 1
    holding = sparse.csr_array(
        (np.ones(len(pairs)), (pairs // n_items, pairs % n_items)),
        shape=(n_groups, n_items),
    )
    together = sparse.csr_array(holding.T @ holding)
    together.sort_indices()

    def lists(anchor: int) -> Items:
        row = slice(*together.indptr[anchor : anchor + 2])
        others, counts = together.indices[row], together.data[row]
        beside = others != anchor
        return _best(others[beside], counts[beside], limit)

    return lists


class PlainVmis:
    """VMIS-kNN as published: linear decay by place, the k most similar of the m newest.

    Source: Kersbergen, Sprangers, Schelter, "Serenade", SIGMOD 2022: a session's similarity
    is the sum of the decayed places of the items it shares; an item's score sums similarity
    times (1 - 0.1 * newest shared place) times (1 + ln(S / df)).
    """

    def __init__(
        self,
        train: Sessions,
        n_items: int,
        m: int = 1000,
        k: int = 100,
        last: int = _LAST_ITEMS,
    ) -> None:
        """Index sessions in the order of time; a visit's `last` items are compared."""
        self._m, self._k, self._last = m, k, last
        self._sessions = [np.array(list(dict.fromkeys(one))) for one in train.items]
        holders: list[list[int]] = [[] for _ in range(n_items)]
        for number, session in enumerate(self._sessions):
            for item in session.tolist():
                holders[item].append(number)
        self._holders = [np.array(numbers[-m:][::-1], np.int64) for numbers in holders]
        df = np.array([max(len(numbers), 1) for numbers in holders])
        self._rarity = 1.0 + np.log(len(self._sessions) / df)

    def next_items(self, prefix: Sequence[int], limit: int) -> Items:
        """Return what comes after `prefix` (oldest to newest), without its newest item."""
        visit = list(dict.fromkeys(reversed(prefix)))[: self._last]
        held = [self._holders[item] for item in visit]
        places = np.repeat(np.arange(len(visit)), [len(one) for one in held])
        numbers, newest, where = np.unique(
            np.concatenate(held), return_index=True, return_inverse=True
        )
        if len(numbers) == 0:
            return np.zeros(0, dtype=np.int32)
        decay = (len(visit) - places) / len(visit)
        similar = np.bincount(where, weights=decay)[-self._m :]
        numbers, matched = numbers[-self._m :], places[newest][-self._m :]
        nearest = np.lexsort((-numbers, -similar))[: self._k]
        votes = similar[nearest] * (1.0 - 0.1 * matched[nearest])
        shared = [self._sessions[number] for number in numbers[nearest].tolist()]
        items = np.concatenate(shared)
        weights = np.repeat(votes, [len(one) for one in shared])
        found, where = np.unique(items, return_inverse=True)
        scores = np.bincount(where, weights=weights) * self._rarity[found]
        others = found != prefix[-1]
        return _best(found[others], scores[others], limit)


def _best(items: Ints, scores: Floats, limit: int) -> Items:
    order = np.lexsort((items, -scores))[:limit]
    return items[order].astype(np.int32)
