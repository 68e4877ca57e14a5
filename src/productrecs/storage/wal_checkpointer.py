"""WAL checkpointer: a thread that copies SQLite's write-ahead log into the database.

By default the commit that finds the log too long copies all of it and syncs twice, while
every write waits: a tenth of a second, every few thousand events. Here a thread copies it
in the background, and the log restarts from its beginning when it has no reader. If the
thread cannot keep up, a commit copies the log after all (`INLINE_PAGES`).
"""

import contextlib
import logging
import os
import threading
import time
from os import fdatasync
from pathlib import Path
from typing import Final

import apsw

from productrecs.core.errors import StorageBrokenError
from productrecs.storage import apsw_dbapi
from productrecs.storage.sqlite_connection import (
    WAL_PAGES,
    SqliteBusyHandler,
    configure_connection,
)

_log = logging.getLogger(__name__)

INLINE_PAGES: Final = 8 * WAL_PAGES
CHECK_SECONDS: Final = 0.1
_MIN_PAGES: Final = WAL_PAGES // 4
_LONG_PAGES: Final = 4 * WAL_PAGES
_FEW_PAGES: Final = 400
_MAX_PASSES: Final = 5
_BUSY_TIMEOUT_MS: Final = 5
_LOG_AGAIN_SECONDS: Final = 60.0


class WalCheckpointer:
    """The checkpoint thread, which runs until `close`."""

    def __init__(self, path: Path) -> None:
        """Checkpoint the log of the database at `path`."""
        self._path = path
        self._logged_at = -_LOG_AGAIN_SECONDS
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="checkpoint", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop after the current copy."""
        self._stopping.set()
        self._thread.join(timeout=30)

    def _run(self) -> None:
        with contextlib.closing(apsw_dbapi.connect(str(self._path))) as connection:
            configure_connection(connection)
            connection.apsw.set_busy_handler(SqliteBusyHandler(_BUSY_TIMEOUT_MS))
            while not self._stopping.wait(CHECK_SECONDS):
                try:
                    _checkpoint_if_needed(connection.apsw)
                except apsw.BusyError:
                    pass  # another process is copying it
                except apsw.Error as error:
                    self._log_failure(error)

    def _log_failure(self, error: apsw.Error) -> None:
        """Log a warning at most once a minute: a full disk stays full for a while."""
        now = time.monotonic()
        if now - self._logged_at >= _LOG_AGAIN_SECONDS:
            self._logged_at = now
            _log.warning("checkpoint failed", extra={"error": str(error)})


def _checkpoint_if_needed(connection: apsw.Connection) -> None:
    pages, copied = connection.wal_checkpoint(None, apsw.SQLITE_CHECKPOINT_NOOP)
    if pages - copied < _MIN_PAGES:
        return
    # Writers continue meanwhile; each pass has less to copy.
    for _ in range(_MAX_PASSES):
        pages, copied = connection.wal_checkpoint(None, apsw.SQLITE_CHECKPOINT_PASSIVE)
        if pages - copied < _FEW_PAGES:
            break
    if pages >= _LONG_PAGES and pages - copied < _FEW_PAGES:
        # The log restarts by itself in a short pause of writes. Without a pause, writers
        # have to wait here while these few pages are copied.
        connection.wal_checkpoint(None, apsw.SQLITE_CHECKPOINT_RESTART)


class WalFile:
    """The log next to a database, which SQLite creates and removes with its connections."""

    def __init__(self, path: Path) -> None:
        """Open nothing yet."""
        self._path = path
        self._lock = threading.Lock()
        self._number: int | None = None

    def sync(self) -> None:
        """Return once everything written to the log is on the disk.

        A missing log needs no sync: before it is removed, its content is copied to the
        database and synced there.

        Raises:
            StorageBrokenError: when the disk failed.
        """
        with self._lock:
            try:
                number = self._current()
                if number is not None:
                    fdatasync(number)
            except OSError as error:
                message = f"the disk failed to store a write: {error}"
                raise StorageBrokenError(message) from error

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._close()

    def _current(self) -> int | None:
        try:
            on_disk = self._path.stat()
        except FileNotFoundError:
            self._close()
            return None
        if self._number is not None:
            opened = os.fstat(self._number)
            if (opened.st_dev, opened.st_ino) == (on_disk.st_dev, on_disk.st_ino):
                return self._number
            self._close()
        self._number = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        return self._number

    def _close(self) -> None:
        if self._number is not None:
            os.close(self._number)
            self._number = None
