"""Photo spots: finds the regions of a photo that look like products of the catalog."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from productrecs.engines.array_types_and_sorting import Bools
from productrecs.engines.visual.region_proposals import intersection_over_union
from productrecs.engines.visual.visual_similarity import VOTERS, MatchCalibration
from productrecs.records.catalog.catalog_view import CatalogView
from productrecs.training.visual.photo_matcher import Box, PhotoSearch, RegionMatch

_MAX_SPOTS: Final = 8
MAX_PRODUCTS: Final = 6

_MIN_EVIDENCE: Final = 0.35  # minimum evidence of a spot
_MIN_THING_EVIDENCE: Final = 0.4  # the same of a detected thing, seen in more detail
_UNKNOWN_SHARE: Final = 0.3  # of neighbours that agree, where no category is known
_AGREED: Final = 0.6  # minimum share of the voters for a label
# Minimum confidence of a label: below it two labels in three were wrong.
_LIKELY: Final = 0.65
_MAX_CATEGORY_SHARE: Final = 0.5  # maximum catalog share of an informative category
_SMALL_CATALOG: Final = 20  # catalog size up to which every category is informative
_OVERLAP: Final = 0.25
_INSIDE: Final = 0.6  # share of the smaller box that makes it part of the other
_LARGE_SHARE: Final = 0.45  # share of the photo

_LEVEL: Final = " > "  # separates the levels of a category path; the last is its name


@dataclass(frozen=True, slots=True)
class PhotoSpot:
    """A region of a photo, its similar products, best first, and their similarities."""

    label: str
    box: Box
    confidence: float
    items: tuple[int, ...]
    scores: tuple[float, ...]
    is_thing: bool = False  # one box of each thing: two such boxes show two things


def choose_photo_spots(
    calibration: MatchCalibration, catalog: CatalogView, regions: Sequence[RegionMatch]
) -> list[PhotoSpot]:
    """Return up to eight spots, most certain first; none below the minimum evidence.

    Unless a detector is certain, a region counts if the catalog has something similar. Its
    confidence is the share of this store's pictures with such similarity and such
    agreement of their neighbours that are of that category. Where its neighbours
    disagree or are likely wrong, a spot has the label of the detected thing, or none. Two
    detected things may overlap. Where places of garments were looked at,
    other regions only count if they are more certain than each of these.
    """
    spots = [
        spot
        for region in regions
        if (spot := _to_spot_if_evident(calibration, catalog, region)) is not None
    ]
    garments = {region.box for region in regions if region.is_garment}
    most = max((spot.confidence for spot in spots if spot.box in garments), default=-1.0)
    spots = [spot for spot in spots if spot.box in garments or spot.confidence > most]
    spots.sort(key=lambda spot: (-spot.confidence, -spot.scores[0], spot.box))
    distinct: list[PhotoSpot] = []
    for spot in spots:
        if len(distinct) < _MAX_SPOTS and not any(
            _shows_same_object(spot, other) for other in distinct
        ):
            distinct.append(spot)
    return distinct


def _to_spot_if_evident(
    calibration: MatchCalibration, catalog: CatalogView, region: RegionMatch
) -> PhotoSpot | None:
    similar = region.similar
    if not len(similar.items):
        return None
    items, scores = tuple(similar.items.tolist()), tuple(similar.scores.tolist())
    label, share, label_share = _agreed_category_and_shares(catalog, items)
    if region.confidence is not None:
        return PhotoSpot(
            region.label or label, region.box, region.confidence, items, scores
        )
    is_thing = bool(region.label)
    similarity = scores[0] if region.similarity is None else region.similarity
    evidence = calibration.evidence_of(similarity, share)
    if evidence < (_MIN_THING_EVIDENCE if is_thing else _MIN_EVIDENCE):
        return None
    # Applied twice: both whether the region is a thing and its category are uncertain.
    confidence = calibration.chance_of(evidence) ** 2
    if (
        calibration.chance_of(calibration.evidence_of(similarity, label_share)) ** 2
        < _LIKELY
    ):
        label = ""
    return PhotoSpot(
        label or region.label, region.box, round(confidence, 4), items, scores, is_thing
    )


def _agreed_category_and_shares(
    catalog: CatalogView, items: Sequence[int]
) -> tuple[str, float, float]:
    """Return the narrowest category that the nearest items agree on, and two shares.

    The first share is the largest of any narrowest category, the second the label's. The
    label is empty where too few agree.
    """
    voters = items[:VOTERS]
    narrowest = Counter(
        min(categorised, key=lambda name: (len(catalog.members.get(name, ())), name))
        for item in voters
        if (categorised := catalog.categories[item])
    )
    if not narrowest:
        return "", _UNKNOWN_SHARE, 0.0
    share = max(narrowest.values()) / len(voters)
    votes = Counter(name for item in voters for name in catalog.categories[item])
    agreed = [
        name
        for name, count in votes.items()
        if count >= _AGREED * len(voters) and _is_informative(catalog, name)
    ]
    if not agreed:
        return "", share, 0.0
    # With equal members the longer name is more specific: a level further down.
    label = min(
        agreed, key=lambda name: (len(catalog.members.get(name, ())), -len(name), name)
    )
    return label.rpartition(_LEVEL)[2], share, votes[label] / len(voters)


def _is_informative(catalog: CatalogView, category: str) -> bool:
    """Return whether a category is informative: not one of nearly all items."""
    count, total = len(catalog.members.get(category, ())), len(catalog.numbers)
    return total < _SMALL_CATALOG or count <= _MAX_CATEGORY_SHARE * total


def _shows_same_object(spot: PhotoSpot, other: PhotoSpot) -> bool:
    """Return whether two spots show the same thing, or one a part of the other.

    A spot within one that covers most of the photo is separate if their labels differ: a
    bag next to a coat.
    """
    if spot.is_thing and other.is_thing:
        return False
    if intersection_over_union(spot.box, other.box) > _OVERLAP:
        return True
    x, y, width, height = spot.box
    left, top = max(x, other.box[0]), max(y, other.box[1])
    right = min(x + width, other.box[0] + other.box[2])
    bottom = min(y + height, other.box[1] + other.box[3])
    if right <= left or bottom <= top:
        return False
    smaller, larger = sorted((width * height, other.box[2] * other.box[3]))
    is_part = (right - left) * (bottom - top) > _INSIDE * smaller
    return is_part and (larger < _LARGE_SHARE or spot.label == other.label)


def find_spots_in_picture(
    picture_bytes: bytes, photo_search: PhotoSearch, catalog: CatalogView, visible: Bools
) -> list[PhotoSpot]:
    """Return up to eight regions of a picture with similar products, most certain first.

    Empty if the store has no indexed pictures, or none of them has a known category.

    Raises:
        UnreadablePictureError: when it is not a picture, or too costly to read.
        PictureTooLargeError: when it has too many pixels.
    """
    matches = photo_search.similar_items_by_region(picture_bytes, MAX_PRODUCTS, visible)
    return choose_photo_spots(matches.calibration, catalog, matches.regions)
