"""Item fingerprints: a number per item that changes when its lists may change.

A list cache compares it to detect whether a new model can have changed a cached list. It
covers all that the engines know of the item itself: its visits and its purchases. What they
know of other items (how rare a neighbour is, how new the store's newest visit is) moves
every list a little, and no cached list is recomputed for that.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from productrecs.engines.arrays import Arrays, Ints

Words = npt.NDArray[np.uint64]

_ONE: Final = np.uint64(0x9E3779B97F4A7C15)
_TWO: Final = np.uint64(0xBF58476D1CE4E5B9)
_SHIFT: Final = np.uint64(29)


def item_fingerprints(
    browse: Arrays, bought: Sequence[Arrays], others: Sequence[Ints] = ()
) -> Ints:
    """Return [n_items] a mark of each item, from the arrays of these engines.

    `bought` holds those of each model of what goes together, one at least; `others` the
    fingerprints [n_items] of engines with models of their own.

    Equal marks mean equal evidence, but for one chance in 2^64.
    """
    offsets, items = browse["offsets"], browse["items"]
    places = np.arange(len(items)) - np.repeat(offsets[:-1], np.diff(offsets))
    seen = _sums(_mixed(_words(items) * _ONE + _words(places)), offsets)
    visits = _mixed(seen + _mixed(_words(browse["owners"])))
    viewed = _sums(visits[browse["postings"]], browse["posting_offsets"])
    marks = _mixed(viewed + _mixed(_bought(bought[0])))
    for other in bought[1:]:
        marks = _mixed(marks + _bought(other))
    for prints in others:
        marks = _mixed(marks + _words(prints))
    return marks.view(np.int64)


def _bought(model: Arrays) -> Words:
    together = _words(model["companions"]) * _ONE + _words(model["support"])
    if len(model["shared"]):  # what variants were bought with
        together = _mixed(together) + _words(model["shared"])
    return _sums(_mixed(together), model["offsets"])


def _words(numbers: npt.NDArray[Any]) -> Words:
    return numbers.astype(np.int64).view(np.uint64) + np.uint64(1)


def _mixed(words: Words) -> Words:
    """Return words each of whose bits depends on all that came in."""
    words = (words ^ (words >> _SHIFT)) * _TWO
    mixed: Words = (words ^ (words >> _SHIFT)) * _ONE
    return mixed


def _sums(words: Words, offsets: npt.NDArray[Any]) -> Words:
    """Return the sum (modulo 2^64) of each run of `words`, also of empty ones."""
    sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(words, dtype=np.uint64)))
    runs: Words = sums[offsets[1:]] - sums[offsets[:-1]]
    return runs
