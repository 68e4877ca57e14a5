"""Clock: the injected time, the machine's time, and durations in milliseconds."""

import time
from collections.abc import Callable

Clock = Callable[[], int]
"""The business clock: UTC milliseconds since 1970. Replays may freeze it."""

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS


def system_ms() -> int:
    """Return the machine's time in UTC milliseconds (always used for leases and polls)."""
    return time.time_ns() // 1_000_000


def fixed_clock(moment_ms: int) -> Clock:
    """Return a clock that always returns `moment_ms`."""
    return lambda: moment_ms
