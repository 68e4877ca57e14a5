"""Body landmarks: finds one person in a photo, with a network that onnxruntime runs.

The network is BlazePose (`pose_landmark_lite`). It is asked twice: about the whole photo,
then about the square around the person that the first answer names.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from productrecs.engines.visual.garment_places import PersonLandmarks, find_garment_places
from productrecs.engines.visual.image_transforms import Pixels, resize
from productrecs.engines.visual.region_proposals import Boxes
from productrecs.records.pictures.onnx_model_file import OnnxModelFile, open_session
from productrecs.records.pictures.pose_model_conversion import (
    LANDMARK_NUMBERS,
    MASK_CELLS,
    SIDE,
)

_CENTRE, _RIM = 33, 34  # landmarks of the circle around the whole person
_MARGIN: Final = 1.25  # side of the square, of the circle's width
_LEAST_PRESENCE: Final = 0.5

_Numbers = npt.NDArray[np.float32]


class LandmarkGarmentFinder:
    """The network of body landmarks, loaded; for one thread."""

    def __init__(self, model: OnnxModelFile) -> None:
        """Load the model's file."""
        self._session = open_session(model.path)
        self._input = self._session.get_inputs()[0].name

    def find_garments(self, pixels: Pixels) -> Boxes:
        """Return the places of garments of the person in a photo; none without one."""
        height, width = pixels.shape[:2]
        body = self._find_body(pixels)
        if body is None:
            return np.zeros((0, 4), np.float32)
        return find_garment_places(body, height, width)

    def _find_body(self, pixels: Pixels) -> PersonLandmarks | None:
        height, width = pixels.shape[:2]
        whole = max(height, width)
        square = ((width - whole) / 2, (height - whole) / 2, float(whole))
        body = self._find_body_in_square(pixels, square)
        if body is None:
            return None
        centre = body.landmarks[_CENTRE]
        side = 2 * _MARGIN * float(np.hypot(*(body.landmarks[_RIM] - centre)))
        if side < 1:
            return None
        left, top = (centre - side / 2).tolist()
        return self._find_body_in_square(pixels, (left, top, side))

    def _find_body_in_square(
        self, pixels: Pixels, square: tuple[float, float, float]
    ) -> PersonLandmarks | None:
        cut = _cut_square(pixels, square)
        tensor = np.ascontiguousarray((cut / 255).transpose(2, 0, 1)[None], np.float32)
        numbers: _Numbers = self._session.run(None, {self._input: tensor})[0][0]
        if numbers[LANDMARK_NUMBERS] < _LEAST_PRESENCE:
            return None
        left, top, side = square
        points = numbers[:LANDMARK_NUMBERS].reshape(-1, 5)[:, :2]
        landmarks = points * (side / SIDE) + np.array([left, top], np.float32)
        mask = numbers[LANDMARK_NUMBERS + 1 :].reshape(MASK_CELLS, MASK_CELLS) > 0
        return PersonLandmarks(landmarks, mask, square)


def _cut_square(pixels: Pixels, square: tuple[float, float, float]) -> _Numbers:
    """Return a square of a photo in the network's size, black beyond the photo."""
    height, width = pixels.shape[:2]
    left, top, side = square
    scale = SIDE / side
    x0, x1 = max(0, round(left)), min(width, round(left + side))
    y0, y1 = max(0, round(top)), min(height, round(top + side))
    result = np.zeros((SIDE, SIDE, 3), np.float32)
    if x1 <= x0 or y1 <= y0:
        return result
    start_x, end_x = (min(SIDE, max(0, round((x - left) * scale))) for x in (x0, x1))
    start_y, end_y = (min(SIDE, max(0, round((y - top) * scale))) for y in (y0, y1))
    if end_x > start_x and end_y > start_y:
        part = pixels[y0:y1, x0:x1].astype(np.float32)
        result[start_y:end_y, start_x:end_x] = resize(
            part, end_y - start_y, end_x - start_x
        )
    return result
