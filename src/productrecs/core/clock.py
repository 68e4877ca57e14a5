"""What time is it, for facts and for machinery."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, tzinfo

Clock = Callable[[], int]
"""The business clock: UTC milliseconds since 1970. It may be frozen for replays."""

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS


def system_ms() -> int:
    """Return the machine's time in UTC milliseconds (leases and polls always use it)."""
    return time.time_ns() // 1_000_000


def frozen_at(moment_ms: int) -> Clock:
    """Return a clock that always answers `moment_ms`."""
    return lambda: moment_ms


def parse_moment(text: str, zone: tzinfo = UTC) -> int:
    """Return the UTC milliseconds of an ISO date or datetime.

    A text without an offset is read in `zone`; a bare date means its midnight.

    Raises:
        ValueError: when the text is not ISO 8601, or its year is out of reach.
    """
    moment = datetime.fromisoformat(text.strip())
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
    try:
        seconds = moment.timestamp()
    except OverflowError as error:
        message = f"the time {text!r} is out of range"
        raise ValueError(message) from error
    return round(seconds * 1000)


def iso(moment_ms: int) -> str:
    """Return `moment_ms` as ISO 8601 in UTC, to the millisecond, ending in `Z`."""
    moment = datetime.fromtimestamp(moment_ms / 1000, tz=UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
