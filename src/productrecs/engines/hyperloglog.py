"""HyperLogLog sketches: count distinct shoppers, and merge counts of days or widgets.

A sketch takes a few thousand bytes. It holds up to 1,024 shoppers exactly, by their codes;
beyond that it keeps the longest run of zeros in each part of the codes, with an error of
about 2 %. The same shoppers make the same bytes in any order, so that incremental reading
equals reading everything.

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
_BITS: Final = 20  # of a code, beside the twelve that name its part
_MAX_EXACT: Final = _PARTS // 4  # then the codes are as large as the parts
_BIAS: Final = 0.7213 / (1 + 1.079 / _PARTS)
_FEW: Final = 2.5 * _PARTS


def sketch(codes: npt.NDArray[np.int64]) -> bytes:
    """Return the crowd of shoppers by their `core.shopper.visitor_code`."""
    # Their upper halves are as random as the codes: a digest's.
    return _packed((codes.view(np.uint64) >> np.uint64(32)).astype(np.uint32))


def merge(crowds: Iterable[bytes]) -> bytes:
    """Return the crowd of all that are in any of these."""
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
    """Return how many shoppers a crowd holds: exactly up to 1,024, then about."""
    if len(crowd) != _PARTS + 1:
        return len(crowd) // 4
    parts = np.frombuffer(crowd, np.uint8, _PARTS)
    empty = int((parts == 0).sum())
    estimate = _BIAS * _PARTS**2 / float((2.0 ** -parts.astype(np.float64)).sum())
    if estimate <= _FEW and empty:
        estimate = _PARTS * float(np.log(_PARTS / empty))
    return max(round(estimate), _MAX_EXACT + 1)


def intersection_cardinality(one: bytes, other: bytes) -> int:
    """Return how many shoppers are in both crowds: never more than in either of them.

    A person in both is counted in each and once in their union; a crowd of two is
    never smaller than one of them, also where their numbers are told about.
    """
    sizes = cardinality(one), cardinality(other)
    return max(0, sum(sizes) - max(*sizes, cardinality(merge((one, other)))))


def _packed(codes: Codes) -> bytes:
    if len(codes) > _PARTS:
        # So many that finding the different ones takes long; mostly there is no need to.
        parts = _parts(codes)
        if np.count_nonzero(parts) > _MAX_EXACT:
            return parts.tobytes() + b"\1"
    different = np.unique(codes)
    if len(different) <= _MAX_EXACT:
        return different.astype("<u4").tobytes()
    return _parts(different).tobytes() + b"\1"  # a length that codes never have


def _parts(codes: Codes) -> Parts:
    """Return, for each part, where the first one stands in the rest of its codes."""
    parts = np.zeros(_PARTS, np.uint8)
    rest = (codes & np.uint32(2**_BITS - 1)).astype(np.float64)
    runs = (_BITS - np.frexp(rest)[1] + 1).astype(np.uint8)
    np.maximum.at(parts, codes >> np.uint32(_BITS), runs)
    return parts
