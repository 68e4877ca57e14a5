"""Made packages: groceries with printed packaging, and photos of them as by a phone.

No set of real packages may be shipped, so they are drawn: a package has a brand, a name, a
weight and small print; a brand sells several things that look alike. A photo shows the
package turned, slanted, blurred and badly lit among others. They are easier to read than
real ones, and harder to tell apart by their looks.
"""

from __future__ import annotations

import io
import random
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from PIL import Image, ImageDraw, ImageEnhance, ImageFilter, ImageFont

import productrecs

if TYPE_CHECKING:
    from collections.abc import Sequence

_FONT: Final = Path(productrecs.__file__).parent / "assets" / "fonts"
_KINDS: Final = (
    "Whole Milk", "Oat Drink", "Natural Yoghurt", "Salted Butter", "Orange Juice",
    "Apple Juice", "Tomato Soup", "Basmati Rice", "Spaghetti", "Corn Flakes", "Muesli",
    "Dark Chocolate", "Milk Chocolate", "Butter Biscuits", "Potato Crisps", "Roasted Nuts",
    "Ground Coffee", "Green Tea", "Strawberry Jam", "Peanut Butter", "Olive Oil",
    "Sea Salt", "Brown Sugar", "Wheat Flour", "Baked Beans", "Sweet Corn", "Cheddar Cheese",
    "Smoked Salmon", "Frozen Peas", "Vanilla Ice Cream",
)  # fmt: skip
_SMALL_PRINT: Final = (
    "Ingredients: water, sugar, salt, natural flavour. Store in a cool and dry place.",
    "Best before: see lid. Produced for the retailer under licence. Keep refrigerated.",
)
_SYLLABLES: Final = [
    "ba",
    "bo",
    "den",
    "fer",
    "gol",
    "har",
    "jon",
    "kel",
    "lin",
    "mor",
    "nor",
    "pel",
    "ra",
    "sol",
    "tan",
    "ver",
    "wil",
    "zet",
]
_PICTURE: Final = (480, 640)
_PHOTO: Final = (960, 1280)


@dataclass(frozen=True, slots=True)
class Package:
    """A product, its catalog picture, and photos of it."""

    title: str
    kind: str
    picture: bytes
    photos: Sequence[bytes]


def made_packages(brands: int = 8, kinds: int = 10, photos: int = 1) -> list[Package]:
    """Return the packages of each brand, the same on every machine."""
    chance = random.Random(42)
    names = [_brand(chance) for _ in range(brands)]
    fronts: list[tuple[str, str, Image.Image]] = []
    for name in names:
        colours = _colours(chance)
        for kind in chance.sample(_KINDS, kinds):
            weight = f"{chance.choice((150, 200, 250, 400, 500, 750))} g"
            front = _front(name, kind, weight, colours, chance)
            fronts.append((f"{name} {kind} {weight}", kind, front))
    others = [front for _, _, front in fronts]
    return [
        Package(
            title,
            kind,
            _jpeg(front, 90),
            [_photo(front, others, chance) for _ in range(photos)],
        )
        for title, kind, front in fronts
    ]


def _brand(chance: random.Random) -> str:
    return "".join(chance.choice(_SYLLABLES) for _ in range(3)).capitalize()


def _colours(chance: random.Random) -> list[tuple[int, int, int]]:
    ground = (chance.randrange(256), chance.randrange(256), chance.randrange(256))
    is_light = sum(ground) > 380
    return [ground, (20, 20, 20) if is_light else (250, 250, 250)]


def _font(size: int) -> Any:
    return ImageFont.truetype(str(next(_FONT.glob("*.ttf"))), size)


def _front(
    brand: str,
    kind: str,
    weight: str,
    colours: Sequence[tuple[int, int, int]],
    chance: random.Random,
) -> Image.Image:
    ground, ink = colours
    front = Image.new("RGB", _PICTURE, ground)
    draw = ImageDraw.Draw(front)
    width, height = _PICTURE
    accent = tuple(chance.randrange(256) for _ in range(3))
    draw.ellipse((100, 300, width - 100, 500), fill=accent)
    for text, y, size in ((brand, 60, 84), (kind, 190, 52), (weight, 530, 34)):
        font = _fitting(text, size, width - 40)
        left, _, right, _ = font.getbbox(text)
        draw.text(((width - right + left) / 2, y), text, ink, font)
    for line, text in enumerate(_SMALL_PRINT):
        draw.text((12, height - 46 + 18 * line), text, ink, _font(11))
    return front


def _fitting(text: str, size: int, width: int) -> Any:
    while size > 12 and _font(size).getlength(text) > width:
        size -= 2
    return _font(size)


def _photo(
    front: Image.Image, others: Sequence[Image.Image], chance: random.Random
) -> bytes:
    """Return a phone's photo of a package on a shelf between others."""
    width, height = _PHOTO
    grey = chance.randrange(60, 200)
    scene = Image.new("RGB", _PHOTO, (grey, grey, grey - 20))
    for x in (-330, width - 150):
        scene.paste(
            chance.choice(others).resize((480, 640)), (x, chance.randrange(200, 500))
        )
    size = int(width * chance.uniform(0.55, 0.8))
    package = front.resize((size, size * 4 // 3), Image.Resampling.LANCZOS)
    package, mask = _slanted(package, chance)
    angle = chance.choice((0, 0, 0, 0, 0, 0, 0, 90, -90, 180)) + chance.gauss(0, 7)
    package = package.rotate(angle, Image.Resampling.BICUBIC, expand=True)
    mask = mask.rotate(angle, Image.Resampling.BICUBIC, expand=True)
    place = ((width - package.width) // 2, (height - package.height) // 2)
    scene.paste(package, place, mask)
    scene = ImageEnhance.Brightness(scene).enhance(chance.uniform(0.55, 1.3))
    scene = ImageEnhance.Color(scene).enhance(chance.uniform(0.6, 1.2))
    scene = scene.filter(ImageFilter.GaussianBlur(chance.uniform(0.5, 3.0)))
    noise = np.random.default_rng(chance.randrange(1 << 30)).normal(
        0, 8, (height, width, 3)
    )
    pixels = (np.asarray(scene) + noise).clip(0, 255).astype(np.uint8)
    return _jpeg(Image.fromarray(pixels), chance.randrange(55, 90))


def _slanted(
    package: Image.Image, chance: random.Random
) -> tuple[Image.Image, Image.Image]:
    """Return a package seen from the side, and its mask."""
    width, height = package.size
    lean = [chance.uniform(-0.12, 0.12) for _ in range(8)]
    corners = [(0, 0), (0, height), (width, height), (width, 0)]
    quad = [
        number
        for (x, y), dx, dy in zip(corners, lean[::2], lean[1::2], strict=True)
        for number in (x + dx * width, y + dy * height)
    ]
    method, way = Image.Transform.QUAD, Image.Resampling.BICUBIC
    mask = Image.new("L", package.size, 255).transform(package.size, method, quad, way)
    return package.transform(package.size, method, quad, way), mask


def _jpeg(picture: Image.Image, quality: int) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=quality)
    return buffer.getvalue()
