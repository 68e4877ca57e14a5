"""Where does a list of products have what is looked for? Compiled small steps of `rank`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numba import types

from productrecs.engines.compiling import compiled, fixed
from productrecs.engines.text.layout import (
    CODES_AT,
    FIELDS,
    FOUND,
    NEXT,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    Bits = npt.NDArray[np.uint64]
    Bools = npt.NDArray[np.bool_]
    Bytes = npt.NDArray[np.uint8]
    Floats = npt.NDArray[np.float32]
    Hashes = npt.NDArray[np.uint64]
    Ints = npt.NDArray[np.int32]

MOST_PLACES: Final = 16
SEEK: Final = 12
"""A list this many times as long as what is left is looked up in, not gone through."""

_I4, _I8, _F4, _U1, _U4, _U8, _B1 = (
    types.int32,
    types.int64,
    types.float32,
    types.uint8,
    types.uint32,
    types.uint64,
    types.boolean,
)

PART: Final[Any] = types.Tuple(  # type: ignore[no-untyped-call]  # numba
    (
        fixed(_I4), fixed(_U1), fixed(_I4), fixed(_I4), fixed(_U1), fixed(_U1), fixed(_I4),
        fixed(_I4),
    )
)  # fmt: skip
"""The arrays of a part; see `postings.Part.arrays`."""


@compiled(
    [
        _I8(fixed(_I4), _I8, _I8, _I4),
        _I8(fixed(_U4), _I8, _I8, _U4),
        _I8(fixed(_U8), _I8, _I8, _U8),
    ]
)
def first_at(rising: Any, begin: int, end: int, wanted: int) -> int:
    """Return where a number stands from `begin` to `end`, or would."""
    while begin < end:
        middle = (begin + end) >> 1
        if rising[middle] < wanted:
            begin = middle + 1
        else:
            end = middle
    return begin


@compiled(_I4(fixed(_U8), _U8))
def _place_of(terms: Hashes, key: int) -> int:
    """Return where a part has a key; -1 where it has not."""
    at = first_at(terms, 0, len(terms), key)
    return at if at < len(terms) and terms[at] == key else -1


@compiled(types.void(fixed(_U8), fixed(_I4), fixed(_U8), _I4[::1], _I4[::1]))
def locate(terms: Hashes, starts: Ints, keys: Hashes, places: Ints, held: Ints) -> None:
    """Say where a part has each key, or -1, and add how many products hold it by field.

    `keys` are those of the readings' stems and then those of their words as codes.
    """
    count = len(keys) // 2
    width = len(terms) + 1
    for n in range(len(keys)):
        place = _place_of(terms, keys[n])
        places[n] = place
        if place < 0:
            continue
        reading = n if n < count else n - count
        for field in range(FIELDS):
            if (field == CODES_AT) == (n >= count):
                at = field * width + place
                held[reading * FIELDS + field] += starts[at + 1] - starts[at]


@compiled(types.void(fixed(_U8), fixed(_I4), _U8, _U8, _I4[::1]))
def held(terms: Hashes, starts: Ints, stem: int, word: int, found: Ints) -> None:
    """Add how many products of a part hold a stem by field; of codes, the word."""
    width = len(terms) + 1
    place = _place_of(terms, stem)
    if place >= 0:
        for field in range(FIELDS):
            if field != CODES_AT:
                at = field * width + place
                found[field] += starts[at + 1] - starts[at]
    if word != stem:
        place = _place_of(terms, word)
    if place >= 0:
        at = CODES_AT * width + place
        found[CODES_AT] += starts[at + 1] - starts[at]


@compiled(_I4(fixed(_I4), _I4, _I4, _I4))
def seek(docs: Ints, begin: int, end: int, doc: int) -> int:
    """Return where a list from `begin` to `end` has a product; -1 where it has not."""
    at = first_at(docs, begin, end, doc)
    return at if at < end and docs[at] == doc else -1


@compiled(_B1(fixed(_U8), PART, _U8, _U8, fixed(_I4), _I4))
def stand_together(  # noqa: C901 - one compiled loop
    terms: Hashes, part: Any, stem: int, other: int, owners: Ints, own: int
) -> bool:
    """Return whether two stems stand side by side in a title for which a part speaks."""
    numbers, _, starts, docs, _, _, title_starts, titles = part
    one, two = _place_of(terms, stem), _place_of(terms, other)
    if one < 0 or two < 0:
        return False
    begin, end = starts[one], starts[one + 1]
    first, last = starts[two], starts[two + 1]
    if last - first < end - begin:  # the rarer decides
        begin, end, first, last = first, last, begin, end
    seeks = (end - begin) * SEEK < last - first
    for at in range(begin, end):
        doc = docs[at]
        if seeks:
            place = seek(docs, first, last, doc)
            first = place if place >= 0 else first
        else:
            while first < last and docs[first] < doc:
                first += 1
            place = first if first < last and docs[first] == doc else -1
        if place < 0 or owners[numbers[doc]] != own:
            continue
        for word in range(title_starts[doc], title_starts[doc + 1] - 1):
            if titles[word] == one and titles[word + 1] == two:
                return True
    return False


@compiled(_F4(_I4, _I4))
def rarity(products: int, held: int) -> float:
    """Return what a word counts that so many of all products hold."""
    return math.log(1.0 + (products - held + 0.5) / (held + 0.5))


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


@compiled(types.void(types.uint64[::1], _I4))
def mark_it(bits: Bits, doc: int) -> None:
    """Set a product's bit."""
    bits[doc >> 6] |= np.uint64(1) << np.uint64(doc & 63)


@compiled(_B1(types.uint64[::1], _I4))
def is_marked(bits: Bits, doc: int) -> bool:
    """Return whether a product's bit is set."""
    return bool((bits[doc >> 6] >> np.uint64(doc & 63)) & np.uint64(1))


@compiled(_I4(PART, _I4[::1], _I4[::1], _F4[::1], _I4[::1], _I4[:, ::1]))
def with_every_word(  # noqa: C901, PLR0912 - one compiled loop
    part: Any, places: Ints, first_of: Ints, shares: Floats, order: Ints, lists: Ints
) -> int:
    """List the products of a part that hold each word somewhere; return how many.

    Marks of one bit a product stay near the processor, as rows of products would not.
    """
    numbers, _, starts, docs, _, _, _, _ = part
    readings, n = first_of[len(first_of) - 1], len(numbers)
    width = len(starts) // FIELDS
    left = 0
    before = np.zeros((n >> 6) + 1, dtype=np.uint64)
    for turn in range(len(order)):
        marks = np.zeros((n >> 6) + 1, dtype=np.uint64)
        kept = 0
        for r in range(first_of[order[turn]], first_of[order[turn] + 1]):
            for f in range(FIELDS - 1):
                place = places[readings + r] if f == CODES_AT else places[r]
                if place < 0 or shares[f] <= 0:
                    continue
                begin, end = starts[f * width + place], starts[f * width + place + 1]
                if turn > 0 and left * SEEK < end - begin:
                    for step in range(left):
                        doc = lists[FOUND, step]
                        if not is_marked(marks, doc) and seek(docs, begin, end, doc) >= 0:
                            mark_it(marks, doc)
                            lists[NEXT, kept] = doc
                            kept += 1
                    continue
                for at in range(begin, end):
                    doc = docs[at]
                    if turn > 0 and not is_marked(before, doc):
                        continue
                    if not is_marked(marks, doc):
                        mark_it(marks, doc)
                        lists[NEXT, kept] = doc
                        kept += 1
        left = kept
        for step in range(left):
            lists[FOUND, step] = lists[NEXT, step]
        if left == 0:
            return 0
        before = marks
    return left
