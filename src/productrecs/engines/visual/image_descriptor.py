"""Image descriptor: features of one picture, independent of any catalog.

Nothing here is trained, so stored descriptors stay valid when models change.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from productrecs.engines.visual import colour_histogram, edge_histogram
from productrecs.engines.visual.foreground import (
    Foreground,
    find_foreground,
    window_of,
)
from productrecs.engines.visual.image_transforms import (
    Descriptor,
    Floats,
    Pixels,
    resized,
    to_lab,
)
from productrecs.engines.visual.salient_objects import salient_boxes

FORMAT: Final = "tier0-1"
"""Format version: stored descriptors of another version are recomputed."""

PICTURE_SIDE: Final = 224
"""Longer side of pictures to describe; larger ones give the same result more slowly."""

LEAST_SIDE: Final = 8

_COLOURED: Final = 72  # side of the square for colours
_FINE, _COARSE = 12, 6  # edge cells per side
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
    DescriptorBlock("colours", colour_histogram.LENGTH, 0.0, 1.0, is_colour=True),
    DescriptorBlock("colours_in_front", colour_histogram.LENGTH, 0.0, 1.0, is_colour=True),
    DescriptorBlock("layout", _LAYOUT * _LAYOUT // 2 * 3, -5.0, 5.0, is_colour=True),
    DescriptorBlock(
        "edges", _FINE * _FINE // 2 * edge_histogram.DIRECTIONS, 0.0, 0.35, is_colour=False
    ),
    DescriptorBlock(
        "rough_edges",
        _COARSE * _COARSE // 2 * edge_histogram.DIRECTIONS,
        0.0,
        0.35,
        is_colour=False,
    ),
    DescriptorBlock("texture", edge_histogram.TEXTURES, 0.0, 1.0, is_colour=False),
    DescriptorBlock("tones", _TONES * _TONES // 2, -4.0, 4.0, is_colour=False),
    DescriptorBlock("outline", _TONES * _TONES // 2, 0.0, 1.0, is_colour=False),
    DescriptorBlock("proportions", 5, -2.0, 2.0, is_colour=False),
)
LENGTH: Final = sum(block.length for block in DESCRIPTOR_BLOCKS)
_SPREAD: Final = (20.0, 12.0, 12.0)  # Lab scale of `layout`


def describe(pixels: Pixels) -> Descriptor:
    """Return the descriptor of an upright picture, [LENGTH].

    Mirror images have the same descriptor, except for rounding. Needs `LEAST_SIDE` pixels a
    side.

    Raises:
        ValueError: when the picture is smaller or has another shape.
    """
    lab = _lab(pixels)
    return _packed(_parts(lab, find_foreground(lab)))


def views_in(
    lab: Floats, front: Foreground, window: tuple[slice, slice], share: float
) -> list[Descriptor]:
    """Return descriptors of a photo to be averaged: the whole, and its foreground.

    `lab` is white-balanced; `window` and `share` are those of `window_in`. A small
    foreground counts three times as much as the whole photo. A product picture before a
    plain wall is described as by `describe`.
    """
    whole = _packed(_parts(lab, front))
    part = np.ascontiguousarray(lab[window])
    if part.shape == lab.shape:
        return [whole]
    shown = _packed(_parts(part, find_foreground(part)))
    return [whole, shown] if share > _SMALL else [whole, shown, shown, shown]


def window_in(lab: Floats, front: Foreground) -> tuple[tuple[slice, slice], float]:
    """Return rows and columns of a photo's foreground, and its share of the photo.

    The salient region is the foreground if it is small, or if the background is not plain.
    Otherwise the foreground is all that differs from the wall, which includes every part of
    the object.
    """
    height, width = lab.shape[:2]
    things = salient_boxes(lab)
    if things:
        x, y, across, down = things[0]
        edges = (y * height, (y + down) * height, x * width, (x + across) * width)
        top, bottom, left, right = (round(edge) for edge in edges)
        held = front.weights[top:bottom, left:right].sum() / front.weights.sum()
        is_all = across * down < _ASIDE and held > _NEARLY_ALL
        if front.plainness < _PLAIN or is_all:
            front = front._replace(box=(top, bottom, left, right))
    rows, columns = window = window_of(front, height, width)
    share = (rows.stop - rows.start) * (columns.stop - columns.start) / (height * width)
    return window, share


def describe_parts(
    pixels: Pixels, windows: Sequence[tuple[slice, slice]]
) -> list[Descriptor]:
    """Return the descriptor of each part of an upright picture, rows and columns of it.

    Raises:
        ValueError: when the picture, or a part, has no `LEAST_SIDE` pixels a side.
    """
    return parts_in(_lab(pixels), windows)


def parts_in(lab: Floats, windows: Sequence[tuple[slice, slice]]) -> list[Descriptor]:
    """Return `describe_parts` of a picture's Lab.

    Raises:
        ValueError: as `describe_parts`.
    """
    found = list[Descriptor]()
    for window in windows:
        part = lab[window]
        if min(part.shape[:2]) < LEAST_SIDE:
            message = f"a part needs {LEAST_SIDE} pixels a side"
            raise ValueError(message)
        most = max(part.shape[:2])
        if most > PICTURE_SIDE:
            size = [max(LEAST_SIDE, side * PICTURE_SIDE // most) for side in part.shape[:2]]
            part = resized(part, size[0], size[1])
        part = np.ascontiguousarray(part)
        found.append(_packed(_parts(part, find_foreground(part))))
    return found


def _lab(pixels: Pixels) -> Floats:
    if pixels.ndim != 3 or min(pixels.shape[:2]) < LEAST_SIDE:  # noqa: PLR2004 - h, w, c
        message = f"a picture needs {LEAST_SIDE} pixels a side"
        raise ValueError(message)
    return to_lab(pixels)


def _parts(lab: Floats, front: Foreground) -> tuple[Floats, ...]:
    """Return the blocks, in the order of `DESCRIPTOR_BLOCKS`."""
    top, bottom, left, right = front.box
    cut, weights = lab[top:bottom, left:right], front.weights[top:bottom, left:right]
    axes = colour_histogram.histogram_axes(resized(lab, _COLOURED, _COLOURED))
    whole = np.ones((_COLOURED, _COLOURED), dtype=np.float32)
    grey = resized(cut[..., 0] * 2.55, edge_histogram.SIDE, edge_histogram.SIDE)
    planes = edge_histogram.edge_directions(grey)
    tones = _folded(resized(cut[..., 0], _TONES, _TONES))
    height, width = lab.shape[:2]
    proportions = [
        np.log((bottom - top) / (right - left)),
        (bottom - top) / height,
        (right - left) / width,
        front.weights.mean(),
        front.plainness,
    ]
    return (
        colour_histogram.colour_histogram(axes, whole),
        colour_histogram.colour_histogram(
            axes, resized(front.weights, _COLOURED, _COLOURED)
        ),
        (_folded(resized(cut, _LAYOUT, _LAYOUT)) - (50.0, 0.0, 0.0)) / _SPREAD,
        edge_histogram.edge_histograms(planes, _FINE),
        edge_histogram.edge_histograms(planes, _COARSE),
        edge_histogram.texture_histogram(
            grey, resized(weights, edge_histogram.SIDE, edge_histogram.SIDE)
        ),
        (tones - tones.mean()) / (tones.std() + 3.0),
        _folded(resized(weights, _TONES, _TONES)),
        np.array(proportions, dtype=np.float32),
    )


def _folded(plane: Floats) -> Floats:
    """Return the left half of a square averaged with the mirrored right one."""
    return ((plane + plane[:, ::-1]) / 2)[:, : plane.shape[1] // 2]


def _packed(parts: tuple[Floats, ...]) -> Descriptor:
    packed = np.empty(LENGTH, dtype=np.uint8)
    start = 0
    for block, part in zip(DESCRIPTOR_BLOCKS, parts, strict=True):
        share = (part.ravel() - block.lowest) / (block.highest - block.lowest)
        level = np.clip(np.rint(share * 255), 0, 255)
        packed[start : start + block.length] = level.astype(np.uint8)
        start += block.length
    return packed
