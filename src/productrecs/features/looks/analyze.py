"""What in this photo does the store sell? Places where the catalog knows the like."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from productrecs.engines.contract import Bools, Ranked
from productrecs.engines.visual import VisualModel
from productrecs.engines.visual.proposals import overlap
from productrecs.engines.visual.types import Floats
from productrecs.records.catalog.view import CatalogView

MOST_HOTSPOTS: Final = 8
MOST_PRODUCTS: Final = 6

_LEAST: Final = 0.35  # of confidence
_OVERLAP: Final = 0.4
_INSIDE: Final = 0.75  # of its own area: a part of the other
_MOST_OF_IT: Final = 0.45  # of the photo
_VOTERS: Final = 5

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Seen:
    """A place in a photo: where, what a detector says it is, and what it looks like."""

    box: Box
    vector: Floats
    label: str = ""
    confidence: float | None = None  # the detector's


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in a photo with products that look like it, best first, with likenesses."""

    label: str
    box: Box
    confidence: float
    items: tuple[int, ...]
    scores: tuple[float, ...]


def analyze(
    model: VisualModel, catalog: CatalogView, visible: Bools, places: Sequence[Seen]
) -> list[Spot]:
    """Return up to eight spots, the surest first; none where nothing can be said.

    Without a detector a place counts where the catalog knows something like it: its
    confidence says how much nearer the nearest picture is than any two pictures are, as
    against how near pictures of this store usually are, and how far the neighbours agree.
    """
    if not len(model) or not places:
        return []
    usual = usual_likeness(model)
    alike = model.like_each(
        np.stack([one.vector for one in places]), MOST_PRODUCTS, visible
    )
    spots = [
        spot
        for place, found in zip(places, alike, strict=True)
        if (spot := _spot(model, catalog, place, found, usual)) is not None
    ]
    spots.sort(key=lambda spot: (-spot.confidence, spot.box))
    kept: list[Spot] = []
    for spot in spots:
        if len(kept) < MOST_HOTSPOTS and not any(_is_same(spot, one) for one in kept):
            kept.append(spot)
    return kept


def usual_likeness(model: VisualModel) -> float:
    """Return how alike a picture of this store and its nearest usually are."""
    rows = model.neighbours.rows
    has_near = rows[:, 0] >= 0
    if not has_near.any():
        return 1.0
    chosen = np.flatnonzero(has_near)[:2_000]
    vectors = model.pictured.vectors
    cosines = np.einsum("nd,nd->n", vectors[chosen], vectors[rows[chosen, 0]])
    return float(np.median(cosines))


def _spot(
    model: VisualModel, catalog: CatalogView, place: Seen, found: Ranked, usual: float
) -> Spot | None:
    if not len(found.items):
        return None
    items, scores = found.items.tolist(), found.scores.tolist()
    label, share = _vote(catalog, items)
    if place.confidence is not None:
        return Spot(
            place.label or label, place.box, place.confidence, tuple(items), tuple(scores)
        )
    span = max(usual - model.floor, 0.05)
    likeness = min(1.0, max(0.0, (scores[0] - model.floor) / span))
    confidence = round(likeness * (0.6 + 0.4 * share), 4)
    if confidence < _LEAST:
        return None
    return Spot(label, place.box, confidence, tuple(items), tuple(scores))


def _vote(catalog: CatalogView, items: Sequence[int]) -> tuple[str, float]:
    """Return the category that most of the nearest are of, and which share of them is."""
    voters = items[:_VOTERS]
    votes = Counter(
        min(named, key=lambda name: (len(catalog.members.get(name, ())), name))
        for item in voters
        if (named := catalog.categories[item])
    )
    if not votes:
        return "", 0.0
    label, count = min(votes.items(), key=lambda one: (-one[1], one[0]))
    return label, count / len(voters)


def _is_same(one: Spot, other: Spot) -> bool:
    """Return whether a spot is of the same thing as a surer one, or only a part of it.

    What lies within most of the photo is a thing of its own: a bag beside a coat.
    """
    if overlap(one.box, other.box) > _OVERLAP:
        return True
    x, y, width, height = one.box
    left, top = max(x, other.box[0]), max(y, other.box[1])
    right = min(x + width, other.box[0] + other.box[2])
    bottom = min(y + height, other.box[1] + other.box[3])
    if right <= left or bottom <= top:
        return False
    is_part = (right - left) * (bottom - top) > _INSIDE * width * height
    around = other.box[2] * other.box[3]
    return is_part and (around < _MOST_OF_IT or one.label == other.label)
