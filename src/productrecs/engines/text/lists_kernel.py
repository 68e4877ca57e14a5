"""Where does a list of products have what is looked for? Compiled small steps of `rank`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from numba import types

from productrecs.engines.compiling import compiled, fixed
from productrecs.engines.text.layout import (
    CODES_AT,
    FIELDS,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Bools = npt.NDArray[np.bool_]
    Bytes = npt.NDArray[np.uint8]
    Floats = npt.NDArray[np.float32]
    Hashes = npt.NDArray[np.uint64]
    Ints = npt.NDArray[np.int32]

MOST_PLACES: Final = 16

_I4, _F4, _U1, _U8, _B1 = (
    types.int32,
    types.float32,
    types.uint8,
    types.uint64,
    types.boolean,
)


@compiled(types.void(fixed(_U8), fixed(_I4), fixed(_U8), _I4[::1], _I4[::1]))
def locate(terms: Hashes, starts: Ints, keys: Hashes, places: Ints, held: Ints) -> None:
    """Say where a part has each key, or -1, and add how many products hold it by field.

    `keys` are those of the readings' stems and then those of their words as codes.
    """
    count = len(keys) // 2
    width = len(terms) + 1
    for n in range(len(keys)):
        key = keys[n]
        low, high = 0, len(terms)
        while low < high:
            middle = (low + high) >> 1
            if terms[middle] < key:
                low = middle + 1
            else:
                high = middle
        places[n] = low if low < len(terms) and terms[low] == key else -1
        if places[n] < 0:
            continue
        reading = n if n < count else n - count
        for field in range(FIELDS):
            if (field == CODES_AT) == (n >= count):
                at = field * width + low
                held[reading * FIELDS + field] += starts[at + 1] - starts[at]


@compiled(_F4(_I4, _I4))
def rarity(products: int, held: int) -> float:
    """Return what a word counts that so many of all products hold."""
    return math.log(1.0 + (products - held + 0.5) / (held + 0.5))


@compiled(_I4(fixed(_I4), _I4, _I4, _I4))
def seek(docs: Ints, begin: int, end: int, doc: int) -> int:
    """Return where a list from `begin` to `end` has a product; -1 where it has not."""
    low, high = begin, end
    while low < high:
        middle = (low + high) >> 1
        if docs[middle] < doc:
            low = middle + 1
        else:
            high = middle
    return low if low < end and docs[low] == doc else -1


@compiled(_I4(fixed(_I4), _I4, _I4, _I4, _I4, _I4[::1], _I4[::1]))
def side_by_side(  # noqa: PLR0913, PLR0917 - one compiled loop
    titles: Ints, begin: int, end: int, one: int, other: int, left: Ints, right: Ints
) -> int:
    """Return how often two stems stand side by side in a title, or one word apart."""
    lefts = rights = 0
    for at in range(begin, end):
        if titles[at] == one and lefts < MOST_PLACES:
            left[lefts] = at + 1
            lefts += 1
        if titles[at] == other and rights < MOST_PLACES:
            right[rights] = at
            rights += 1
    count = i = j = 0
    while i < lefts and j < rights:
        if abs(left[i] - right[j]) <= 1:
            while i + 1 < lefts and left[i + 1] <= right[j]:
                i += 1
            count += 1
            i += 1
            j += 1
        elif left[i] < right[j]:
            i += 1
        else:
            j += 1
    return count


@compiled(_I4(_F4[::1], _I4[::1], _I4, _F4, _I4))
def put_among(scores: Floats, numbers: Ints, found: int, score: float, number: int) -> int:
    """Put a product among the `found` best, if it is; return how many they are then."""
    limit = len(scores)
    if found == limit:
        worst = scores[limit - 1]
        if score < worst or (score == worst and number > numbers[limit - 1]):
            return found
        found -= 1
    at = found
    while at > 0 and (
        scores[at - 1] < score or (scores[at - 1] == score and numbers[at - 1] > number)
    ):
        scores[at] = scores[at - 1]
        numbers[at] = numbers[at - 1]
        at -= 1
    scores[at], numbers[at] = score, number
    return found + 1
