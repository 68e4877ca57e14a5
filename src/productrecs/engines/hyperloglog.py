"""HyperLogLog sketches: count distinct shoppers, and merge counts of days or widgets.

A sketch takes a few thousand bytes. Up to 1,024 shopper codes are stored exactly; beyond
that it stores the longest run of zeros per register, with an error of about 2 %. Equal sets
of shoppers give equal bytes in any order, so incremental and full reads agree.

Source: Flajolet et al., HyperLogLog, 2007, with its linear counting for small sets.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.uint32]
Parts = npt.NDArray[np.uint8]

NOBODY: Final = b""

_PARTS: Final = 4_096
_BITS: Final = 20  # bits of a code that remain after the twelve of its register
_MAX_EXACT: Final = _PARTS // 4  # above it, the codes take as much space as the registers
_BIAS: Final = 0.7213 / (1 + 1.079 / _PARTS)
_FEW: Final = 2.5 * _PARTS


def sketch(codes: npt.NDArray[np.int64]) -> bytes:
    """Return the sketch of shoppers by their `core.shopper.visitor_code`."""
    # The upper halves are random as well: the codes are digests.
    return _packed((codes.view(np.uint64) >> np.uint64(32)).astype(np.uint32))


def merge(crowds: Iterable[bytes]) -> bytes:
    """Return the union of sketches."""
    arrays, counted = [], []
    for crowd in crowds:
        if len(crowd) == _PARTS + 1:
            counted.append(np.frombuffer(crowd, np.uint8, _PARTS))
        elif crowd:
            arrays.append(np.frombuffer(crowd, "<u4"))
    codes = np.concatenate(arrays) if arrays else np.zeros(0, np.uint32)
    if not counted:
        return _packed(codes)
    parts: Parts = np.maximum.reduce([*counted, _parts(codes)])
    return parts.tobytes() + b"\1"


def cardinality(crowd: bytes) -> int:
    """Return the number of shoppers of a sketch: exact up to 1,024, then estimated."""
    if len(crowd) != _PARTS + 1:
        return len(crowd) // 4
    parts = np.frombuffer(crowd, np.uint8, _PARTS)
    empty = int((parts == 0).sum())
    estimate = _BIAS * _PARTS**2 / float((2.0 ** -parts.astype(np.float64)).sum())
    if estimate <= _FEW and empty:
        estimate = _PARTS * float(np.log(_PARTS / empty))
    return max(round(estimate), _MAX_EXACT + 1)


def intersection_cardinality(one: bytes, other: bytes) -> int:
    """Return the size of the intersection: never more than either sketch.

    Uses inclusion-exclusion. The union's estimate is at least the larger of both.
    """
    sizes = cardinality(one), cardinality(other)
    return max(0, sum(sizes) - max(*sizes, cardinality(merge((one, other)))))


def _packed(codes: Codes) -> bytes:
    if len(codes) > _PARTS:
        # Deduplication of this many is slow, and registers are almost always needed.
        parts = _parts(codes)
        if np.count_nonzero(parts) > _MAX_EXACT:
            return parts.tobytes() + b"\1"
    different = np.unique(codes)
    if len(different) <= _MAX_EXACT:
        return different.astype("<u4").tobytes()
    return _parts(different).tobytes() + b"\1"  # a length that exact sketches never have


def _parts(codes: Codes) -> Parts:
    """Return, for each register, the position of the first one bit of its codes."""
    parts = np.zeros(_PARTS, np.uint8)
    rest = (codes & np.uint32(2**_BITS - 1)).astype(np.float64)
    runs = (_BITS - np.frexp(rest)[1] + 1).astype(np.uint8)
    np.maximum.at(parts, codes >> np.uint32(_BITS), runs)
    return parts
