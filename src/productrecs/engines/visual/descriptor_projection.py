"""Descriptor projection: linear maps from descriptors to vectors, fitted to pictures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from productrecs.engines.visual.image_descriptor import DESCRIPTOR_BLOCKS, LENGTH
from productrecs.engines.visual.image_transforms import Floats

COLOUR, SHAPE, KIND = 64, 48, 32
DIMENSIONS: Final = COLOUR + SHAPE + KIND

MIN_PICTURES: Final = 32
"""Minimum number of pictures; with fewer, the axes are fixed random ones."""

_BASIS: Final = 96  # discriminant axes of each half
_SAMPLE: Final = 3_000
_CHUNK: Final = 1_000
_ROUNDS: Final = 5
MIN_GROUP: Final = 5  # minimum pictures of a category for training
_WHITENING: Final = 0.5  # whitening strength
_RIDGE: Final = 0.3  # ridge, relative to the mean spread within a kind
_PART_WEIGHTS: Final = (1.0, 0.6, 0.65)  # weights of colour, shape and kind in a vector
LOOKS_SHARE = _PART_WEIGHTS[0] ** 2 + _PART_WEIGHTS[1] ** 2
KIND_SHARE = _PART_WEIGHTS[2] ** 2
"""Of a similarity, but for a common factor."""

_WEIGHTS: Final[Mapping[str, float]] = MappingProxyType(
    {
        "colours": 1.0,
        "colours_in_front": 0.5,
        "layout": 0.5,
        "edges": 0.5,
        "rough_edges": 1.0,
        "texture": 0.4,
        "tones": 0.4,
        "outline": 0.4,
        "proportions": 0.2,
    }
)

Descriptors = npt.NDArray[np.uint8]
"""[n, LENGTH]."""


@dataclass(frozen=True, slots=True)
class DescriptorProjection:
    """Linear maps from descriptors to vectors: plain, memory-mappable arrays."""

    mean: Floats  # [LENGTH]
    weights: Floats  # [LENGTH]; 0 where all pictures are equal
    colour: Floats  # [LENGTH of colour, _BASIS]
    shape: Floats  # [LENGTH of the rest, _BASIS]
    kind_mean: Floats  # [2 * _BASIS]
    kind: Floats  # [2 * _BASIS, KIND], zeros without discriminant axes

    def vectors(self, descriptors: Descriptors) -> Floats:
        """Return the pictures' unit vectors, [n, DIMENSIONS], for cosine similarity."""
        vectors = np.zeros((len(descriptors), DIMENSIONS), dtype=np.float32)
        for start in range(0, len(descriptors), _CHUNK):
            chunk = descriptors[start : start + _CHUNK]
            vectors[start : start + _CHUNK] = self._vectors_of_chunk(chunk)
        return vectors

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays that `from_arrays` reads."""
        return {
            "space_mean": self.mean,
            "space_weights": self.weights,
            "space_colour": self.colour,
            "space_shape": self.shape,
            "space_kind_mean": self.kind_mean,
            "space_kind": self.kind,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> "DescriptorProjection":
        """Return a stored space.

        Raises:
            KeyError: when an array is missing.
            ValueError: when one has another format.
        """
        space = cls(
            arrays["space_mean"],
            arrays["space_weights"],
            arrays["space_colour"],
            arrays["space_shape"],
            arrays["space_kind_mean"],
            arrays["space_kind"],
        )
        if len(space.mean) != LENGTH or space.kind.shape[1] != KIND:
            message = "the space is of another format"
            raise ValueError(message)
        return space

    def project(self, descriptors: Descriptors) -> Floats:
        """Return the projected descriptors, [n, 2 * _BASIS]: colour, then shape."""
        projected = np.zeros((len(descriptors), 2 * _BASIS), dtype=np.float32)
        for start in range(0, len(descriptors), _CHUNK):
            halves = self._project_halves(descriptors[start : start + _CHUNK])
            projected[start : start + _CHUNK] = _join_unit_halves(*halves)
        return projected

    def _project_halves(self, descriptors: Descriptors) -> tuple[Floats, Floats]:
        centred = (descriptors.astype(np.float32) - self.mean) * self.weights
        return centred[:, _IS_COLOUR] @ self.colour, centred[:, ~_IS_COLOUR] @ self.shape

    def _vectors_of_chunk(self, descriptors: Descriptors) -> Floats:
        colour, shape = self._project_halves(descriptors)
        joined = _join_unit_halves(colour, shape)
        kind = (joined - self.kind_mean) @ self.kind
        parts = (colour[:, :COLOUR], shape[:, :SHAPE], kind)
        weighted = [
            unit_rows(part) * share
            for part, share in zip(parts, _PART_WEIGHTS, strict=True)
        ]
        return unit_rows(np.concatenate(weighted, axis=1))


def fit_descriptor_projection(
    descriptors: Descriptors, groups: Sequence[npt.NDArray[np.intp]]
) -> DescriptorProjection:
    """Return the space of a store's pictures.

    `groups` are rows of pictures of one category. They may overlap and need not cover all
    pictures; without them there are no category axes. The same pictures in the same order
    give the same space.
    """
    rows = sampled_rows(len(descriptors))
    sample = descriptors[rows].astype(np.float32)
    if len(rows) < MIN_PICTURES:
        return _random_projection(sample)
    mean = sample.mean(axis=0)
    weights = _block_weights(sample)
    centred = (sample - mean) * weights
    colour = principal_axes(centred[:, _IS_COLOUR], _BASIS, _WHITENING)
    shape = principal_axes(centred[:, ~_IS_COLOUR], _BASIS, _WHITENING)
    projected = _join_unit_halves(
        centred[:, _IS_COLOUR] @ colour, centred[:, ~_IS_COLOUR] @ shape
    )
    spreads = scatter_of_sample(projected, rows, len(descriptors), groups)
    kind = discriminant_axes(spreads, 2 * _BASIS)
    return DescriptorProjection(mean, weights, colour, shape, projected.mean(axis=0), kind)


def sampled_rows(count: int) -> npt.NDArray[np.intp]:
    """Return the rows of the training sample: all, or an even selection."""
    if count <= _SAMPLE:
        return np.arange(count)
    return np.linspace(0, count - 1, _SAMPLE).astype(np.intp)


def _block_weights(sample: Floats) -> Floats:
    """Return a factor per number, which gives each block its weight."""
    weights = np.empty(LENGTH, dtype=np.float32)
    start = 0
    for block in DESCRIPTOR_BLOCKS:
        part = sample[:, start : start + block.length]
        spread = float(np.sqrt(part.var(axis=0).sum()))
        weights[start : start + block.length] = _WEIGHTS[block.name] / max(spread, 1e-3)
        start += block.length
    return weights


def principal_axes(centred: Floats, count: int, whitening_strength: float) -> Floats:
    """Return the principal axes of rows, [d, count].

    `whitening_strength` is 1 for full whitening. Uses subspace iteration from a fixed
    start; axes beyond the number of rows are 0.
    """
    length = centred.shape[1]
    span = min(count, len(centred) - 1, length)
    basis = random_axes(length, span)
    for _ in range(_ROUNDS):
        basis, _ = np.linalg.qr(centred.T @ (centred @ basis))
    projected = centred @ basis
    variances, rotation = np.linalg.eigh(projected.T @ projected / len(centred))
    order = np.argsort(-variances)
    variances, rotation = np.maximum(variances[order], 0.0), rotation[:, order]
    scales = (variances + 0.1 * variances.mean() + 1e-12) ** (whitening_strength / 2)
    axes = np.zeros((length, count), dtype=np.float32)
    axes[:, :span] = basis @ rotation / scales
    return axes


class ScatterMatrices(NamedTuple):
    """Scatter matrices within and between groups, [d, d]."""

    within: Floats
    between: Floats
    axes: int  # maximum number of discriminant axes


def scatter_of_sample(
    projected: Floats,
    rows: npt.NDArray[np.intp],
    count: int,
    groups: Sequence[npt.NDArray[np.intp]],
) -> ScatterMatrices | None:
    """Return the scatter of the groups in a sample: `rows` of `count` pictures."""
    sample_row = np.full(count, -1, dtype=np.intp)
    sample_row[rows] = np.arange(len(rows))
    sampled = [sample_row[group] for group in groups]
    known = [group_rows[group_rows >= 0] for group_rows in sampled]
    return scatter_matrices(
        projected, [group for group in known if len(group) >= MIN_GROUP]
    )


def scatter_matrices(
    features: Floats, groups: Sequence[npt.NDArray[np.intp]]
) -> ScatterMatrices | None:
    """Return the scatter of groups of `features` rows; None for fewer than two groups."""
    size = features.shape[1]
    if len(groups) < 2:  # noqa: PLR2004 - discriminants need two groups
        return None
    mean = features.mean(axis=0)
    within, between = np.zeros((size, size)), np.zeros((size, size))
    for group in groups:
        members = features[group]
        centre = members.mean(axis=0)
        within += (members - centre).T @ (members - centre)
        between += len(group) * np.outer(centre - mean, centre - mean)
    count = sum(len(group) for group in groups)
    return ScatterMatrices(within / count, between / count, min(KIND, len(groups) - 1))


def discriminant_axes(spreads: ScatterMatrices | None, size: int) -> Floats:
    """Return the axes that best separate the groups, [size, KIND] (Fisher)."""
    axes = np.zeros((size, KIND), dtype=np.float32)
    if spreads is None:
        return axes
    within, between, count = spreads
    # Strong regularisation: a few hundred pictures determine each axis poorly.
    within = within + np.eye(size) * (_RIDGE * np.trace(within) / size + 1e-9)
    # The generalised problem, by the Cholesky factor of the spread within groups.
    inverse = np.linalg.inv(np.linalg.cholesky(within))
    eigenvalues, eigenvectors = np.linalg.eigh(inverse @ between @ inverse.T)
    eigenvectors = inverse.T @ eigenvectors
    best = np.argsort(-eigenvalues)[:count]
    ratios = np.maximum(eigenvalues[best], 0.0)
    axes[:, : len(best)] = eigenvectors[:, best] * np.sqrt(ratios / (1.0 + ratios))
    return axes


def _random_projection(sample: Floats) -> DescriptorProjection:
    """Return a space of random axes with equal weights, for too few pictures."""
    weights = np.empty(LENGTH, dtype=np.float32)
    start = 0
    for block in DESCRIPTOR_BLOCKS:
        weights[start : start + block.length] = _WEIGHTS[block.name] * _TYPICAL[block.name]
        start += block.length
    mean = sample.mean(axis=0) * 0.5 if len(sample) else np.zeros(LENGTH, np.float32)
    return DescriptorProjection(
        mean,
        weights,
        random_axes(int(_IS_COLOUR.sum()), _BASIS),
        random_axes(int((~_IS_COLOUR).sum()), _BASIS),
        np.zeros(2 * _BASIS, dtype=np.float32),
        np.zeros((2 * _BASIS, KIND), dtype=np.float32),
    )


def random_axes(length: int, count: int) -> Floats:
    """Return fixed random axes, [length, count]."""
    rng = np.random.Generator(np.random.PCG64(20_261_121))
    axes: Floats = rng.standard_normal((length, count), dtype=np.float32)
    return axes / np.float32(length**0.5)


def _join_unit_halves(colour: Floats, shape: Floats) -> Floats:
    return np.concatenate([unit_rows(colour), unit_rows(shape)], axis=1)


def unit_rows(vectors: Floats) -> Floats:
    """Return the rows scaled to length 1."""
    lengths: Floats = np.sqrt((vectors**2).sum(axis=1, keepdims=True))
    return vectors / np.maximum(lengths, 1e-9)


_IS_COLOUR: Final = np.concatenate(
    [np.full(block.length, block.is_colour) for block in DESCRIPTOR_BLOCKS]
)
_TYPICAL: Final[Mapping[str, float]] = MappingProxyType(
    # One over the spread of each block in the photos of a clothes shop.
    {
        "colours": 1 / 160,
        "colours_in_front": 1 / 160,
        "layout": 1 / 200,
        "edges": 1 / 800,
        "rough_edges": 1 / 350,
        "texture": 1 / 60,
        "tones": 1 / 200,
        "outline": 1 / 450,
        "proportions": 1 / 60,
    }
)
