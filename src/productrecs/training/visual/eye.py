"""What of a store's pictures is a photo like? Looked at as those were looked at."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from productrecs.engines.contract import NOTHING, Bools, Ranked
from productrecs.engines.visual.sureness import Sureness
from productrecs.records.pictures.viewer import Region, Viewer
from productrecs.training.visual.embedding import Embedding, OwnEmbedding
from productrecs.training.visual.served import ServedPictures

Vector = npt.NDArray[np.floating[Any]]
Box = tuple[float, float, float, float]


class Sight(NamedTuple):
    """A place in a photo, what a detector says of it, and the pictures that it is like."""

    box: Box
    label: str
    confidence: float | None
    alike: Ranked


class Sights(NamedTuple):
    """All places in a photo, and what likenesses mean in this store."""

    places: Sequence[Sight]
    sureness: Sureness


class Looking(Protocol):
    """Whoever tells what of one store's pictures photos are like."""

    def alike(self, photo: bytes, limit: int, visible: Bools) -> Ranked:
        """Return the `limit` visible items most like a photo; none without pictures.

        Raises:
            NotAPictureError: when it is none, or takes too long or too much to read.
            PictureTooLargeError: when it has too many pixels.
        """

    def around(self, photo: bytes, limit: int, visible: Bools) -> Sights:
        """Return the places in a photo where something could be, each with items alike.

        Raises:
            NotAPictureError: as `alike`.
            PictureTooLargeError: as `alike`.
        """


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

    def alike(self, photo: bytes, limit: int, visible: Bools) -> Ranked:
        """Return the `limit` visible items most like a photo, whole and in its front."""
        vector = self.place(photo)
        if vector is None:
            return NOTHING
        return self._pictures.model.like(vector, limit, visible)

    def around(self, photo: bytes, limit: int, visible: Bools) -> Sights:
        """Return the places in a photo, each with the visible items most like it."""
        regions = self._viewer.regions(photo, own=self._is_own)
        vectors = self._placed(regions)
        if vectors is None:
            return Sights([], self._pictures.sureness)
        found = self._pictures.model.like_each(vectors, limit, visible)
        places = [
            Sight(region.box, region.label, region.confidence, alike)
            for region, alike in zip(regions, found, strict=True)
        ]
        return Sights(places, self._pictures.sureness)

    def place(self, photo: bytes) -> Vector | None:
        """Return one vector for a photo; None where the store has nothing to compare.

        Raises:
            NotAPictureError: as `alike`.
            PictureTooLargeError: as `alike`.
        """
        views = self._viewer.look(photo, own=self._is_own)
        return self._pictures.place(views, self._embedding)

    def _placed(self, regions: Sequence[Region]) -> Vector | None:
        if not regions:
            return None
        descriptors = np.stack([one.descriptor for one in regions])
        return self._pictures.places(descriptors, self._embedding)
