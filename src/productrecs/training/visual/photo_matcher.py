"""Photo matcher: finds the products of a store that are similar to a photo."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from productrecs.engines.arrays import Bools, Ranked
from productrecs.engines.visual.visual_similarity import (
    MatchConfidence,
    merge_best,
    merge_by_rank,
)
from productrecs.records.pictures.picture_fetch_states import file_digest
from productrecs.records.pictures.sandboxed_decoder import (
    PhotoDescriptors,
    PhotoRegion,
    SandboxedDecoder,
)
from productrecs.training.visual.picture_embedding import BuiltInEmbedding, PictureEmbedding
from productrecs.training.visual.served_visual_model import ServedPictures

Vector = npt.NDArray[np.floating[Any]]
Box = tuple[float, float, float, float]

_COPY: Final = 0.9  # minimum similarity of a resaved copy; other scenes stay below 0.5
_PLACE: Final = 0.8
"""Weight of a region's similarity relative to the whole photo's (decision 0122)."""

_KIND_PLACE: Final = 0.6
"""The same in the search by kind, to which regions add more noise (decision 0123)."""

_KIND_SCENE: Final = 0.95
"""The same in the decision whether a photo shows several products."""

_FIRST: Final = 2
"""Results by visual similarity alone; results by kind follow (decision 0123)."""


class RegionMatch(NamedTuple):
    """A region of a photo, its detected label, and the most similar pictures."""

    box: Box
    label: str
    confidence: float | None
    alike: Ranked


class PhotoMatches(NamedTuple):
    """All regions of a photo, and the store's match confidence."""

    places: Sequence[RegionMatch]
    sureness: MatchConfidence


class PhotoSearch(Protocol):
    """Finds the products of one store that are similar to a photo."""

    def alike(self, photo: bytes, limit: int, visible: Bools) -> Ranked:
        """Return the `limit` visible items most similar to a photo; none without pictures.

        Raises:
            NotAPictureError: when it is invalid, or decoding exceeds a limit.
            PictureTooLargeError: when it has too many pixels.
        """

    def around(self, photo: bytes, limit: int, visible: Bools) -> PhotoMatches:
        """Return the regions of a photo that may show objects, each with similar items.

        Raises:
            NotAPictureError: as `alike`.
            PictureTooLargeError: as `alike`.
        """


class PhotoMatcher:
    """A sandboxed decoder, and the pictures to compare its descriptors with.

    While a model embeds a store's pictures for the first time, photos use the built-in
    embedding, like the serving pictures.
    """

    def __init__(
        self,
        viewer: SandboxedDecoder,
        pictures: ServedPictures,
        embedding: PictureEmbedding,
    ) -> None:
        """Decode with `viewer`; `embedding` is the installation's."""
        own = BuiltInEmbedding()
        self._viewer, self._pictures = viewer, pictures
        self._is_own = pictures.embedder == own.name
        self._embedding = own if self._is_own else embedding

    def alike(self, photo: bytes, limit: int, visible: Bools) -> Ranked:
        """Return the `limit` visible items most similar to a photo, or to a region of it.

        Identical files come first, then resized or resaved copies, which are the only ones
        above the copy threshold. Next come the two most similar items, which may be the
        product itself, then items of its kind. Regions have a lower weight than the whole
        photo, because some region is similar to anything. If the photo may show several
        objects, and a region is clearer of a kind than the whole photo is, then each region
        gives its most similar item before any gives a second one; in an upright photo, such
        as of a person, only visual similarity counts, if by it too a region is closer.
        """
        seen, model = self._viewer.look(photo, own=self._is_own), self._pictures.model
        same = model.items_with_digest(file_digest(photo), visible)
        found = [Ranked(same, np.ones(len(same), np.float32))]
        if (vectors := self._compared(seen)) is not None:
            queries = self._pictures.queries(vectors, self._embedding)
            rows = np.concatenate([vectors[:1], *queries])  # one scan
            picture, *likes = model.similar_to_vectors(rows, limit, visible)
            if self._embedding.shows_copies:  # otherwise other pictures may be as similar
                copies = picture.scores >= _COPY
                found.append(Ranked(picture.items[copies], picture.scores[copies]))
            count = len(vectors)
            looks, kinds, things = (likes[count * n : count * (n + 1)] for n in range(3))
            first = min(limit, _FIRST)
            if seen.is_scene and _region_is_closest(kinds, _KIND_SCENE):
                if not seen.is_upright:
                    found.append(merge_by_rank(things, limit))
                elif _region_is_closest(looks, _PLACE):
                    first = limit
            found.append(_best(looks, _PLACE, first))
            found.append(_best(kinds, _KIND_PLACE, limit))
        return _one_after_another(found, limit)

    def around(self, photo: bytes, limit: int, visible: Bools) -> PhotoMatches:
        """Return the regions of a photo, each with the most similar visible items."""
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
        """Return rows to compare: the photo as a product, as a kind, and its regions.

        None if the store has nothing to compare with.
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


def _best(likes: Sequence[Ranked], weight: float, limit: int) -> Ranked:
    """Return the items most similar to a photo as a whole (two rows), or to a region."""
    weighed = [Ranked(one.items, one.scores * weight) for one in likes[2:]]
    return merge_best([*likes[:2], *weighed], limit)


def _region_is_closest(likes: Sequence[Ranked], weight: float) -> bool:
    """Return whether a region, weighted, is more similar to an item than the photo is."""
    whole, regions = (
        max((float(one.scores[0]) for one in rows if len(one.scores)), default=0.0)
        for rows in (likes[:2], likes[2:])
    )
    return regions * weight > whole


def _one_after_another(found: Sequence[Ranked], limit: int) -> Ranked:
    """Return the first `limit` items of concatenated lists, each once; scores fall."""
    items = np.concatenate([one.items for one in found])
    scores = np.concatenate([one.scores for one in found])
    firsts = np.sort(np.unique(items, return_index=True)[1])[:limit]
    return Ranked(items[firsts], np.minimum.accumulate(scores[firsts]))
