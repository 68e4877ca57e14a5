"""Feature fusion: a trained encoder's features and the built-in descriptor in one vector.

An encoder that was trained on general photos recognises objects; the descriptor has colours
and edges. A vector has four blocks, each normalised before weighting: visual similarity and
kind, by the descriptor and by the encoder. Queries may use other block weights than the
stored vectors.

Metric learning decides whether co-viewed products improve the space.

Categories are product types. Pairs viewed in one visit are products that shoppers compare,
which may be more precise or only noise. Held-out pairs of later visits decide which of the
two is used.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from productrecs.engines.visual.descriptor_projection import (
    DIMENSIONS,
    KIND,
    MIN_PICTURES,
    DescriptorProjection,
    Descriptors,
    ScatterMatrices,
    discriminant_axes,
    fit_descriptor_projection,
    principal_axes,
    random_axes,
    sampled_rows,
    scatter_matrices,
    scatter_of_sample,
    unit_rows,
)
from productrecs.engines.visual.image_transforms import Floats

AXES: Final = 64
"""Number of principal axes of the encoder's features in a vector."""

FUSED_DIMENSIONS: Final = DIMENSIONS + AXES + KIND

_BASIS: Final = 128  # axes before the discriminant analysis
_WHITENING: Final = 0.5
_LOOKS: Final = DIMENSIONS - KIND
OWN_BLOCKS: Final = (slice(0, _LOOKS), slice(_LOOKS, DIMENSIONS))
"""Descriptor block weights: visual similarity and kind."""

FUSED_BLOCKS: Final = (
    *OWN_BLOCKS,
    slice(DIMENSIONS, DIMENSIONS + AXES),
    slice(DIMENSIONS + AXES, FUSED_DIMENSIONS),
)
"""Fused block weights: the descriptor's similarity and kind, then the encoder's."""

FUSED_SHARES: Final = (0.35, 0.1, 0.35, 0.2)
"""Block weights of the similarity of two fused vectors."""


@dataclass(frozen=True, slots=True)
class FeatureProjection:
    """Linear maps from an encoder's features to vectors; plain arrays."""

    mean: Floats  # [features]
    axes: Floats  # [features, _BASIS], softly whitened
    kind_mean: Floats  # [_BASIS]
    kind: Floats  # [_BASIS, KIND]: discriminant axes, else the first axes unwhitened

    def vectors(self, features: Floats) -> Floats:
        """Return rows of features as two blocks of length 1, [n, AXES + KIND]."""
        projected = (unit_rows(features) - self.mean) @ self.axes
        kind = (unit_rows(projected) - self.kind_mean) @ self.kind
        return np.concatenate([unit_rows(projected[:, :AXES]), unit_rows(kind)], axis=1)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays that `from_arrays` reads."""
        return {
            "space_feature_mean": self.mean,
            "space_feature_axes": self.axes,
            "space_feature_kind_mean": self.kind_mean,
            "space_feature_kind": self.kind,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> "FeatureProjection":
        """Return a stored space.

        Raises:
            KeyError: when an array is missing.
        """
        return cls(
            arrays["space_feature_mean"],
            arrays["space_feature_axes"],
            arrays["space_feature_kind_mean"],
            arrays["space_feature_kind"],
        )


def fit_feature_projection(
    features: Floats, groups: Sequence[npt.NDArray[np.intp]]
) -> FeatureProjection:
    """Fit the projection of features, [n, d]; `groups` as `fit_descriptor_projection`."""
    rows = sampled_rows(len(features))
    sample = unit_rows(features[rows])
    length = features.shape[1]
    mean = sample.mean(axis=0) if len(sample) else np.zeros(length, np.float32)
    no_kind_axes = np.zeros(_BASIS, np.float32), np.zeros((_BASIS, KIND), np.float32)
    if len(sample) < MIN_PICTURES:
        return FeatureProjection(
            np.zeros(length, np.float32), random_axes(length, _BASIS), *no_kind_axes
        )
    axes = principal_axes(sample - mean, _BASIS, _WHITENING)
    projected = unit_rows((sample - mean) @ axes)
    spreads = scatter_of_sample(projected, rows, len(features), groups)
    kind = discriminant_axes(spreads, _BASIS)
    if not kind.any():
        return FeatureProjection(mean, axes, no_kind_axes[0], _map_undoing_whitening(axes))
    return FeatureProjection(mean, axes, projected.mean(axis=0), kind)


def _map_undoing_whitening(axes: Floats) -> Floats:
    """Return the map from projected features to the first axes without whitening.

    The axes along which pictures differ most tell kinds apart best, and whitening makes
    all axes count more alike.
    """
    kind = np.zeros((_BASIS, KIND), np.float32)
    lengths = np.linalg.norm(axes[:, :KIND], axis=0)
    np.fill_diagonal(kind, np.where(lengths > 0, 1.0 / np.maximum(lengths, 1e-9), 0.0))
    return kind


def fuse_vectors(descriptor_vectors: Floats, encoded: Floats) -> Floats:
    """Return the unit vectors of descriptor rows and encoder rows, [n, d]."""
    joined = np.concatenate([descriptor_vectors, encoded], axis=1)
    for block, share in zip(FUSED_BLOCKS, FUSED_SHARES, strict=True):
        joined[:, block] = unit_rows(joined[:, block]) * np.sqrt(share)
    return unit_rows(joined.astype(np.float32))


def reweight_queries(
    vectors: Floats, blocks: Sequence[slice], stored_weights: Floats, query_weights: Floats
) -> Floats:
    """Return queries whose products with stored vectors have weights `query_weights`.

    `stored_weights` are the block weights of the vectors, 0 for empty blocks. The product
    with an equal vector is 1.
    """
    target = np.where(stored_weights > 0, query_weights, 0.0)
    factors = (
        target
        / target.sum()
        / np.sqrt(np.maximum(stored_weights, 1e-9) / stored_weights.sum())
    )
    queries = np.zeros_like(vectors)
    for block, factor in zip(blocks, factors.tolist(), strict=True):
        queries[:, block] = unit_rows(vectors[:, block]) * np.float32(factor)
    return queries


MIN_PAIRS: Final = 600
"""Minimum number of pairs for a significant result."""

_TRAINING_SHARE: Final = 0.7  # training share of the pairs, the earlier ones
_MAX_TEST_PAIRS: Final = 1_500  # maximum test pairs, of the later ones
_NEAREST: Final = 20
_BLOCK: Final = 256
_MIN_GAIN: Final = 1.02  # minimum ratio of found test pairs
_MIN_DEVIATIONS: Final = 2.5  # minimum standard deviations

Pairs = npt.NDArray[np.integer[Any]]
"""[n, 2] rows of co-viewed descriptors, in time order."""


class SupervisionChoice(NamedTuple):
    """The chosen supervision, and the share of test pairs that each one finds."""

    teacher: str  # categories, visits or both
    hit_shares: dict[str, float]


def fit_supervised_space(
    descriptors: Descriptors, groups: Sequence[npt.NDArray[np.intp]], pairs: Pairs
) -> tuple[DescriptorProjection, SupervisionChoice]:
    """Return the space of a store's pictures, trained with the best supervision.

    The default is categories. Visits, or both, replace them if they find significantly more
    test pairs among nearest neighbours; then all pairs are used. Deterministic.
    """
    space = fit_descriptor_projection(descriptors, groups)
    if len(pairs) < MIN_PAIRS:
        return space, SupervisionChoice("categories", {})
    projected = space.project(descriptors)
    by_groups = scatter_matrices(projected, groups)
    early = pairs[: int(_TRAINING_SHARE * len(pairs))]
    late = _sample_unseen_pairs(pairs[len(early) :], early)
    hits = {"categories": _pair_hits(space, descriptors, late, early)}
    for teacher in ("visits", "both"):
        kind = discriminant_axes(
            _scatter_by_supervision(teacher, by_groups, projected, early),
            projected.shape[1],
        )
        candidate = replace(space, kind=kind)
        hits[teacher] = _pair_hits(candidate, descriptors, late, early)
    best = max(("visits", "both"), key=lambda name: (hits[name].sum(), name))
    hit_shares = {
        name: float(is_hit.mean()) if len(is_hit) else 0.0 for name, is_hit in hits.items()
    }
    if not _finds_significantly_more(hits[best], hits["categories"]):
        return space, SupervisionChoice("categories", hit_shares)
    kind = discriminant_axes(
        _scatter_by_supervision(best, by_groups, projected, pairs), projected.shape[1]
    )
    return replace(space, kind=kind), SupervisionChoice(best, hit_shares)


def _scatter_by_supervision(
    teacher: str, by_groups: ScatterMatrices | None, projected: Floats, pairs: Pairs
) -> ScatterMatrices:
    differences = projected[pairs[:, 0]] - projected[pairs[:, 1]]
    within = differences.T @ differences / (2 * len(pairs))
    between = np.cov(projected, rowvar=False) - within
    if teacher == "visits" or by_groups is None:
        return ScatterMatrices(within, between, KIND)
    mean_scatter = (within + by_groups.within) / 2, (between + by_groups.between) / 2
    return ScatterMatrices(*mean_scatter, KIND)


def _sample_unseen_pairs(late: Pairs, early: Pairs) -> Pairs:
    """Return the later pairs that are not among the earlier ones, evenly sampled."""
    known = {tuple(sorted(pair)) for pair in early.tolist()}
    unseen = {tuple(sorted(pair)) for pair in late.tolist()} - known
    pairs = np.array(sorted(unseen), dtype=np.intp).reshape(-1, 2)
    even_index = np.linspace(0, len(pairs) - 1, min(len(pairs), _MAX_TEST_PAIRS)).astype(
        np.intp
    )
    return pairs[even_index] if len(pairs) else pairs


def _pair_hits(
    space: DescriptorProjection, descriptors: Descriptors, late: Pairs, early: Pairs
) -> npt.NDArray[np.bool_]:
    """Return, for each later pair, whether one is among the nearest of the other.

    Other known matches are not counted as competitors.
    """
    vectors, hits_of_blocks = space.vectors(descriptors), list[npt.NDArray[np.bool_]]()
    partners_by_row: dict[int, list[int]] = {}
    for first, second in early.tolist():
        partners_by_row.setdefault(first, []).append(second)
        partners_by_row.setdefault(second, []).append(first)
    for start in range(0, len(late), _BLOCK):
        anchors, partners = late[start : start + _BLOCK].T
        similarities = vectors[anchors] @ vectors.T
        similarities[np.arange(len(anchors)), anchors] = -2.0
        for row, first in enumerate(anchors.tolist()):
            similarities[row, partners_by_row.get(first, [])] = -2.0
        scores = similarities[np.arange(len(anchors)), partners]
        hits_of_blocks.append((similarities > scores[:, None]).sum(axis=1) < _NEAREST)
    return np.concatenate(hits_of_blocks) if hits_of_blocks else np.zeros(0, np.bool_)


def _finds_significantly_more(
    candidate: npt.NDArray[np.bool_], baseline: npt.NDArray[np.bool_]
) -> bool:
    """Return whether `candidate` finds significantly more."""
    won, lost = int((candidate & ~baseline).sum()), int((baseline & ~candidate).sum())
    if not won + lost:
        return False
    deviations = (won - lost) / (won + lost) ** 0.5
    return deviations >= _MIN_DEVIATIONS and bool(
        candidate.sum() >= _MIN_GAIN * baseline.sum()
    )
