"""Image descriptor: colours, edges and texture of one picture, independent of any catalog.

Nothing here is trained, so stored descriptors stay valid when models change.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from productrecs.core.cache_registry import RegisteredCache, memoized
from productrecs.engines.visual.foreground import (
    ForegroundWeights,
    find_foreground,
    foreground_window,
    salient_boxes,
)
from productrecs.engines.visual.image_transforms import (
    Descriptor,
    Floats,
    Pixels,
    Plane,
    resize,
    to_lab,
)

BINS: Final = (12, 13, 13)  # of lightness, green-red and blue-yellow
COLOURS: Final = BINS[0] * BINS[1] * BINS[2]

_COLOUR_STEP: Final = 4.0
"""Chroma below which bins are narrow: most clothes are nearly grey."""

_REACH: Final = float(np.arcsinh(70 / _COLOUR_STEP))


def histogram_positions(lab: Floats) -> Floats:
    """Return the position of each Lab colour [..., 3] on the histogram's axes, in bins."""
    axes = np.empty_like(lab)
    axes[..., 0] = lab[..., 0] * ((BINS[0] - 1) / 100)
    stretched = np.arcsinh(lab[..., 1:] / _COLOUR_STEP)
    axes[..., 1:] = (stretched + _REACH) * ((BINS[1] - 1) / (2 * _REACH))
    return np.clip(axes, 0.0, np.array(BINS, dtype=np.float32) - 1.001)


def root_colour_shares(axes: Floats, weights: Plane) -> Floats:
    """Return the square roots of the colours' shares, [COLOURS], by `histogram_positions`.

    Each pixel is weighted and spread over the eight nearest bins by trilinear
    interpolation.
    """
    flat = axes.reshape(-1, 3)
    low = flat.astype(np.intp)
    fractions = (flat - low).T
    first_bin = (low[:, 0] * BINS[1] + low[:, 1]) * BINS[2] + low[:, 2]
    counts = np.zeros(COLOURS, dtype=np.float64)
    sides = np.stack([1.0 - fractions, fractions])  # [2, 3, n]
    flat_weights = weights.ravel()
    for corner, step in enumerate(_corner_offsets().tolist()):
        share = flat_weights * sides[corner >> 2, 0]
        share *= sides[(corner >> 1) & 1, 1]
        share *= sides[corner & 1, 2]
        counts += np.bincount(first_bin + step, share, minlength=COLOURS)
    return np.sqrt(counts / max(float(counts.sum()), 1e-9)).astype(np.float32)


@memoized(RegisteredCache.CONSTANTS)
def _corner_offsets() -> npt.NDArray[np.intp]:
    """Return the offset of each corner of a cell of bins from its first, [8]."""
    corners = [
        (a * BINS[1] + b) * BINS[2] + c for a in (0, 1) for b in (0, 1) for c in (0, 1)
    ]
    return np.array(corners, dtype=np.intp)


DIRECTIONS: Final = 9
SIDE: Final = 96  # side of the square for edges
_MAX_SHARE: Final = 0.35  # maximum of one direction in a cell: limits a single seam
_MIN_DIFFERENCE: Final = 1.0  # minimum difference, of 255: less is noise


def edge_strengths_by_direction(grey: Plane) -> Floats:
    """Return [DIRECTIONS, SIDE, SIDE]: strength of edges by direction."""
    down, across = np.zeros_like(grey), np.zeros_like(grey)
    down[1:-1] = grey[2:] - grey[:-2]
    across[:, 1:-1] = grey[:, 2:] - grey[:, :-2]
    turn = np.mod(np.arctan2(down, across), np.pi) * (DIRECTIONS / np.pi)
    low = turn.astype(np.intp) % DIRECTIONS
    part = turn - np.floor(turn)
    strength = np.hypot(across, down)
    planes = np.zeros((DIRECTIONS, grey.size), dtype=np.float32)
    pixels = np.arange(grey.size)
    planes[low.ravel(), pixels] = (strength * (1.0 - part)).ravel()
    planes[(low.ravel() + 1) % DIRECTIONS, pixels] += (strength * part).ravel()
    return planes.reshape(DIRECTIONS, *grey.shape)


def edge_histograms(planes: Floats, cells: int) -> Floats:
    """Return [cells * cells / 2 * DIRECTIONS]: edges by cell, normalised locally."""
    size = SIDE // cells
    shape = (DIRECTIONS, cells, size, cells, size)
    sums = np.moveaxis(planes.reshape(shape).sum(axis=(2, 4)), 0, 2)
    energy = np.pad((sums**2).sum(axis=2), 1, mode="edge")
    local_energy = sum(
        energy[row : row + cells, column : column + cells]
        for row in range(3)
        for column in range(3)
    )
    floor = 1e-3 * float(np.mean(local_energy)) + 1e-6
    normalised = np.minimum(sums / np.sqrt(local_energy + floor)[..., None], _MAX_SHARE)
    mirrored = normalised[:, ::-1][:, :, -np.arange(DIRECTIONS) % DIRECTIONS]
    symmetric = (normalised + mirrored) / 2
    histogram: Floats = symmetric[:, : cells // 2].ravel()
    return histogram


def texture_histogram(grey: Plane, weights: Plane) -> Floats:
    """Return the square roots of the shares of local binary patterns, [TEXTURES].

    A pattern marks which of a pixel's eight neighbours are brighter. Uniform patterns have
    separate bins, all others share one; mirror images share a bin.
    """
    middle = grey[1:-1, 1:-1] + _MIN_DIFFERENCE
    rows, columns = middle.shape
    codes = np.zeros(middle.shape, dtype=np.intp)
    for bit, (row, column) in enumerate(_AROUND):
        brighter = grey[row : row + rows, column : column + columns] >= middle
        codes |= brighter.astype(np.intp) << bit
    kinds = _pattern_bins()[codes.ravel()]
    counts = np.bincount(kinds, weights[1:-1, 1:-1].ravel(), minlength=TEXTURES)
    return np.sqrt(counts / max(float(counts.sum()), 1e-9)).astype(np.float32)


_AROUND: Final = ((0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0))
_MIRRORED: Final = (2, 1, 0, 7, 6, 5, 4, 3)
_MAX_CHANGES: Final = 2  # maximum changes around the ring of a uniform pattern


@memoized(RegisteredCache.CONSTANTS)
def _pattern_bins() -> npt.NDArray[np.intp]:
    """Return the bin of each of the 256 patterns."""
    names: dict[int, int] = {}
    kinds = []
    for code in range(256):
        bits = [code >> bit & 1 for bit in range(8)]
        changes = sum(bits[bit] != bits[bit - 1] for bit in range(8))
        mirrored = sum(bits[bit] << _MIRRORED[bit] for bit in range(8))
        name = min(code, mirrored) if changes <= _MAX_CHANGES else -1
        kinds.append(names.setdefault(name, len(names)))
    return np.array(kinds, dtype=np.intp)


TEXTURES: Final = int(_pattern_bins().max()) + 1


FORMAT: Final = "tier0-1"
"""Format version: stored descriptors of another version are recomputed."""

PICTURE_SIDE: Final = 224
"""Longer side of pictures to describe; larger ones give the same result more slowly."""

MIN_SIDE: Final = 8

_COLOURED: Final = 72  # side of the square for colours
_FINE_CELLS, _COARSE_CELLS = 12, 6  # edge cells per side
_LAYOUT: Final = 8
_TONES: Final = 12
_SMALL: Final = 0.3  # share of a photo, including its margin
_ASIDE: Final = 0.3
_NEARLY_ALL: Final = 0.8  # minimum share of the contrast; less is part of an object
_PLAIN: Final = 0.8


class DescriptorBlock(NamedTuple):
    """One part of a descriptor: its name, and the values that 0 and 255 stand for."""

    name: str
    length: int
    lowest: float
    highest: float
    is_colour: bool


DESCRIPTOR_BLOCKS: Final = (
    DescriptorBlock("colours", COLOURS, 0.0, 1.0, is_colour=True),
    DescriptorBlock("colours_in_front", COLOURS, 0.0, 1.0, is_colour=True),
    DescriptorBlock("layout", _LAYOUT * _LAYOUT // 2 * 3, -5.0, 5.0, is_colour=True),
    DescriptorBlock(
        "edges",
        _FINE_CELLS * _FINE_CELLS // 2 * DIRECTIONS,
        0.0,
        0.35,
        is_colour=False,
    ),
    DescriptorBlock(
        "rough_edges",
        _COARSE_CELLS * _COARSE_CELLS // 2 * DIRECTIONS,
        0.0,
        0.35,
        is_colour=False,
    ),
    DescriptorBlock("texture", TEXTURES, 0.0, 1.0, is_colour=False),
    DescriptorBlock("tones", _TONES * _TONES // 2, -4.0, 4.0, is_colour=False),
    DescriptorBlock("outline", _TONES * _TONES // 2, 0.0, 1.0, is_colour=False),
    DescriptorBlock("proportions", 5, -2.0, 2.0, is_colour=False),
)
LENGTH: Final = sum(block.length for block in DESCRIPTOR_BLOCKS)
_SPREAD: Final = (20.0, 12.0, 12.0)  # Lab scale of `layout`


def describe(pixels: Pixels) -> Descriptor:
    """Return the descriptor of an upright picture, [LENGTH].

    Mirror images have the same descriptor, except for rounding. Needs `MIN_SIDE` pixels a
    side.

    Raises:
        ValueError: when the picture is smaller or has another shape.
    """
    lab = _checked_lab(pixels)
    return _quantize(_descriptor_blocks(lab, find_foreground(lab)))


def describe_photo_views(
    lab: Floats,
    front: ForegroundWeights,
    window: tuple[slice, slice],
    foreground_share: float,
) -> list[Descriptor]:
    """Return descriptors of a photo to be averaged: the whole, and its foreground.

    `lab` is white-balanced; `window` and `foreground_share` are of
    `foreground_window_and_share`. A small foreground counts three times as much as the
    whole photo. A product picture before a plain wall is described as by `describe`.
    """
    whole = _quantize(_descriptor_blocks(lab, front))
    part = np.ascontiguousarray(lab[window])
    if part.shape == lab.shape:
        return [whole]
    foreground = _quantize(_descriptor_blocks(part, find_foreground(part)))
    return (
        [whole, foreground]
        if foreground_share > _SMALL
        else [whole, foreground, foreground, foreground]
    )


def foreground_window_and_share(
    lab: Floats, front: ForegroundWeights
) -> tuple[tuple[slice, slice], float]:
    """Return rows and columns of a photo's foreground, and its share of the photo.

    The salient region is the foreground if it is small, or if the background is not plain.
    Otherwise the foreground is all that differs from the wall, which includes every part of
    the object.
    """
    height, width = lab.shape[:2]
    boxes = salient_boxes(lab)
    if boxes:
        x, y, box_width, box_height = boxes[0]
        edges = (y * height, (y + box_height) * height, x * width, (x + box_width) * width)
        top, bottom, left, right = (round(edge) for edge in edges)
        share_in_box = front.weights[top:bottom, left:right].sum() / front.weights.sum()
        has_whole_contrast = box_width * box_height < _ASIDE and share_in_box > _NEARLY_ALL
        if front.plainness < _PLAIN or has_whole_contrast:
            front = front._replace(box=(top, bottom, left, right))
    rows, columns = window = foreground_window(front, height, width)
    share = (rows.stop - rows.start) * (columns.stop - columns.start) / (height * width)
    return window, share


def describe_parts(
    pixels: Pixels, windows: Sequence[tuple[slice, slice]]
) -> list[Descriptor]:
    """Return the descriptor of each part of an upright picture, rows and columns of it.

    Raises:
        ValueError: when the picture, or a part, has no `MIN_SIDE` pixels a side.
    """
    return describe_windows(_checked_lab(pixels), windows)


def describe_windows(
    lab: Floats, windows: Sequence[tuple[slice, slice]]
) -> list[Descriptor]:
    """Return `describe_parts` of a picture's Lab.

    Raises:
        ValueError: as `describe_parts`.
    """
    descriptors = list[Descriptor]()
    for window in windows:
        part = lab[window]
        if min(part.shape[:2]) < MIN_SIDE:
            message = f"a part needs {MIN_SIDE} pixels a side"
            raise ValueError(message)
        longer_side = max(part.shape[:2])
        if longer_side > PICTURE_SIDE:
            size = [
                max(MIN_SIDE, side * PICTURE_SIDE // longer_side) for side in part.shape[:2]
            ]
            part = resize(part, size[0], size[1])
        part = np.ascontiguousarray(part)
        descriptors.append(_quantize(_descriptor_blocks(part, find_foreground(part))))
    return descriptors


def _checked_lab(pixels: Pixels) -> Floats:
    if pixels.ndim != 3 or min(pixels.shape[:2]) < MIN_SIDE:  # noqa: PLR2004 - h, w, c
        message = f"a picture needs {MIN_SIDE} pixels a side"
        raise ValueError(message)
    return to_lab(pixels)


def _descriptor_blocks(lab: Floats, front: ForegroundWeights) -> tuple[Floats, ...]:
    """Return the blocks, in the order of `DESCRIPTOR_BLOCKS`."""
    top, bottom, left, right = front.box
    cut, weights = lab[top:bottom, left:right], front.weights[top:bottom, left:right]
    axes = histogram_positions(resize(lab, _COLOURED, _COLOURED))
    whole = np.ones((_COLOURED, _COLOURED), dtype=np.float32)
    grey = resize(cut[..., 0] * 2.55, SIDE, SIDE)
    planes = edge_strengths_by_direction(grey)
    tones = _fold_mirrored(resize(cut[..., 0], _TONES, _TONES))
    height, width = lab.shape[:2]
    proportions = [
        np.log((bottom - top) / (right - left)),
        (bottom - top) / height,
        (right - left) / width,
        front.weights.mean(),
        front.plainness,
    ]
    return (
        root_colour_shares(axes, whole),
        root_colour_shares(axes, resize(front.weights, _COLOURED, _COLOURED)),
        (_fold_mirrored(resize(cut, _LAYOUT, _LAYOUT)) - (50.0, 0.0, 0.0)) / _SPREAD,
        edge_histograms(planes, _FINE_CELLS),
        edge_histograms(planes, _COARSE_CELLS),
        texture_histogram(grey, resize(weights, SIDE, SIDE)),
        (tones - tones.mean()) / (tones.std() + 3.0),
        _fold_mirrored(resize(weights, _TONES, _TONES)),
        np.array(proportions, dtype=np.float32),
    )


def _fold_mirrored(plane: Floats) -> Floats:
    """Return the left half of a square averaged with the mirrored right one."""
    return ((plane + plane[:, ::-1]) / 2)[:, : plane.shape[1] // 2]


def _quantize(blocks: tuple[Floats, ...]) -> Descriptor:
    packed = np.empty(LENGTH, dtype=np.uint8)
    start = 0
    for block, part in zip(DESCRIPTOR_BLOCKS, blocks, strict=True):
        share = (part.ravel() - block.lowest) / (block.highest - block.lowest)
        level = np.clip(np.rint(share * 255), 0, 255)
        packed[start : start + block.length] = level.astype(np.uint8)
        start += block.length
    return packed
