"""What stands where in a photo? The likeliest places in it, each looked at alone."""

from collections.abc import Sequence
from typing import Final

from productrecs.engines.visual.descriptor import LEAST_SIDE, describe_parts
from productrecs.engines.visual.proposals import propose
from productrecs.engines.visual.salience import in_white_light
from productrecs.engines.visual.types import Descriptor, Pixels

MOST_PLACES: Final = 6
"""More find a little more, and each takes as long as a photo itself."""


def describe_places(pixels: Pixels) -> list[Descriptor]:
    """Return descriptors of the likeliest places in an upright photo, the first first.

    A product that stands small among other things is like one of them, hardly like it all.

    Raises:
        ValueError: when the photo has no `LEAST_SIDE` pixels a side.
    """
    lit = in_white_light(pixels)
    boxes = propose(lit)[:MOST_PLACES].tolist()
    return describe_parts(lit, [window_at(lit, box) for box in boxes])


def window_at(pixels: Pixels, box: Sequence[float]) -> tuple[slice, slice]:
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
