"""Object detection: decodes YOLOX output grids into boxes, labels and scores."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

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
    grid, step = _grid(side)
    middle = (raw[:, :2] + grid) * step
    size = np.exp(np.clip(raw[:, 2:4], -20, 20)) * step
    labels = raw[:, _HEAD:].argmax(axis=1)
    scores = raw[:, 4] * raw[np.arange(len(raw)), _HEAD + labels]
    is_detection = np.flatnonzero(scores >= min_score)
    found = [
        Detection(
            (
                float(middle[n, 0] - size[n, 0] / 2),
                float(middle[n, 1] - size[n, 1] / 2),
                float(size[n, 0]),
                float(size[n, 1]),
            ),
            int(labels[n]),
            float(scores[n]),
        )
        for n in is_detection[np.argsort(-scores[is_detection], kind="stable")]
    ]
    return _non_maximum_suppression(found, overlap)


def _grid(side: int) -> tuple[Tensor, Tensor]:
    places, steps = [], []
    for stride in STRIDES:
        count = side // stride
        rows, columns = np.mgrid[:count, :count]
        places.append(np.stack([columns, rows], axis=2).reshape(-1, 2))
        steps.append(np.full((count * count, 1), stride))
    return np.concatenate(places).astype(np.float64), np.concatenate(steps)


def _non_maximum_suppression(found: Sequence[Detection], overlap: float) -> list[Detection]:
    chosen: list[Detection] = []
    for one in found:
        if all(
            one.label != other.label or _shared(one.box, other.box) <= overlap
            for other in chosen
        ):
            chosen.append(one)
    return chosen


def _shared(one: Sequence[float], other: Sequence[float]) -> float:
    overlap_width = min(one[0] + one[2], other[0] + other[2]) - max(one[0], other[0])
    overlap_height = min(one[1] + one[3], other[1] + other[3]) - max(one[1], other[1])
    if overlap_width <= 0 or overlap_height <= 0:
        return 0.0
    intersection = overlap_width * overlap_height
    return intersection / (one[2] * one[3] + other[2] * other[3] - intersection)
