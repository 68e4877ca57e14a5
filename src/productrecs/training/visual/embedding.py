"""Which embedding is it: ours without weights, or the operator's model? One interface."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from productrecs.engines.visual import Space, fit_space
from productrecs.engines.visual.descriptor import FORMAT
from productrecs.engines.visual.space import DIMENSIONS
from productrecs.records.pictures.weights import ModelFile

Arrays = Mapping[str, npt.NDArray[Any]]
Vectors = npt.NDArray[np.floating[Any]]
Descriptors = npt.NDArray[np.uint8]


class Embedding(Protocol):
    """How what a child process read off pictures becomes vectors of length 1."""

    @property
    def name(self) -> str:
        """What descriptors are marked with: another name means other descriptors."""

    def learn(
        self, descriptors: Descriptors, groups: Sequence[npt.NDArray[np.intp]]
    ) -> dict[str, npt.NDArray[Any]]:
        """Return what is learned of a store's pictures, as arrays to keep."""

    def known(self, arrays: Arrays) -> dict[str, npt.NDArray[Any]]:
        """Return, of all arrays that were kept, those of `learn`."""

    def dimensions(self, space: Arrays) -> int:
        """Return how many numbers a vector has."""

    def place(self, descriptors: Descriptors, space: Arrays) -> Vectors:
        """Return the vectors of descriptors, [n, dimensions]."""


class OwnEmbedding:
    """Colour, texture and shape, weighed as the store's own pictures teach."""

    name: str = FORMAT

    def learn(
        self, descriptors: Descriptors, groups: Sequence[npt.NDArray[np.intp]]
    ) -> dict[str, npt.NDArray[Any]]:
        """Return the store's space."""
        return fit_space(descriptors, groups).to_arrays()

    def known(self, arrays: Arrays) -> dict[str, npt.NDArray[Any]]:
        """Return the space among the arrays."""
        return Space.from_arrays(arrays).to_arrays()

    def dimensions(self, space: Arrays) -> int:
        """Return how many numbers a vector has."""
        return DIMENSIONS if len(space) else 0

    def place(self, descriptors: Descriptors, space: Arrays) -> Vectors:
        """Return the vectors of descriptors in the store's space."""
        return Space.from_arrays(space).vectors(descriptors)


class ModelEmbedding:
    """The numbers of the operator's model, as they are: nothing is learned of a store."""

    def __init__(self, model: ModelFile) -> None:
        """Take what `model` says."""
        self.name = model.name

    def learn(
        self, descriptors: Descriptors, groups: Sequence[npt.NDArray[np.intp]]
    ) -> dict[str, npt.NDArray[Any]]:
        """Return how many numbers there are of a picture; `groups` teach it nothing."""
        del groups
        length = descriptors.shape[1] // _BYTES if len(descriptors) else 0
        return {"space_length": np.array([length], dtype=np.int64)}

    def known(self, arrays: Arrays) -> dict[str, npt.NDArray[Any]]:
        """Return that among the arrays."""
        return {"space_length": arrays["space_length"]}

    def dimensions(self, space: Arrays) -> int:
        """Return how many numbers a vector has."""
        return int(space["space_length"][0])

    def place(self, descriptors: Descriptors, space: Arrays) -> Vectors:
        """Return the numbers, of length 1."""
        del space
        told = np.ascontiguousarray(descriptors).view("<f4").astype(np.float32)
        lengths: Vectors = np.sqrt((told**2).sum(axis=1, keepdims=True))
        return told / np.maximum(lengths, 1e-9)


_BYTES = 4  # of each number


def embedding_of(model: ModelFile | None) -> Embedding:
    """Return the embedding of an installation: the operator's model, else our own."""
    return OwnEmbedding() if model is None else ModelEmbedding(model)
