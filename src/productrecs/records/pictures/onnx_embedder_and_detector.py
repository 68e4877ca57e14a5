"""ONNX models: the operator's embedding model and object detector, run by onnxruntime.

YOLOX output grids are decoded into boxes, labels and scores.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from productrecs.engines.visual.image_transforms import Pixels, resize
from productrecs.engines.visual.region_proposals import intersection_over_union
from productrecs.records.pictures.onnx_model_file import OnnxModelFile, open_session

STRIDES: Final = (8, 16, 32)
PAD: Final = 114
"""The grey padding of a picture that does not fill the square."""

_HEAD: Final = 5  # x, y, width, height and objectness

Tensor = npt.NDArray[np.floating[Any]]


class Detection(NamedTuple):
    """One detected object: its box in the model's square, in pixels, label and score."""

    box: tuple[float, float, float, float]  # x, y, width, height
    label: int
    score: float


def letterbox(picture: npt.NDArray[np.uint8], side: int) -> Tensor:
    """Return [1, 3, side, side], BGR in 0 to 255, as YOLOX was trained.

    `picture` is [h, w, 3], already scaled to fit; it is placed at the top left.
    """
    square = np.full((side, side, 3), PAD, dtype=np.float32)
    square[: picture.shape[0], : picture.shape[1]] = picture[:, :, ::-1]
    return np.ascontiguousarray(square.transpose(2, 0, 1)[None])


def decode_detections(
    output: Tensor, side: int, min_score: float, overlap: float
) -> list[Detection]:
    """Return the detections of a raw output, [1, cells, 5 + labels], best score first.

    Non-maximum suppression: of boxes of one label that overlap more than `overlap`, the
    best remains.

    Raises:
        ValueError: when the output has another shape.
    """
    cells = [(side // stride) ** 2 for stride in STRIDES]
    if output.ndim != 3 or output.shape[1] != sum(cells) or output.shape[2] <= _HEAD:  # noqa: PLR2004 - [1, cells, numbers]
        message = f"the detector's output is {output.shape}, not that of a YOLOX of {side}"
        raise ValueError(message)
    raw = output[0].astype(np.float64)
    grid, steps = _cell_positions_and_strides(side)
    centres = (raw[:, :2] + grid) * steps
    sizes = np.exp(np.clip(raw[:, 2:4], -20, 20)) * steps
    labels = raw[:, _HEAD:].argmax(axis=1)
    scores = raw[:, 4] * raw[np.arange(len(raw)), _HEAD + labels]
    detected = np.flatnonzero(scores >= min_score)
    detections = [
        Detection(
            (
                float(centres[n, 0] - sizes[n, 0] / 2),
                float(centres[n, 1] - sizes[n, 1] / 2),
                float(sizes[n, 0]),
                float(sizes[n, 1]),
            ),
            int(labels[n]),
            float(scores[n]),
        )
        for n in detected[np.argsort(-scores[detected], kind="stable")]
    ]
    return _suppress_overlaps(detections, overlap)


def _cell_positions_and_strides(side: int) -> tuple[Tensor, Tensor]:
    positions, steps = [], []
    for stride in STRIDES:
        count = side // stride
        rows, columns = np.mgrid[:count, :count]
        positions.append(np.stack([columns, rows], axis=2).reshape(-1, 2))
        steps.append(np.full((count * count, 1), stride))
    return np.concatenate(positions).astype(np.float64), np.concatenate(steps)


def _suppress_overlaps(detections: Sequence[Detection], overlap: float) -> list[Detection]:
    remaining: list[Detection] = []
    for detection in detections:
        if all(
            detection.label != other.label
            or intersection_over_union(detection.box, other.box) <= overlap
            for other in remaining
        ):
            remaining.append(detection)
    return remaining


# Dimensions of an output with one row a part, the whole picture first.
_TOKEN_DIMENSIONS = 3


class OnnxEmbedder:
    """A model that turns a picture into numbers, loaded; for one thread."""

    def __init__(self, model: OnnxModelFile) -> None:
        """Load the model's file."""
        self._model = model
        self._session = open_session(model.path)
        self._input = self._session.get_inputs()[0].name

    @property
    def is_fused(self) -> bool:
        """Whether our own descriptors go with its numbers."""
        return self._model.is_fused

    def embed(self, pixels: Pixels, *, is_part: bool = False) -> npt.NDArray[np.float32]:
        """Return the picture's numbers, prepared as the model's file says.

        They are those of its middle square. With a fused model they are the mean of these
        and of those of the whole picture, made square: the middle shows details, the whole
        shows the ends of long things. A part of a picture is only seen whole, to save time.
        """
        if not self.is_fused:
            return self._network_output(middle_square(pixels))
        whole = _unit_vector(self._network_output(pixels))
        return (
            whole
            if is_part
            else whole + _unit_vector(self._network_output(middle_square(pixels)))
        )

    def _network_output(self, pixels: Pixels) -> npt.NDArray[np.float32]:
        tensor = to_normalized_tensor(pixels, self._model)
        output = np.asarray(self._session.run(None, {self._input: tensor})[0], np.float32)
        vectors: npt.NDArray[np.float32] = output[0]
        return (vectors[0] if output.ndim == _TOKEN_DIMENSIONS else vectors).ravel()


def middle_square(pixels: Pixels) -> Pixels:
    """Return the square in the middle of a picture, as high as it or as wide."""
    height, width = pixels.shape[:2]
    length = min(height, width)
    top, left = (height - length) // 2, (width - length) // 2
    return pixels[top : top + length, left : left + length]


def to_normalized_tensor(
    pixels: Pixels, model: OnnxModelFile
) -> npt.NDArray[np.floating[Any]]:
    """Return [1, 3, side, side], red, green and blue, less their mean, by their spread."""
    small = resize(pixels.astype(np.float32), model.side, model.side).transpose(2, 0, 1)
    mean, std = (
        np.array(values, np.float32)[:, None, None] * np.float32(255.0)
        for values in (model.mean, model.std)
    )
    return np.ascontiguousarray((small - mean) / std)[None]


def _unit_vector(numbers: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    return numbers / max(float(np.linalg.norm(numbers)), 1e-9)


_MAX_DETECTIONS = 12


class YoloxDetector:
    """A model of the YOLOX kind, loaded; for one thread."""

    def __init__(self, model: OnnxModelFile) -> None:
        """Load the model's file."""
        self._model = model
        self._session = open_session(model.path)
        self._input = self._session.get_inputs()[0].name

    def detect(self, pixels: Pixels) -> list[tuple[tuple[float, ...], float, str]]:
        """Return boxes as fractions of the picture, how sure they are, and their labels."""
        side, model = self._model.side, self._model
        height, width = pixels.shape[:2]
        scale = side / max(height, width)
        size = [max(1, round(length * scale)) for length in (height, width)]
        small = resize(pixels.astype(np.float32), size[0], size[1]).clip(0, 255)
        tensor = letterbox(small.astype(np.uint8), side)
        output = np.asarray(self._session.run(None, {self._input: tensor})[0])
        regions: list[tuple[tuple[float, ...], float, str]] = []
        for detection in decode_detections(output, side, model.least, model.overlap)[
            :_MAX_DETECTIONS
        ]:
            box = _clip_to_fractions(detection.box, size[1], size[0])
            if box is not None:
                has_name = detection.label < len(model.labels)
                label = model.labels[detection.label] if has_name else str(detection.label)
                regions.append((box, detection.score, label))
        return regions


def _clip_to_fractions(
    box: tuple[float, ...], width: int, height: int
) -> tuple[float, float, float, float] | None:
    """Return a box as fractions, cut at the edges; None when it is outside."""
    left, top = max(0.0, box[0] / width), max(0.0, box[1] / height)
    right = min(1.0, (box[0] + box[2]) / width)
    bottom = min(1.0, (box[1] + box[3]) / height)
    if right - left <= 0 or bottom - top <= 0:
        return None
    return left, top, right - left, bottom - top
