"""Served photos: what shoppers get for a photo, asked over HTTP.

`images_clothing`: precision@10 by class of the test photos. `catalog_luma`: other photos of
a product. Categories unknown come first. Both without and with the packaged encoder, where
that is installed.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.quality.photo_shop import Catalog, PhotoShop, described, photo_shop
from benchmarks.quality.pictures import clothing, luma
from benchmarks.report import Figure
from productrecs.records.pictures.packaged_encoder import packaged_encoder

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarks.quality.pictures import Photos
    from benchmarks.report import Report

_TEN: Final = 10


def measure(report: Report) -> None:
    """Add the figures without the encoder, then with it."""
    _measure(report, None)
    with tempfile.TemporaryDirectory() as folder:
        encoder = packaged_encoder(Path(folder))
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
