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
from productrecs.engines.visual.region_proposals import propose_regions_in
from productrecs.engines.visual.salient_objects import white_balanced

MAX_REGIONS: Final = 4
"""Beside the front, which is looked at anyway. More find a little more, and take long."""


_SCENE_CELLS: Final = 3  # each way
_CLUTTERED, _EVEN = 0.6, 0.95  # plainness: below, a photo is a scene; above, never
_WIDE: Final = 1.15  # times as wide as high


class RegionDescriptors(NamedTuple):
    """What is seen of a photo, and where; windows are rows and columns."""

    views: list[Descriptor]  # to be averaged: it, then its foreground
    places: list[Descriptor]
    front: tuple[slice, slice]
    windows: list[tuple[slice, slice]]  # of `places`
    is_scene: bool  # several things may stand anywhere in it


def describe_regions(pixels: Pixels) -> RegionDescriptors:
    """Return descriptors of an upright photo, to be averaged, and of places in it.

    The photo's own are those of `views_in`, as if a pale wall were white. The likeliest
    places beside its front, the first first, are looked at alone: a product that stands
    small among other things is like one of them, hardly like it all. The places of a
    scene are the nine cells of a grid: a cluttered photo, or a wide one not of a studio.

    Raises:
        ValueError: when the photo has no `LEAST_SIDE` pixels a side.
    """
    lab = to_lab(white_balanced(pixels))
    front = find_foreground(lab)
    boxes = propose_regions_in(lab, front)[1 : 1 + MAX_REGIONS].tolist()
    is_wide = lab.shape[1] >= _WIDE * lab.shape[0]
    is_scene = bool(boxes) and front.plainness < (_EVEN if is_wide else _CLUTTERED)
    if is_scene:
        side = 1 / _SCENE_CELLS
        steps = range(_SCENE_CELLS)
        boxes = [[x * side, y * side, side, side] for y in steps for x in steps]
    windows = [box_window(lab, box) for box in boxes]
    window, share = window_in(lab, front)
    views = views_in(lab, front, window, share)
    return RegionDescriptors(views, parts_in(lab, windows), window, windows, is_scene)


def box_window(pixels: Pixels | Floats, box: Sequence[float]) -> tuple[slice, slice]:
    """Return the rows and columns of a box; of a speck with some of what is around it."""
    height, width = pixels.shape[:2]
    x, y, across, down = box
    left, top = int(x * width), int(y * height)
    right = min(width, max(left + LEAST_SIDE, round((x + across) * width)))
    bottom = min(height, max(top + LEAST_SIDE, round((y + down) * height)))
    return (
        slice(max(0, bottom - max(bottom - top, LEAST_SIDE)), bottom),
        slice(max(0, right - max(right - left, LEAST_SIDE)), right),
    )
