"""HyperLogLog sketches: count distinct shoppers, and merge counts of days or widgets.

A sketch takes a few thousand bytes. Up to 1,024 shopper codes are stored exactly; beyond
that it stores the longest run of zeros per register, with an error of about 2 %. Equal sets
of shoppers give equal bytes in any order, so incremental and full reads agree.

Source: Flajolet et al., HyperLogLog, 2007, with its linear counting for small sets.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.uint32]
Registers = npt.NDArray[np.uint8]

EMPTY_SKETCH: Final = b""

CODE_BYTES: Final = 4
"""The bytes of one shopper in an exact sketch."""

MAX_EXACT_BYTES: Final = 4_096
"""A longer sketch is not exact: its length does not tell its cardinality."""

_REGISTERS: Final = 4_096
_BITS: Final = 20  # bits of a code that remain after the twelve of its register
_MAX_EXACT: Final = MAX_EXACT_BYTES // CODE_BYTES  # more codes take more than registers
_BIAS: Final = 0.7213 / (1 + 1.079 / _REGISTERS)
_SMALL_RANGE: Final = 2.5 * _REGISTERS


def sketch(codes: npt.NDArray[np.int64]) -> bytes:
    """Return the sketch of shoppers by their `core.ids.visitor_hash`."""
    # The upper halves are random as well: the codes are digests.
    return _pack_sketch((codes.view(np.uint64) >> np.uint64(32)).astype(np.uint32))


def merge(sketches: Iterable[bytes]) -> bytes:
    """Return the union of sketches."""
    arrays, register_arrays = [], []
    for sketch_bytes in sketches:
        if len(sketch_bytes) == _REGISTERS + 1:
            register_arrays.append(np.frombuffer(sketch_bytes, np.uint8, _REGISTERS))
        elif sketch_bytes:
            arrays.append(np.frombuffer(sketch_bytes, "<u4"))
    codes = np.concatenate(arrays) if arrays else np.zeros(0, np.uint32)
    if not register_arrays:
        return _pack_sketch(codes)
    registers: Registers = np.maximum.reduce([*register_arrays, _registers(codes)])
    return registers.tobytes() + b"\1"


def cardinality(sketch_bytes: bytes) -> int:
    """Return the number of shoppers of a sketch: exact up to 1,024, then estimated."""
    if len(sketch_bytes) != _REGISTERS + 1:
        return len(sketch_bytes) // CODE_BYTES
    registers = np.frombuffer(sketch_bytes, np.uint8, _REGISTERS)
    empty_registers = int((registers == 0).sum())
    estimate = _BIAS * _REGISTERS**2 / float((2.0 ** -registers.astype(np.float64)).sum())
    if estimate <= _SMALL_RANGE and empty_registers:
        estimate = _REGISTERS * float(np.log(_REGISTERS / empty_registers))
    return max(round(estimate), _MAX_EXACT + 1)


def intersection_cardinality(first: bytes, second: bytes) -> int:
    """Return the size of the intersection: never more than either sketch.

    Uses inclusion-exclusion. The union's estimate is at least the larger of both.
    """
    sizes = cardinality(first), cardinality(second)
    return max(0, sum(sizes) - max(*sizes, cardinality(merge((first, second)))))


def intersection_cardinalities(pairs: Sequence[tuple[bytes, bytes]]) -> list[int]:
    """Return the `intersection_cardinality` of each pair, in the same order.

    Exact sketches of all pairs are intersected at once, which is a hundred times faster.
    """
    exact = [
        pair if max(map(len, pair)) <= MAX_EXACT_BYTES else (EMPTY_SKETCH, EMPTY_SKETCH)
        for pair in pairs
    ]
    first_codes, second_codes = (
        _numbered_codes([pair[side] for pair in exact]) for side in (0, 1)
    )
    common = np.intersect1d(first_codes, second_codes, assume_unique=True) >> np.uint64(32)
    counts: list[int] = np.bincount(common.astype(np.int64), minlength=len(pairs)).tolist()
    for number, pair in enumerate(pairs):
        if pair is not exact[number]:
            counts[number] = intersection_cardinality(*pair)
    return counts


def _numbered_codes(sketches: Sequence[bytes]) -> npt.NDArray[np.uint64]:
    """Return the codes of exact sketches, each with the number of its sketch above it."""
    codes = np.frombuffer(b"".join(sketches), "<u4").astype(np.uint64)
    lengths = [len(packed) // CODE_BYTES for packed in sketches]
    numbers = np.repeat(np.arange(len(sketches), dtype=np.uint64), lengths)
    return (numbers << np.uint64(32)) | codes


def _pack_sketch(codes: Codes) -> bytes:
    if len(codes) > _REGISTERS:
        # Deduplication of this many is slow, and registers are almost always needed.
        registers = _registers(codes)
        if np.count_nonzero(registers) > _MAX_EXACT:
            return registers.tobytes() + b"\1"
    distinct = np.unique(codes)
    if len(distinct) <= _MAX_EXACT:
        return distinct.astype("<u4").tobytes()
    return _registers(distinct).tobytes() + b"\1"  # a length that exact sketches never have


def _registers(codes: Codes) -> Registers:
    """Return, for each register, the position of the first one bit of its codes."""
    registers = np.zeros(_REGISTERS, np.uint8)
    remaining_bits = (codes & np.uint32(2**_BITS - 1)).astype(np.float64)
    first_one_positions = (_BITS - np.frexp(remaining_bits)[1] + 1).astype(np.uint8)
    np.maximum.at(registers, codes >> np.uint32(_BITS), first_one_positions)
    return registers
