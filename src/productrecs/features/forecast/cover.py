"""How long does stock last at the expected pace?"""

from collections.abc import Sequence
from typing import Final

LONGEST: Final = 365.0
"""Days of cover beyond which nobody can say."""

_TOO_LITTLE: Final = 1e-9


def cover_of(stock: int | None, means: Sequence[float]) -> float | None:
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
    return cover if cover <= LONGEST else None
