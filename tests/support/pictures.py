"""Drawn pictures: one colour and shape each, so that tests need no photos."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from productrecs.core.ids import StoreId
from productrecs.engines.visual import describe
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.records.pictures.repository import PictureRepository
from productrecs.records.pictures.stored_pictures import (
    PictureFetchOutcome,
    PictureState,
    pack_descriptor,
)
from productrecs.storage.files.snapshot_cache import SnapshotCache
from productrecs.storage.sql.database import Database
from productrecs.training.visual.build_visual_model import build_and_publish_visual_model
from productrecs.training.visual.picture_embedding import BuiltInEmbedding

COLOURS: Final = {
    "red": (200, 30, 40),
    "green": (40, 150, 60),
    "blue": (40, 70, 190),
    "black": (25, 25, 28),
    "yellow": (230, 200, 40),
    "grey": (130, 130, 135),
}
SHAPES: Final = ("ball", "box", "cross", "stripes")


def drawn(colour: str, shape: str, seed: int = 0, side: int = 160) -> Image.Image:
    """Return a product before a light wall: `seed` moves it about and lights it."""
    lot = np.random.default_rng([seed, *colour.encode(), *shape.encode()])
    wall = int(lot.integers(232, 250))
    picture = Image.new("RGB", (side, side), (wall, wall, wall))
    pen = ImageDraw.Draw(picture)
    shift = lot.integers(-side // 12, side // 12 + 1, 2)
    size = side * float(lot.uniform(0.26, 0.34))
    x, y = side / 2 + float(shift[0]), side / 2 + float(shift[1])
    light = float(lot.uniform(0.92, 1.08))
    paint = tuple(min(255, int(level * light)) for level in COLOURS[colour])
    box = (x - size, y - size, x + size, y + size)
    if shape == "ball":
        pen.ellipse(box, paint)
    elif shape == "box":
        pen.rectangle(box, paint)
    elif shape == "cross":
        pen.rectangle((x - size / 3, y - size, x + size / 3, y + size), paint)
        pen.rectangle((x - size, y - size / 3, x + size, y + size / 3), paint)
    else:
        for place in range(-4, 5, 2):
            top = y + place * size / 5
            pen.rectangle((x - size, top - size / 8, x + size, top + size / 8), paint)
    return picture


def with_barcode(
    picture: Image.Image,
    code: str,
    *,
    kind: str = "EANUPC",
    angle: int = 0,
    width: int = 400,
    y: int = 60,
) -> Image.Image:
    """Return a picture with a label that carries a barcode, `width` pixels wide."""
    import zxingcpp  # noqa: PLC0415 - it reports objects that live until a process ends

    form = getattr(zxingcpp.BarcodeFormat, kind)
    if kind == "EANUPC":
        is_upc = len(code) == 12
        form = zxingcpp.BarcodeFormat.UPCA if is_upc else zxingcpp.BarcodeFormat.EAN13
    bars = Image.fromarray(np.array(zxingcpp.create_barcode(code, form).to_image(scale=6)))
    bars = bars.resize((width, max(1, bars.height * width // bars.width)))
    label = Image.new("RGB", (width + 80, bars.height + 60), "white")
    label.paste(bars, (40, 30))
    label = label.rotate(angle, expand=True, fillcolor="white")
    labelled = picture.copy()
    labelled.paste(label, (60, y))
    return labelled


def pixels(picture: Image.Image) -> npt.NDArray[np.uint8]:
    """Return a picture's pixels, [h, w, 3]."""
    return np.asarray(picture.convert("RGB"))


def encoded(picture: Image.Image, kind: str = "JPEG", **how: Any) -> bytes:
    """Return a picture as a file."""
    saved = io.BytesIO()
    picture.save(saved, kind, **how)
    return saved.getvalue()


def see(
    database: Database,
    root: Path,
    store_id: str,
    shown: Mapping[str, Image.Image],
    embedding: BuiltInEmbedding | None = None,
    snapshots: SnapshotCache | None = None,
) -> str | None:
    """Let pictures of items be known as if they had been fetched; return the model's id.

    The items must be in the catalog. `root` is the folder of visual models.
    """
    own = embedding or BuiltInEmbedding()
    with database.transaction() as transaction:
        numbers = CatalogRepository(transaction, StoreId(store_id)).find(shown)
        repository = PictureRepository(transaction, StoreId(store_id))
        wanted = {
            item_id: (one.number, one.item.image_url or f"https://i.example/{one.number}")
            for item_id, one in numbers.items()
        }
        repository.queue_fetches(list(wanted.values()), 0)
        repository.store_outcomes(
            [
                PictureFetchOutcome(
                    *wanted[item_id],
                    PictureState.INDEXED,
                    due_at=2**60,
                    descriptors={own.name: pack_descriptor(describe(pixels(picture)))},
                )
                for item_id, picture in shown.items()
            ],
            0,
        )
        repository.record_pictured_seq(repository.progress().catalog_seq)
    return build_and_publish_visual_model(database, root, StoreId(store_id), own, snapshots)
