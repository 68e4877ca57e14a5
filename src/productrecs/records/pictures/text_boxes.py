"""Text boxes: rotated boxes around the lines in a map of text probabilities.

Source: Liao et al. 2020, Real-time Scene Text Detection with Differentiable Binarization.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from productrecs.engines.visual.connected_components import label_parts, part_edges

Map = npt.NDArray[np.floating[Any]]

_IS_TEXT: Final = 0.3
_MIN_BOX_SCORE: Final = 0.5
_GROWTH: Final = 1.6  # boxes are detected smaller than the text by about this
_MIN_SIDE: Final = 3  # pixels of the map


class TextBox(NamedTuple):
    """A rotated box around a line: its centre, its half axes, all in (x, y) pixels."""

    centre: npt.NDArray[np.float64]
    along: npt.NDArray[np.float64]
    across: npt.NDArray[np.float64]

    @property
    def height(self) -> float:
        """The height of the line."""
        return 2 * float(np.linalg.norm(self.across))

    @property
    def width(self) -> float:
        """The length of the line."""
        return 2 * float(np.linalg.norm(self.along))

    def scaled(self, factors: npt.NDArray[np.float64]) -> "TextBox":
        """Return the box in a picture of another size."""
        return TextBox(self.centre * factors, self.along * factors, self.across * factors)

    def turned(self) -> "TextBox":
        """Return the box of a line that runs upwards instead."""
        return TextBox(self.centre, -self.across, self.along)

    def upside_down(self) -> "TextBox":
        """Return the box of a line that is upside down."""
        return TextBox(self.centre, -self.along, -self.across)


def find_text_boxes(probabilities: Map) -> list[TextBox]:
    """Return the boxes of the lines in a map [h, w] of probabilities, largest first."""
    labels, count = label_parts(probabilities > _IS_TEXT)
    boxes: list[TextBox] = []
    for label, window in enumerate(part_edges(labels, count).tolist(), 1):
        top, bottom, left, right = window
        rows, columns = np.nonzero(labels[top:bottom, left:right] == label)
        rows, columns = rows + top, columns + left
        if probabilities[rows, columns].mean() < _MIN_BOX_SCORE:
            continue
        box = _smallest_box(np.stack([columns, rows], axis=1).astype(np.float64))
        if min(box.width, box.height) >= _MIN_SIDE:
            boxes.append(_grow_box(box))
    return sorted(boxes, key=lambda box: -min(box.width, box.height))


def _smallest_box(points: npt.NDArray[np.float64]) -> TextBox:
    """Return the smaller of the upright box and the one along the points' main axis."""
    _, axes = np.linalg.eigh(np.cov(points.T) if len(points) > 1 else np.eye(2))
    main = axes[:, 1]
    if abs(main[0]) < abs(main[1]):  # boxes are read from left to right
        main = np.array([-main[1], main[0]])
    main = main if main[0] >= 0 else -main
    boxes = [_box_along(points, axis) for axis in (np.array([1.0, 0.0]), main)]
    return min(boxes, key=lambda box: box.width * box.height)


def _box_along(points: npt.NDArray[np.float64], axis: npt.NDArray[np.float64]) -> TextBox:
    down = np.array([-axis[1], axis[0]])
    places = points @ np.stack([axis, down], axis=1)
    low, high = places.min(axis=0) - 0.5, places.max(axis=0) + 0.5
    middle, half = (low + high) / 2, (high - low) / 2
    centre = middle[0] * axis + middle[1] * down + 0.5
    return TextBox(centre, half[0] * axis, half[1] * down)


def _grow_box(box: TextBox) -> TextBox:
    """Return a box that holds the whole text."""
    width, height = box.width, box.height
    margin = _GROWTH * width * height / (2 * (width + height))
    along = box.along * (1 + 2 * margin / width)
    return TextBox(box.centre, along, box.across * (1 + 2 * margin / height))
