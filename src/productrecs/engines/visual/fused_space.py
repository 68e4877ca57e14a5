"""Fused space: a trained encoder's features beside our own descriptor, in one vector.

An encoder that was trained on photos of everything knows what a thing is; our descriptor
knows its colours and edges. Half of the likeness of two pictures comes from each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from productrecs.engines.visual.array_types import Floats
from productrecs.engines.visual.embedding_space import (
    DIMENSIONS,
    KIND,
    MIN_GROUP,
    MIN_PICTURES,
    discriminant_axes,
    principal_axes,
    random_axes,
    sampled_rows,
    scatter_matrices,
    unit_rows,
)

AXES: Final = 64
FUSED_DIMENSIONS: Final = DIMENSIONS + AXES + KIND

_ENCODER: Final = 0.5  # of the likeness of two pictures
_KINDS: Final = 0.3  # what categories taught beside what the encoder knew
_WHITENED: Final = 0.5


@dataclass(frozen=True, slots=True)
class FeatureSpace:
    """Linear maps from an encoder's features to vectors; plain arrays."""

    mean: Floats  # [features]
    axes: Floats  # [features, AXES], softly whitened
    kind_mean: Floats  # [AXES]
    kind: Floats  # [AXES, KIND], zeros without discriminant axes

    def vectors(self, features: Floats) -> Floats:
        """Return unit vectors of rows of features, [n, AXES + KIND]."""
        embedded = self.project(features)
        kind = unit_rows((embedded - self.kind_mean) @ self.kind) * np.float32(_KINDS)
        return unit_rows(np.concatenate([embedded, kind], axis=1))

    def project(self, features: Floats) -> Floats:
        """Return the whitened features, at length 1, [n, AXES]."""
        return unit_rows((unit_rows(features) - self.mean) @ self.axes)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return what `from_arrays` takes."""
        return {
            "space_feature_mean": self.mean,
            "space_feature_axes": self.axes,
            "space_feature_kind_mean": self.kind_mean,
            "space_feature_kind": self.kind,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> "FeatureSpace":
        """Return a space that was kept.

        Raises:
            KeyError: when an array is missing.
        """
        return cls(
            arrays["space_feature_mean"],
            arrays["space_feature_axes"],
            arrays["space_feature_kind_mean"],
            arrays["space_feature_kind"],
        )


def fit_feature_space(
    features: Floats, groups: Sequence[npt.NDArray[np.intp]]
) -> FeatureSpace:
    """Return the space of a store's features, [n, d]; `groups` as `fit_embedding_space`."""
    rows = sampled_rows(len(features))
    sample = unit_rows(features[rows])
    length = features.shape[1]
    mean = sample.mean(axis=0) if len(sample) else np.zeros(length, np.float32)
    nothing = np.zeros(AXES, np.float32), np.zeros((AXES, KIND), np.float32)
    if len(sample) < MIN_PICTURES:
        return FeatureSpace(
            np.zeros(length, np.float32), random_axes(length, AXES), *nothing
        )
    axes = principal_axes(sample - mean, AXES, _WHITENED)
    projected = unit_rows((sample - mean) @ axes)
    places = np.full(len(features), -1, dtype=np.intp)
    places[rows] = np.arange(len(rows))
    known_groups = [found[found >= 0] for found in (places[group] for group in groups)]
    spreads = scatter_matrices(
        projected, [group for group in known_groups if len(group) >= MIN_GROUP]
    )
    return FeatureSpace(
        mean, axes, projected.mean(axis=0), discriminant_axes(spreads, AXES)
    )


def fused_vectors(own: Floats, encoded: Floats) -> Floats:
    """Return unit vectors whose cosines are the mean of those of the two, [n, d]."""
    shares = np.sqrt(1 - _ENCODER), np.sqrt(_ENCODER)
    fused: Floats = np.concatenate([own * shares[0], encoded * shares[1]], axis=1)
    return unit_rows(fused.astype(np.float32))
