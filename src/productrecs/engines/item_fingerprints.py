"""Item fingerprints: equal ones mean that an item's cached lists are still valid."""

from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from productrecs.engines.array_types_and_sorting import Ints, run_ranges

Words = npt.NDArray[np.uint64]

_MIX_ONE: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX_TWO: Final = np.uint64(0xBF58476D1CE4E5B9)
_HASH_SHIFT: Final = np.uint64(29)
_BLOCK: Final = 4_000_000  # entries that are hashed at once


def item_fingerprints(engine_hashes: Iterable[Words], n_items: int) -> Ints:
    """Return one fingerprint [n_items] of each item, from the hashes of all engines.

    Equal fingerprints mean equal evidence, except for one chance in 2^64.
    """
    hashes = np.zeros(n_items, np.uint64)
    for words in engine_hashes:
        hashes = mix_bits(hashes + words)
    return hashes.view(np.int64)


def to_words(numbers: npt.NDArray[Any]) -> Words:
    """Return numbers as words, none of them 0."""
    return numbers.astype(np.int64).view(np.uint64) + np.uint64(1)


def hash_pairs(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> Words:
    """Return the hashes of pairs of numbers."""
    return mix_bits(to_words(first) * _MIX_ONE + to_words(second))


def mix_bits(words: Words) -> Words:
    """Return words whose every bit depends on all input bits."""
    words = (words ^ (words >> _HASH_SHIFT)) * _MIX_TWO
    hashed: Words = (words ^ (words >> _HASH_SHIFT)) * _MIX_ONE
    return hashed


def sum_hashes_by_run(
    offsets: npt.NDArray[Any], hashes_of: Callable[[slice, Ints], Words]
) -> Words:
    """Return the sum (modulo 2^64) of the hashes of each run, including empty runs.

    `hashes_of` gets the entries of some runs, and where each of them starts and ends.
    """
    sums = np.zeros(len(offsets) - 1, np.uint64)
    for begin, end in run_ranges(offsets, _BLOCK):
        starts = offsets[begin : end + 1] - offsets[begin]
        words = hashes_of(slice(int(offsets[begin]), int(offsets[end])), starts)
        totals = np.concatenate((np.zeros(1, np.uint64), np.cumsum(words, dtype=np.uint64)))
        sums[begin:end] = totals[starts[1:]] - totals[starts[:-1]]
    return sums
