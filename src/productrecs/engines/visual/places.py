"""What stands where in a photo? The likeliest places in it, each looked at alone."""

from collections.abc import Sequence
from typing import Final

from productrecs.engines.visual.descriptor import LEAST_SIDE, parts_in, views_in
from productrecs.engines.visual.foreground import find_foreground
from productrecs.engines.visual.pixels import lab_of
from productrecs.engines.visual.proposals import propose_in
from productrecs.engines.visual.salience import in_white_light
from productrecs.engines.visual.types import Descriptor, Floats, Pixels

MOST_PLACES: Final = 4
"""Beside the front, which is looked at anyway. More find a little more, and take long."""


def look_at(pixels: Pixels) -> tuple[list[Descriptor], list[Descriptor]]:
    """Return descriptors of an upright photo, to be averaged, and of places in it.

    The photo's own are those of `views_in`, as if a pale wall were white. The likeliest
    places beside its front, the first first, are looked at alone: a product that stands
    small among other things is like one of them, hardly like it all.

    Raises:
        ValueError: when the photo has no `LEAST_SIDE` pixels a side.
    """
    lab = lab_of(in_white_light(pixels))
    front = find_foreground(lab)
    boxes = propose_in(lab, front)[1 : 1 + MOST_PLACES].tolist()
    views = views_in(lab, front)
    return views, parts_in(lab, [window_at(lab, box) for box in boxes])


def window_at(pixels: Pixels | Floats, box: Sequence[float]) -> tuple[slice, slice]:
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
