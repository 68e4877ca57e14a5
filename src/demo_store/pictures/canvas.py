"""Canvas: rasterises drawings with colour, light from the left, shadows and labels.

It paints at twice the final size and scales down, which smooths every edge.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageFont

from demo_store.pictures.cloth_patterns import BRIGHT, pattern_mask
from demo_store.pictures.colours import (
    BLACK,
    WHITE,
    Colour,
    blend,
    lightness,
    tone_colour,
)
from demo_store.pictures.drawing_files import FLAT, LABEL, Shape
from demo_store.pictures.outlines import Point

SIZE: Final = 100.0
_FINER: Final = 2
_GLASS: Final = 0.62  # opacity of glass
_SHADE, _SHINE = 74, 46  # strength of the light from the left, of 255
_SHADOW: Final = 96
_INK: Final = (58, 52, 48)
_MIN_LETTER: Final = 1.5  # units; smaller words are omitted


@dataclass(frozen=True, slots=True)
class Drawing:
    """A product to paint: its shapes, its colour, its pattern, and its label."""

    shapes: Sequence[Shape]
    colour: Colour
    cloth: str = ""
    words: tuple[str, ...] = ()
    scale: float = 1.0

    def transform(self, x: float, y: float, scale: float) -> "Drawing":
        """Return it scaled and moved to another place of the sheet."""
        shapes = [shape.transform(x, y, scale) for shape in self.shapes]
        return replace(self, shapes=shapes, scale=self.scale * scale)


class Canvas:
    """A picture being painted: size in pixels, coordinates in units from its corner."""

    def __init__(self, size: tuple[int, int], ground: Colour) -> None:
        """Start with a background that is slightly lighter in the middle."""
        self._size = (size[0] * _FINER, size[1] * _FINER)
        self._scale = self._size[0] / SIZE
        self._ground = ground
        self._image = _background(self._size, ground).copy()

    def to_image(self) -> Image.Image:
        """Return the picture at its final size."""
        return self._image.reduce(_FINER)

    def paint(self, drawing: Drawing) -> None:
        """Paint a thing and its shadow on top."""
        self._cast_shadow(drawing.shapes)
        for shape in drawing.shapes:
            if shape.tone == LABEL:
                self._paint_label(shape, drawing)
            else:
                self._fill_shape(shape, drawing)

    def paint_room(self, room: Drawing) -> None:
        """Paint the room, which casts no shadow."""
        for shape in room.shapes:
            self._fill_shape(shape, room)

    def _cast_shadow(self, shapes: Iterable[Shape]) -> None:
        coarse_scale = 4 * _FINER
        scale = self._scale / coarse_scale
        size = (self._size[0] // coarse_scale, self._size[1] // coarse_scale)
        shadow = Image.new("L", size)
        pen = ImageDraw.Draw(shadow)
        for shape in shapes:
            if shape.tone == "backdrop":
                continue
            shifted = [((x + 1.2) * scale, (y + 1.8) * scale) for x, y in shape.points]
            _fill_or_stroke(pen, shifted, shape.width * scale)
        shadow = shadow.filter(ImageFilter.GaussianBlur(1.6 * scale))
        shadow = shadow.resize(self._size, Image.Resampling.BILINEAR)
        shadow_colour = Image.new("RGB", self._size, blend(self._ground, BLACK, 0.72))
        self._image.paste(shadow_colour, mask=shadow.point(_as_shadow))

    def _fill_shape(self, shape: Shape, drawing: Drawing) -> None:
        points = [(x * self._scale, y * self._scale) for x, y in shape.points]
        width = shape.width * self._scale
        edges = _pixel_bounds(points, width / 2, self._size)
        if edges is None:
            return
        left, top, right, bottom = edges
        area = Image.new("L", (right - left, bottom - top))
        shifted = [(x - left, y - top) for x, y in points]
        _fill_or_stroke(ImageDraw.Draw(area), shifted, width)
        colour = tone_colour(shape.tone, drawing.colour, self._ground)
        painted = area.point(_as_glass) if shape.tone == "glass" else area
        self._image.paste(colour, edges, painted)
        pattern = (drawing.cloth or "linen") if shape.pattern == "cloth" else shape.pattern
        if pattern and pattern != FLAT:
            self._image.paste(
                _pattern_colour(colour, pattern),
                edges,
                ImageChops.multiply(
                    area, pattern_mask(pattern, area.size, self._scale * drawing.scale)
                ),
            )
        if shape.pattern != FLAT and not shape.width and shape.tone != "backdrop":
            shade, shine = _shade_and_shine_masks(area.size)
            dark = blend(colour, BLACK, 0.62)
            self._image.paste(dark, edges, ImageChops.multiply(area, shade))
            self._image.paste(WHITE, edges, ImageChops.multiply(area, shine))

    def _paint_label(self, shape: Shape, drawing: Drawing) -> None:
        """Paint the label: paper, a stripe of the product's colour, and its text."""
        points = [(x * self._scale, y * self._scale) for x, y in shape.points]
        (left, top), (right, bottom) = points[0], points[2]
        pen = ImageDraw.Draw(self._image)
        pen.rectangle((left, top, right, bottom), fill=(252, 248, 239))
        is_dark = lightness(drawing.colour) < 200  # noqa: PLR2004 - of 255
        band_colour = blend(drawing.colour, BLACK, 0.12 if is_dark else 0.3)
        pen.rectangle((left, top, right, top + 1.6 * self._scale), fill=band_colour)
        pen.rectangle((left, bottom - 0.8 * self._scale, right, bottom), fill=band_colour)
        size_limit = (right - left) * 0.88, (bottom - top) - 4.4 * self._scale
        font = _largest_fitting_font(drawing.words, size_limit, _MIN_LETTER * self._scale)
        if font is None:
            return
        step = font.size * 1.16
        y = (top + bottom) / 2 + 0.4 * self._scale - step * len(drawing.words) / 2
        for word in drawing.words:
            across = (left + right - font.getlength(word)) / 2
            pen.text((across, y), word, fill=_INK, font=font)
            y += step


def _fill_or_stroke(
    pen: ImageDraw.ImageDraw, points: Sequence[Point], width: float
) -> None:
    if not width:
        pen.polygon(points, fill=255)
        return
    pen.line(points, fill=255, width=max(1, round(width)), joint="curve")
    radius = width / 2
    for x, y in (points[0], points[-1]):
        pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=255)


def _pixel_bounds(
    points: Sequence[Point], margin: float, size: tuple[int, int]
) -> tuple[int, int, int, int] | None:
    """Return the points' pixel bounds within the picture; None if outside."""
    across, down = [x for x, _ in points], [y for _, y in points]
    left = max(0, int(min(across) - margin) - 1)
    top = max(0, int(min(down) - margin) - 1)
    right = min(size[0], int(max(across) + margin) + 2)
    bottom = min(size[1], int(max(down) + margin) + 2)
    return (left, top, right, bottom) if left < right and top < bottom else None


def _pattern_colour(colour: Colour, pattern: str) -> Colour:
    if pattern in BRIGHT:
        return blend(colour, WHITE, 0.62)
    if pattern == "tartan":
        return (40, 46, 62)
    return blend(colour, BLACK, 0.5)


@lru_cache(maxsize=512)
def _shade_and_shine_masks(size: tuple[int, int]) -> tuple[Image.Image, Image.Image]:
    """Return the masks of shade (right and below) and of light."""
    ramp = Image.linear_gradient("L").rotate(90).resize(size)
    gradient = Image.linear_gradient("L").resize(size)
    combined = Image.blend(ramp, gradient, 0.38)
    return combined.point(_as_shade), combined.point(_as_shine)


@lru_cache(maxsize=16)
def _background(size: tuple[int, int], ground: Colour) -> Image.Image:
    """Return an empty background with a glow in the middle."""
    image = Image.new("RGB", size, ground)
    glow = Image.radial_gradient("L").resize(size, Image.Resampling.BILINEAR)
    lit_image = Image.new("RGB", size, blend(ground, WHITE, 0.5))
    image.paste(lit_image, mask=glow.point(_as_glow))
    return image


@lru_cache(maxsize=64)
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def _largest_fitting_font(
    words: Sequence[str], size_limit: tuple[float, float], smallest_size: float
) -> ImageFont.FreeTypeFont | None:
    """Return the largest font in which the lines fit; None if it is too small."""
    if not words:
        return None
    size = int(min(size_limit[1] / len(words) / 1.16, size_limit[0] / 4))
    while size >= smallest_size:
        font = _font(size)
        if not isinstance(font, ImageFont.FreeTypeFont):
            return None  # Pillow was built without FreeType
        if max(font.getlength(word) for word in words) <= size_limit[0]:
            return font
        size -= max(1, size // 14)
    return None


_as_glow: Final = [round(180 * max(0.0, 1 - value / 200) ** 1.5) for value in range(256)]
_as_glass: Final = [round(value * _GLASS) for value in range(256)]
_as_shadow: Final = [value * _SHADOW // 255 for value in range(256)]
_as_shade: Final = [max(0, value - 90) * _SHADE // 165 for value in range(256)]
_as_shine: Final = [max(0, 110 - value) * _SHINE // 110 for value in range(256)]
