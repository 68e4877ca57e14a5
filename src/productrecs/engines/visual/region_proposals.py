"""Region proposals: boxes of a photo that may hold products, and their descriptors."""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from productrecs.engines.visual.connected_components import (
    close_mask,
    label_parts,
    part_edges,
)
from productrecs.engines.visual.foreground import (
    ForegroundWeights,
    find_foreground,
    white_balance,
)
from productrecs.engines.visual.image_descriptor import (
    MIN_SIDE,
    describe_photo_views,
    describe_windows,
    foreground_window_and_share,
)
from productrecs.engines.visual.image_transforms import (
    Descriptor,
    Floats,
    Pixels,
    Plane,
    resize,
    to_lab,
)

MAX_PROPOSALS: Final = 12
"""With an encoder, each takes about 12 ms of CPU time."""

_SIDE: Final = 64
_COLOURS: Final = 6
_ROUNDS: Final = 6
_MIN_AREA, _MAX_AREA = 0.025, 0.85  # of the picture's area
_MIN_SIDE: Final = 0.11
_MIN_PART: Final = 0.01  # of the picture's pixels
_MAX_OVERLAP: Final = 0.75  # maximum overlap of distinct boxes
_WINDOW_SIZES: Final = ((0.6, 0.6), (0.4, 0.4), (0.35, 0.6), (0.6, 0.35))
_STEPS: Final = 4
_UPRIGHT: Final = 1.15  # minimum aspect ratio of a photo that may show a person
_GARMENTS: Final = ((0.0, 0.15, 1.0, 0.37), (0.05, 0.46, 0.9, 0.42))
"""Upper and lower garment, relative to a person's box."""

_USUAL_GARMENTS: Final = (
    (0.28, 0.18, 0.42, 0.45),  # a coat or a dress
    (0.32, 0.455, 0.3, 0.415),  # trousers or a skirt
    (0.35, 0.85, 0.26, 0.12),  # shoes
    (0.28, 0.19, 0.42, 0.3),  # a top
)

_LEAST_CONTRAST: Final = 1.5  # minimum Lab contrast of a picture with anything visible

Boxes = npt.NDArray[np.float32]
"""[n, 4]: x, y, width and height, fractions of the picture, from its top left."""


USUAL_GARMENTS: Final[Boxes] = np.array(_USUAL_GARMENTS, np.float32)
"""Where garments are in most full-length photos of a person (decision 0060)."""


class ProposedRegions(NamedTuple):
    """Boxes of a photo that may be products, the garments of a person first."""

    boxes: Boxes
    garment_count: int


def propose_regions(pixels: Pixels, garments: Boxes | None = None) -> ProposedRegions:
    """Return up to `MAX_PROPOSALS` boxes that may be products; deterministic.

    The whole foreground, then connected parts, patches of one colour and windows, by
    saliency. `garments`, those of a person that was found, come before these. Without
    them, an upright photo has `USUAL_GARMENTS` in their place, or before a plain background
    garments of the foreground. A picture of one colour has no boxes.
    """
    lab = to_lab(pixels)
    front = find_foreground(lab)
    salient = foreground_and_salient_boxes(lab, front)
    if not len(salient):
        return ProposedRegions(salient, 0)
    height, width = lab.shape[:2]
    if garments is None and height >= _UPRIGHT * width:
        if front.plainness >= _PLAIN:
            boxes = [
                *_foreground_and_garment_boxes(salient[0].tolist()),
                *salient[1:].tolist(),
            ]
            return ProposedRegions(_as_boxes(_first_distinct_boxes(boxes)), 0)
        garments = USUAL_GARMENTS
    first = [] if garments is None else _first_distinct_boxes(garments.tolist())
    boxes = _first_distinct_boxes([*first, *salient.tolist()])
    return ProposedRegions(_as_boxes(boxes), len(first))


def _foreground_and_garment_boxes(foreground: Sequence[float]) -> list[tuple[float, ...]]:
    """Return the foreground, then the garments of a person who fills it."""
    x, y, box_width, box_height = foreground
    garments = [
        (x + left * box_width, y + top * box_height, width * box_width, height * box_height)
        for left, top, width, height in _GARMENTS
    ]
    return [(x, y, box_width, box_height), *garments]


def _as_boxes(boxes: Sequence[tuple[float, ...]]) -> Boxes:
    return np.array(boxes, dtype=np.float32)


def foreground_and_salient_boxes(
    lab: Floats, front: ForegroundWeights | None = None
) -> Boxes:
    """Return the foreground and salient boxes of a picture in Lab."""
    small = resize(lab, _SIDE, _SIDE)
    if float(np.ptp(small, axis=(0, 1)).max()) < _LEAST_CONTRAST:
        return np.zeros((0, 4), np.float32)
    front = front or find_foreground(lab)
    height, width = lab.shape[:2]
    top, bottom, left, right = front.box
    whole = (left / width, top / height, (right - left) / width, (bottom - top) / height)
    weights = resize(front.weights, _SIDE, _SIDE)
    masks = [weights > threshold for threshold in (0.25, 0.5, 0.75)]
    masks += _foreground_colour_masks(small, weights > 0.2)  # noqa: PLR2004 - probably not background
    candidates = [box for mask in masks for box in _component_boxes(mask)]
    candidates += _window_boxes()
    scores = _saliency(weights, np.array(candidates))
    order = np.argsort(-scores, kind="stable").tolist()
    salient = [candidates[index] for index in order if scores[index] > 0]
    return np.array(_first_distinct_boxes([whole, *salient]), dtype=np.float32)


def count_foreground_objects(front: ForegroundWeights) -> int:
    """Return the number of separate things in front of a picture's background."""
    mask = resize(front.weights, _SIDE, _SIDE) > 0.5  # noqa: PLR2004 - rather front
    _, sizes = np.unique(label_parts(close_mask(mask))[0], return_counts=True)
    return int((sizes[1:] >= _MIN_PART * mask.size).sum())


def _first_distinct_boxes(boxes: Sequence[tuple[float, ...]]) -> list[tuple[float, ...]]:
    """Return the first `MAX_PROPOSALS` boxes without near duplicates."""
    distinct: list[tuple[float, ...]] = []
    for box in boxes:
        if len(distinct) == MAX_PROPOSALS:
            break
        if all(intersection_over_union(box, other) < _MAX_OVERLAP for other in distinct):
            distinct.append(box)
    return distinct


def intersection_over_union(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the area of two boxes' intersection relative to their union."""
    overlap_width = min(first[0] + first[2], second[0] + second[2]) - max(
        first[0], second[0]
    )
    overlap_height = min(first[1] + first[3], second[1] + second[3]) - max(
        first[1], second[1]
    )
    if overlap_width <= 0 or overlap_height <= 0:
        return 0.0
    intersection = overlap_width * overlap_height
    return intersection / (first[2] * first[3] + second[2] * second[3] - intersection)


def _foreground_colour_masks(
    lab: Floats, is_front: npt.NDArray[np.bool_]
) -> list[npt.NDArray[np.bool_]]:
    """Return the mask of each main colour of the foreground."""
    points = lab[is_front]
    if len(points) < 4 * _COLOURS:
        return []
    order = np.argsort(points[:, 0], kind="stable")
    even_index = np.linspace(0, len(points) - 1, _COLOURS).astype(np.intp)
    centres = points[order[even_index]].copy()
    for _ in range(_ROUNDS):
        # Squared distances without the constant term of each point.
        nearest_centre = ((centres**2).sum(axis=1) - 2 * points @ centres.T).argmin(axis=1)
        counts = np.bincount(nearest_centre, minlength=_COLOURS)
        sums = [np.bincount(nearest_centre, axis, minlength=_COLOURS) for axis in points.T]
        is_used = counts > 0
        centres[is_used] = (np.stack(sums, axis=1)[is_used]) / counts[is_used, None]
    labels = np.full(is_front.shape, -1)
    labels[is_front] = nearest_centre
    return [labels == colour for colour in range(_COLOURS)]


def _component_boxes(
    mask: npt.NDArray[np.bool_],
) -> list[tuple[float, float, float, float]]:
    """Return boxes around the connected components of a mask, of a plausible size."""
    boxes = []
    for top, bottom, left, right in part_edges(*label_parts(close_mask(mask))).tolist():
        height, width = bottom - top, right - left
        share = height * width / _SIDE**2
        if _MIN_AREA < share < _MAX_AREA and min(height, width) >= _MIN_SIDE * _SIDE:
            corner = (left / _SIDE, top / _SIDE)
            boxes.append((*corner, width / _SIDE, height / _SIDE))
    return boxes


def _window_boxes() -> list[tuple[float, float, float, float]]:
    places = np.linspace(0.0, 1.0, _STEPS)
    return [
        (float(x) * (1 - width), float(y) * (1 - height), width, height)
        for width, height in _WINDOW_SIZES
        for y in places
        for x in places
    ]


def _saliency(weights: Plane, boxes: npt.NDArray[np.floating[Any]]) -> Floats:
    """Return the saliency of `boxes`, [n, 4]: foreground inside minus around."""
    sums = np.pad(weights.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
    left, top, width, height = np.rint(boxes * _SIDE).astype(np.intp).T
    inner = np.array([top, top + height, left, left + width]).clip(0, _SIDE)
    rim = max(2, _SIDE // 16) * np.array([[-1], [1], [-1], [1]])
    outer = (inner + rim).clip(0, _SIDE)
    inner_sums, cells = _rectangle_sums_and_cell_counts(sums, inner)
    outer_sums, all_cells = _rectangle_sums_and_cell_counts(sums, outer)
    ring_mean = (outer_sums - inner_sums) / np.maximum(all_cells - cells, 1)
    contrast: Floats = inner_sums / np.maximum(cells, 1) - ring_mean
    return contrast


def _rectangle_sums_and_cell_counts(
    sums: Floats, edges: npt.NDArray[np.intp]
) -> tuple[Floats, npt.NDArray[np.intp]]:
    """Return the sums of rectangles by a summed-area table, and their cell counts."""
    top, bottom, left, right = edges
    rectangle_sums = (
        sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left]
    )
    return rectangle_sums, (bottom - top) * (right - left)


MAX_REGIONS: Final = 4
"""Regions besides the foreground; more add little and cost time."""


_SCENE_CELLS: Final = 3  # grid cells per side
_CLUTTERED, _PLAIN = 0.6, 0.95  # plainness of a scene: below, always; above, never
_WIDE: Final = 1.15  # minimum aspect ratio of a wide photo
_SEVERAL: Final = 3  # separate things from which a photo is a scene; a pair of shoes is two


class PhotoRegionDescriptors(NamedTuple):
    """Descriptors of a photo and of its regions; windows are rows and columns."""

    views: list[Descriptor]  # to be averaged: the photo, then its foreground
    regions: list[Descriptor]
    front: tuple[slice, slice]
    windows: list[tuple[slice, slice]]  # one per entry of `regions`
    is_scene: bool  # may show several objects anywhere
    is_upright: bool  # higher than wide


def describe_photo_and_regions(
    pixels: Pixels, finds_things: Callable[[], bool] = lambda: False
) -> PhotoRegionDescriptors:
    """Return descriptors of an upright photo, to be averaged, and of regions in it.

    The photo's own descriptors are those of `describe_photo_views`, with a pale wall as
    white. The likeliest regions besides the foreground are described separately, because a
    small product among others resembles one region more than the whole photo. A scene (a
    cluttered photo, a wide one without a studio background, or one of several separate
    things) is divided into a grid of nine cells. `finds_things` is only called for a scene:
    where a detector finds different things, the corners and the middle are enough.

    Raises:
        ValueError: when the photo has no `MIN_SIDE` pixels a side.
    """
    lab = to_lab(white_balance(pixels))
    front = find_foreground(lab)
    boxes = foreground_and_salient_boxes(lab, front)[1 : 1 + MAX_REGIONS].tolist()
    is_wide = lab.shape[1] >= _WIDE * lab.shape[0]
    is_plain = front.plainness >= (_PLAIN if is_wide else _CLUTTERED)
    is_scene = bool(boxes) and (not is_plain or count_foreground_objects(front) >= _SEVERAL)
    if is_scene:
        side = 1 / _SCENE_CELLS
        steps = range(_SCENE_CELLS)
        boxes = [[x * side, y * side, side, side] for y in steps for x in steps]
        boxes = boxes[:: 2 if finds_things() else 1]
    windows = [box_window(lab, box) for box in boxes]
    window, share = foreground_window_and_share(lab, front)
    views = describe_photo_views(lab, front, window, share)
    is_upright = lab.shape[0] > lab.shape[1]
    regions = describe_windows(lab, windows)
    return PhotoRegionDescriptors(views, regions, window, windows, is_scene, is_upright)


def box_window(pixels: Pixels | Floats, box: Sequence[float]) -> tuple[slice, slice]:
    """Return the rows and columns of a box; a speck includes its surroundings."""
    height, width = pixels.shape[:2]
    x, y, box_width, box_height = box
    left, top = int(x * width), int(y * height)
    right = min(width, max(left + MIN_SIDE, round((x + box_width) * width)))
    bottom = min(height, max(top + MIN_SIDE, round((y + box_height) * height)))
    return (
        slice(max(0, bottom - max(bottom - top, MIN_SIDE)), bottom),
        slice(max(0, right - max(right - left, MIN_SIDE)), right),
    )
