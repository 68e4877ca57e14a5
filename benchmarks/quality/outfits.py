"""Outfits: are the garments of a person found, and is a product shown on its own place?

Composites of `catalog_luma`: a top and the bottoms of another model, cut out of their
studio and set on one another as a person, often with a bag, before an even ground, a
blurred or a sharp photo of `images_clothing` (its train part). A person is .62 to .95 of
the photo high and not always in its middle. The demo's looks are drawn scenes with five or
six known places. Both are analysed over HTTP.

The rule of which spots stay was chosen on scenes of seed 4; the figures are of seed 11.
Nothing was chosen on the demo's looks but what spots lie within.

`street_photos`: people photographed in the street, asked of a shop with the train part of
`images_clothing` and its categories. The usual places of garments were chosen on the even
half. The floor is a 3 x 3 grid of boxes; "of the photo before" are the hotspots of another
photo, so what is reached without looking.
"""

from __future__ import annotations

import io
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from PIL import Image, ImageFilter

from benchmarks.quality.photo_sets import HALVES, street_photos
from benchmarks.quality.photo_shop import Box, Catalog, described, photo_shop
from benchmarks.quality.pictures import clothing, luma, luma_categories
from benchmarks.report import Figure
from demo_store.departments import DEPARTMENTS
from demo_store.looks import LOOKS, draw_look, hotspot_box
from demo_store.pictures.product_picture import draw_product
from productrecs.engines.visual.region_proposals import intersection_over_union
from productrecs.records.pictures.packaged_encoder import find_or_convert_encoder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.report import Report

SCENES: Final = 24
SEED: Final = 11
_SIZE: Final = (480, 640)
_STUDIO: Final = 238
_FOUND: Final = 0.35
_ON_IT: Final = 0.25
_GOAL: Final = 0.45
_GRID: Final = [(x / 3, y / 3, 1 / 3, 1 / 3) for y in range(3) for x in range(3)]


@dataclass(frozen=True, slots=True)
class Scene:
    """A photo, and where each product of the shop is in it."""

    photo: bytes
    shown: list[tuple[int, Box]]


@dataclass(frozen=True, slots=True)
class Shop:
    """A catalog as the analysis sees it."""

    pictures: list[bytes]
    categories: list[tuple[str, ...]]


@dataclass(slots=True)
class Tally:
    """Of products: the best overlap; of hotspots: the overlap and whether it is right."""

    best: list[float] = field(default_factory=list)
    overlaps: list[float] = field(default_factory=list)
    is_right: list[bool] = field(default_factory=list)
    found: list[bool] = field(default_factory=list)


def measure(report: Report) -> None:
    """Add the figures with the encoder, where it is installed."""
    with tempfile.TemporaryDirectory() as place:
        encoder = find_or_convert_encoder(Path(place))
        if encoder is None:
            report.skip("outfits", "productrecs[vision] is missing")
            return
        for name, (shop, scenes) in (("outfits", _outfits()), ("looks", _looks())):
            _add(report, name, _tally(encoder, shop, scenes), len(scenes))


def measure_street_photos(report: Report) -> None:
    """Add the overlaps of hotspots and garments, with the encoder if it is installed."""
    photos, clothes = street_photos(), clothing()
    rows = np.flatnonzero(clothes.is_catalog).tolist()
    with tempfile.TemporaryDirectory() as place:
        encoder = find_or_convert_encoder(Path(place))
        if encoder is None:
            report.skip("street photos", "productrecs[vision] is missing")
            return
        seen = described(encoder, [clothes.paths[row].read_bytes() for row in rows])
        catalog = Catalog(seen, [(str(clothes.shows[row]),) for row in rows])
        with photo_shop(catalog, encoder) as served:
            found = [
                [box for box, _ in served.hotspots(path.read_bytes())] for path, _ in photos
            ]
    garments = [boxes for _, boxes in photos]
    for number, half in enumerate(HALVES):
        shown, spots = garments[number::2], found[number::2]
        others = [spots[-1], *spots[:-1]]
        grid = [_GRID] * len(shown)
        note = f"{len(shown)} photos, {sum(map(len, spots))} hotspots"
        tries = (spots, others, grid)
        for what, (value, other, floor) in (
            ("best overlap of a garment's place", [_overlap(shown, one) for one in tries]),
            ("overlap of a hotspot", [_overlap(one, shown) for one in tries]),
        ):
            report.add(
                Figure(
                    f"street photos, {half} half, {what}",
                    value,
                    "share",
                    floor,
                    value / floor,
                    _GOAL,
                    value >= _GOAL,
                    f"{note}; of the photo before {other:.3f}",
                )
            )


def _overlap(asked: Sequence[Sequence[Box]], there: Sequence[Sequence[Box]]) -> float:
    """Return the mean best overlap of the boxes `asked` of with those of their photo."""
    return float(
        np.mean(
            [
                max((intersection_over_union(box, one) for one in ones), default=0.0)
                for boxes, ones in zip(asked, there, strict=True)
                for box in boxes
            ]
        )
    )


def _add(report: Report, name: str, tally: Tally, count: int) -> None:
    note = f"{count} photos, {len(tally.best)} products, {len(tally.overlaps)} hotspots"
    for what, values in (
        ("best overlap of a product's place", tally.best),
        ("overlap of a hotspot", tally.overlaps),
        ("hotspots whose first product is there", tally.is_right),
        ("products found among the six of a hotspot on them", tally.found),
    ):
        report.add(Figure(f"{name}, {what}", float(np.mean(values)), "share", note=note))


def _tally(encoder: Path, shop: Shop, scenes: Sequence[Scene]) -> Tally:
    tally = Tally()
    catalog = Catalog(described(encoder, shop.pictures), shop.categories)
    with photo_shop(catalog, encoder) as served:
        for scene in scenes:
            spots = served.hotspots(scene.photo)
            for item, box in scene.shown:
                over = [intersection_over_union(box, place) for place, _ in spots]
                tally.best.append(max(over, default=0.0))
                tally.found.append(
                    any(
                        share > _FOUND and item in items
                        for share, (_, items) in zip(over, spots, strict=True)
                    )
                )
            for place, items in spots:
                over = [intersection_over_union(box, place) for _, box in scene.shown]
                tally.overlaps.append(max(over))
                tally.is_right.append(
                    any(
                        share > _ON_IT and items[0] == item
                        for share, (item, _) in zip(over, scene.shown, strict=True)
                    )
                )
    return tally


def _looks() -> tuple[Shop, list[Scene]]:
    ids, pictures, categories = [], list[bytes](), list[tuple[str, ...]]()
    for place, department in enumerate(DEPARTMENTS):
        for shelf in department.shelves:
            for product in shelf.products:
                ids.append(product.id)
                pictures.append(draw_product(product, place))
                categories.append((department.name, f"{department.name} > {shelf.name}"))
    scenes = [
        Scene(
            draw_look(look),
            [(ids.index(piece.item_id), hotspot_box(piece)) for piece in look.products],
        )
        for look in LOOKS
    ]
    return Shop(pictures, categories), scenes


def _outfits() -> tuple[Shop, list[Scene]]:
    data, clothes = luma(), clothing()
    rows = np.flatnonzero(data.is_catalog).tolist()
    named = luma_categories()
    categories = [tuple(named[one]) for one in data.shows[rows].tolist()]
    cut = [_cut_out(data.paths[row]) for row in rows]
    grounds = [clothes.paths[one] for one in np.flatnonzero(clothes.is_catalog).tolist()]
    kinds = {
        kind: [row for row, all_of in enumerate(categories) if kind in "|".join(all_of)]
        for kind in ("/Tops", "/Bottoms", "Bags", "Women", "Short")
    }
    lot = np.random.default_rng(SEED)
    scenes = [_dressed(cut, kinds, _ground(grounds, n, lot), lot) for n in range(SCENES)]
    return Shop([data.paths[row].read_bytes() for row in rows], categories), scenes


def _cut_out(path: Path) -> tuple[Image.Image, Image.Image]:
    """Return a studio's picture without its wall, and the mask of what is left."""
    from scipy import ndimage  # noqa: PLC0415 - only this needs it

    picture = Image.open(path).convert("RGB")
    walls, _ = ndimage.label(np.asarray(picture).min(axis=2) >= _STUDIO)
    rim = np.unique(np.concatenate([walls[0], walls[:, 0], walls[:, -1]]))
    things, count = ndimage.label(~np.isin(walls, rim[rim > 0]))
    sizes = ndimage.sum(things > 0, things, np.arange(1, count + 1))
    mask = Image.fromarray(((things == 1 + int(np.argmax(sizes))) * 255).astype(np.uint8))
    around = mask.getbbox()
    return picture.crop(around), mask.crop(around)


def _ground(paths: Sequence[Path], number: int, lot: np.random.Generator) -> Image.Image:
    if number % 3 == 0:
        red, green, blue = lot.integers(120, 235, 3).tolist()
        return Image.new("RGB", _SIZE, (red, green, blue))
    photo = Image.open(paths[int(lot.integers(len(paths)))]).convert("RGB")
    if number % 3 == 1:
        photo = photo.filter(ImageFilter.GaussianBlur(6))
    return photo.resize(_SIZE)


def _dressed(
    cut: Sequence[tuple[Image.Image, Image.Image]],
    kinds: dict[str, list[int]],
    ground: Image.Image,
    lot: np.random.Generator,
) -> Scene:
    """Return a photo of somebody in a top and bottoms, in half of them with a bag."""
    women = set(kinds["Women"])
    is_woman = bool(lot.random() < 0.5)
    top, bottoms = (
        int(lot.choice([one for one in kinds[kind] if (one in women) == is_woman]))
        for kind in ("/Tops", "/Bottoms")
    )
    tall = int(_SIZE[1] * lot.uniform(0.62, 0.95))
    middle = int(_SIZE[0] * lot.uniform(0.35, 0.65))
    head = int((_SIZE[1] - tall) * lot.uniform(0.2, 1.0))
    legs, torso = int(tall * 0.57), int(tall * 0.47)
    waist = head + tall - legs
    shown = []
    for item, high, y, part in (
        (bottoms, legs, waist, (0.04, 0.42 if bottoms in kinds["Short"] else 0.82)),
        (top, torso, head, (0.24, 0.74)),
    ):
        wide = _paste(ground, cut[item], high, (middle, y))
        box = (middle - wide / 2, y + part[0] * high, wide, part[1] * high)
        shown.append((item, _fraction(box)))
    if lot.random() < 0.5:
        bag = int(lot.choice(kinds["Bags"]))
        high = tall // 6
        beside = middle + int(lot.choice([-1, 1])) * tall // 5
        wide = _paste(ground, cut[bag], high, (beside, waist + legs // 10))
        box = (beside - wide / 2, waist + legs / 10, wide, high)
        shown.append((bag, _fraction(box)))
    saved = io.BytesIO()
    ground.save(saved, "JPEG", quality=88)
    return Scene(saved.getvalue(), shown)


def _paste(
    ground: Image.Image,
    cut: tuple[Image.Image, Image.Image],
    high: int,
    place: tuple[int, int],
) -> int:
    """Set a thing so high below `place`, the middle of its top; return its width."""
    wide = max(8, cut[0].width * high // cut[0].height)
    picture, mask = (one.resize((wide, high)) for one in cut)
    ground.paste(picture, (place[0] - wide // 2, place[1]), mask)
    return wide


def _fraction(box: tuple[float, float, float, float]) -> Box:
    left, top = max(0.0, box[0] / _SIZE[0]), max(0.0, box[1] / _SIZE[1])
    right = min(1.0, (box[0] + box[2]) / _SIZE[0])
    bottom = min(1.0, (box[1] + box[3]) / _SIZE[1])
    return left, top, right - left, bottom - top
