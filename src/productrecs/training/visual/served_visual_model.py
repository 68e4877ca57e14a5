"""Served visual model: the store's published visual model, if it is intact."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from productrecs.core.ids import StoreId
from productrecs.engines.visual import VisualModel
from productrecs.engines.visual.visual_similarity import (
    MatchCalibration,
    fit_match_calibration,
)
from productrecs.storage.files.model_files import BrokenModelError, open_arrays
from productrecs.training.visual.picture_embedding import (
    DescriptorEmbedding,
    Descriptors,
    PhotoQueryVectors,
)

_log = logging.getLogger(__name__)


def pictures_folder(root: Path, store_id: StoreId) -> Path:
    """Return the folder of one store's visual models below `root`."""
    return root / store_id


class ServedVisualModel:
    """One store's visual model in one process, and the embedding of photos."""

    def __init__(self, root: Path, store_id: StoreId) -> None:
        """Start without a model; `open_published_model` opens it."""
        self.folder = pictures_folder(root, store_id)
        self._refused = ""
        self.visual_id = ""
        self.model = VisualModel.empty()
        self._space: dict[str, npt.NDArray[Any]] = {}
        self._calibration: tuple[VisualModel, MatchCalibration] | None = None
        self.embedder = ""

    def has_opened_or_refused(self, visual_id: str) -> bool:
        """Return whether a model was opened or refused last."""
        return visual_id in {self.visual_id, self._refused}

    def open_published_model(self, visual_id: str | None) -> bool:
        """Open the published model; return whether the serving model changed.

        A damaged model is refused, and the last good one continues to serve.
        """
        if not visual_id or self.has_opened_or_refused(visual_id):
            return False
        try:
            arrays, facts = open_arrays(self.folder / visual_id)
            self.model = VisualModel.from_arrays(arrays)
            self._space = {
                name: array for name, array in arrays.items() if name.startswith("space_")
            }
            self.embedder = str(facts["embedder"])
        except (BrokenModelError, KeyError, ValueError, IndexError):
            self._refused = visual_id
            _log.exception("visual model rejected")
            return False
        self.visual_id = visual_id
        return True

    @property
    def calibration(self) -> MatchCalibration:
        """The calibration of matches of the pictures, fitted once for each model."""
        model, fitted = self.model, self._calibration
        if fitted is None or fitted[0] is not model:
            fitted = self._calibration = model, fit_match_calibration(model)
        return fitted[1]

    def vectors_of(
        self, descriptors: Descriptors, embedding: DescriptorEmbedding
    ) -> npt.NDArray[np.floating[Any]] | None:
        """Return a vector for each descriptor; None without a suitable embedding."""
        if self.embedder != embedding.name or not len(self.model):
            return None
        return embedding.vectors_of(descriptors, self._space)

    def weight_queries(
        self, vectors: npt.NDArray[np.floating[Any]], embedding: DescriptorEmbedding
    ) -> PhotoQueryVectors:
        """Return the query vectors for a product, for its kind, and for a scene's."""
        return embedding.weight_queries(vectors, self._space)

    def mean_vector_of(
        self, views: Descriptors, embedding: DescriptorEmbedding
    ) -> npt.NDArray[np.floating[Any]] | None:
        """Return one vector for several views of a photo; None without an embedding."""
        vectors = self.vectors_of(views, embedding)
        if vectors is None:
            return None
        mean = vectors.mean(axis=0)
        length = float(np.linalg.norm(mean))
        return mean / length if length > 0 else None
