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

from productrecs.engines.visual.embedding_space import (
    KIND,
    Descriptors,
    EmbeddingSpace,
    ScatterMatrices,
    discriminant_axes,
    fit_embedding_space,
    scatter_matrices,
)
from productrecs.engines.visual.image_transforms import Floats

MIN_PAIRS: Final = 600
"""The fewest pairs for a result that is not random."""

_TAUGHT: Final = 0.7  # of the pairs, the earlier ones
_MAX_TEST_PAIRS: Final = 1_500  # of the later pairs
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
    """Return the space of a store's pictures, learned from the best of its teachers.

    Categories do unless visits, or both, let more pairs of later visits be found among the
    nearest, by more than chance. Then they teach by all pairs. Deterministic.
    """
    space = fit_embedding_space(descriptors, groups)
    if len(pairs) < MIN_PAIRS:
        return space, SupervisionChoice("categories", {})
    projected = space.project(descriptors)
    by_groups = scatter_matrices(projected, groups)
    early = pairs[: int(_TAUGHT * len(pairs))]
    late = _new_among(pairs[len(early) :], early)
    hits = {"categories": _hits(space, descriptors, late, early)}
    for teacher in ("visits", "both"):
        kind = discriminant_axes(
            _spreads(teacher, by_groups, projected, early), projected.shape[1]
        )
        taught = replace(space, kind=kind)
        hits[teacher] = _hits(taught, descriptors, late, early)
    best = max(("visits", "both"), key=lambda name: (hits[name].sum(), name))
    found = {name: float(one.mean()) if len(one) else 0.0 for name, one in hits.items()}
    if not _is_better(hits[best], hits["categories"]):
        return space, SupervisionChoice("categories", found)
    kind = discriminant_axes(
        _spreads(best, by_groups, projected, pairs), projected.shape[1]
    )
    return replace(space, kind=kind), SupervisionChoice(best, found)


def _spreads(
    teacher: str, by_groups: ScatterMatrices | None, projected: Floats, pairs: Pairs
) -> ScatterMatrices:
    apart = projected[pairs[:, 0]] - projected[pairs[:, 1]]
    within = apart.T @ apart / (2 * len(pairs))
    between = np.cov(projected, rowvar=False) - within
    if teacher == "visits" or by_groups is None:
        return ScatterMatrices(within, between, KIND)
    both = (within + by_groups.within) / 2, (between + by_groups.between) / 2
    return ScatterMatrices(*both, KIND)


def _new_among(late: Pairs, early: Pairs) -> Pairs:
    """Return the later pairs that are not among the earlier ones, some spread evenly."""
    known = {tuple(sorted(pair)) for pair in early.tolist()}
    fresh = {tuple(sorted(pair)) for pair in late.tolist()} - known
    pairs = np.array(sorted(fresh), dtype=np.intp).reshape(-1, 2)
    places = np.linspace(0, len(pairs) - 1, min(len(pairs), _MAX_TEST_PAIRS)).astype(
        np.intp
    )
    return pairs[places] if len(pairs) else pairs


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
        anchors, wanted = late[start : start + _BLOCK].T
        likes = vectors[anchors] @ vectors.T
        likes[np.arange(len(anchors)), anchors] = -2.0
        for row, one in enumerate(anchors.tolist()):
            likes[row, known.get(one, [])] = -2.0
        scores = likes[np.arange(len(anchors)), wanted]
        found.append((likes > scores[:, None]).sum(axis=1) < _NEAR)
    return np.concatenate(found) if found else np.zeros(0, np.bool_)


def _is_better(one: npt.NDArray[np.bool_], other: npt.NDArray[np.bool_]) -> bool:
    """Return whether `one` finds more, and more than chance would give it."""
    won, lost = int((one & ~other).sum()), int((other & ~one).sum())
    if not won + lost:
        return False
    beyond = (won - lost) / (won + lost) ** 0.5
    return beyond >= _SURE and bool(one.sum() >= _GAIN * other.sum())
