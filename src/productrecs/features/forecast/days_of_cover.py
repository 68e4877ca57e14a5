"""Days of cover: how long the stock lasts at the expected demand."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

MAX_DAYS_OF_COVER: Final = 365.0
"""The most days of cover that are reported; beyond that the estimate means nothing."""

_TOO_LITTLE: Final = 1e-9


def days_of_cover(stock: int | None, means: Sequence[float]) -> float | None:
    """Return for how many days `stock` lasts, with fractions; 0 when there is none.

    `means` are what the coming days are expected to sell; after them their average goes
    on. None where stock is unknown, nothing is expected to sell, or it lasts over a year.
    """
    if stock is None or not means:
        return None
    pace = sum(means) / len(means)
    if pace <= _TOO_LITTLE:
        return None
    if stock <= 0:
        return 0.0
    left = float(stock)
    for number, mean in enumerate(means):
        if mean >= left:
            return number + left / mean
        left -= mean
    cover = len(means) + left / pace
    return cover if cover <= MAX_DAYS_OF_COVER else None


def days_of_cover_each(stock: Floats, means: Floats) -> Floats:
    """Return `days_of_cover` of many items: `stock` [items]; NaN is unknown or None.

    `means` [items, days], one day at least.
    """
    summed = np.cumsum(means, axis=1)
    reached = summed >= stock[:, None]
    day = np.argmax(reached, axis=1)
    rows = np.arange(len(stock))
    pace = summed[:, -1] / means.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        within = day + (stock - (summed[rows, day] - means[rows, day])) / means[rows, day]
        beyond = means.shape[1] + (stock - summed[:, -1]) / pace
    cover = np.where(reached.any(axis=1), within, beyond)
    cover = np.where(stock <= 0, 0.0, cover)
    has_cover = np.isfinite(stock) & (pace > _TOO_LITTLE) & (cover <= MAX_DAYS_OF_COVER)
    return np.where(has_cover, cover, np.nan)
