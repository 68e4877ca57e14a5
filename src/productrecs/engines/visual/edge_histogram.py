"""Edge histogram and texture: edge directions and local patterns, mirror-invariant."""

from typing import Final

import numpy as np
import numpy.typing as npt

from productrecs.core.cache_registry import Cache, memoized
from productrecs.engines.visual.image_transforms import Floats, Plane

DIRECTIONS: Final = 9
SIDE: Final = 96  # side of the square for edges
_MOST: Final = 0.35  # maximum of one direction in a cell: limits a single seam
_DIFFERENT: Final = 1.0  # minimum difference, of 255: less is noise


def edge_directions(grey: Plane) -> Floats:
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
    around = sum(
        energy[row : row + cells, column : column + cells]
        for row in range(3)
        for column in range(3)
    )
    floor = 1e-3 * float(np.mean(around)) + 1e-6
    normal = np.minimum(sums / np.sqrt(around + floor)[..., None], _MOST)
    turned = normal[:, ::-1][:, :, -np.arange(DIRECTIONS) % DIRECTIONS]
    both = (normal + turned) / 2
    histogram: Floats = both[:, : cells // 2].ravel()
    return histogram


def texture_histogram(grey: Plane, weights: Plane) -> Floats:
    """Return the square roots of the shares of local binary patterns, [TEXTURES].

    A pattern marks which of a pixel's eight neighbours are brighter. Uniform patterns have
    separate bins, all others share one; mirror images share a bin.
    """
    middle = grey[1:-1, 1:-1] + _DIFFERENT
    rows, columns = middle.shape
    codes = np.zeros(middle.shape, dtype=np.intp)
    for bit, (row, column) in enumerate(_AROUND):
        brighter = grey[row : row + rows, column : column + columns] >= middle
        codes |= brighter.astype(np.intp) << bit
    kinds = _kinds()[codes.ravel()]
    counts = np.bincount(kinds, weights[1:-1, 1:-1].ravel(), minlength=TEXTURES)
    return np.sqrt(counts / max(float(counts.sum()), 1e-9)).astype(np.float32)


_AROUND: Final = ((0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0))
_MIRRORED: Final = (2, 1, 0, 7, 6, 5, 4, 3)
_SMOOTH: Final = 2  # maximum changes around the ring of a uniform pattern


@memoized(Cache.CONSTANTS)
def _kinds() -> npt.NDArray[np.intp]:
    """Return the bin of each of the 256 patterns."""
    names: dict[int, int] = {}
    kinds = []
    for code in range(256):
        bits = [code >> bit & 1 for bit in range(8)]
        changes = sum(bits[bit] != bits[bit - 1] for bit in range(8))
        mirrored = sum(bits[bit] << _MIRRORED[bit] for bit in range(8))
        name = min(code, mirrored) if changes <= _SMOOTH else -1
        kinds.append(names.setdefault(name, len(names)))
    return np.array(kinds, dtype=np.intp)


TEXTURES: Final = int(_kinds().max()) + 1
