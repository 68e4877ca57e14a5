"""Photo analysis: finds the spots of a photo that look like products of the catalog."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from productrecs.engines.arrays import Bools
from productrecs.engines.visual.match_confidence import VOTERS, MatchConfidence
from productrecs.engines.visual.region_proposals import intersection_over_union
from productrecs.records.catalog.catalog_view import CatalogView
from productrecs.training.visual.photo_matcher import Box, PhotoSearch, RegionMatch

MOST_HOTSPOTS: Final = 8
MOST_PRODUCTS: Final = 6

_LEAST: Final = 0.35  # of evidence
_AGREED: Final = 0.6  # of the voters: with fewer of one category there is no label
_LIKELY: Final = (
    0.65  # of a label: of those that were likely by less one in three was right
)
_TELLING: Final = 0.5  # of the catalog: a category of more tells nothing
_FEW: Final = 20  # items of a catalog whose categories all may tell something
_OVERLAP: Final = 0.25
_INSIDE: Final = 0.6  # of the smaller one's area: a part of the other
_MOST_OF_IT: Final = 0.45  # of the photo

_LEVEL: Final = " > "  # between the levels of a category's path: the last is its name


@dataclass(frozen=True, slots=True)
class PhotoSpot:
    """A place in a photo with products that look like it, best first, with likenesses."""

    label: str
    box: Box
    confidence: float
    items: tuple[int, ...]
    scores: tuple[float, ...]


def find_spots(
    sureness: MatchConfidence, catalog: CatalogView, places: Sequence[RegionMatch]
) -> list[PhotoSpot]:
    """Return up to eight spots, most certain first; none without a confident one.

    Without a detector, a region counts if the catalog has something similar. Its
    confidence is how often pictures of this store with such similarity and such
    agreement of their neighbours are of that category. There is no label where
    neighbours disagree or are too likely wrong.
    """
    spots = [
        spot for place in places if (spot := _spot(sureness, catalog, place)) is not None
    ]
    spots.sort(key=lambda spot: (-spot.confidence, -spot.scores[0], spot.box))
    thinned: list[PhotoSpot] = []
    for spot in spots:
        if len(thinned) < MOST_HOTSPOTS and not any(_is_same(spot, one) for one in thinned):
            thinned.append(spot)
    return thinned


def _spot(
    sureness: MatchConfidence, catalog: CatalogView, place: RegionMatch
) -> PhotoSpot | None:
    found = place.alike
    if not len(found.items):
        return None
    items, scores = tuple(found.items.tolist()), tuple(found.scores.tolist())
    label, share, label_share = _vote(catalog, items)
    if place.confidence is not None:
        return PhotoSpot(place.label or label, place.box, place.confidence, items, scores)
    evidence = sureness.evidence_of(scores[0], share)
    if evidence < _LEAST:
        return None
    # Twice: whether the place is a thing at all is as uncertain as of which kind it is.
    confidence = sureness.chance_of(evidence) ** 2
    if sureness.chance_of(sureness.evidence_of(scores[0], label_share)) ** 2 < _LIKELY:
        label = ""
    return PhotoSpot(label, place.box, round(confidence, 4), items, scores)


def _vote(catalog: CatalogView, items: Sequence[int]) -> tuple[str, float, float]:
    """Return the narrowest category that the nearest agree on, as a label, and two shares.

    The first is the largest of any narrowest category, the second that of the label. No
    label where too few agree.
    """
    voters = items[:VOTERS]
    narrowest = Counter(
        min(named, key=lambda name: (len(catalog.members.get(name, ())), name))
        for item in voters
        if (named := catalog.categories[item])
    )
    share = max(narrowest.values(), default=0) / len(voters)
    votes = Counter(name for item in voters for name in catalog.categories[item])
    agreed = [
        name
        for name, count in votes.items()
        if count >= _AGREED * len(voters) and _tells(catalog, name)
    ]
    if not agreed:
        return "", share, 0.0
    # Of two with the same items the longer name says more: a level further down.
    label = min(
        agreed, key=lambda name: (len(catalog.members.get(name, ())), -len(name), name)
    )
    return label.rpartition(_LEVEL)[2], share, votes[label] / len(voters)


def _tells(catalog: CatalogView, category: str) -> bool:
    """Return whether a category is informative: not one that nearly all items have."""
    count, total = len(catalog.members.get(category, ())), len(catalog.numbers)
    return total < _FEW or count <= _TELLING * total


def _is_same(one: PhotoSpot, other: PhotoSpot) -> bool:
    """Return whether two spots show the same thing, or one a part of the other.

    A spot within one that covers most of the photo is a thing of its own where their labels
    differ: a bag beside a coat.
    """
    if intersection_over_union(one.box, other.box) > _OVERLAP:
        return True
    x, y, width, height = one.box
    left, top = max(x, other.box[0]), max(y, other.box[1])
    right = min(x + width, other.box[0] + other.box[2])
    bottom = min(y + height, other.box[1] + other.box[3])
    if right <= left or bottom <= top:
        return False
    smaller, larger = sorted((width * height, other.box[2] * other.box[3]))
    is_part = (right - left) * (bottom - top) > _INSIDE * smaller
    return is_part and (larger < _MOST_OF_IT or one.label == other.label)


def spots_in_picture(
    data: bytes, looking: PhotoSearch, catalog: CatalogView, visible: Bools
) -> list[PhotoSpot]:
    """Return up to eight regions of a picture with similar products, most certain first.

    None while the store has no indexed pictures, or where nothing is known.

    Raises:
        NotAPictureError: when it is not a picture, or too costly to read.
        PictureTooLargeError: when it has too many pixels.
    """
    seen = looking.around(data, MOST_PRODUCTS, visible)
    return find_spots(seen.sureness, catalog, seen.places)
