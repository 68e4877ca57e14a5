"""WAL file: syncs SQLite's write-ahead log from another thread than its writer's.

The file holds no locks (those are on the database and on its shared memory), so it may be
opened here; it is only ever read and synced.
"""

import os
import threading
from os import fdatasync
from pathlib import Path

from productrecs.core.errors import StorageBrokenError


class WalFile:
    """The log beside a database, which comes and goes with its connections."""

    def __init__(self, path: Path) -> None:
        """Touch nothing yet."""
        self._path = path
        self._lock = threading.Lock()
        self._number: int | None = None

    def sync(self) -> None:
        """Return once all that was written to the log is on the disk.

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
            self._forget()

    def _current(self) -> int | None:
        try:
            there = self._path.stat()
        except FileNotFoundError:
            self._forget()
            return None
        if self._number is not None:
            ours = os.fstat(self._number)
            if (ours.st_dev, ours.st_ino) == (there.st_dev, there.st_ino):
                return self._number
            self._forget()
        self._number = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        return self._number

    def _forget(self) -> None:
        if self._number is not None:
            os.close(self._number)
            self._number = None
