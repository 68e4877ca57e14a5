"""Where does a photo lie among a store's pictures? Looked at as those were looked at."""

from typing import Any

import numpy as np
import numpy.typing as npt

from productrecs.records.pictures.viewer import Region, Viewer
from productrecs.training.visual.embedding import Embedding, OwnEmbedding
from productrecs.training.visual.served import ServedPictures

Vector = npt.NDArray[np.floating[Any]]


class Eye:
    """A child that looks, and the pictures that what it sees is placed among.

    While a store's pictures are embedded by a model for the first time, photos are still
    looked at in our own way, as the pictures that serve were.
    """

    def __init__(
        self, viewer: Viewer, pictures: ServedPictures, embedding: Embedding
    ) -> None:
        """Look through `viewer`; `embedding` is the installation's."""
        own = OwnEmbedding()
        self._viewer, self._pictures = viewer, pictures
        self._is_own = pictures.embedder == own.name
        self._embedding = own if self._is_own else embedding

    def place(self, photo: bytes) -> Vector | None:
        """Return one vector for a photo; None where the store has nothing to compare.

        Raises:
            NotAPictureError: when it is none, or takes too long or too much to read.
            PictureTooLargeError: when it has too many pixels.
        """
        views = self._viewer.look(photo, own=self._is_own)
        return self._pictures.place(views, self._embedding)

    def places(self, photo: bytes) -> list[tuple[Region, Vector]]:
        """Return the places in a photo where something could be, each with its vector.

        Raises:
            NotAPictureError: as `place`.
            PictureTooLargeError: as `place`.
        """
        regions = self._viewer.regions(photo, own=self._is_own)
        if not regions:
            return []
        descriptors = np.stack([one.descriptor for one in regions])
        vectors = self._pictures.places(descriptors, self._embedding)
        return [] if vectors is None else list(zip(regions, vectors, strict=True))
