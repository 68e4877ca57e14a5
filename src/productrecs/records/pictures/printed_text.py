"""Printed text: finds the lines of text in a photo and reads them, with two ONNX models.

The detector gives a map of how likely each pixel is text, the recognizer reads one line at
a time (connectionist temporal classification).
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import onnxruntime
from PIL import Image

from productrecs.engines.visual.image_transforms import Pixels
from productrecs.records.pictures.onnx_model_file import open_session
from productrecs.records.pictures.text_boxes import Map, TextBox, find_text_boxes

_DETECTED_SIDE: Final = 320
"""The longer side in which text is looked for: the name of a product that fills a phone's
photo is then ten pixels high. The time grows with its square."""

_MAX_LINES: Final = 12
"""The largest lines are read: names are large, ingredients small."""

_STEP: Final = 32  # sides of the detector's input are multiples of it
_MIN_LINE_SCORE: Final = 0.7
_SURE: Final = 0.97  # below this a line is also read upside down, where .95 was seen
_LINE_HEIGHT: Final = 48
_MAX_LINE_WIDTH: Final = 960
_TALL: Final = 1.5  # height by width from which a line runs upwards or downwards


def decode_ctc(output: Map, characters: Sequence[str]) -> tuple[str, float]:
    """Return the text of a line's output [steps, characters], and its mean confidence.

    The first character is the blank, which separates repeated ones.
    """
    best = output.argmax(axis=1)
    is_new = np.concatenate([[True], best[1:] != best[:-1]]) & (best > 0)
    if not is_new.any():
        return "", 0.0
    confidence = float(output[np.flatnonzero(is_new), best[is_new]].mean())
    return "".join(characters[index] for index in best[is_new].tolist()), confidence


class PrintedTextReader:
    """Both models, loaded; for one thread."""

    def __init__(self, detector: Path, recognizer: Path) -> None:
        """Load the models' files; the recognizer's has its characters as metadata."""
        self._detector, self._recognizer = map(open_session, (detector, recognizer))
        metadata = self._recognizer.get_modelmeta().custom_metadata_map
        self._characters = ["", *metadata["character"].splitlines(), " "]

    def find_boxes(self, pixels: Pixels) -> list[TextBox]:
        """Return the boxes of the lines of text in a photo, the largest first."""
        height, width = pixels.shape[:2]
        rows, columns = _detector_input_size(height, width)
        small = Image.fromarray(pixels).resize((columns, rows), Image.Resampling.BILINEAR)
        boxes = find_text_boxes(_run_model(self._detector, np.asarray(small))[0, 0])
        factors = np.array([width / columns, height / rows])
        return [box.scaled(factors) for box in boxes]

    def read_lines(self, pixels: Pixels, boxes: Sequence[TextBox]) -> list[str]:
        """Return the text of the first boxes, without lines that cannot be read.

        Lines that run upwards, downwards or upside down are read as well.
        """
        picture = Image.fromarray(pixels)
        lines = [self._read_turned_if_needed(picture, box) for box in boxes[:_MAX_LINES]]
        return [text for text, confidence in lines if confidence >= _MIN_LINE_SCORE]

    def _read_turned_if_needed(
        self, picture: Image.Image, box: TextBox
    ) -> tuple[str, float]:
        if box.height > _TALL * box.width:
            box = box.turned()
        reading = self._read_line(picture, box)
        if reading[1] >= _SURE:
            return reading
        flipped = self._read_line(picture, box.upside_down())
        return max(reading, flipped, key=lambda one: one[1])

    def _read_line(self, picture: Image.Image, box: TextBox) -> tuple[str, float]:
        line = np.asarray(_cut_line(picture, box))
        text, confidence = decode_ctc(
            _run_model(self._recognizer, line)[0], self._characters
        )
        return text.strip(), confidence


def _run_model(session: onnxruntime.InferenceSession, pixels: Pixels) -> Map:
    """Return the output for pixels in blue, green, red, from -1 to 1, as it was trained."""
    tensor = pixels[:, :, ::-1].transpose(2, 0, 1)[None].astype(np.float32) / 127.5 - 1
    name = session.get_inputs()[0].name
    return np.asarray(session.run(None, {name: np.ascontiguousarray(tensor)})[0])


def _detector_input_size(height: int, width: int) -> tuple[int, int]:
    scale = min(1.0, _DETECTED_SIDE / max(height, width))
    rows, columns = (
        max(_STEP, round(side * scale / _STEP) * _STEP) for side in (height, width)
    )
    return rows, columns


def _cut_line(picture: Image.Image, box: TextBox) -> Image.Image:
    """Return the pixels of a line, made upright and of the recognizer's height."""
    shrink = int(box.height // (2 * _LINE_HEIGHT))
    if shrink > 1:  # the transformation below looks at single pixels
        picture, box = picture.reduce(shrink), box.scaled(np.full(2, 1 / shrink))
    width = math.ceil(_LINE_HEIGHT * box.width / max(box.height, 1.0))
    size = (min(max(width, _LINE_HEIGHT // 2), _MAX_LINE_WIDTH), _LINE_HEIGHT)
    corners = [
        box.centre + x * box.along + y * box.across
        for x, y in ((-1, -1), (-1, 1), (1, 1), (1, -1))
    ]
    quad = tuple(float(number) for corner in corners for number in corner)
    return picture.transform(
        size, Image.Transform.QUAD, quad, Image.Resampling.BICUBIC, fillcolor=(127,) * 3
    )
