"""Sessionization: splits each visitor's events into visits at gaps of inactivity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from productrecs.engines.arrays import grouped_argsort

if TYPE_CHECKING:
    from productrecs.engines.arrays import Ints

HALF_AN_HOUR_MS: Final = 30 * 60 * 1000


def sessionize(identities: Ints, times: Ints, gap_ms: int = HALF_AN_HOUR_MS) -> Ints:
    """Return each event's visit: codes from 0 by identity, then by time; shapes [n].

    A visit ends when the identity's next event comes more than `gap_ms` later. Events may
    have any order; `times` are milliseconds.
    """
    order = grouped_argsort(identities, times)
    visitors, visit_times = identities[order], times[order]
    is_start = np.zeros(len(order), dtype=np.bool_)
    is_start[1:] = (visitors[1:] != visitors[:-1]) | (np.diff(visit_times) > gap_ms)
    codes = np.empty(len(order), dtype=np.int64)
    codes[order] = np.cumsum(is_start)
    return codes
