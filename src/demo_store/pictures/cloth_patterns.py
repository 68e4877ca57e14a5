"""Cloth patterns: masks of fine strokes for knitted, woven and striped cloth.

Lengths are in units of a drawing; `scale` is the number of pixels per unit. White marks
the pixels that take the second colour.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from PIL import Image, ImageDraw

Stroke: TypeAlias = tuple[tuple[float, float], tuple[float, float]]
Strokes: TypeAlias = Callable[[float, float], Iterator[Stroke]]

# Pattern -> (its strokes over width and height, their width, their opacity).
_SIZE: Final = 100.0


def _positions(height: float, spacing: float) -> Iterator[float]:
    row = spacing / 2
    while row < height:
        yield row
        row += spacing


def _knit(width: float, height: float) -> Iterator[Stroke]:
    for y in _positions(height, 2.6):
        for x in _positions(width, 3.0):
            yield (x - 1.4, y - 1.0), (x, y + 0.8)
            yield (x + 1.4, y - 1.0), (x, y + 0.8)


def _weave(width: float, height: float) -> Iterator[Stroke]:
    for row, y in enumerate(_positions(height, 3.4)):
        for x in _positions(width + 6, 6.0):
            left = x - 3.0 * (row % 2)
            yield (left - 1.9, y - 1.1), (left + 1.9, y - 1.1)
            yield (left - 1.9, y + 1.1), (left + 1.9, y + 1.1)


def _lines(spacing: float) -> Strokes:
    def strokes(width: float, height: float) -> Iterator[Stroke]:
        return (((0, y), (width, y)) for y in _positions(height, spacing))

    return strokes


def _grain(width: float, height: float) -> Iterator[Stroke]:
    for row, y in enumerate(_positions(height, 4.2)):
        yield (width * (0.07 * (row % 4)), y), (width * (0.9 - 0.09 * (row % 3)), y + 0.7)


def _checkered(width: float, height: float) -> Iterator[Stroke]:
    for y in _positions(height, 12.0):
        yield (0, y), (width, y)
    for x in _positions(width, 12.0):
        yield (x, 0), (x, height)


def _net(width: float, height: float) -> Iterator[Stroke]:
    for start in _positions(width + height, 3.2):
        yield (start, 0), (start - height, height)
        yield (start - height, 0), (start, height)


def _dots(width: float, height: float) -> Iterator[Stroke]:
    for row, y in enumerate(_positions(height, 4.6)):
        for x in _positions(width + 5, 5.2):
            left = x - 2.6 * (row % 2)
            yield (left - 0.35, y), (left + 0.35, y)


def _folds(width: float, height: float) -> Iterator[Stroke]:
    return (((x, 0), (x + 0.6, height)) for x in _positions(width, 5.4))


def _herringbone(width: float, height: float) -> Iterator[Stroke]:
    for column, x in enumerate(_positions(width, 5.0)):
        slant = 1.6 if column % 2 else -1.6
        for y in _positions(height, 2.4):
            yield (x - 2.2, y - slant), (x + 2.2, y + slant)


def _yarn(width: float, height: float) -> Iterator[Stroke]:
    for start in _positions(width + height, 4.0):
        yield (start, 0), (start - height * 0.6, height)
    for start in _positions(height, 6.0):
        yield (0, start), (width * 0.7, start + 9)


_PATTERNS: Final[Mapping[str, tuple[Strokes, float, float]]] = MappingProxyType(
    {
        "knit": (_knit, 0.75, 0.5),
        "weave": (_weave, 0.8, 0.5),
        "stripe": (_lines(9.0), 3.0, 0.75),
        "grain": (_grain, 0.6, 0.4),
        "check": (_checkered, 5.6, 0.4),
        "tartan": (_checkered, 4.4, 0.62),
        "net": (_net, 0.5, 0.6),
        "dots": (_dots, 1.3, 0.5),
        "folds": (_folds, 1.6, 0.3),
        "herringbone": (_herringbone, 0.7, 0.6),
        "waffle": (_net, 0.7, 0.35),
        "velvet": (_folds, 0.9, 0.18),
        "yarn": (_yarn, 1.0, 0.5),
        "linen": (_lines(1.9), 0.5, 0.22),
    }
)
# Patterns in a lighter tone of the colour; the others use a darker tone.
BRIGHT: Final = frozenset(("stripe", "dots"))


def pattern_mask(pattern: str, size: tuple[int, int], scale: float) -> Image.Image:
    """Return the mask of a pattern's strokes, of `size` pixels.

    Raises:
        KeyError: when there is no such pattern.
    """
    strokes, stroke_width, strength = _PATTERNS[pattern]
    mask_image = Image.new("L", size)
    pen = ImageDraw.Draw(mask_image)
    width, height = size[0] / scale, size[1] / scale
    pixel_width = max(1, math.ceil(stroke_width * scale))
    for start, end in strokes(width, height):
        line = (start[0] * scale, start[1] * scale, end[0] * scale, end[1] * scale)
        pen.line(line, round(255 * strength), pixel_width)
    return mask_image
