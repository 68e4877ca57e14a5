"""Nightly window: the hour of a store's night when long jobs run, once a day."""

from datetime import datetime, tzinfo
from typing import Final

NIGHT_HOUR: Final = 2
"""In the store's zone: yesterday is whole, and few people buy."""


def is_nightly_run_due(zone: tzinfo, since_ms: int, now_ms: int) -> bool:
    """Return whether the night of a later day than `since_ms` has begun by `now_ms`."""
    then = datetime.fromtimestamp(since_ms / 1000, tz=zone)
    now = datetime.fromtimestamp(now_ms / 1000, tz=zone)
    return now.date() > then.date() and now.hour >= NIGHT_HOUR
