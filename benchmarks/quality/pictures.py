"""Pictures: does what looks alike stand together, and what is the same stand first?

`images_clothing`: each test photo asked of the train photos as a catalog whose categories
are known; precision@10 is the share of its neighbours that are of its class.
`catalog_luma`: each product's first photo is the catalog, every other one asks for it.
Both compare whole pictures by our own descriptor, without the route: they guard the
descriptor. What shoppers get, with the encoder, is measured by `served_photos`.
Near-duplicates: train photos cropped, saved again, lit otherwise and mirrored must find
themselves. Contact sheets (the asked photo, then its ten neighbours; green: same class or
product) are written below `benchmarks/sheets`, to be looked at.
"""

from __future__ import annotations

import csv
import io
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from PIL import Image, ImageOps

from benchmarks.quality.datasets import ROOT, MissingDataError, folder
from benchmarks.quality.scenes import PHOTO_SIDE, measure_scenes, sheet_of, shop_of
from benchmarks.report import Figure
from productrecs.engines.visual import (
    DescriptorProjection,
    describe,
    fit_descriptor_projection,
)
from productrecs.engines.visual.image_descriptor import PICTURE_SIDE
from productrecs.engines.visual.region_proposals import describe_photo_and_regions
from productrecs.records.pictures.decode_picture import decode_to_pixels

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from benchmarks.report import Report

    Vectors = npt.NDArray[Any]
    Pixels = npt.NDArray[np.uint8]

SHEETS: Final = ROOT / "benchmarks" / "sheets"
_ASKED_AGAIN: Final = 250
_CLASS_GAIN, _FIRST_GAIN, _TEN_GAIN = 1.5, 1.2, 1.1
_SAME, _MS = 0.95, 40.0
_PHOTO: Final = 800
_ROUNDS: Final = 20
_TEN: Final = 10
_ROOMS: Final = 60
_STUDIO: Final = 238  # brighter is the studio's wall


@dataclass(frozen=True, slots=True)
class Photos:
    """Photos with what they show: a class or a product."""

    paths: list[Path]
    shows: npt.NDArray[np.str_]
    is_catalog: npt.NDArray[np.bool_]
    groups: list[npt.NDArray[np.intp]]  # categories, as rows of the catalog's part


def clothing() -> Photos:
    """Return `images_clothing`; the train photos are the catalog.

    Raises:
        MissingDataError: when the data set is not there.
    """
    rows = _rows("images_clothing/images.csv")
    shows = np.array([row["category"] for row in rows])
    is_catalog = np.array([row["split"] == "train" for row in rows])
    groups = [
        np.flatnonzero(shows[is_catalog] == name) for name in np.unique(shows[is_catalog])
    ]
    paths = [folder() / "images_clothing" / row["path"] for row in rows]
    return Photos(paths, shows, is_catalog, groups)


def luma() -> Photos:
    """Return `catalog_luma`; each product's first photo is the catalog.

    Raises:
        MissingDataError: when the data set is not there.
    """
    rows = _rows("catalog_luma/images.csv")
    shows = np.array([row["id"] for row in rows])
    is_catalog = np.zeros(len(rows), dtype=np.bool_)
    is_catalog[np.unique(shows, return_index=True)[1]] = True
    named = luma_categories()
    groups: dict[str, list[int]] = {}
    for place, product in enumerate(shows[is_catalog].tolist()):
        for name in named[product]:
            groups.setdefault(name, []).append(place)
    paths = [folder() / "catalog_luma" / "images" / row["image"] for row in rows]
    return Photos(paths, shows, is_catalog, [np.array(one) for one in groups.values()])


def luma_categories() -> dict[str, list[str]]:
    """Return the categories of each product of `catalog_luma`."""
    rows = _rows("catalog_luma/products.csv")
    return {row["id"]: row["categories"].split("|") for row in rows}


def measure(report: Report) -> None:
    """Add the figures of the embedding without weights, beside the floors."""
    data = clothing()
    pictures = [decode_to_pixels(path.read_bytes(), PICTURE_SIDE) for path in data.paths]
    descriptors = np.stack([describe(one) for one in pictures])
    space = fit_descriptor_projection(descriptors[data.is_catalog], data.groups)
    ours = space.vectors(descriptors)
    colours = np.stack([colours(one) for one in pictures])
    thumbnails = np.stack([_thumbnail(one) for one in pictures])
    floors = [_of_class(data, one) for one in (colours, thumbnails)]
    _add(
        report,
        "pictures, clothing, precision@10",
        _of_class(data, ours),
        max(floors),
        _CLASS_GAIN,
        f"floors: 64 colours {floors[0]:.3f}, 12x12 grey {floors[1]:.3f}",
    )
    bare = fit_descriptor_projection(descriptors[data.is_catalog], []).vectors(descriptors)
    report.add(
        Figure(
            "pictures, clothing, precision@10, categories unknown",
            _of_class(data, bare),
            "share",
            note="for comparison",
        )
    )
    _sheet("clothing", data, ours)
    _measure_again(report, data, pictures, space)
    _measure_luma(report)
    _measure_speed(report, data.paths[0], space)


def _measure_luma(report: Report) -> None:
    data = luma()
    pictures = [decode_to_pixels(path.read_bytes(), PICTURE_SIDE) for path in data.paths]
    descriptors = np.stack([describe(one) for one in pictures])
    ours = fit_descriptor_projection(descriptors[data.is_catalog], data.groups).vectors(
        descriptors
    )
    colours = np.stack([colours(one) for one in pictures])
    for first, gain in ((1, _FIRST_GAIN), (10, _TEN_GAIN)):
        floor = _found(data, colours, first)
        note = f"{int((~data.is_catalog).sum())} photos; floor: 64 colours"
        title = f"pictures, luma, another photo, hit@{first}"
        _add(report, title, _found(data, ours, first), floor, gain, note)
    _sheet("luma", data, ours)
    _measure_elsewhere(report, data, pictures, descriptors)
    _measure_scenes(report, data, descriptors)


def _measure_scenes(
    report: Report, data: Photos, descriptors: npt.NDArray[np.uint8]
) -> None:
    """Show products of the catalog in rooms: photos of clothes that nobody asks for."""
    rows = np.flatnonzero(data.is_catalog)
    named = luma_categories()
    categories = [tuple(named[one]) for one in data.shows[rows].tolist()]
    shop = shop_of(descriptors[rows], data.groups, categories)
    clothes = clothing()
    train = np.flatnonzero(clothes.is_catalog)
    chosen = np.random.default_rng(5).permutation(train)[:_ROOMS]
    rooms = [
        decode_to_pixels(clothes.paths[one].read_bytes(), PHOTO_SIDE) for one in chosen
    ]
    shown = [decode_to_pixels(data.paths[one].read_bytes(), PHOTO_SIDE) for one in rows]
    measure_scenes(report, shop, shown, rooms)
    SHEETS.mkdir(parents=True, exist_ok=True)
    sheet_of(shop, shown, rooms).save(SHEETS / "scenes.png")


def _measure_elsewhere(
    report: Report,
    data: Photos,
    pictures: Sequence[Pixels],
    descriptors: npt.NDArray[np.uint8],
) -> None:
    """Let products find themselves when they are shown as shoppers would show them."""
    catalog = np.flatnonzero(data.is_catalog)
    space = fit_descriptor_projection(descriptors[catalog], data.groups)
    known = space.vectors(descriptors[catalog])
    lot, found = np.random.default_rng(2), dict[str, list[int]]()
    floors = [pictures[one] for one in lot.permutation(len(pictures))[:40]]
    for place, one in enumerate(catalog.tolist()):
        floor = floors[int(lot.integers(len(floors)))]
        for name, shown in _elsewhere(pictures[one], floor):
            likes = _likes(space, known, shown)
            found.setdefault(name, []).append(int((likes > likes[place]).sum()))
    for name, ranks in found.items():
        value = float(np.mean([rank == 0 for rank in ranks]))
        ten = float(np.mean([rank < _TEN for rank in ranks]))
        note = f"hit@10 {ten:.3f}; {len(ranks)} products"
        report.add(Figure(f"pictures, luma, {name}, hit@1", value, "share", note=note))


def _likes(space: DescriptorProjection, known: Vectors, photo: Pixels) -> Vectors:
    """Return how much each known picture is like a shopper's photo, or a place in it."""
    views, around, *_ = describe_photo_and_regions(photo)
    whole = space.vectors(np.stack(views)).mean(axis=0, keepdims=True)
    seen = np.concatenate(
        [whole / np.linalg.norm(whole), *(space.vectors(one[None]) for one in around)]
    )
    likes: Vectors = (known @ seen.T).max(axis=1)
    return likes


def _elsewhere(pixels: Pixels, floor: Pixels) -> Iterator[tuple[str, Pixels]]:
    """Yield a studio's picture otherwise: cut out, before other grounds, in other light."""
    height, width = pixels.shape[:2]
    picture = Image.fromarray(pixels)
    front = Image.fromarray(((pixels.min(axis=2) < _STUDIO) * 255).astype(np.uint8))
    yield "itself", pixels
    wide = Image.new("RGB", (int(width * 1.7), int(height * 1.7)), "white")
    wide.paste(picture, (int(width * 0.35), int(height * 0.35)))
    yield "with white margins", np.asarray(wide)
    yield "cropped to itself", np.asarray(picture.crop(front.getbbox()))
    clear = picture.convert("RGBA")
    clear.putalpha(front)
    saved = io.BytesIO()
    clear.save(saved, "PNG")
    yield "as a transparent PNG", decode_to_pixels(saved.getvalue(), PICTURE_SIDE)
    ground = Image.new("RGB", picture.size, (40, 40, 40))
    yield "on black", np.asarray(Image.composite(picture, ground, front))
    strip = Image.fromarray(floor[: max(8, len(floor) // 5)])
    ground = strip.resize(picture.size)
    yield "on another photo's edge", np.asarray(Image.composite(picture, ground, front))
    half = (width // 2, height // 2)
    ground.paste(picture.resize(half), (width // 8, height // 3), front.resize(half))
    yield "small and aside on it", np.asarray(ground)
    warm = np.clip(pixels * np.array([1.1, 1.0, 0.85]), 0, 255)
    yield "in warm light", warm.astype(np.uint8)


def _measure_again(
    report: Report, data: Photos, pictures: Sequence[Pixels], space: DescriptorProjection
) -> None:
    catalog = np.flatnonzero(data.is_catalog)
    chosen = np.random.default_rng(1).permutation(len(catalog))[:_ASKED_AGAIN]
    known = space.vectors(np.stack([describe(pictures[one]) for one in catalog.tolist()]))
    found: dict[str, list[bool]] = {}
    for place in chosen.tolist():
        for name, changed in _changed(pictures[int(catalog[place])], place):
            likes = known @ space.vectors(describe(changed)[None])[0]
            found.setdefault(name, []).append(int(likes.argmax()) == place)
    for name, hits in found.items():
        value = float(np.mean(hits))
        report.add(
            Figure(
                f"pictures, clothing, {name}, hit@1",
                value,
                "share",
                target=_SAME,
                ok=value >= _SAME,
                note=f"{len(hits)} photos",
            )
        )


def _changed(pixels: Pixels, seed: int) -> Iterator[tuple[str, Pixels]]:
    picture = Image.fromarray(pixels)
    width, height = (round(length * 0.8) for length in picture.size)
    lot = np.random.default_rng(seed)
    left = int(lot.integers(0, picture.width - width + 1))
    top = int(lot.integers(0, picture.height - height + 1))
    yield (
        "cropped to 80 %",
        np.asarray(picture.crop((left, top, left + width, top + height))),
    )
    saved = io.BytesIO()
    picture.save(saved, "JPEG", quality=60)
    yield "JPEG 60", np.asarray(Image.open(saved))
    for name, factor in (("20 % brighter", 1.2), ("20 % darker", 0.8)):
        yield name, np.clip(pixels * factor, 0, 255).astype(np.uint8)
    yield "mirrored", np.ascontiguousarray(pixels[:, ::-1])


def _measure_speed(report: Report, path: Path, space: DescriptorProjection) -> None:
    picture = Image.open(path).convert("RGB")
    large = ImageOps.fit(picture, (_PHOTO, _PHOTO), Image.Resampling.BICUBIC)
    saved = io.BytesIO()
    large.save(saved, "JPEG", quality=90)
    data = saved.getvalue()
    times = []
    for _ in range(_ROUNDS):
        began = time.process_time()
        space.vectors(describe(decode_to_pixels(data, PICTURE_SIDE))[None])
        times.append((time.process_time() - began) * 1000)
    value = float(np.median(times))
    note = f"{len(data) // 1000} kB JPEG: decoded, described, placed; one core"
    report.add(
        Figure(
            "pictures, embedding one 800 px photo",
            value,
            "ms",
            target=_MS,
            ok=value <= _MS,
            note=note,
        )
    )


def _add(
    report: Report, name: str, value: float, floor: float, gain: float, note: str
) -> None:
    report.add(
        Figure(
            name,
            value,
            "share",
            floor,
            value / floor,
            f">= {gain} x floor",
            value >= gain * floor,
            note,
        )
    )


def _of_class(data: Photos, vectors: Vectors) -> float:
    asked, catalog = vectors[~data.is_catalog], vectors[data.is_catalog]
    nearest = np.argsort(-(asked @ catalog.T), axis=1, kind="stable")[:, :10]
    shown = data.shows[data.is_catalog][nearest]
    return float((shown == data.shows[~data.is_catalog][:, None]).mean())


def _found(data: Photos, vectors: Vectors, first: int) -> float:
    asked, catalog = vectors[~data.is_catalog], vectors[data.is_catalog]
    nearest = np.argsort(-(asked @ catalog.T), axis=1, kind="stable")[:, :first]
    shown = data.shows[data.is_catalog][nearest]
    return float((shown == data.shows[~data.is_catalog][:, None]).any(axis=1).mean())


def colours(pixels: Pixels) -> Vectors:
    """Return a baseline: roots of the shares of 4 x 4 x 4 colours, of length 1.

    By roots (Hellinger) it finds more than by the shares themselves.
    """
    codes = (pixels >> 6).astype(np.intp) @ np.array([16, 4, 1])
    counts = np.bincount(codes.ravel(), minlength=64).astype(np.float64)
    return np.sqrt(counts / counts.sum())  # numpy's


def _thumbnail(pixels: Pixels) -> Vectors:
    """Return the floor: 12 x 12 greys without their mean, of length 1."""
    small = Image.fromarray(pixels).convert("L").resize((12, 12), Image.Resampling.BOX)
    greys = np.asarray(small, dtype=np.float64).ravel()
    greys -= greys.mean()
    return greys / max(float(np.linalg.norm(greys)), 1e-9)


def _sheet(name: str, data: Photos, vectors: Vectors, rows: int = 24) -> None:
    """Write what some photos found: the asked one first, framed green where right."""
    asked, catalog = np.flatnonzero(~data.is_catalog), np.flatnonzero(data.is_catalog)
    chosen = asked[np.linspace(0, len(asked) - 1, rows).astype(int)]
    side = 112
    sheet = Image.new("RGB", (11 * side, rows * side), "white")
    for row, question in enumerate(chosen.tolist()):
        likes = vectors[catalog] @ vectors[question]
        for column, place in enumerate([question, *catalog[np.argsort(-likes)[:10]]]):
            with Image.open(data.paths[place]) as picture:
                small = ImageOps.contain(picture.convert("RGB"), (side - 8, side - 8))
            is_right = data.shows[place] == data.shows[question]
            colour = "black" if column == 0 else "green" if is_right else "white"
            tile = ImageOps.expand(small, 2, colour)
            sheet.paste(tile, (column * side, row * side))
    SHEETS.mkdir(parents=True, exist_ok=True)
    sheet.save(SHEETS / f"{name}.png")


def _rows(name: str) -> list[dict[str, str]]:
    path = folder() / name
    if not path.exists():
        message = f"{path} is not there"
        raise MissingDataError(message)
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
