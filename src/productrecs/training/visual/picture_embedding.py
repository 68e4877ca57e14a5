"""Picture embedding: our own or the operator's model, behind one interface."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from productrecs.engines.visual import EmbeddingSpace
from productrecs.engines.visual.embedding_space import DIMENSIONS
from productrecs.engines.visual.image_descriptor import FORMAT
from productrecs.engines.visual.metric_learning import fit_supervised_space
from productrecs.records.pictures.onnx_model_file import ModelFile

Arrays = Mapping[str, npt.NDArray[Any]]
Vectors = npt.NDArray[np.floating[Any]]
Descriptors = npt.NDArray[np.uint8]


class EmbeddingExamples(NamedTuple):
    """What a store's pictures are learned from."""

    descriptors: Descriptors
    groups: Sequence[npt.NDArray[np.intp]]  # rows of each category
    pairs: npt.NDArray[np.integer[Any]]  # [n, 2] rows that one visit looked at


class PictureEmbedding(Protocol):
    """How what a child process read off pictures becomes vectors of length 1."""

    @property
    def name(self) -> str:
        """What descriptors are marked with: another name means other descriptors."""

    @property
    def is_taught(self) -> bool:
        """Whether what shoppers do teaches it anything."""

    def learn(self, lessons: EmbeddingExamples) -> tuple[dict[str, npt.NDArray[Any]], str]:
        """Return what is learned of a store's pictures, as arrays, and who taught it."""

    def known(self, arrays: Arrays) -> dict[str, npt.NDArray[Any]]:
        """Return, of all arrays that were kept, those of `learn`."""

    def dimensions(self, space: Arrays) -> int:
        """Return how many numbers a vector has."""

    def place(self, descriptors: Descriptors, space: Arrays) -> Vectors:
        """Return the vectors of descriptors, [n, dimensions]."""


class BuiltInEmbedding:
    """Colour, texture and shape, weighed as the store's own pictures teach."""

    name: str = FORMAT
    is_taught: bool = True

    def learn(self, lessons: EmbeddingExamples) -> tuple[dict[str, npt.NDArray[Any]], str]:
        """Return the store's space, and who taught it."""
        space, verdict = fit_supervised_space(*lessons)
        return space.to_arrays(), verdict.teacher

    def known(self, arrays: Arrays) -> dict[str, npt.NDArray[Any]]:
        """Return the space among the arrays."""
        return EmbeddingSpace.from_arrays(arrays).to_arrays()

    def dimensions(self, space: Arrays) -> int:
        """Return how many numbers a vector has."""
        return DIMENSIONS if len(space) else 0

    def place(self, descriptors: Descriptors, space: Arrays) -> Vectors:
        """Return the vectors of descriptors in the store's space."""
        return EmbeddingSpace.from_arrays(space).vectors(descriptors)


class ModelEmbedding:
    """The numbers of the operator's model, as they are: nothing is learned of a store."""

    is_taught: bool = False

    def __init__(self, model: ModelFile) -> None:
        """Take what `model` says."""
        self.name = model.name

    def learn(self, lessons: EmbeddingExamples) -> tuple[dict[str, npt.NDArray[Any]], str]:
        """Return the vector's length; nothing else is learned."""
        descriptors = lessons.descriptors
        length = descriptors.shape[1] // _BYTES if len(descriptors) else 0
        return {"space_length": np.array([length], dtype=np.int64)}, "nobody"

    def known(self, arrays: Arrays) -> dict[str, npt.NDArray[Any]]:
        """Return that among the arrays."""
        return {"space_length": arrays["space_length"]}

    def dimensions(self, space: Arrays) -> int:
        """Return how many numbers a vector has."""
        return int(space["space_length"][0])

    def place(self, descriptors: Descriptors, space: Arrays) -> Vectors:
        """Return the numbers, of length 1."""
        del space
        vector = np.ascontiguousarray(descriptors).view("<f4").astype(np.float32)
        lengths: Vectors = np.sqrt((vector**2).sum(axis=1, keepdims=True))
        return vector / np.maximum(lengths, 1e-9)


_BYTES = 4  # of each number


def choose_embedding(model: ModelFile | None) -> PictureEmbedding:
    """Return the embedding of an installation: the operator's model, else our own."""
    return BuiltInEmbedding() if model is None else ModelEmbedding(model)
