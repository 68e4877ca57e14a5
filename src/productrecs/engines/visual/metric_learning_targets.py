"""Metric learning: decides whether co-viewed products improve the embedding space.

Categories are product types. Pairs viewed in one visit are products that shoppers compare,
which may be more precise or only noise. Held-out pairs of later visits decide which of the
two is used.
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
"""Minimum number of pairs for a significant result."""

_TAUGHT: Final = 0.7  # training share of the pairs, the earlier ones
_MAX_TEST_PAIRS: Final = 1_500  # maximum test pairs, of the later ones
_NEAR: Final = 20
_BLOCK: Final = 256
_GAIN: Final = 1.02  # minimum ratio of found test pairs
_SURE: Final = 2.5  # minimum standard deviations

Pairs = npt.NDArray[np.integer[Any]]
"""[n, 2] rows of co-viewed descriptors, in time order."""


class SupervisionChoice(NamedTuple):
    """The chosen supervision, and the share of test pairs that each one finds."""

    teacher: str  # categories, visits or both
    found: dict[str, float]


def fit_supervised_space(
    descriptors: Descriptors, groups: Sequence[npt.NDArray[np.intp]], pairs: Pairs
) -> tuple[EmbeddingSpace, SupervisionChoice]:
    """Return the space of a store's pictures, trained with the best supervision.

    The default is categories. Visits, or both, replace them if they find significantly more
    test pairs among nearest neighbours; then all pairs are used. Deterministic.
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
    """Return the later pairs that are not among the earlier ones, evenly sampled."""
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

    Other known matches are not counted as competitors.
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
    """Return whether `one` finds significantly more."""
    won, lost = int((one & ~other).sum()), int((other & ~one).sum())
    if not won + lost:
        return False
    beyond = (won - lost) / (won + lost) ** 0.5
    return beyond >= _SURE and bool(one.sum() >= _GAIN * other.sum())
