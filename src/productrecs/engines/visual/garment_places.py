"""Garment places: where a person's top, legs and shoes are in a photo, and what hands hold.

The places follow from landmarks of the body. The unit is the length of the torso, from the
shoulders to the hips; a place is as wide as the person is in its rows.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from productrecs.engines.visual.image_transforms import Floats
from productrecs.engines.visual.region_proposals import Boxes

SHOULDERS, WRISTS, HIPS = slice(11, 13), slice(15, 17), slice(23, 25)
KNEES, ANKLES = slice(25, 27), slice(27, 29)
"""Rows of the landmarks of both sides, as BlazePose numbers them."""

_LEAST_VISIBLE: Final = 0.5  # share of a place that is within the photo
_LEAST_TORSO: Final = 0.05  # of the photo's height: nobody so small shows garments


class PersonLandmarks(NamedTuple):
    """A person in a photo: landmarks in pixels, and which cells of a square show it."""

    landmarks: Floats  # [n, 2]: x, y
    mask: npt.NDArray[np.bool_]  # [cells, cells]
    square: tuple[float, float, float]  # left, top and side of the mask, in pixels


class _PlaceRows(NamedTuple):
    """A place: its first and last row, and what share of the rows of a column is filled."""

    top: float
    bottom: float
    fill: float


def find_garment_places(body: PersonLandmarks, height: int, width: int) -> Boxes:
    """Return the places of garments of a person, as fractions of a photo of this size.

    A top, trousers or a skirt, a dress or a coat, and shoes; those mostly outside are left
    out. The numbers are medians of people photographed in the street (decision 0093).
    """
    shoulders, hips, knees, ankles = (
        body.landmarks[part].mean(axis=0) for part in (SHOULDERS, HIPS, KNEES, ANKLES)
    )
    unit = float(np.hypot(*(hips - shoulders)))
    if unit < _LEAST_TORSO * height:
        return np.zeros((0, 4), np.float32)
    places = (
        _PlaceRows(shoulders[1] - 0.16 * unit, hips[1] + 0.02 * unit, 0.2),
        _PlaceRows(hips[1] - 0.11 * unit, ankles[1] + 0.07 * unit, 0.4),
        _PlaceRows(ankles[1] - 0.06 * unit, ankles[1] + 0.41 * unit, 0.0),
        _PlaceRows(shoulders[1] - 0.17 * unit, knees[1] - 0.05 * unit, 0.2),
        _PlaceRows(hips[1] - 0.24 * unit, knees[1] - 0.19 * unit, 0.4),
    )
    boxes = [_box_of_rows(body, rows, height, width) for rows in places]
    return np.array([box for box in boxes if box is not None], np.float32).reshape(-1, 4)


def _box_of_rows(
    body: PersonLandmarks, place_rows: _PlaceRows, height: int, width: int
) -> tuple[float, float, float, float] | None:
    left, top, side = body.square
    cells = len(body.mask)
    first, last = (
        min(max(round((row - top) / side * cells), 0), cells)
        for row in (place_rows.top, place_rows.bottom)
    )
    upper, lower = max(0.0, place_rows.top), min(float(height), place_rows.bottom)
    if last <= first or lower - upper < _LEAST_VISIBLE * (
        place_rows.bottom - place_rows.top
    ):
        return None
    fill = body.mask[first:last].mean(axis=0)
    columns = np.flatnonzero((fill > 0) & (fill >= place_rows.fill))
    if not len(columns):
        return None
    start = max(0.0, left + columns[0] * side / cells)
    end = min(float(width), left + (columns[-1] + 1) * side / cells)
    if end <= start:
        return None
    return start / width, upper / height, (end - start) / width, (lower - upper) / height
