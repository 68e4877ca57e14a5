"""Item fingerprints: equal ones mean that an item's cached lists are still valid."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from productrecs.engines.arrays import Arrays, Ints
from productrecs.engines.partition_jobs import index_ranges

Words = npt.NDArray[np.uint64]

_MIX_ONE: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX_TWO: Final = np.uint64(0xBF58476D1CE4E5B9)
_HASH_SHIFT: Final = np.uint64(29)
_BLOCK: Final = 4_000_000  # entries that are hashed at once


def item_fingerprints(browse: Arrays, copurchase_models: Sequence[Arrays]) -> Ints:
    """Return the fingerprint [n_items] of each item, from the arrays of these engines.

    `copurchase_models` holds the arrays of each co-purchase model, at least one.
    Equal fingerprints mean equal evidence, except for one chance in 2^64.
    """
    session_hashes = _hash_sums(
        browse["offsets"], partial(_session_item_hashes, browse["items"])
    )
    session_hashes = _mix_bits(session_hashes + _mix_bits(_to_words(browse["owners"])))
    postings = browse["postings"]
    session_hash_sums = _hash_sums(
        browse["posting_offsets"], lambda rows, _: session_hashes[postings[rows]]
    )
    hashes = _mix_bits(
        session_hash_sums + _mix_bits(_companion_hashes(copurchase_models[0]))
    )
    for copurchase_arrays in copurchase_models[1:]:
        hashes = _mix_bits(hashes + _companion_hashes(copurchase_arrays))
    return hashes.view(np.int64)


def _session_item_hashes(items: npt.NDArray[Any], rows: slice, offsets: Ints) -> Words:
    """Return the hash of each item and its place in its session."""
    places = np.arange(len(items[rows])) - np.repeat(offsets[:-1], np.diff(offsets))
    return _mix_bits(_to_words(items[rows]) * _MIX_ONE + _to_words(places))


def _companion_hashes(model: Arrays) -> Words:
    def hashes_of(rows: slice, _: Ints) -> Words:
        hashes = _to_words(model["companions"][rows]) * _MIX_ONE
        hashes += _to_words(model["support"][rows])
        hashes = _mix_bits(hashes) + _to_words(model["evidence"][rows])
        if len(model["shared"]):  # pooled baskets of variants
            hashes = _mix_bits(hashes) + _to_words(model["shared"][rows])
        return _mix_bits(hashes)

    return _hash_sums(model["offsets"], hashes_of)


def _to_words(numbers: npt.NDArray[Any]) -> Words:
    return numbers.astype(np.int64).view(np.uint64) + np.uint64(1)


def _mix_bits(words: Words) -> Words:
    """Return words whose every bit depends on all input bits."""
    words = (words ^ (words >> _HASH_SHIFT)) * _MIX_TWO
    hashed: Words = (words ^ (words >> _HASH_SHIFT)) * _MIX_ONE
    return hashed


def _hash_sums(
    offsets: npt.NDArray[Any], hashes_of: Callable[[slice, Ints], Words]
) -> Words:
    """Return the sum (modulo 2^64) of the hashes of each run, including empty runs.

    `hashes_of` gets the entries of some runs, and where each of them starts and ends.
    """
    sums = np.zeros(len(offsets) - 1, np.uint64)
    for begin, end in index_ranges(offsets, _BLOCK):
        starts = offsets[begin : end + 1] - offsets[begin]
        words = hashes_of(slice(int(offsets[begin]), int(offsets[end])), starts)
        totals = np.concatenate((np.zeros(1, np.uint64), np.cumsum(words, dtype=np.uint64)))
        sums[begin:end] = totals[starts[1:]] - totals[starts[:-1]]
    return sums
