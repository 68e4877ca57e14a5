"""Connected component labelling of small masks."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from productrecs.engines.compiled_kernels import address, declare

if TYPE_CHECKING:
    import numpy.typing as npt

_label_parts = declare("label_parts", "aiiaa", ctypes.c_int32)


def label_parts(mask: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.int32], int]:
    """Return a mask's connected parts, numbered from 1 in reading order, and their number.

    The numbers are [height, width], 0 outside the mask. Only sides connect pixels.
    """
    mask = np.ascontiguousarray(mask)
    labels, stack = np.empty(mask.shape, np.int32), np.empty(mask.size, np.int64)
    height, width = mask.shape
    count: int = _label_parts(address(mask), height, width, address(labels), address(stack))
    return labels, count


def part_edges(labels: npt.NDArray[np.int32], count: int) -> npt.NDArray[Any]:
    """Return top, bottom, left and right of each part, [count, 4]; the ends are outside."""
    rows, columns = np.nonzero(labels)
    parts = labels[rows, columns] - 1
    boxes = np.zeros((count, 4), np.int64)
    boxes[:, ::2] = labels.size
    np.minimum.at(boxes[:, 0], parts, rows)
    np.maximum.at(boxes[:, 1], parts, rows + 1)
    np.minimum.at(boxes[:, 2], parts, columns)
    np.maximum.at(boxes[:, 3], parts, columns + 1)
    return boxes


def close_mask(mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return a mask after morphological closing by one pixel; the outside is empty."""
    for operation in (np.logical_or, np.logical_and):
        padded = np.pad(mask, 1)
        sides = (padded[:-2, 1:-1], padded[2:, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:])
        mask = operation.reduce((mask, *sides))
    return mask
