"""Colour histogram: the share of each colour in a picture, with soft bins."""

from typing import Final

import numpy as np
import numpy.typing as npt

from productrecs.core.cache_registry import Cache, memoized
from productrecs.engines.visual.image_transforms import Floats, Plane

BINS: Final = (12, 13, 13)  # of lightness, green-red and blue-yellow
LENGTH: Final = BINS[0] * BINS[1] * BINS[2]

_FINE: Final = 4.0
"""Chroma below which bins are narrow: most clothes are nearly grey."""

_REACH: Final = float(np.arcsinh(70 / _FINE))


def histogram_axes(lab: Floats) -> Floats:
    """Return the position of each Lab colour [..., 3] on the histogram's axes, in bins."""
    axes = np.empty_like(lab)
    axes[..., 0] = lab[..., 0] * ((BINS[0] - 1) / 100)
    stretched = np.arcsinh(lab[..., 1:] / _FINE)
    axes[..., 1:] = (stretched + _REACH) * ((BINS[1] - 1) / (2 * _REACH))
    return np.clip(axes, 0.0, np.array(BINS, dtype=np.float32) - 1.001)


def colour_histogram(axes: Floats, weights: Plane) -> Floats:
    """Return the square roots of the colours' shares, [LENGTH], from `histogram_axes`.

    Each pixel is weighted and spread over the eight nearest bins by trilinear
    interpolation.
    """
    flat = axes.reshape(-1, 3)
    low = flat.astype(np.intp)
    part = (flat - low).T
    first = (low[:, 0] * BINS[1] + low[:, 1]) * BINS[2] + low[:, 2]
    counts = np.zeros(LENGTH, dtype=np.float64)
    sides = np.stack([1.0 - part, part])  # [2, 3, n]
    weighed = weights.ravel()
    for corner, step in enumerate(_corners().tolist()):
        share = weighed * sides[corner >> 2, 0]
        share *= sides[(corner >> 1) & 1, 1]
        share *= sides[corner & 1, 2]
        counts += np.bincount(first + step, share, minlength=LENGTH)
    return np.sqrt(counts / max(float(counts.sum()), 1e-9)).astype(np.float32)


@memoized(Cache.CONSTANTS)
def _corners() -> npt.NDArray[np.intp]:
    """Return the offset of each corner of a cell of bins from its first, [8]."""
    corners = [
        (a * BINS[1] + b) * BINS[2] + c for a in (0, 1) for b in (0, 1) for c in (0, 1)
    ]
    return np.array(corners, dtype=np.intp)
