"""Outage log limiter: limits the lines about one outage to one a minute."""

import threading
import time
from collections.abc import Callable
from typing import Final

OUTAGE_LOG_SECONDS: Final = 60.0


class OutageLogLimiter:
    """Says when a line about an outage is due: at its start, once a minute, at its end."""

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        """Start without an outage."""
        self._seconds = seconds
        self._next_at: float | None = None
        self._failed_at = 0.0
        self._noting = threading.Lock()

    def should_log_failure(self) -> bool:
        """Return whether a failure is worth a line."""
        now = self._seconds()
        with self._noting:
            self._failed_at = now
            if self._next_at is not None and now < self._next_at:
                return False
            self._next_at = now + OUTAGE_LOG_SECONDS
        return True

    def should_log_recovery(self, quiet_seconds: float = 0.0) -> bool:
        """Return whether a success ends an outage, which is then over.

        `quiet_seconds` must have passed since the last failure.
        """
        with self._noting:
            if self._next_at is None or self._seconds() < self._failed_at + quiet_seconds:
                return False
            self._next_at = None
        return True
