"""Co-viewed pairs: products that several shoppers looked at within one visit."""

from collections.abc import Collection
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from productrecs.core.ids import visitor_hash
from productrecs.engines.array_types_and_sorting import Floats, Ints
from productrecs.engines.browse import sessionize
from productrecs.training.repository import TRAINING_KINDS, TrainingRepository

MAX_EVENTS: Final = 300_000
"""Newest events of the log; more cost more than they improve."""

MAX_PAIRS: Final = 20_000

_MAX_DISTANCE: Final = 4  # maximum distance of compared products in a visit
_MAX_VISIT_EVENTS: Final = 60  # events of a visit; longer ones are robots
_MIN_VISITORS: Final = 2


def read_frequent_coviewed_pairs(
    repository: TrainingRepository, item_numbers: Collection[int]
) -> Ints:
    """Return co-viewed pairs of the given items, [n, 2], the earliest first.

    Pairs need at least two visitors; those with the highest cosine of co-views come first.
    """
    head = repository.head()
    if head is None or not len(item_numbers):
        return np.zeros((0, 2), np.int64)
    rows: list[tuple[int, int, int]] = []
    kinds = frozenset(TRAINING_KINDS)
    for page in repository.behaviour_pages(max(0, head.seq - MAX_EVENTS), head.seq):
        rows += [
            (visitor_hash(visitor), ts, item)
            for ts, kind, item, visitor, *_ in page
            if kind in kinds and item is not None
        ]
    if not rows:
        return np.zeros((0, 2), np.int64)
    views = np.array(rows, dtype=np.int64)
    is_known = np.isin(views[:, 2], np.fromiter(item_numbers, np.int64, len(item_numbers)))
    return frequent_coviewed_pairs(*views[is_known].T)


def frequent_coviewed_pairs(visitors: Ints, times: Ints, items: Ints) -> Ints:
    """Return the co-viewed pairs of views, parallel arrays in the log's order."""
    order = np.lexsort((times, visitors))
    visitors, times, items = visitors[order], times[order], items[order]
    visits = sessionize(visitors, times)
    is_long = (
        np.bincount(visits) > _MAX_VISIT_EVENTS if len(visits) else np.zeros(0, np.bool_)
    )
    pair_rows = [np.zeros((0, 4), np.int64)]
    for step in range(1, _MAX_DISTANCE + 1):
        first, second = items[:-step], items[step:]
        is_pair = (visits[:-step] == visits[step:]) & (first != second)
        is_pair &= ~is_long[visits[step:]]
        low, high = np.minimum(first, second), np.maximum(first, second)
        parts = (low, high, visitors[step:], times[step:])
        pair_rows.append(np.stack([part[is_pair] for part in parts], axis=1))
    return _select_frequent_pairs(np.concatenate(pair_rows))


def _select_frequent_pairs(pair_rows: Ints) -> Ints:
    """Return the frequent pairs among rows of two items, a visitor and a time."""
    if not len(pair_rows):
        return np.zeros((0, 2), np.int64)
    pair_rows = pair_rows[np.argsort(pair_rows[:, 3], kind="stable")]
    _, first_rows = np.unique(pair_rows[:, :3], axis=0, return_index=True)
    distinct_rows = pair_rows[np.sort(first_rows)]  # once per visitor, in time order
    pairs, first, counts = np.unique(
        distinct_rows[:, :2], axis=0, return_index=True, return_counts=True
    )
    weights = _coview_cosines(pairs, counts)
    frequent = np.flatnonzero(counts >= _MIN_VISITORS)
    frequent = frequent[np.lexsort((frequent, -weights[frequent]))][:MAX_PAIRS]
    ordered_pairs: Ints = pairs[frequent[np.argsort(first[frequent], kind="stable")]]
    return ordered_pairs


def _coview_cosines(pairs: Ints, pair_counts: npt.NDArray[Any]) -> Floats:
    """Return the co-views of each pair divided by the items' views (cosine), 0 to 1."""
    size = int(pairs.max()) + 1
    view_counts = np.bincount(pairs.ravel(), np.repeat(pair_counts, 2), minlength=size)
    weights: Floats = pair_counts / np.sqrt(
        view_counts[pairs[:, 0]] * view_counts[pairs[:, 1]]
    )
    return weights
