"""Storage failures: this process's failed reads and writes, for readiness."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from productrecs.core.errors import (
    DamagedDatabaseError,
    QueueFullError,
    StorageBrokenError,
    StorageError,
    UnconfirmedWriteError,
    operator_text,
)
from productrecs.core.outage_log_limiter import OutageLogLimiter

_log = logging.getLogger(__name__)

FAILURE_MEMORY_SECONDS: Final = 300.0
"""How long a failed read counts: a damaged page stays so while other reads succeed."""


class StorageFailures:
    """Records failures as they happen; safe to use from any thread."""

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        """Start without failures."""
        self._seconds = seconds
        self._lock = threading.Lock()
        self._write: StorageError | None = None
        self._failures = 0
        self._unconfirmed: UnconfirmedWriteError | None = None
        self._unconfirmed_at = 0.0
        self._writes_failed_at: float | None = None
        self._outage = OutageLogLimiter(seconds)
        self._unconfirmed_outage = OutageLogLimiter(seconds)
        self._read: StorageError | None = None
        self._read_at = 0.0

    @property
    def write_failures(self) -> int:
        """How many writes have failed so far."""
        return self._failures

    @property
    def failed_write(self) -> StorageError | None:
        """The reason why writes fail; None if the last attempt succeeded.

        An unconfirmed write counts for minutes, or until another is confirmed: a probe of
        this process does not test the writer process.
        """
        if self._write is not None:
            return self._write
        is_over = self._seconds() - self._unconfirmed_at > FAILURE_MEMORY_SECONDS
        return None if is_over else self._unconfirmed

    @property
    def failed_write_seconds(self) -> float:
        """For how long writes have failed; of unconfirmed ones until the last of them."""
        if self._writes_failed_at is None or self.failed_write is None:
            return 0.0
        until = self._unconfirmed_at if self._write is None else self._seconds()
        return until - self._writes_failed_at

    @property
    def failed_read(self) -> StorageError | None:
        """The reason of a failed read within the last minutes; None without one."""
        if self._seconds() - self._read_at > FAILURE_MEMORY_SECONDS:
            return None
        return self._read

    def record_write_failure(self, error: StorageError) -> None:
        """Record a failed write; a full queue is not a storage failure."""
        if isinstance(error, QueueFullError):
            return
        if self.failed_write is None:
            self._writes_failed_at = self._seconds()
        if isinstance(error, UnconfirmedWriteError):
            self._record_unconfirmed(error)
            return
        with self._lock:
            self._write = error
            self._failures += 1
        if self._outage.should_log_failure():
            _log.error("writes failing", extra={"error": operator_text(error)})
        self._record_damage(error)

    def record_confirmed_write(self) -> None:
        """Record a confirmed write of a request, which clears earlier unconfirmed ones."""
        if self._unconfirmed is None:
            return
        self._unconfirmed = None
        self._unconfirmed_outage.should_log_recovery()
        _log.info("writes confirmed again")

    def record_write_success(self, failures_before: int) -> None:
        """Record a successful write; it does not clear failures after `failures_before`."""
        with self._lock:
            is_over = self._write is not None and self._failures == failures_before
            if is_over:
                self._write = None
        if is_over and self._outage.should_log_recovery():
            _log.info("writes recovered")

    def record_read_failure(self, error: StorageError) -> None:
        """Record a failed read.

        Only damage counts here: other readers detect an unavailable or busy database.
        """
        self._record_damage(error)

    def _record_unconfirmed(self, error: UnconfirmedWriteError) -> None:
        self._unconfirmed, self._unconfirmed_at = error, self._seconds()
        if self._unconfirmed_outage.should_log_failure():
            _log.error("writes unconfirmed", extra={"error": operator_text(error)})

    def _record_damage(self, error: StorageError) -> None:
        if not isinstance(error, DamagedDatabaseError | StorageBrokenError):
            return
        is_new = self.failed_read is None
        with self._lock:
            self._read, self._read_at = error, self._seconds()
        if is_new:
            _log.critical("stored data unreadable", extra={"error": operator_text(error)})
