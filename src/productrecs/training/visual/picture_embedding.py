"""Picture embedding: built-in, from a model, or both fused, behind one interface."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from productrecs.engines.visual import DescriptorProjection
from productrecs.engines.visual.descriptor_projection import (
    DIMENSIONS,
    KIND_SHARE,
    LOOKS_SHARE,
)
from productrecs.engines.visual.feature_fusion import (
    FUSED_BLOCKS,
    FUSED_DIMENSIONS,
    FUSED_SHARES,
    OWN_BLOCKS,
    FeatureProjection,
    fit_feature_projection,
    fit_supervised_space,
    fuse_vectors,
    reweight_queries,
)
from productrecs.engines.visual.image_descriptor import FORMAT, LENGTH
from productrecs.records.pictures.onnx_model_file import OnnxModelFile

Arrays = Mapping[str, npt.NDArray[Any]]
Vectors = npt.NDArray[np.floating[Any]]
Descriptors = npt.NDArray[np.uint8]


class PhotoQueryVectors(NamedTuple):
    """Rows to compare with stored vectors, [n, d], for three kinds of query."""

    product: Vectors  # for the same product: by visual similarity alone
    kind: Vectors  # for the same kind: also by learned categories
    scene: Vectors  # for several products, seen from afar: by what things are


class EmbeddingExamples(NamedTuple):
    """Training examples from a store's pictures."""

    descriptors: Descriptors
    groups: Sequence[npt.NDArray[np.intp]]  # rows of each category
    pairs: npt.NDArray[np.integer[Any]]  # [n, 2] rows of co-viewed pictures


class DescriptorEmbedding(Protocol):
    """Maps a decoder's descriptors to vectors of length 1."""

    @property
    def name(self) -> str:
        """The stored name of the embedding; another name means other descriptors."""

    @property
    def uses_behaviour(self) -> bool:
        """Whether shopper behaviour trains it."""

    @property
    def detects_copies(self) -> bool:
        """Whether only copies of a picture come close to similarity 1."""

    def fit(self, examples: EmbeddingExamples) -> tuple[dict[str, npt.NDArray[Any]], str]:
        """Return the learned arrays of a store's pictures, and the name of the teacher."""

    def space_arrays_in(self, arrays: Arrays) -> dict[str, npt.NDArray[Any]]:
        """Return the stored arrays that came from `fit`."""

    def dimensions(self, space: Arrays) -> int:
        """Return the length of a vector."""

    def vectors_of(self, descriptors: Descriptors, space: Arrays) -> Vectors:
        """Return the vectors of descriptors, [n, dimensions]."""

    def weight_queries(self, vectors: Vectors, space: Arrays) -> PhotoQueryVectors:
        """Return the query vectors for a product, for its kind, and for a scene's."""


class BuiltInEmbedding:
    """Colour, texture and shape, weighted by metric learning on the store's pictures."""

    name: str = FORMAT
    uses_behaviour: bool = True
    detects_copies: bool = True

    def fit(self, examples: EmbeddingExamples) -> tuple[dict[str, npt.NDArray[Any]], str]:
        """Return the store's space, and the name of the teacher."""
        space, verdict = fit_supervised_space(*examples)
        return space.to_arrays(), verdict.teacher

    def space_arrays_in(self, arrays: Arrays) -> dict[str, npt.NDArray[Any]]:
        """Return the space among the arrays."""
        return DescriptorProjection.from_arrays(arrays).to_arrays()

    def dimensions(self, space: Arrays) -> int:
        """Return the length of a vector."""
        return DIMENSIONS if len(space) else 0

    def vectors_of(self, descriptors: Descriptors, space: Arrays) -> Vectors:
        """Return the vectors of descriptors in the store's space."""
        return DescriptorProjection.from_arrays(space).vectors(descriptors)

    def weight_queries(self, vectors: Vectors, space: Arrays) -> PhotoQueryVectors:
        """Return queries without, with and without the learned category axes."""
        stored = np.array([LOOKS_SHARE, KIND_SHARE * space["space_kind"].any()])
        product, kind = (
            reweight_queries(vectors, OWN_BLOCKS, stored, weights)
            for weights in _OWN_QUERIES
        )
        return PhotoQueryVectors(product, kind, product)


class ModelEmbedding:
    """The output of the operator's model, unchanged: no training per store."""

    uses_behaviour: bool = False
    detects_copies: bool = False

    def __init__(self, model: OnnxModelFile) -> None:
        """Take name and size from `model`."""
        self.name = model.name

    def fit(self, examples: EmbeddingExamples) -> tuple[dict[str, npt.NDArray[Any]], str]:
        """Return the vector's length; there is no other training."""
        descriptors = examples.descriptors
        length = descriptors.shape[1] // _BYTES if len(descriptors) else 0
        return {"space_length": np.array([length], dtype=np.int64)}, "nobody"

    def space_arrays_in(self, arrays: Arrays) -> dict[str, npt.NDArray[Any]]:
        """Return that among the arrays."""
        return {"space_length": arrays["space_length"]}

    def dimensions(self, space: Arrays) -> int:
        """Return the length of a vector."""
        return int(space["space_length"][0])

    def vectors_of(self, descriptors: Descriptors, space: Arrays) -> Vectors:
        """Return the output, normalised to length 1."""
        del space
        vector = np.ascontiguousarray(descriptors).view("<f4").astype(np.float32)
        lengths: Vectors = np.sqrt((vector**2).sum(axis=1, keepdims=True))
        return vector / np.maximum(lengths, 1e-9)

    def weight_queries(self, vectors: Vectors, space: Arrays) -> PhotoQueryVectors:
        """Return the vectors for all kinds of query."""
        del space
        return PhotoQueryVectors(vectors, vectors, vectors)


class FusedEmbedding:
    """The built-in descriptor fused with a trained encoder's features."""

    uses_behaviour: bool = True
    detects_copies: bool = True

    def __init__(self, model: OnnxModelFile) -> None:
        """Take name and size from `model`."""
        self.name = f"{model.name}+{FORMAT}{_FEATURES}"
        self._own = BuiltInEmbedding()

    def fit(self, examples: EmbeddingExamples) -> tuple[dict[str, npt.NDArray[Any]], str]:
        """Return the spaces of both halves, and the teacher of the descriptor's."""
        own, features = _split_descriptors(examples.descriptors)
        space, teacher = self._own.fit(examples._replace(descriptors=own))
        return space | fit_feature_projection(
            features, examples.groups
        ).to_arrays(), teacher

    def space_arrays_in(self, arrays: Arrays) -> dict[str, npt.NDArray[Any]]:
        """Return both spaces among the arrays."""
        return (
            self._own.space_arrays_in(arrays)
            | FeatureProjection.from_arrays(arrays).to_arrays()
        )

    def dimensions(self, space: Arrays) -> int:
        """Return the length of a vector."""
        return FUSED_DIMENSIONS if len(space) else 0

    def vectors_of(self, descriptors: Descriptors, space: Arrays) -> Vectors:
        """Return the vectors of descriptors in the store's spaces."""
        own, features = _split_descriptors(descriptors)
        encoded = FeatureProjection.from_arrays(space).vectors(features)
        return fuse_vectors(self._own.vectors_of(own, space), encoded)

    def weight_queries(self, vectors: Vectors, space: Arrays) -> PhotoQueryVectors:
        """Return queries by visual similarity of both halves, by kind, and for scenes."""
        has_kinds = space["space_kind"].any(), space["space_feature_kind"].any()
        stored = np.array(FUSED_SHARES) * (True, has_kinds[0], True, has_kinds[1])
        kind = _BY_KIND if has_kinds[0] else _BY_ENCODER if has_kinds[1] else _BY_FEATURES
        return PhotoQueryVectors(
            *(
                reweight_queries(vectors, FUSED_BLOCKS, stored, np.array(weights))
                for weights in (_BY_LOOKS, kind, _IN_SCENES)
            )
        )


_BYTES = 4  # per number
_FEATURES = "-2"  # version of the feature extraction

_OWN_QUERIES = np.array([[1.0, 0.0], [0.4, 0.6]])  # weights of visual similarity and kind
_BY_LOOKS = (0.5, 0.0, 0.5, 0.0)  # built-in similarity and kind, then the encoder's
_BY_KIND = (0.1, 0.1, 0.3, 0.5)
_IN_SCENES = (0.2, 0.0, 0.7, 0.1)
_BY_ENCODER = (0.2, 0.0, 0.0, 0.8)  # weights without learned categories
_BY_FEATURES = (0.2, 0.0, 0.8, 0.0)  # weights in a catalog of few pictures


def _split_descriptors(
    descriptors: Descriptors,
) -> tuple[Descriptors, npt.NDArray[np.float32]]:
    """Return the built-in descriptors, and the encoder's features."""
    features = np.ascontiguousarray(descriptors[:, LENGTH:]).view("<f4")
    return descriptors[:, :LENGTH], features.astype(np.float32)


def choose_embedding(model: OnnxModelFile | None) -> DescriptorEmbedding:
    """Return the embedding of an installation: its model's, or the built-in one."""
    if model is None:
        return BuiltInEmbedding()
    return FusedEmbedding(model) if model.is_fused else ModelEmbedding(model)
