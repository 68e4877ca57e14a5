"""Image transforms: conversion to CIE Lab and resizing, and the array types of pictures."""

from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from productrecs.core.cache_registry import RegisteredCache, memoized

Pixels: TypeAlias = npt.NDArray[np.uint8]
"""[h, w, 3], red, green and blue, upright."""

Floats: TypeAlias = npt.NDArray[np.floating[Any]]
Plane: TypeAlias = npt.NDArray[np.floating[Any]]
"""[h, w]."""

Descriptor: TypeAlias = npt.NDArray[np.uint8]
"""[DESCRIPTOR_LENGTH], features of one picture; see `image_descriptor.py`."""


_BITS: Final = 6  # of each channel in the table of colours
_SHIFT: Final = 8 - _BITS
_WHITE: Final = (0.95047, 1.0, 1.08883)  # D65
_DARK, _DIM = 0.04045, 0.008856  # limits of the linear segments of sRGB and Lab
_TO_XYZ: Final = (
    (0.4124564, 0.3575761, 0.1804375),
    (0.2126729, 0.7151522, 0.0721750),
    (0.0193339, 0.1191920, 0.9503041),
)


def to_lab(pixels: Pixels) -> Floats:
    """Return CIE Lab, [h, w, 3]: lightness 0 to 100, the two colours about -100 to 100.

    Uses a table of 262,144 colours, with an error of about one unit.
    """
    small = pixels >> _SHIFT
    codes = (small[..., 0].astype(np.intp) << 2 * _BITS) | (
        small[..., 1].astype(np.intp) << _BITS
    )
    codes |= small[..., 2]
    return _rgb_to_lab_table().take(codes, axis=0)


def resize(plane: Floats, height: int, width: int) -> Floats:
    """Return [h, w] or [h, w, c], downscaled by averaging or upscaled linearly."""
    rows = _resize_weights(plane.shape[0], height)
    columns = _resize_weights(plane.shape[1], width)
    if plane.ndim == 2:  # noqa: PLR2004 - a plane
        return rows @ plane @ columns.T
    old_height, old_width, channels = plane.shape
    lower = (rows @ plane.reshape(old_height, -1)).reshape(height, old_width, channels)
    stacked = np.ascontiguousarray(np.moveaxis(lower, 2, 0)).reshape(-1, old_width)
    return np.moveaxis((stacked @ columns.T).reshape(channels, height, width), 0, 2)


@memoized(RegisteredCache.CONSTANTS)
def _rgb_to_lab_table() -> Floats:
    levels = (np.arange(1 << _BITS) + 0.5) / (1 << _BITS)
    linear = np.where(levels <= _DARK, levels / 12.92, ((levels + 0.055) / 1.055) ** 2.4)
    red, green, blue = np.meshgrid(linear, linear, linear, indexing="ij")
    xyz = np.stack([red, green, blue], axis=-1) @ np.array(_TO_XYZ).T / np.array(_WHITE)
    root = np.where(xyz > _DIM, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    lab = np.stack(
        [
            116 * root[..., 1] - 16,
            500 * (root[..., 0] - root[..., 1]),
            200 * (root[..., 1] - root[..., 2]),
        ],
        axis=-1,
    )
    return lab.reshape(-1, 3).astype(np.float32)


@memoized(RegisteredCache.RESIZE_WEIGHTS)
def _resize_weights(old: int, new: int) -> Floats:
    """Return [new, old]: the weight of each old row in each new one; rows sum to 1."""
    step = old / new
    reach = max(step, 1.0)
    centres = (np.arange(new) + 0.5) * step - 0.5
    distance = np.abs(np.arange(old)[None, :] - centres[:, None]) / reach
    weights = np.clip(1.0 - distance, 0.0, None)
    shares: Floats = weights / weights.sum(axis=1, keepdims=True)
    return shares.astype(np.float32)
