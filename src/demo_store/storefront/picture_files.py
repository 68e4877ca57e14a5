"""Picture files: cached pictures, drawn in the background or on the first request."""

import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from demo_store.departments import DEPARTMENTS
from demo_store.looks import LOOKS, draw_look, find_look
from demo_store.pictures.product_picture import CARD, LARGE, draw_product
from demo_store.storefront.assets import HOME
from demo_store.storefront.shop_products import find_product_and_department
from productrecs.core.private_folders import write_file_atomically

PICTURES: Final = f"{HOME}/pictures"
"""The URL prefix of the pictures."""

_ENDING: Final = ".webp"


class PictureFileCache:
    """File cache of the pictures of products and looks; the folder may be emptied."""

    def __init__(self, folder: Path) -> None:
        """Store them in `folder`, which is created with the first picture."""
        self._folder = folder

    def read_or_draw(self, names: tuple[str, ...]) -> bytes | None:
        """Return the picture as WebP: `(PRODUCT.webp)`, `(large|looks, NAME.webp)`."""
        *kinds, file = names or ("",)
        kind = "/".join(kinds)
        if kind not in {"", "large", "looks"} or not file.endswith(_ENDING):
            return None
        path = self._folder / (kind or "card") / file
        name = file.removesuffix(_ENDING)
        if not name.replace("-", "").isalnum():
            return None
        try:
            return path.read_bytes()
        except FileNotFoundError:
            content = _draw_picture(kind, name)
        if content is not None:
            write_file_atomically(path, content)
        return content


def pictures_folder(data: Path) -> Path:
    """Return the folder of the demo's pictures in a data folder."""
    return data / "demo" / "pictures"


Names = tuple[tuple[str, ...], ...]

LOOK_PICTURES: Final[tuple[Names, ...]] = tuple(
    (("looks", f"{look.id}{_ENDING}"),) for look in LOOKS
)
"""The names of the pictures of looks, each a piece of work."""
CARDS: Final[tuple[Names, ...]] = tuple(
    tuple((f"{product.id}{_ENDING}",) for product in shelf.products)
    for department in DEPARTMENTS
    for shelf in department.shelves
)
"""The names of the card pictures of each shelf."""


@contextmanager
def draw_in_background(folder: Path, batches: Sequence[Names]) -> Iterator[None]:
    """Draw pictures in child processes while the block runs; its end waits for them."""
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), spawned) as painters:
        content = painters.map(_draw_pictures, [folder] * len(batches), batches)
        yield
        list(content)


def _draw_pictures(folder: Path, names: Names) -> None:
    pictures = PictureFileCache(folder)
    for name in names:
        pictures.read_or_draw(name)


def _draw_picture(kind: str, name: str) -> bytes | None:
    if kind == "looks":
        look = find_look(name)
        return None if look is None else draw_look(look)
    product = find_product_and_department(name)
    if product is None:
        return None
    return draw_product(*product, LARGE if kind == "large" else CARD)
