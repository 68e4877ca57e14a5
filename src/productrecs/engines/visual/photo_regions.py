"""Photo regions: descriptors of a photo and of the regions in it that may hold products."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from productrecs.engines.visual.foreground import find_foreground
from productrecs.engines.visual.image_descriptor import (
    LEAST_SIDE,
    parts_in,
    views_in,
    window_in,
)
from productrecs.engines.visual.image_transforms import Descriptor, Floats, Pixels, to_lab
from productrecs.engines.visual.region_proposals import count_parts, propose_regions_in
from productrecs.engines.visual.salient_objects import white_balanced

MAX_REGIONS: Final = 4
"""Regions besides the foreground; more add little and cost time."""


_SCENE_CELLS: Final = 3  # grid cells per side
_CLUTTERED, _EVEN = 0.6, 0.95  # plainness of a scene: below, always; above, never
_WIDE: Final = 1.15  # minimum aspect ratio of a wide photo
_SEVERAL: Final = 3  # separate things from which a photo is a scene; a pair of shoes is two


class RegionDescriptors(NamedTuple):
    """Descriptors of a photo and of its regions; windows are rows and columns."""

    views: list[Descriptor]  # to be averaged: the photo, then its foreground
    places: list[Descriptor]
    front: tuple[slice, slice]
    windows: list[tuple[slice, slice]]  # one per entry of `places`
    is_scene: bool  # may show several objects anywhere


def describe_regions(pixels: Pixels) -> RegionDescriptors:
    """Return descriptors of an upright photo, to be averaged, and of regions in it.

    The photo's own descriptors are those of `views_in`, with a pale wall as white. The
    likeliest regions besides the foreground are described separately, because a small
    product among others resembles one region more than the whole photo. A scene (a
    cluttered photo, a wide one without a studio background, or one of several separate
    things) is divided into a grid of nine cells.

    Raises:
        ValueError: when the photo has no `LEAST_SIDE` pixels a side.
    """
    lab = to_lab(white_balanced(pixels))
    front = find_foreground(lab)
    boxes = propose_regions_in(lab, front)[1 : 1 + MAX_REGIONS].tolist()
    is_wide = lab.shape[1] >= _WIDE * lab.shape[0]
    is_plain = front.plainness >= (_EVEN if is_wide else _CLUTTERED)
    is_scene = bool(boxes) and (not is_plain or count_parts(front) >= _SEVERAL)
    if is_scene:
        side = 1 / _SCENE_CELLS
        steps = range(_SCENE_CELLS)
        boxes = [[x * side, y * side, side, side] for y in steps for x in steps]
    windows = [box_window(lab, box) for box in boxes]
    window, share = window_in(lab, front)
    views = views_in(lab, front, window, share)
    return RegionDescriptors(views, parts_in(lab, windows), window, windows, is_scene)


def box_window(pixels: Pixels | Floats, box: Sequence[float]) -> tuple[slice, slice]:
    """Return the rows and columns of a box; a speck includes its surroundings."""
    height, width = pixels.shape[:2]
    x, y, across, down = box
    left, top = int(x * width), int(y * height)
    right = min(width, max(left + LEAST_SIDE, round((x + across) * width)))
    bottom = min(height, max(top + LEAST_SIDE, round((y + down) * height)))
    return (
        slice(max(0, bottom - max(bottom - top, LEAST_SIDE)), bottom),
        slice(max(0, right - max(right - left, LEAST_SIDE)), right),
    )
