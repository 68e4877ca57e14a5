"""Metric learning: decides whether co-viewed products improve the embedding space.

Categories say what a product is. Pairs viewed in one visit say what shoppers compare, which
may be more precise or only noise. So pairs of later visits, held out of the training,
decide which of the two is used.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from productrecs.engines.visual.array_types import Floats
from productrecs.engines.visual.embedding_space import (
    KIND,
    Descriptors,
    EmbeddingSpace,
    ScatterMatrices,
    discriminant_axes,
    fit_embedding_space,
    scatter_matrices,
)

MIN_PAIRS: Final = 600
"""Fewer teach nothing that could be told from chance."""

_TAUGHT: Final = 0.7  # of the pairs, the earlier ones
_ASKED: Final = 1_500  # of the later pairs
_NEAR: Final = 20
_BLOCK: Final = 256
_GAIN: Final = 1.02  # times as many later pairs found, at least
_SURE: Final = 2.5  # standard deviations beyond chance

Pairs = npt.NDArray[np.integer[Any]]
"""[n, 2] rows of descriptors that one visit looked at, in the order of time."""


class SupervisionChoice(NamedTuple):
    """Which teacher was taken, and which share of later pairs each let be found."""

    teacher: str  # categories, visits or both
    found: dict[str, float]


def fit_supervised_space(
    descriptors: Descriptors, groups: Sequence[npt.NDArray[np.intp]], pairs: Pairs
) -> tuple[EmbeddingSpace, SupervisionChoice]:
    """Return the space of a store's pictures, taught by whoever teaches it best.

    Categories do unless visits, or both, let more pairs of later visits be found among the
    nearest, by more than chance. Then they teach by all pairs. Deterministic.
    """
    space = fit_embedding_space(descriptors, groups)
    if len(pairs) < MIN_PAIRS:
        return space, SupervisionChoice("categories", {})
    told = space.told(descriptors)
    by_groups = scatter_matrices(told, groups)
    early = pairs[: int(_TAUGHT * len(pairs))]
    late = _new_among(pairs[len(early) :], early)
    hits = {"categories": _hits(space, descriptors, late, early)}
    for teacher in ("visits", "both"):
        kind = discriminant_axes(_spreads(teacher, by_groups, told, early), told.shape[1])
        taught = replace(space, kind=kind)
        hits[teacher] = _hits(taught, descriptors, late, early)
    best = max(("visits", "both"), key=lambda name: (hits[name].sum(), name))
    found = {name: float(one.mean()) if len(one) else 0.0 for name, one in hits.items()}
    if not _is_better(hits[best], hits["categories"]):
        return space, SupervisionChoice("categories", found)
    kind = discriminant_axes(_spreads(best, by_groups, told, pairs), told.shape[1])
    return replace(space, kind=kind), SupervisionChoice(best, found)


def _spreads(
    teacher: str, by_groups: ScatterMatrices | None, told: Floats, pairs: Pairs
) -> ScatterMatrices:
    apart = told[pairs[:, 0]] - told[pairs[:, 1]]
    within = apart.T @ apart / (2 * len(pairs))
    between = np.cov(told, rowvar=False) - within
    if teacher == "visits" or by_groups is None:
        return ScatterMatrices(within, between, KIND)
    both = (within + by_groups.within) / 2, (between + by_groups.between) / 2
    return ScatterMatrices(*both, KIND)


def _new_among(late: Pairs, early: Pairs) -> Pairs:
    """Return the later pairs that are not among the earlier ones, some spread evenly."""
    known = {tuple(sorted(pair)) for pair in early.tolist()}
    fresh = {tuple(sorted(pair)) for pair in late.tolist()} - known
    kept = np.array(sorted(fresh), dtype=np.intp).reshape(-1, 2)
    places = np.linspace(0, len(kept) - 1, min(len(kept), _ASKED)).astype(np.intp)
    return kept[places] if len(kept) else kept


def _hits(
    space: EmbeddingSpace, descriptors: Descriptors, late: Pairs, early: Pairs
) -> npt.NDArray[np.bool_]:
    """Return, for each later pair, whether one is among the nearest of the other.

    What is known to go with it does not stand in the way.
    """
    vectors, found = space.vectors(descriptors), list[npt.NDArray[np.bool_]]()
    known: dict[int, list[int]] = {}
    for one, other in early.tolist():
        known.setdefault(one, []).append(other)
        known.setdefault(other, []).append(one)
    for start in range(0, len(late), _BLOCK):
        asked, wanted = late[start : start + _BLOCK].T
        likes = vectors[asked] @ vectors.T
        likes[np.arange(len(asked)), asked] = -2.0
        for row, one in enumerate(asked.tolist()):
            likes[row, known.get(one, [])] = -2.0
        scores = likes[np.arange(len(asked)), wanted]
        found.append((likes > scores[:, None]).sum(axis=1) < _NEAR)
    return np.concatenate(found) if found else np.zeros(0, np.bool_)


def _is_better(one: npt.NDArray[np.bool_], other: npt.NDArray[np.bool_]) -> bool:
    """Return whether `one` finds more, and more than chance would give it."""
    won, lost = int((one & ~other).sum()), int((other & ~one).sum())
    if not won + lost:
        return False
    beyond = (won - lost) / (won + lost) ** 0.5
    return beyond >= _SURE and bool(one.sum() >= _GAIN * other.sum())
