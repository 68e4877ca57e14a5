"""Demo store for tests, without drawing four hundred pictures."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final

from PIL import Image

from demo_store.departments import DEPARTMENTS
from demo_store.looks import LOOKS
from demo_store.pictures.colours import COLOURS

if TYPE_CHECKING:
    from pathlib import Path

DRAWN: Final = frozenset(
    ("waxed-jacket", "cardigan-moss", "cardigan-rust", "chore-coat-ink", "enamel-mug")
)
"""Products whose picture the shop draws itself, and the last look is the only one."""


def paint(folder: Path) -> None:
    """Put pictures of one colour where those of the shop would be, but for some."""
    for kind in ("card", "large", "looks"):
        (folder / kind).mkdir(parents=True)
    for department in DEPARTMENTS:
        for shelf in department.shelves:
            for product in shelf.products:
                plain = _plain((48, 48), COLOURS[product.colour])
                (folder / f"large/{product.id}.webp").write_bytes(plain)
                if product.id not in DRAWN:
                    (folder / f"card/{product.id}.webp").write_bytes(plain)
    for look in LOOKS[:-1]:
        (folder / f"looks/{look.id}.webp").write_bytes(_plain((48, 36), (90, 120, 90)))


def _plain(size: tuple[int, int], colour: tuple[int, int, int]) -> bytes:
    written = io.BytesIO()
    Image.new("RGB", size, colour).save(written, "WEBP")
    return written.getvalue()
