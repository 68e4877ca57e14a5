"""Scenes: is what stands in a photo found, named rightly, and said as surely as it is so?

Made of products of `catalog_luma`, cut out of their studio and set, three at a time, before
photos of `images_clothing` (its train part) at a third to nearly half of the side. What is
asked is a product's own photo, so that a miss is a miss of seeing where it is. Products
with even numbers were looked at while choosing; the figures are of those with odd ones.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
from PIL import Image, ImageDraw

from benchmarks.report import Figure
from productrecs.engines.visual import VisualModel, fit_descriptor_projection
from productrecs.engines.visual.image_descriptor import describe_parts
from productrecs.engines.visual.region_proposals import (
    box_window,
    intersection_over_union,
    propose_regions,
)
from productrecs.engines.visual.visual_similarity import (
    MatchCalibration,
    NeighbourTable,
    PicturedItems,
    fit_match_calibration,
    similarity_floor,
)
from productrecs.features.looks.photo_spots import (
    MAX_PRODUCTS,
    PhotoSpot,
    choose_photo_spots,
)
from productrecs.training.visual.photo_matcher import RegionMatch

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from benchmarks.report import Report
    from productrecs.engines.visual import DescriptorProjection
    from productrecs.records.catalog.catalog_view import CatalogView

    Pixels = npt.NDArray[np.uint8]

SCENES: Final = 48
PHOTO_SIDE: Final = 320
_STUDIO: Final = 238
_FOUND: Final = 0.35
_TOUCHES: Final = 0.1
_BINS: Final = (0.0, 0.4, 0.6, 0.8, 1.01)

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Shop:
    """A catalog with its pictures, as the analysis sees it."""

    model: VisualModel
    space: DescriptorProjection
    categories: list[tuple[str, ...]]
    members: dict[str, list[int]]
    numbers: dict[str, int]


@dataclass(slots=True)
class Tally:
    """What was found in the scenes."""

    shown: int = 0
    found: int = 0
    spots: int = 0
    stray: int = 0
    labels: list[bool] = field(default_factory=list)
    sure: list[tuple[float, bool]] = field(default_factory=list)


def shop_of(
    descriptors: npt.NDArray[np.uint8],
    groups: Sequence[npt.NDArray[np.intp]],
    categories: list[tuple[str, ...]],
) -> Shop:
    """Return a shop of these pictures, row by row."""
    space = fit_descriptor_projection(descriptors, groups)
    vectors, count = space.vectors(descriptors), len(descriptors)
    members: dict[str, list[int]] = {}
    for row, named in enumerate(categories):
        for name in named:
            members.setdefault(name, []).append(row)
    narrowest = [min(named, key=lambda name: (len(members[name]), name))
                 for named in categories]  # fmt: skip
    codes = {name: code for code, name in enumerate(sorted(set(narrowest)))}
    kinds = np.array([codes[name] for name in narrowest], np.int32)
    rows, scores = np.full((count, 1), -1, np.int32), np.zeros((count, 1), np.float32)
    pictured = PicturedItems(
        vectors, np.arange(count, dtype=np.int32), kinds, np.full(count, np.nan, np.float32)
    )
    numbers = {str(row): row for row in range(count)}
    model = VisualModel(pictured, NeighbourTable(rows, scores), similarity_floor(vectors))
    return Shop(model, space, categories, members, numbers)


def measure_scenes(
    report: Report, shop: Shop, pictures: Sequence[Pixels], rooms: Sequence[Pixels]
) -> None:
    """Add how much of what scenes show is found, and how honestly."""
    tally = tally_of(shop, pictures, rooms, odd=True)
    note = f"{SCENES} scenes of three; {tally.spots} spots, {tally.stray} on none of them"
    value = tally.found / tally.shown
    report.add(Figure("pictures, scenes, products found", value, "share", note=note))
    said, right = len(tally.labels), float(np.mean(tally.labels))
    note = f"of {said} labels on {tally.spots} spots"
    report.add(Figure("pictures, scenes, labels that are right", right, "share", note=note))
    report.add(
        Figure(
            "pictures, scenes, confidence less what was right",
            _off(tally.sure),
            "share",
            note="mean over spots on a product; " + _reliability(tally.sure),
        )
    )


def tally_of(
    shop: Shop,
    pictures: Sequence[Pixels],
    rooms: Sequence[Pixels],
    *,
    odd: bool,
    seed: int = 8,
) -> Tally:
    """Return what was found in scenes of products with odd, or even, numbers."""
    lot, tally, sureness = (
        np.random.default_rng(seed),
        Tally(),
        fit_match_calibration(shop.model),
    )
    numbers = np.arange(int(odd), len(pictures), 2)
    for _ in range(SCENES):
        chosen = lot.choice(numbers, 3, replace=False).tolist()
        room = rooms[int(lot.integers(len(rooms)))]
        photo, boxes = scene([pictures[one] for one in chosen], room, lot)
        there = dict(zip(chosen, boxes, strict=True))
        _note(tally, shop, look(shop, sureness, photo), there)
    return tally


def sheet_of(
    shop: Shop, pictures: Sequence[Pixels], rooms: Sequence[Pixels], count: int = 12
) -> Image.Image:
    """Return scenes with what was said of them, to be looked at."""
    lot, sureness = np.random.default_rng(21), fit_match_calibration(shop.model)
    columns = 4
    sheet = Image.new("RGB", (columns * PHOTO_SIDE, count // columns * PHOTO_SIDE))
    for place in range(count):
        chosen = lot.choice(len(pictures), 3, replace=False).tolist()
        room = rooms[int(lot.integers(len(rooms)))]
        photo, _ = scene([pictures[one] for one in chosen], room, lot)
        shown = Image.fromarray(photo)
        pen = ImageDraw.Draw(shown)
        for spot in look(shop, sureness, photo):
            x, y, width, height = (side * PHOTO_SIDE for side in spot.box)
            colour = "red" if spot.label else "grey"
            pen.rectangle((x, y, x + width, y + height), outline=colour)
            pen.text((x + 2, y + 1), f"{spot.confidence:.2f} {spot.label}", fill="red")
        row, column = divmod(place, columns)
        sheet.paste(shown, (column * PHOTO_SIDE, row * PHOTO_SIDE))
    return sheet


def look(shop: Shop, sureness: MatchCalibration, photo: Pixels) -> list[PhotoSpot]:
    """Return what the analysis finds in a photo."""
    boxes = propose_regions(photo).boxes.tolist()
    windows = [box_window(photo, box) for box in boxes]
    vectors = shop.space.vectors(np.stack(describe_parts(photo, windows)))
    alike = shop.model.similar_to_vectors(vectors, MAX_PRODUCTS)
    seen = [
        RegionMatch(tuple(box), "", None, found)
        for box, found in zip(boxes, alike, strict=True)
    ]
    return choose_photo_spots(sureness, cast("CatalogView", shop), seen)


def scene(
    products: Sequence[Pixels], room: Pixels, lot: np.random.Generator
) -> tuple[Pixels, list[Box]]:
    """Return a photo of products beside one another in a room, and where each is."""
    side = PHOTO_SIDE
    ground = Image.fromarray(room).resize((side, side), Image.Resampling.BICUBIC)
    boxes: list[Box] = []
    for place, pixels in enumerate(products):
        front = Image.fromarray(((pixels.min(axis=2) < _STUDIO) * 255).astype(np.uint8))
        around = front.getbbox()
        picture, front = Image.fromarray(pixels).crop(around), front.crop(around)
        share = float(lot.uniform(0.33, 0.46)) * side / max(picture.size)
        size = (max(8, int(picture.width * share)), max(8, int(picture.height * share)))
        left, top = (place % 2) * side // 2, (place // 2) * side // 2
        x = left + int(lot.integers(0, side // 2 - size[0] + 1))
        y = top + int(lot.integers(0, side // 2 - size[1] + 1))
        ground.paste(picture.resize(size), (x, y), front.resize(size))
        boxes.append((x / side, y / side, size[0] / side, size[1] / side))
    return np.asarray(ground), boxes


def _note(tally: Tally, shop: Shop, spots: list[PhotoSpot], there: dict[int, Box]) -> None:
    tally.shown += len(there)
    tally.spots += len(spots)
    for product, box in there.items():
        tally.found += any(
            product in spot.items and intersection_over_union(spot.box, box) > _FOUND
            for spot in spots
        )
    for spot in spots:
        touched = [
            one
            for one, box in there.items()
            if intersection_over_union(spot.box, box) > _TOUCHES
        ]
        tally.stray += not touched
        named = {name for one in touched for name in shop.categories[one]}
        if spot.label:
            tally.labels.append(spot.label in named)
        if touched:
            votes = Counter(name for item in spot.items[:5] for name in _narrow(shop, item))
            said = max(votes, key=lambda name: (votes[name], name), default="")
            tally.sure.append((spot.confidence, said in named))


def _narrow(shop: Shop, item: int) -> list[str]:
    named = shop.categories[item]
    return [min(named, key=lambda name: (len(shop.members[name]), name))] if named else []


def _off(sure: list[tuple[float, bool]]) -> float:
    return float(np.mean([said - right for said, right in sure])) if sure else 0.0


def _reliability(sure: list[tuple[float, bool]]) -> str:
    """Return, by how sure was said, how often it was right."""
    said: Any = np.array(sure).reshape(-1, 2)
    told = []
    for low, high in itertools.pairwise(_BINS):
        some = said[(said[:, 0] >= low) & (said[:, 0] < high)]
        if len(some):
            mean, right = some.mean(axis=0)
            told.append(f"{mean:.2f} said, {right:.2f} right ({len(some)})")
    return "; ".join(told)
