"""Photo matcher: finds the products of a store that look like a photo."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from productrecs.engines.arrays import Bools, Ranked
from productrecs.engines.visual.match_confidence import MatchConfidence
from productrecs.engines.visual.nearest_neighbours import merge_best
from productrecs.records.pictures.picture import file_digest
from productrecs.records.pictures.sandboxed_decoder import (
    PhotoDescriptors,
    PhotoRegion,
    SandboxedDecoder,
)
from productrecs.training.visual.picture_embedding import BuiltInEmbedding, PictureEmbedding
from productrecs.training.visual.served_pictures import ServedPictures

Vector = npt.NDArray[np.floating[Any]]
Box = tuple[float, float, float, float]

_COPY: Final = 0.9  # a picture saved anew is as like itself; scenes are like none by .5
_PLACE: Final = 0.8
"""Of the likeness of a place in a photo, beside the photo as a whole (decision 0122)."""

_FIRST: Final = 2
"""Results chosen by looks alone; then come those of its kind (decision 0123)."""


class RegionMatch(NamedTuple):
    """A region of a photo, its detected label, and the most similar pictures."""

    box: Box
    label: str
    confidence: float | None
    alike: Ranked


class PhotoMatches(NamedTuple):
    """All places in a photo, and what likenesses mean in this store."""

    places: Sequence[RegionMatch]
    sureness: MatchConfidence


class PhotoSearch(Protocol):
    """Finds the products of one store that look like a photo."""

    def alike(self, photo: bytes, limit: int, visible: Bools) -> Ranked:
        """Return the `limit` visible items most like a photo; none without pictures.

        Raises:
            NotAPictureError: when it is none, or takes too long or too much to read.
            PictureTooLargeError: when it has too many pixels.
        """

    def around(self, photo: bytes, limit: int, visible: Bools) -> PhotoMatches:
        """Return the places in a photo where something could be, each with items alike.

        Raises:
            NotAPictureError: as `alike`.
            PictureTooLargeError: as `alike`.
        """


class PhotoMatcher:
    """A child that looks, and the pictures that what it sees is placed among.

    While a store's pictures are embedded by a model for the first time, photos are still
    looked at in our own way, as the pictures that serve were.
    """

    def __init__(
        self,
        viewer: SandboxedDecoder,
        pictures: ServedPictures,
        embedding: PictureEmbedding,
    ) -> None:
        """Look through `viewer`; `embedding` is the installation's."""
        own = BuiltInEmbedding()
        self._viewer, self._pictures = viewer, pictures
        self._is_own = pictures.embedder == own.name
        self._embedding = own if self._is_own else embedding

    def alike(self, photo: bytes, limit: int, visible: Bools) -> Ranked:
        """Return the `limit` visible items most like a photo, or like a place in it.

        First those whose picture is the very same file, then those whose picture it is in
        another size or saved anew: nothing else is so like it as a whole. Then the two that
        look most like it, which may be the product itself, then those of its kind; in a
        scene of several things looks alone decide. A place weighs less than the whole: some
        part of a photo looks like anything.
        """
        seen, model = self._viewer.look(photo, own=self._is_own), self._pictures.model
        same = model.items_with_digest(file_digest(photo), visible)
        found = [Ranked(same, np.ones(len(same), np.float32))]
        if (vectors := self._compared(seen)) is not None:
            product, kind = self._pictures.queries(vectors, self._embedding)
            rows = np.concatenate([vectors[:1], product, kind])  # one way through all
            picture, *likes = model.similar_to_vectors(rows, limit, visible)
            if self._embedding.shows_copies:  # else other things may be as like it
                copies = picture.scores >= _COPY
                found.append(Ranked(picture.items[copies], picture.scores[copies]))
            first = limit if seen.is_scene else min(limit, _FIRST)
            found.append(_best(likes[: len(product)], first))
            found.append(_best(likes[len(product) :], limit))
        return _one_after_another(found, limit)

    def around(self, photo: bytes, limit: int, visible: Bools) -> PhotoMatches:
        """Return the places in a photo, each with the visible items most like it."""
        regions = self._viewer.regions(photo, own=self._is_own)
        vectors = self._placed(regions)
        if vectors is None:
            return PhotoMatches([], self._pictures.sureness)
        found = self._pictures.model.similar_to_vectors(vectors, limit, visible)
        places = [
            RegionMatch(region.box, region.label, region.confidence, alike)
            for region, alike in zip(regions, found, strict=True)
        ]
        return PhotoMatches(places, self._pictures.sureness)

    def _compared(self, seen: PhotoDescriptors) -> Vector | None:
        """Return a row for a photo as a product's picture, one for it, and its places'.

        None where the store has nothing to compare with.
        """
        whole = self._pictures.place(seen.views, self._embedding)
        picture = self._pictures.places(seen.picture, self._embedding)
        if whole is None or picture is None:
            return None
        places = self._pictures.places(seen.places, self._embedding)
        around = [places] if places is not None and len(seen.places) else []
        return np.concatenate([picture, whole[None], *around])

    def _placed(self, regions: Sequence[PhotoRegion]) -> Vector | None:
        if not regions:
            return None
        descriptors = np.stack([one.descriptor for one in regions])
        return self._pictures.places(descriptors, self._embedding)


def _best(likes: Sequence[Ranked], limit: int) -> Ranked:
    """Return the items most like a photo, twice seen as a whole, or like a place in it."""
    weighed = [Ranked(one.items, one.scores * _PLACE) for one in likes[2:]]
    return merge_best([*likes[:2], *weighed], limit)


def _one_after_another(found: Sequence[Ranked], limit: int) -> Ranked:
    """Return the first `limit` of several lists, each item once; scores fall."""
    items = np.concatenate([one.items for one in found])
    scores = np.concatenate([one.scores for one in found])
    firsts = np.sort(np.unique(items, return_index=True)[1])[:limit]
    return Ranked(items[firsts], np.minimum.accumulate(scores[firsts]))
