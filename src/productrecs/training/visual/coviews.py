"""Co-viewed pairs: products seen in one visit, from which similarity is learned."""

from collections.abc import Collection
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from productrecs.core.clock import MINUTE_MS
from productrecs.core.ids import visitor_hash
from productrecs.training.repository import LEARNED_KINDS, TrainingRepository

Ints = npt.NDArray[np.int64]

MAX_EVENTS: Final = 300_000
"""The newest of the log: more would cost more than they teach."""

MAX_PAIRS: Final = 20_000

_VISIT_MS: Final = 30 * MINUTE_MS
_REACH: Final = 4  # products further apart in a visit are not compared
_LONGEST: Final = 60  # events of a visit: more are a robot's
_FEWEST_VISITORS: Final = 2


def read_coviewed_pairs(repository: TrainingRepository, numbers: Collection[int]) -> Ints:
    """Return pairs of the given items that visits looked at, [n, 2], the earliest first.

    Pairs seen by at least two visitors, those with the highest cosine of co-views first.
    """
    head = repository.head()
    if head is None or not len(numbers):
        return np.zeros((0, 2), np.int64)
    rows: list[tuple[int, int, int]] = []
    kinds = frozenset(LEARNED_KINDS)
    for page in repository.behaviour(max(0, head.seq - MAX_EVENTS), head.seq):
        rows += [
            (visitor_hash(visitor), ts, item)
            for ts, kind, item, visitor, *_ in page
            if kind in kinds and item is not None
        ]
    if not rows:
        return np.zeros((0, 2), np.int64)
    seen = np.array(rows, dtype=np.int64)
    known = np.isin(seen[:, 2], np.fromiter(numbers, np.int64, len(numbers)))
    return coviewed_pairs(*seen[known].T)


def coviewed_pairs(visitors: Ints, times: Ints, items: Ints) -> Ints:
    """Return the co-viewed pairs of views, parallel arrays in the log's order."""
    order = np.lexsort((times, visitors))
    visitors, times, items = visitors[order], times[order], items[order]
    starts = np.ones(len(order), dtype=np.bool_)
    starts[1:] = (visitors[1:] != visitors[:-1]) | (np.diff(times) > _VISIT_MS)
    visits = np.cumsum(starts) - 1
    is_long = np.bincount(visits) > _LONGEST if len(visits) else np.zeros(0, np.bool_)
    found = [np.zeros((0, 4), np.int64)]
    for step in range(1, _REACH + 1):
        one, other = items[:-step], items[step:]
        is_pair = (visits[:-step] == visits[step:]) & (one != other)
        is_pair &= ~is_long[visits[step:]]
        low, high = np.minimum(one, other), np.maximum(one, other)
        parts = (low, high, visitors[step:], times[step:])
        found.append(np.stack([part[is_pair] for part in parts], axis=1))
    return _often(np.concatenate(found))


def _often(pair_rows: Ints) -> Ints:
    """Return the frequent pairs among rows of two items, a visitor and a time."""
    if not len(pair_rows):
        return np.zeros((0, 2), np.int64)
    pair_rows = pair_rows[np.argsort(pair_rows[:, 3], kind="stable")]
    _, firsts = np.unique(pair_rows[:, :3], axis=0, return_index=True)
    once = pair_rows[np.sort(firsts)]  # of each visitor once, in the order of time
    pairs, first, counts = np.unique(
        once[:, :2], axis=0, return_index=True, return_counts=True
    )
    weights = _weights(pairs, counts)
    frequent = np.flatnonzero(counts >= _FEWEST_VISITORS)
    frequent = frequent[np.lexsort((frequent, -weights[frequent]))][:MAX_PAIRS]
    found: Ints = pairs[frequent[np.argsort(first[frequent], kind="stable")]]
    return found


def _weights(pairs: Ints, counts: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the co-views of each pair divided by the items' views (cosine), 0 to 1."""
    size = int(pairs.max()) + 1
    often = np.bincount(pairs.ravel(), np.repeat(counts, 2), minlength=size)
    weights: npt.NDArray[np.float64] = counts / np.sqrt(
        often[pairs[:, 0]] * often[pairs[:, 1]]
    )
    return weights
