"""Salient objects: regions that differ from the photo's border.

Product pictures before a studio wall do not need this; shoppers' photos of rooms do.
"""

from typing import Final

import numpy as np

from productrecs.engines.visual.foreground import centre_of
from productrecs.engines.visual.image_transforms import Floats, Pixels, Plane, resized

Box = tuple[float, float, float, float]
"""x, y, width and height, fractions of the picture, from its top left."""

_SIDE: Final = 48
_ROUNDS: Final = 2
_LIGHTNESS: Final = 0.6  # lightness weight; low, so that shadows count less
_LEVELS: Final = 64
_FAR: Final = 1e9

_PALE: Final = 130.0  # minimum of a pale wall's brightest channel
_TINTED: Final = 0.6  # minimum of its other channels, relative to it
_EVEN: Final = 14.0  # maximum spread of an even rim
_WHITE: Final = 250.0
_GAIN: Final = (0.8, 2.0)
_RIM: Final = 0.04


def salient_boxes(lab: Floats) -> list[Box]:
    """Return the salient boxes of a picture, [h, w, 3] Lab, most salient first."""
    from scipy import ndimage  # noqa: PLC0415 - for pictures only

    apart = _apart(lab) * (0.6 + 0.4 * centre_of(_SIDE))
    bar = _bar_between(apart)
    labels, count = ndimage.label(ndimage.binary_closing(apart > bar))
    if not count:
        return []
    weights = ndimage.sum(apart - bar / 2, labels, np.arange(1, count + 1))
    found = ndimage.find_objects(labels)
    return [
        (
            columns.start / _SIDE,
            rows.start / _SIDE,
            (columns.stop - columns.start) / _SIDE,
            (rows.stop - rows.start) / _SIDE,
        )
        for rows, columns in (found[place] for place in np.argsort(-weights, kind="stable"))
    ]


def white_balanced(pixels: Pixels) -> Pixels:
    """Return a picture white-balanced by its even, pale wall; without one, itself."""
    depth = max(1, round(_RIM * min(pixels.shape[:2])))
    parts = (pixels[:depth], pixels[-depth:], pixels[:, :depth], pixels[:, -depth:])
    rim = np.concatenate([part.reshape(-1, 3) for part in parts]).astype(np.float32)
    wall = np.median(rim, axis=0)
    is_even = float(np.abs(rim - wall).mean()) <= _EVEN
    if not is_even or wall.max() < _PALE or wall.min() < _TINTED * wall.max():
        return pixels
    gain = np.clip(_WHITE / wall, *_GAIN).astype(np.float32)
    lit: Pixels = np.clip(pixels * gain, 0, 255).astype(np.uint8)
    return lit


def _apart(lab: Floats) -> Plane:
    """Return the minimum barrier distance of each pixel to the rim, [_SIDE, _SIDE].

    Source: Zhang et al., Minimum Barrier Salient Object Detection at 80 FPS, ICCV 2015.
    Raster sweeps update each pixel from its neighbour if that is shorter.
    """
    small = resized(lab, _SIDE, _SIDE) * np.array([_LIGHTNESS, 1.0, 1.0], dtype=np.float32)
    padded = np.pad(small, ((1, 1), (1, 1), (0, 0)), mode="edge")
    around = padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]
    values = np.moveaxis(((around + 2 * small) / 6).astype(np.float32), 2, 1).copy()
    highest, lowest = values.copy(), values.copy()
    barrier = np.full((_SIDE, _SIDE), _FAR, dtype=np.float32)
    barrier[0] = barrier[-1] = barrier[:, 0] = barrier[:, -1] = 0.0
    planes = (values, highest, lowest, barrier)
    turned = tuple(plane.swapaxes(0, plane.ndim - 1) for plane in planes)
    for _ in range(_ROUNDS):
        for found in (planes, turned):
            _sweep(*found)
            _sweep(*(plane[::-1] for plane in found))
    return barrier


def _sweep(values: Floats, highest: Floats, lowest: Floats, barrier: Plane) -> None:
    """Update each row from the previous one, in place; all but `barrier` [row, 3, x].

    Minimises the number of NumPy calls: a photo has four hundred rows.
    """
    for row in range(1, len(values)):
        high = np.maximum(highest[row - 1], values[row])
        low = np.minimum(lowest[row - 1], values[row])
        apart = high - low
        cost = apart[0] + apart[1] + apart[2]
        is_less = cost < barrier[row]
        np.copyto(barrier[row], cost, where=is_less)
        np.copyto(highest[row], high, where=is_less)
        np.copyto(lowest[row], low, where=is_less)


def _bar_between(plane: Plane) -> float:
    """Return the threshold that best separates low and high values (Otsu)."""
    counts, edges = np.histogram(plane, _LEVELS)
    shares, middles = counts / counts.sum(), (edges[:-1] + edges[1:]) / 2
    below, sums = np.cumsum(shares), np.cumsum(shares * middles)
    apart = (sums[-1] * below - sums) ** 2 / np.maximum(below * (1 - below), 1e-9)
    return float(middles[int(apart.argmax())])
