"""Served photos: what shoppers get for a photo, asked over HTTP.

`images_clothing`: precision@10 by class of the test photos. `catalog_luma`: other photos of
a product. Categories unknown come first. Both without and with the packaged encoder, where
that is installed. `rooms`: the share of a scene's products among the first twenty, with the
encoder; the baseline compares colours of the nine cells of a grid. `packages`: photos of
made packages, without and with their printed words.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.quality.packages import made_packages
from benchmarks.quality.photo_sets import HALVES, rooms
from benchmarks.quality.photo_shop import Catalog, PhotoShop, described, photo_shop
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
    from benchmarks.quality.pictures import Photos
    from benchmarks.report import Report

_TEN: Final = 10
_TWENTY: Final = 20
_CELLS: Final = 3
_ROOMS_GOAL: Final = 0.1
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
    """Add recall@20 of rooms' products with the encoder, where it is installed."""
    data = rooms()
    baseline = _recalls(data, _by_colours(data))
    with tempfile.TemporaryDirectory() as place:
        encoder = find_or_convert_encoder(Path(place))
        if encoder is None:
            report.skip("rooms", "productrecs[vision] is missing")
            return
        seen = described(encoder, [path.read_bytes() for path in data.products])
        unknown = [tuple[str, ...]() for _ in data.products]
        for known, categories in (("unknown", unknown), ("known", data.types)):
            with photo_shop(Catalog(seen, categories), encoder) as shop:
                found = _recalls(data, lambda photo: shop.similar(photo, _TWENTY))
            for number, half in enumerate(HALVES):
                value, floor = (float(one[number::2].mean()) for one in (found, baseline))
                note = (
                    f"{len(found[number::2])} photos of {len(data.products)} products; "
                    f"chance {_TWENTY / len(data.products):.3f}; floor: colours of a grid"
                )
                title = f"rooms, {half} half, categories {known}, recall@20"
                is_met, ratio = value >= _ROOMS_GOAL, value / floor
                report.add(
                    Figure(title, value, "share", floor, ratio, _ROOMS_GOAL, is_met, note)
                )


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


def _recalls(
    data: Rooms, search: Callable[[bytes], Sequence[int]]
) -> npt.NDArray[np.float64]:
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
