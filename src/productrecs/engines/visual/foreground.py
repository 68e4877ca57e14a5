"""Foreground: weights for where the product of a photo probably is.

Salient objects are regions that differ from the photo's border. Product pictures before a
studio wall do not need this; shoppers' photos of rooms do.
"""

from typing import Final, NamedTuple

import numpy as np

from productrecs.engines.visual.connected_components import (
    close_mask,
    label_parts,
    part_edges,
)
from productrecs.engines.visual.image_transforms import Floats, Pixels, Plane, resize

_RIM: Final = 0.04  # of each side: the rim counts as background
_PLAIN: Final = 14.0  # maximum Lab spread of a plain rim
_EDGE: Final = 0.02  # maximum weight outside the box, on each side
_SMALL: Final = 64
_MIN_FOREGROUND: Final = 8


class ForegroundWeights(NamedTuple):
    """Weights by pixel, and the foreground's box: [y0, y1, x0, x1), in pixels."""

    weights: Plane
    box: tuple[int, int, int, int]
    plainness: float  # 1 for a plain background, such as a studio's; 0 for any other


def find_foreground(lab: Floats) -> ForegroundWeights:
    """Return the likely location of the product.

    Weights combine the difference from the rim's colours and the distance to the centre. On
    a plain background the difference dominates, otherwise the centre.
    """
    height, width = lab.shape[:2]
    small = resize(lab, _SMALL, _SMALL)
    rim = _rim_pixels(small)
    seeds = _dominant_colours(rim)
    axes = np.ascontiguousarray(np.moveaxis(small, 2, 0))
    distance = np.sqrt(
        np.min([((axes - seed[:, None, None]) ** 2).sum(axis=0) for seed in seeds], axis=0)
    )
    rim_spread = float(np.sqrt(((rim - np.median(rim, axis=0)) ** 2).sum(axis=1)).mean())
    plainness = float(np.clip(1.5 - rim_spread / _PLAIN, 0.0, 1.0))
    threshold = 6.0 + 10.0 * (1.0 - plainness)
    is_different = np.clip((distance - threshold) / 10.0, 0.0, 1.0)
    centre = centre_weights(_SMALL)
    colour_weights = is_different * (0.35 + 0.65 * centre)
    weights = plainness * is_different + (1.0 - plainness) * (
        0.5 * colour_weights + 0.5 * centre
    )
    if weights.mean() < 0.02:  # noqa: PLR2004 - no contrast, such as white on white
        weights = centre
    weights = _smooth(weights.astype(np.float32))
    box = _box_of_almost_all_weight(weights * (0.25 + 0.75 * centre), height, width)
    return ForegroundWeights(resize(weights, height, width), box, plainness)


def _rim_pixels(lab: Floats) -> Floats:
    """Return the pixels of the top and both sides; products often touch the bottom."""
    depth = max(1, round(_RIM * len(lab)))
    parts = (lab[:depth], lab[:, :depth], lab[:, -depth:], lab[-depth:])
    return np.concatenate([part.reshape(-1, 3) for part in parts])


def _dominant_colours(rim: Floats) -> list[Floats]:
    """Return up to three dominant colours of the rim."""
    remaining, seeds = rim, list[Floats]()
    for _ in range(3):
        seed = np.median(remaining, axis=0)
        is_near = np.sqrt(((remaining - seed) ** 2).sum(axis=1)) < 15.0  # noqa: PLR2004 - Lab
        if is_near.sum() < 0.12 * len(rim):
            break
        seeds.append(remaining[is_near].mean(axis=0))
        remaining = remaining[~is_near]
        if len(remaining) < 0.12 * len(rim):
            break
    return seeds or [np.median(rim, axis=0)]


def centre_weights(size: int) -> Plane:
    """Return each cell's closeness to the centre of a square, 1 there, [size, size]."""
    place = (np.arange(size, dtype=np.float32) + 0.5) / size - 0.5
    return np.exp(-0.5 * ((place[:, None] / 0.3) ** 2 + (place[None, :] / 0.25) ** 2))


def _smooth(plane: Plane) -> Plane:
    padded = np.pad(plane, 1, mode="edge")
    rows = (padded[:-2] + padded[1:-1] + padded[2:]) / 3
    return (rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]) / 3


def _box_of_almost_all_weight(
    weights: Plane, height: int, width: int
) -> tuple[int, int, int, int]:
    top, bottom = _scaled_span_of_weight(weights.sum(axis=1), height)
    left, right = _scaled_span_of_weight(weights.sum(axis=0), width)
    return top, bottom, left, right


def _scaled_span_of_weight(profile: Plane, length: int) -> tuple[int, int]:
    """Return [first, last) of the cells with almost all weight."""
    share = np.cumsum(profile) / max(float(profile.sum()), 1e-9)
    first = int(np.searchsorted(share, _EDGE))
    last = int(np.searchsorted(share, 1 - _EDGE)) + 1
    low, high = first * length // len(profile), -(-last * length // len(profile))
    if high - low < length // 4:  # a speck: include its surroundings
        middle = (low + high) // 2
        low, high = max(0, middle - length // 8), min(length, middle + length // 8 + 1)
    return low, min(high, length)


def foreground_window(
    front: ForegroundWeights, height: int, width: int
) -> tuple[slice, slice]:
    """Return the foreground's rows and columns, with a margin; all if it is a speck."""
    top, bottom, left, right = front.box
    down, across = (bottom - top) // 12, (right - left) // 12
    rows = slice(max(0, top - down), min(height, bottom + down))
    columns = slice(max(0, left - across), min(width, right + across))
    if min(rows.stop - rows.start, columns.stop - columns.start) < _MIN_FOREGROUND:
        return slice(0, height), slice(0, width)
    return rows, columns


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


def salient_boxes(lab: Floats) -> list[Box]:
    """Return the salient boxes of a picture, [h, w, 3] Lab, most salient first."""
    distance = _barrier_distances_to_rim(lab) * (0.6 + 0.4 * centre_weights(_SIDE))
    threshold = _otsu_threshold(distance)
    labels, count = label_parts(close_mask(distance > threshold))
    saliency = (distance - threshold / 2).ravel()
    weights = np.bincount(labels.ravel(), saliency, minlength=count + 1)[1:]
    boxes = part_edges(labels, count)[np.argsort(-weights, kind="stable")] / _SIDE
    return [
        (left, top, right - left, bottom - top)
        for top, bottom, left, right in boxes.tolist()
    ]


def white_balance(pixels: Pixels) -> Pixels:
    """Return a picture white-balanced by its even, pale wall; without one, itself."""
    depth = max(1, round(_RIM * min(pixels.shape[:2])))
    parts = (pixels[:depth], pixels[-depth:], pixels[:, :depth], pixels[:, -depth:])
    rim = np.concatenate([part.reshape(-1, 3) for part in parts]).astype(np.float32)
    wall = np.median(rim, axis=0)
    is_even = float(np.abs(rim - wall).mean()) <= _EVEN
    if not is_even or wall.max() < _PALE or wall.min() < _TINTED * wall.max():
        return pixels
    gain = np.clip(_WHITE / wall, *_GAIN).astype(np.float32)
    balanced: Pixels = np.clip(pixels * gain, 0, 255).astype(np.uint8)
    return balanced


def _barrier_distances_to_rim(lab: Floats) -> Plane:
    """Return the minimum barrier distance of each pixel to the rim, [_SIDE, _SIDE].

    Source: Zhang et al., Minimum Barrier Salient Object Detection at 80 FPS, ICCV 2015.
    Raster sweeps update each pixel from its neighbour if that is shorter.
    """
    small = resize(lab, _SIDE, _SIDE) * np.array([_LIGHTNESS, 1.0, 1.0], dtype=np.float32)
    padded = np.pad(small, ((1, 1), (1, 1), (0, 0)), mode="edge")
    neighbour_sums = (
        padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]
    )
    values = np.moveaxis(((neighbour_sums + 2 * small) / 6).astype(np.float32), 2, 1).copy()
    highest, lowest = values.copy(), values.copy()
    barrier = np.full((_SIDE, _SIDE), _FAR, dtype=np.float32)
    barrier[0] = barrier[-1] = barrier[:, 0] = barrier[:, -1] = 0.0
    planes = (values, highest, lowest, barrier)
    transposed = tuple(plane.swapaxes(0, plane.ndim - 1) for plane in planes)
    for _ in range(_ROUNDS):
        for orientation in (planes, transposed):
            _update_barrier_rows(*orientation)
            _update_barrier_rows(*(plane[::-1] for plane in orientation))
    return barrier


def _update_barrier_rows(
    values: Floats, highest: Floats, lowest: Floats, barrier: Plane
) -> None:
    """Update each row from the previous one, in place; all but `barrier` [row, 3, x].

    Minimises the number of NumPy calls: a photo has four hundred rows.
    """
    for row in range(1, len(values)):
        max_values = np.maximum(highest[row - 1], values[row])
        min_values = np.minimum(lowest[row - 1], values[row])
        ranges = max_values - min_values
        cost = ranges[0] + ranges[1] + ranges[2]
        is_less = cost < barrier[row]
        np.copyto(barrier[row], cost, where=is_less)
        np.copyto(highest[row], max_values, where=is_less)
        np.copyto(lowest[row], min_values, where=is_less)


def _otsu_threshold(plane: Plane) -> float:
    """Return the threshold that best separates low and high values (Otsu)."""
    counts, edges = np.histogram(plane, _LEVELS)
    shares, middles = counts / counts.sum(), (edges[:-1] + edges[1:]) / 2
    share_below, sums = np.cumsum(shares), np.cumsum(shares * middles)
    separation = (sums[-1] * share_below - sums) ** 2 / np.maximum(
        share_below * (1 - share_below), 1e-9
    )
    return float(middles[int(separation.argmax())])
