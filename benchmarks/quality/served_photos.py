"""Served photos: what shoppers get for a photo, asked over HTTP.

`images_clothing`: precision@10 by class of the test photos. `catalog_luma`: other photos of
a product. Categories unknown come first. Both without and with the packaged encoder, where
that is installed. `rooms`: the share of a scene's products among the first twenty of a
search, and of the hotspots' products by turns, with the encoder, without and with the
detector; the baseline compares colours of the nine cells of a grid. `packages`: photos of
made packages, without and with their printed words.
"""

from __future__ import annotations

import tempfile
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.quality.datasets import folder
from benchmarks.quality.packages import made_packages
from benchmarks.quality.photo_sets import HALVES, rooms
from benchmarks.quality.photo_shop import (
    Catalog,
    PhotoShop,
    described,
    loaded_shop,
    photo_shop,
)
from benchmarks.quality.pictures import clothing, colours, luma
from benchmarks.report import Figure
from productrecs.engines.visual.image_descriptor import PICTURE_SIDE
from productrecs.records.pictures.decode_picture import decode_to_pixels
from productrecs.records.pictures.packaged_encoder import find_or_convert_encoder
from productrecs.records.pictures.packaged_ocr_models import find_text_reader_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from benchmarks.quality.photo_sets import Rooms
    from benchmarks.quality.photo_shop import Box
    from benchmarks.quality.pictures import Photos
    from benchmarks.report import Report

    Recalls = npt.NDArray[np.float64]

_TEN: Final = 10
_TWENTY: Final = 20
_FOUR: Final = 4
_CELLS: Final = 3
_ROOMS_GOAL, _HOTSPOTS_GOAL = 0.1, 0.06
_PACKAGES_GOAL: Final = 0.65


def measure(report: Report) -> None:
    """Add the figures without the encoder, then with it."""
    _measure(report, None)
    with tempfile.TemporaryDirectory() as folder:
        encoder = find_or_convert_encoder(Path(folder))
        if encoder is None:
            report.skip("served photos with the encoder", "productrecs[vision] is missing")
        else:
            _measure(report, encoder)


def _measure(report: Report, encoder: Path | None) -> None:
    way = "without the encoder" if encoder is None else "with the encoder"
    for name, data in (("clothing", clothing()), ("luma", luma())):
        rows = np.flatnonzero(data.is_catalog).tolist()
        seen = described(encoder, [data.paths[row].read_bytes() for row in rows])
        named = [tuple[str, ...]() for _ in rows]
        for number, group in enumerate(data.groups):
            for row in group.tolist():
                named[row] += (f"Category {number}",)
        for known, categories in (("unknown", [() for _ in rows]), ("known", named)):
            with photo_shop(Catalog(seen, categories), encoder) as shop:
                right = _right(data, shop)
            title = f"served photos, {name}, {way}, categories {known}"
            if name == "clothing":
                report.add(Figure(f"{title}, precision@10", right.mean(), "share"))
            else:
                note = f"hit@10 {right.any(axis=1).mean():.3f}"
                first = float(right[:, 0].mean())
                report.add(Figure(f"{title}, hit@1", first, "share", note=note))


def _right(data: Photos, shop: PhotoShop) -> npt.NDArray[np.bool_]:
    """Return for each asked photo which of its ten results show what it shows."""
    catalog = data.shows[data.is_catalog]
    rows = [
        catalog[shop.similar(data.paths[row].read_bytes(), _TEN)] == data.shows[row]
        for row in np.flatnonzero(~data.is_catalog).tolist()
    ]
    return np.stack(rows)


def measure_rooms(report: Report) -> None:
    """Add recall@20 of rooms' products, by search and by hotspots, with the encoder.

    Beside the data sets, the archive of `@mediapipe/objectron` gives the detector.
    """
    data = rooms()
    baseline = _recalls(data, _by_colours(data))
    archive = next(folder().glob("mediapipe-objectron-*.tgz"), None)
    unknown = [tuple[str, ...]() for _ in data.products]
    with tempfile.TemporaryDirectory() as place:
        if find_or_convert_encoder(Path(place)) is None:
            report.skip("rooms", "productrecs[vision] is missing")
            return
    for known, categories in (("unknown", unknown), ("known", data.types)):
        for objects in (None, archive) if archive else (None,):
            title = f"categories {known}, {'with' if objects else 'without'} objects"
            images = data.products[0].parents[2]
            with loaded_shop(images, data.products, categories, objects) as shop:
                _add_rooms(report, title, data, shop, baseline)


def _add_rooms(
    report: Report, title: str, data: Rooms, shop: PhotoShop, baseline: Recalls
) -> None:
    spots = [shop.hotspots(path.read_bytes()) for path, _ in data.scenes]
    by_photo = dict(zip((path.read_bytes() for path, _ in data.scenes), spots, strict=True))
    searched = _recalls(data, lambda photo: shop.similar(photo, _TWENTY))
    hotspots = _recalls(data, lambda photo: _interleave(by_photo[photo]))
    counts = np.array([len(found) for found in spots])
    four = np.mean([len(items) >= _FOUR for found in spots for _, items in found])
    for number, half in enumerate(HALVES):
        floor = float(baseline[number::2].mean())
        chance = f"chance {_TWENTY / len(data.products):.3f}; floor: colours of a grid"
        of_hotspots = counts[number::2]
        many = f"{of_hotspots.mean():.2f} hotspots a photo, {four:.2f} with four products"
        for way, found, goal, note in (
            ("search", searched, _ROOMS_GOAL, chance),
            ("hotspots", hotspots, _HOTSPOTS_GOAL, f"{many}; {chance}"),
        ):
            value = float(found[number::2].mean())
            report.add(
                Figure(
                    f"rooms, {half} half, {title}, {way}, recall@20",
                    value,
                    "share",
                    floor,
                    value / floor,
                    goal,
                    value >= goal,
                    f"{len(of_hotspots)} photos of {len(data.products)} products; {note}",
                )
            )


def _interleave(spots: Sequence[tuple[Box, Sequence[int]]]) -> list[int]:
    """Return the first twenty products of hotspots, each hotspot's best in turn."""
    turns = zip_longest(*(items for _, items in spots))
    found = dict.fromkeys(item for turn in turns for item in turn if item is not None)
    return list(found)[:_TWENTY]


def measure_packages(report: Report) -> None:
    """Add hit@1 of made packages with the encoder, without and with their printed words."""
    packages = made_packages()
    with tempfile.TemporaryDirectory() as place:
        encoder = find_or_convert_encoder(Path(place))
        if encoder is None or find_text_reader_folder() is None:
            report.skip("packages", "productrecs[vision] or productrecs[text] is missing")
            return
        seen = described(encoder, [package.picture for package in packages])
        titles = [package.title for package in packages]
        catalog = Catalog(seen, [() for _ in packages], titles)
        for way, reads in (("by their looks", "none"), ("with printed words", "auto")):
            with photo_shop(catalog, encoder, reads) as shop:
                first = [
                    shop.similar(photo, _TEN)[:1] == [number]
                    for number, package in enumerate(packages)
                    for photo in package.photos
                ]
            title = f"made packages {way}, hit@1"
            value, note = float(np.mean(first)), f"{len(first)} photos"
            if reads == "none":
                report.add(Figure(title, value, "share", note=note))
            else:
                is_met = value >= _PACKAGES_GOAL
                report.add(
                    Figure(
                        title, value, "share", target=_PACKAGES_GOAL, ok=is_met, note=note
                    )
                )


def _recalls(data: Rooms, search: Callable[[bytes], Sequence[int]]) -> Recalls:
    """Return for each scene the share of its products among the first twenty."""
    found = [
        len(shown & set(search(path.read_bytes()))) / len(shown)
        for path, shown in data.scenes
    ]
    return np.array(found)


def _by_colours(data: Rooms) -> Callable[[bytes], list[int]]:
    """Return a search for the products whose colours are those of a cell of the photo."""

    def seen(photo: bytes) -> npt.NDArray[np.uint8]:
        return decode_to_pixels(photo, PICTURE_SIDE)

    known = np.stack([colours(seen(path.read_bytes())) for path in data.products])

    def search(photo: bytes) -> list[int]:
        rows = np.array_split(seen(photo), _CELLS, axis=0)
        cells = [cell for row in rows for cell in np.array_split(row, _CELLS, axis=1)]
        likes = (np.stack([colours(cell) for cell in cells]) @ known.T).max(axis=0)
        return np.argsort(-likes, kind="stable")[:_TWENTY].tolist()

    return search
