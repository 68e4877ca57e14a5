"""What of a store's pictures is a photo like? Looked at as those were looked at."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from productrecs.engines.contract import NOTHING, Bools, Ranked
from productrecs.engines.visual.nearest import best_of
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
        """Return the `limit` visible items most like a photo, or like a place in it."""
        vectors = self.vectors(photo)
        if vectors is None:
            return NOTHING
        found = self._pictures.model.like_each(vectors, limit, visible)
        return best_of(found, limit)

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

    def vectors(self, photo: bytes) -> Vector | None:
        """Return what to compare: a row for the photo as a whole, then each place in it.

        None where the store has nothing to compare with.

        Raises:
            NotAPictureError: as `alike`.
            PictureTooLargeError: as `alike`.
        """
        seen = self._viewer.look(photo, own=self._is_own)
        whole = self._pictures.place(seen.views, self._embedding)
        if whole is None or not len(seen.places):
            return None if whole is None else whole[None]
        places = self._pictures.places(seen.places, self._embedding)
        return whole[None] if places is None else np.concatenate([whole[None], places])

    def _placed(self, regions: Sequence[Region]) -> Vector | None:
        if not regions:
            return None
        descriptors = np.stack([one.descriptor for one in regions])
        return self._pictures.places(descriptors, self._embedding)
