"""Array types and sorting for all engines: ranked items, sorted runs, a radix sort.

Also how a fit bounds the memory that it needs at once: allocation and ranges of runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Items: TypeAlias = npt.NDArray[np.int32]
Scores: TypeAlias = npt.NDArray[np.float32]
Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Bytes: TypeAlias = npt.NDArray[np.int8]
Arrays: TypeAlias = Mapping[str, npt.NDArray[Any]]
"""A stored model: named plain arrays, memory-mapped or not."""
Allocate: TypeAlias = Callable[[int, npt.DTypeLike], npt.NDArray[Any]]
"""Returns an uninitialised array of a length and a type, in memory or in a mapped file."""


class RankedItems(NamedTuple):
    """Item numbers and their scores, best first; ties by item number.

    All have the same length. Scores are comparable within one list only. `support` is the
    number of visits or orders that hold an item with what the list is for; None if unknown.
    """

    items: Items
    scores: Scores
    support: Items | None = None

    def at(self, index: slice | Ints) -> RankedItems:
        """Return the items at some places."""
        support = None if self.support is None else self.support[index]
        return RankedItems(self.items[index], self.scores[index], support)


MAX_CANDIDATES: Final = 60  # of one engine, for one list
NO_RANKED: Final = RankedItems(np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32))


def prefixed(name: str, arrays: Arrays) -> Arrays:
    """Return a model's arrays under the names `name.`... of a file of several models."""
    return {f"{name}.{key}": array for key, array in arrays.items()}


def without_prefix(name: str, arrays: Arrays) -> Arrays:
    """Return the arrays named `name.`..., without that prefix."""
    prefix = f"{name}."
    return {
        key.removeprefix(prefix): array
        for key, array in arrays.items()
        if key.startswith(prefix)
    }


def top_score_indexes(
    items: npt.NDArray[np.integer[Any]], scores: npt.NDArray[np.floating[Any]], limit: int
) -> Ints:
    """Return the indexes of the `limit` highest scores, best first; ties by item number.

    `items` must be distinct.
    """
    places = np.arange(len(items))
    if len(items) > 4 * limit > 0:
        # All scores from the limit-th on; ties at the limit are broken by item number.
        lowest = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        places = np.flatnonzero(scores >= lowest)
    order = np.lexsort((items[places], -scores[places]))
    return places[order[: max(limit, 0)]]


def check_item_numbers(items: npt.NDArray[np.integer[Any]], n_items: int) -> None:
    """Check that all item numbers lie in 0..n_items-1.

    Raises:
        ValueError: when one is outside.
    """
    if len(items) and not 0 <= int(items.min()) <= int(items.max()) < n_items:
        message = f"item numbers must lie in 0..{n_items - 1}"
        raise ValueError(message)


def unique_sorted(codes: Ints) -> Ints:
    """Return the distinct codes, ascending; faster than numpy on many codes."""
    ordered = np.sort(codes)
    first = np.ones(len(ordered), dtype=np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    return ordered[first]


def run_numbers(codes: npt.NDArray[np.integer[Any]]) -> Ints:
    """Return the index of each entry's run of equal codes, from 0; shape of `codes`."""
    starts_run = np.zeros(len(codes), dtype=np.bool_)
    starts_run[1:] = codes[1:] != codes[:-1]
    return np.cumsum(starts_run)


def ranks_within_runs(codes: npt.NDArray[np.integer[Any]]) -> Ints:
    """Return each entry's position in its run of equal codes, from 0; shape of `codes`."""
    first = np.ones(len(codes), dtype=np.bool_)
    first[1:] = codes[1:] != codes[:-1]
    begins = np.flatnonzero(first)
    lengths = np.diff(begins, append=len(codes))
    ranks: Ints = np.arange(len(codes)) - np.repeat(begins, lengths)
    return ranks


def csr_offsets(codes: npt.NDArray[np.integer[Any]], size: int) -> Ints:
    """Return the start of each code's run in sorted `codes`: shape [size + 1]."""
    offsets = np.zeros(size + 1, dtype=np.int64)
    np.cumsum(np.bincount(codes, minlength=size), out=offsets[1:])
    return offsets


_DIGIT: Final = 16  # bits of a digit: numpy radix-sorts up to this width
_MIN_RADIX_SIZE: Final = 2_000  # minimum size for a radix sort


def stable_argsort(codes: npt.NDArray[np.integer[Any]]) -> Ints:
    """Return `np.argsort(codes, kind="stable")` of shape [n], four to six times faster.

    The input should be unsorted; numpy is as fast on nearly sorted input.

    Source: least-significant-digit radix sort, Knuth, TAOCP 3, 5.2.5.
    """
    if len(codes) < _MIN_RADIX_SIZE:
        return np.argsort(codes, kind="stable")
    lowest = int(codes.min())
    width = (int(codes.max()) - lowest).bit_length()
    # Modulo 2^64, so that the difference never overflows.
    words = codes.astype(np.int64).view(np.uint64) - np.uint64(lowest % 2**64)
    order: Ints = np.argsort(words.astype(np.uint16), kind="stable")
    for shift in range(_DIGIT, width, _DIGIT):
        digit = (words >> np.uint64(shift)).astype(np.uint16)
        order = order[np.argsort(digit[order], kind="stable")]
    return order


def grouped_argsort(groups: npt.NDArray[np.integer[Any]], times: Ints) -> Ints:
    """Return `np.lexsort((times, groups))` of shape [n]; fast if most times are sorted."""
    by_time = np.argsort(times, kind="stable")
    order: Ints = by_time[stable_argsort(groups[by_time])]
    return order


def allocate_in_memory(size: int, kind: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return an uninitialised array in memory."""
    return np.empty(size, kind)


def run_ranges(offsets: Ints, max_entries: int) -> Iterator[tuple[int, int]]:
    """Yield consecutive ranges of runs with at most `max_entries`, or of a single run.

    Run r has the entries offsets[r]:offsets[r + 1].
    """
    begin, runs = 0, len(offsets) - 1
    while begin < runs:
        fits = int(np.searchsorted(offsets, offsets[begin] + max_entries, side="right")) - 1
        end = min(max(fits, begin + 1), runs)
        yield begin, end
        begin = end
