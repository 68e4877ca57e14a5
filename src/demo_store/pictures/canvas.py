"""Canvas: rasterises drawings with colour, light from the left, shadows and labels.

It paints at twice the final size and scales down, which smooths every edge.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageFont

from demo_store.pictures.cloth_patterns import BRIGHT, mask
from demo_store.pictures.colours import (
    BLACK,
    WHITE,
    Colour,
    lightness,
    mixed,
    tone,
)
from demo_store.pictures.drawing_files import FLAT, LABEL, Shape
from demo_store.pictures.outlines import Point

SHEET: Final = 100.0
_FINER: Final = 2
_GLASS: Final = 0.62  # opacity of glass
_SHADE, _SHINE = 74, 46  # strength of the light from the left, of 255
_SHADOW: Final = 96
_INK: Final = (58, 52, 48)
_LEAST_LETTER: Final = 1.5  # units; smaller words are omitted


@dataclass(frozen=True, slots=True)
class Thing:
    """A product to paint: its shapes, its colour, its pattern, and its label."""

    shapes: Sequence[Shape]
    colour: Colour
    cloth: str = ""
    words: tuple[str, ...] = ()
    scale: float = 1.0

    def moved(self, x: float, y: float, scale: float) -> "Thing":
        """Return it scaled and moved to another place of the sheet."""
        shapes = [shape.moved(x, y, scale) for shape in self.shapes]
        return replace(self, shapes=shapes, scale=self.scale * scale)


class Canvas:
    """A picture being painted: size in pixels, coordinates in units from its corner."""

    def __init__(self, size: tuple[int, int], ground: Colour) -> None:
        """Start with a background that is slightly lighter in the middle."""
        self._size = (size[0] * _FINER, size[1] * _FINER)
        self._scale = self._size[0] / SHEET
        self._ground = ground
        self._image = _lit(self._size, ground).copy()

    def finished(self) -> Image.Image:
        """Return the picture at its final size."""
        return self._image.reduce(_FINER)

    def paint(self, thing: Thing) -> None:
        """Paint a thing and its shadow on top."""
        self._cast_shadow(thing.shapes)
        for shape in thing.shapes:
            if shape.tone == LABEL:
                self._stick(shape, thing)
            else:
                self._fill(shape, thing)

    def furnish(self, room: Thing) -> None:
        """Paint the room, which casts no shadow."""
        for shape in room.shapes:
            self._fill(shape, room)

    def _cast_shadow(self, shapes: Iterable[Shape]) -> None:
        coarse = 4 * _FINER
        scale = self._scale / coarse
        size = (self._size[0] // coarse, self._size[1] // coarse)
        shadow = Image.new("L", size)
        pen = ImageDraw.Draw(shadow)
        for shape in shapes:
            if shape.tone == "backdrop":
                continue
            moved = [((x + 1.2) * scale, (y + 1.8) * scale) for x, y in shape.points]
            _trace(pen, moved, shape.width * scale)
        shadow = shadow.filter(ImageFilter.GaussianBlur(1.6 * scale))
        shadow = shadow.resize(self._size, Image.Resampling.BILINEAR)
        deep = Image.new("RGB", self._size, mixed(self._ground, BLACK, 0.72))
        self._image.paste(deep, mask=shadow.point(_as_shadow))

    def _fill(self, shape: Shape, thing: Thing) -> None:
        points = [(x * self._scale, y * self._scale) for x, y in shape.points]
        width = shape.width * self._scale
        edges = _edges(points, width / 2, self._size)
        if edges is None:
            return
        left, top, right, bottom = edges
        area = Image.new("L", (right - left, bottom - top))
        moved = [(x - left, y - top) for x, y in points]
        _trace(ImageDraw.Draw(area), moved, width)
        colour = tone(shape.tone, thing.colour, self._ground)
        seen = area.point(_as_glass) if shape.tone == "glass" else area
        self._image.paste(colour, edges, seen)
        pattern = (thing.cloth or "linen") if shape.pattern == "cloth" else shape.pattern
        if pattern and pattern != FLAT:
            self._image.paste(
                _second(colour, pattern),
                edges,
                ImageChops.multiply(
                    area, mask(pattern, area.size, self._scale * thing.scale)
                ),
            )
        if shape.pattern != FLAT and not shape.width and shape.tone != "backdrop":
            shade, shine = _light(area.size)
            dark = mixed(colour, BLACK, 0.62)
            self._image.paste(dark, edges, ImageChops.multiply(area, shade))
            self._image.paste(WHITE, edges, ImageChops.multiply(area, shine))

    def _stick(self, shape: Shape, thing: Thing) -> None:
        """Paint the label: paper, a stripe of the product's colour, and its text."""
        points = [(x * self._scale, y * self._scale) for x, y in shape.points]
        (left, top), (right, bottom) = points[0], points[2]
        pen = ImageDraw.Draw(self._image)
        pen.rectangle((left, top, right, bottom), fill=(252, 248, 239))
        band = mixed(thing.colour, BLACK, 0.12 if lightness(thing.colour) < 200 else 0.3)  # noqa: PLR2004
        pen.rectangle((left, top, right, top + 1.6 * self._scale), fill=band)
        pen.rectangle((left, bottom - 0.8 * self._scale, right, bottom), fill=band)
        room = (right - left) * 0.88, (bottom - top) - 4.4 * self._scale
        font = _fitting(thing.words, room, _LEAST_LETTER * self._scale)
        if font is None:
            return
        step = font.size * 1.16
        y = (top + bottom) / 2 + 0.4 * self._scale - step * len(thing.words) / 2
        for word in thing.words:
            across = (left + right - font.getlength(word)) / 2
            pen.text((across, y), word, fill=_INK, font=font)
            y += step


def _trace(pen: ImageDraw.ImageDraw, points: Sequence[Point], width: float) -> None:
    if not width:
        pen.polygon(points, fill=255)
        return
    pen.line(points, fill=255, width=max(1, round(width)), joint="curve")
    radius = width / 2
    for x, y in (points[0], points[-1]):
        pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=255)


def _edges(
    points: Sequence[Point], margin: float, size: tuple[int, int]
) -> tuple[int, int, int, int] | None:
    """Return the points' pixel bounds within the picture; None if outside."""
    across, down = [x for x, _ in points], [y for _, y in points]
    left = max(0, int(min(across) - margin) - 1)
    top = max(0, int(min(down) - margin) - 1)
    right = min(size[0], int(max(across) + margin) + 2)
    bottom = min(size[1], int(max(down) + margin) + 2)
    return (left, top, right, bottom) if left < right and top < bottom else None


def _second(colour: Colour, pattern: str) -> Colour:
    if pattern in BRIGHT:
        return mixed(colour, WHITE, 0.62)
    if pattern == "tartan":
        return (40, 46, 62)
    return mixed(colour, BLACK, 0.5)


@lru_cache(maxsize=512)
def _light(size: tuple[int, int]) -> tuple[Image.Image, Image.Image]:
    """Return the masks of shade (right and below) and of light."""
    ramp = Image.linear_gradient("L").rotate(90).resize(size)
    fall = Image.linear_gradient("L").resize(size)
    both = Image.blend(ramp, fall, 0.38)
    return both.point(_as_shade), both.point(_as_shine)


@lru_cache(maxsize=16)
def _lit(size: tuple[int, int], ground: Colour) -> Image.Image:
    """Return an empty background with a glow in the middle."""
    image = Image.new("RGB", size, ground)
    glow = Image.radial_gradient("L").resize(size, Image.Resampling.BILINEAR)
    light = Image.new("RGB", size, mixed(ground, WHITE, 0.5))
    image.paste(light, mask=glow.point(_as_glow))
    return image


@lru_cache(maxsize=64)
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def _fitting(
    words: Sequence[str], room: tuple[float, float], least: float
) -> ImageFont.FreeTypeFont | None:
    """Return the largest font in which the lines fit; None if it is too small."""
    if not words:
        return None
    size = int(min(room[1] / len(words) / 1.16, room[0] / 4))
    while size >= least:
        font = _font(size)
        if not isinstance(font, ImageFont.FreeTypeFont):
            return None  # Pillow was built without FreeType
        if max(font.getlength(word) for word in words) <= room[0]:
            return font
        size -= max(1, size // 14)
    return None


_as_glow: Final = [round(180 * max(0.0, 1 - value / 200) ** 1.5) for value in range(256)]
_as_glass: Final = [round(value * _GLASS) for value in range(256)]
_as_shadow: Final = [value * _SHADOW // 255 for value in range(256)]
_as_shade: Final = [max(0, value - 90) * _SHADE // 165 for value in range(256)]
_as_shine: Final = [max(0, 110 - value) * _SHINE // 110 for value in range(256)]
