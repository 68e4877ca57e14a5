"""Photo matcher: finds the products of a store that are similar to a photo."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from productrecs.engines.array_types_and_sorting import Bools, RankedItems
from productrecs.engines.visual.visual_similarity import (
    MatchCalibration,
    merge_best_items,
    merge_by_rank,
)
from productrecs.records.pictures.sandboxed_decoder import (
    PhotoDescriptors,
    SandboxedDecoder,
)
from productrecs.records.pictures.stored_pictures import file_digest
from productrecs.training.visual.picture_embedding import (
    BuiltInEmbedding,
    DescriptorEmbedding,
)
from productrecs.training.visual.served_visual_model import ServedVisualModel

Vector = npt.NDArray[np.floating[Any]]
Box = tuple[float, float, float, float]

# Minimum similarity of a resaved copy; other scenes stay below 0.5.
_COPY_SIMILARITY: Final = 0.9
_REGION_WEIGHT: Final = 0.8
"""Weight of a region's similarity relative to the whole photo's (decision 0059)."""

_KIND_REGION_WEIGHT: Final = 0.6
"""The same in the search by kind, to which regions add more noise (decision 0059)."""

_KIND_SCENE_WEIGHT: Final = 0.95
"""The same in the decision whether a photo shows several products."""

_SIMILAR_FIRST: Final = 2
"""Results by visual similarity alone; results by kind follow (decision 0059)."""


class RegionMatch(NamedTuple):
    """A region of a photo, its detected label, and the most similar pictures."""

    box: Box
    label: str
    confidence: float | None
    similar: RankedItems
    is_garment: bool = False  # where a person's garments are, or usually are
    similarity: float | None = None  # of the nearest picture, if not the first of `similar`


class RegionMatches(NamedTuple):
    """All regions of a photo, and the calibration of the store's matches."""

    regions: Sequence[RegionMatch]
    calibration: MatchCalibration


class PhotoSearchHits(NamedTuple):
    """The items most similar to a photo, and what is printed on what it shows."""

    ranked: RankedItems
    codes: tuple[str, ...] = ()  # of barcodes
    lines: tuple[str, ...] = ()  # of text, the largest first


class PhotoSearch(Protocol):
    """Finds the products of one store that are similar to a photo."""

    def similar_items(self, photo: bytes, limit: int, visible: Bools) -> PhotoSearchHits:
        """Return the `limit` visible items most similar to a photo; none without pictures.

        Raises:
            UnreadablePictureError: when it is invalid, or decoding exceeds a limit.
            PictureTooLargeError: when it has too many pixels.
        """

    def similar_items_by_region(
        self, photo: bytes, limit: int, visible: Bools
    ) -> RegionMatches:
        """Return the regions of a photo that may show objects, each with similar items.

        Raises:
            UnreadablePictureError: as `similar_items`.
            PictureTooLargeError: as `similar_items`.
        """


class PhotoMatcher:
    """A sandboxed decoder, and the pictures to compare its descriptors with.

    While a model embeds a store's pictures for the first time, photos use the built-in
    embedding, like the serving pictures.
    """

    def __init__(
        self,
        viewer: SandboxedDecoder,
        pictures: ServedVisualModel,
        embedding: DescriptorEmbedding,
    ) -> None:
        """Decode with `viewer`; `embedding` is the installation's."""
        own = BuiltInEmbedding()
        self._viewer, self._pictures = viewer, pictures
        self._is_own = pictures.embedder == own.name
        self._embedding = own if self._is_own else embedding

    def similar_items(self, photo: bytes, limit: int, visible: Bools) -> PhotoSearchHits:
        """Return the `limit` visible items most similar to a photo, or to a region of it.

        Identical files come first, then resized or resaved copies, which are the only ones
        above the copy threshold. Next come the two most similar items, which may be the
        product itself, then items of its kind. Regions have a lower weight than the whole
        photo, because some region is similar to anything. If the photo may show several
        objects, and a region is clearer of a kind than the whole photo is, then each region
        gives its most similar item before any gives a second one; in an upright photo, such
        as of a person, use visual similarity only, if it also prefers a region.
        """
        photo_descriptors = self._viewer.describe_photo(photo, ignores_model=self._is_own)
        model = self._pictures.model
        identical_items = model.items_with_picture_digest(file_digest(photo), visible)
        lists = [RankedItems(identical_items, np.ones(len(identical_items), np.float32))]
        if (vectors := self._photo_vectors(photo_descriptors)) is not None:
            queries = self._pictures.weight_queries(vectors, self._embedding)
            rows = np.concatenate([vectors[:1], *queries])  # one scan
            picture, *similar_lists = model.similar_to_vectors(rows, limit, visible)
            if self._embedding.detects_copies:  # otherwise other pictures may be as similar
                is_copy = picture.scores >= _COPY_SIMILARITY
                lists.append(RankedItems(picture.items[is_copy], picture.scores[is_copy]))
            count = len(vectors)
            by_similarity, by_kind, by_scene = (
                similar_lists[count * index : count * (index + 1)] for index in range(3)
            )
            similar_count = min(limit, _SIMILAR_FIRST)
            if photo_descriptors.is_scene and _region_is_closest(
                by_kind, _KIND_SCENE_WEIGHT
            ):
                if not photo_descriptors.is_upright:
                    lists.append(merge_by_rank(by_scene, limit))
                elif _region_is_closest(by_similarity, _REGION_WEIGHT):
                    similar_count = limit
            lists.append(_best_of_photo(by_similarity, _REGION_WEIGHT, similar_count))
            lists.append(_best_of_photo(by_kind, _KIND_REGION_WEIGHT, limit))
        ranked = _concatenate_distinct(lists, limit)
        return PhotoSearchHits(ranked, photo_descriptors.codes, photo_descriptors.lines)

    def similar_items_by_region(
        self, photo: bytes, limit: int, visible: Bools
    ) -> RegionMatches:
        """Return the regions of a photo, each with the most similar visible items.

        A detected thing, seen from afar, is compared as a scene's: mostly by what it is.
        Its similarity to the nearest picture is measured as for any other region.
        """
        regions = self._viewer.find_regions(photo, ignores_model=self._is_own)
        vectors = None
        if regions:
            descriptors = np.stack([region.descriptor for region in regions])
            vectors = self._pictures.vectors_of(descriptors, self._embedding)
        if vectors is None:
            return RegionMatches([], self._pictures.calibration)
        things = [index for index, region in enumerate(regions) if region.is_thing]
        scene = self._pictures.weight_queries(vectors[things], self._embedding).scene
        rows = np.concatenate([vectors, scene])  # one scan
        similar_lists = self._pictures.model.similar_to_vectors(rows, limit, visible)
        of_things = dict(zip(things, similar_lists[len(regions) :], strict=True))
        places = [
            RegionMatch(
                region.box,
                region.label,
                region.confidence,
                of_things.get(index, similar_lists[index]),
                region.is_garment,
                max(similar_lists[index].scores.tolist(), default=0.0),
            )
            for index, region in enumerate(regions)
        ]
        return RegionMatches(places, self._pictures.calibration)

    def _photo_vectors(self, descriptors: PhotoDescriptors) -> Vector | None:
        """Return rows to compare: the photo as a product, as a kind, and its regions.

        None if the store has nothing to compare with.
        """
        whole = self._pictures.mean_vector_of(descriptors.views, self._embedding)
        picture = self._pictures.vectors_of(descriptors.picture, self._embedding)
        if whole is None or picture is None:
            return None
        region_vectors = self._pictures.vectors_of(descriptors.places, self._embedding)
        region_rows = (
            [region_vectors]
            if region_vectors is not None and len(descriptors.places)
            else []
        )
        return np.concatenate([picture, whole[None], *region_rows])


def _best_of_photo(lists: Sequence[RankedItems], weight: float, limit: int) -> RankedItems:
    """Return the items most similar to a photo as a whole (two rows), or to a region."""
    weighted = [RankedItems(ranked.items, ranked.scores * weight) for ranked in lists[2:]]
    return merge_best_items([*lists[:2], *weighted], limit)


def _region_is_closest(lists: Sequence[RankedItems], weight: float) -> bool:
    """Return whether a region, weighted, is more similar to an item than the photo is."""
    whole, regions = (
        max((float(ranked.scores[0]) for ranked in rows if len(ranked.scores)), default=0.0)
        for rows in (lists[:2], lists[2:])
    )
    return regions * weight > whole


def _concatenate_distinct(lists: Sequence[RankedItems], limit: int) -> RankedItems:
    """Return the first `limit` items of concatenated lists, each once; scores fall."""
    items = np.concatenate([ranked.items for ranked in lists])
    scores = np.concatenate([ranked.scores for ranked in lists])
    first_index = np.sort(np.unique(items, return_index=True)[1])[:limit]
    return RankedItems(items[first_index], np.minimum.accumulate(scores[first_index]))
