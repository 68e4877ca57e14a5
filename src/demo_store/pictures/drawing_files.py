"""Drawing files: a parser for `drawings/*.draw`, and the drawing of each product.

A drawing is its name, then one shape per line. The sheet is 100 by 100; objects stand on
the line y = 86. A later shape covers an earlier one:

    path TONE M x y L x y Q x y x y Z     a filled outline
    line TONE WIDTH M x y ...             a stroke with round ends
    oval TONE x y ACROSS DOWN             an ellipse, by half its width and height
    box TONE x y WIDTH HEIGHT [ROUND]     a rectangle
    label x y WIDTH HEIGHT                paper with the product's name
    turn DEGREES x y                      rotates the shapes that follow
    use NAME x y SCALE                    another drawing, moved and scaled

A tone is `base` (the product's colour), a neighbouring colour, or a material. A pattern may
follow it: its name, `cloth` for the product's own pattern, or `flat` for no shading.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final

from demo_store.pictures.outlines import (
    Point,
    box_outline,
    oval_outline,
    path_outline,
    rotate,
)

LABEL: Final = "label"
FLAT: Final = "flat"
_PATH: Final = 2  # words before the commands of a path; a line has one more
_OUTLINES: Final = {"oval": oval_outline, "box": box_outline}


@dataclass(frozen=True, slots=True)
class Shape:
    """One shape of a drawing; a width makes it a stroke, the tone `label` a label."""

    tone: str
    points: tuple[Point, ...]
    pattern: str = ""
    width: float = 0.0

    def transform(self, x: float, y: float, scale: float) -> "Shape":
        """Return the shape made smaller, then moved."""
        points = tuple((px * scale + x, py * scale + y) for px, py in self.points)
        return replace(self, points=points, width=self.width * scale)


@dataclass(frozen=True, slots=True)
class ProductDrawing:
    """The drawing and the cloth pattern of a product's picture."""

    drawing: tuple[Shape, ...]
    pattern: str


def find_product_drawing(product_id: str) -> ProductDrawing:
    """Return the drawing of a product.

    Raises:
        KeyError: when it has no drawing.
    """
    name, pattern = _drawing_and_cloth_by_product()[product_id]
    return ProductDrawing(read_all_drawings()[name], pattern)


def read_drawing(name: str) -> tuple[Shape, ...]:
    """Return the shapes of a drawing, back to front.

    Raises:
        KeyError: when there is none of this name.
    """
    return read_all_drawings()[name]


@cache
def read_all_drawings() -> Mapping[str, tuple[Shape, ...]]:
    """Return all drawings by name."""
    blocks: dict[str, list[list[str]]] = {}
    for path in sorted(_package_file("drawings").iterdir(), key=lambda path: path.name):
        for line in _split_lines(path):
            if len(line) == 1:
                blocks[line[0]] = []
            else:
                blocks[list(blocks)[-1]].append(line)
    return {name: tuple(_read_shapes(name, blocks)) for name in blocks}


@cache
def _drawing_and_cloth_by_product() -> Mapping[str, tuple[str, str]]:
    subjects = {}
    for line in _split_lines(_package_file("subjects.draw")):
        head = " ".join(line).partition(":")
        name, _, pattern = head[0].partition(" ")
        subjects.update(dict.fromkeys(head[2].split(), (name, pattern)))
    return subjects


def _package_file(name: str) -> Traversable:
    return resources.files(__package__) / name


def _split_lines(path: Traversable) -> Iterator[list[str]]:
    for line in path.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            yield line.split()


def _read_shapes(name: str, blocks: Mapping[str, list[list[str]]]) -> Iterator[Shape]:
    degrees, centre = 0.0, (50.0, 50.0)
    for kind, *arguments in blocks[name]:
        if kind == "turn":
            degrees = float(arguments[0])
            centre = (float(arguments[1]), float(arguments[2]))
        elif kind == "use":
            x, y, scale = map(float, arguments[1:])
            for shape in _read_shapes(arguments[0], blocks):
                yield shape.transform(x, y, scale)
        else:
            shape = _read_shape(kind, arguments)
            points = tuple(rotate(shape.points, degrees, centre))
            yield replace(shape, points=points)


def _read_shape(kind: str, words: Sequence[str]) -> Shape:
    if kind == LABEL:
        return Shape(LABEL, tuple(box_outline([float(word) for word in words])))
    tone, _, pattern = words[0].partition("+")
    if kind == "line":
        return Shape(tone, tuple(path_outline(words[_PATH:])), pattern, float(words[1]))
    if kind == "path":
        return Shape(tone, tuple(path_outline(words[1:])), pattern)
    return Shape(tone, tuple(_OUTLINES[kind]([float(word) for word in words[1:]])), pattern)
