"""SQLite connections: safe settings, lock waits, and errors with remedies."""

import ctypes
import os
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

import apsw

from productrecs.core.errors import (
    DamagedDatabaseError,
    ReadOnlyStorageError,
    StorageBrokenError,
    StorageBusyError,
    StorageError,
    StorageFullError,
    UnsafeStorageError,
)
from productrecs.storage.sql import apsw_dbapi

LOCK_WAIT_MS: Final = 5_000
WAL_PAGES: Final = 8_000
WAL_LIMIT_BYTES: Final = 160 * 1024 * 1024
PAGE_CACHE_KIB: Final = 4_096

_BUSY = (StorageBusyError, "the database is busy; retry")
_FULL = (StorageFullError, "the disk is full; free some space, nothing is lost")
_READ_ONLY = (
    ReadOnlyStorageError,
    "the data folder is read-only: nothing can be stored; make it writable",
)
_TRANSIENT_ERRORS: Final[Mapping[int, tuple[type[StorageError], str]]] = MappingProxyType(
    {5: _BUSY, 6: _BUSY, 8: _READ_ONLY, 13: _FULL}
)
_NO_LOG: Final = (
    "the data folder is read-only and the database has no write-ahead log beside it, as "
    "earlier releases and copies leave it; make the folder writable and start the service "
    "once"
)
_SQLITE_IO = 10
_SQLITE_DAMAGED = frozenset({11, 26})
_SQLITE_CANNOT_OPEN = 14


class SqliteBusyHandler:
    """Waits for another process's write by polling five times per millisecond.

    SQLite's own handler sleeps up to 100 ms at a time and misses the short gaps between
    transactions of a bulk import: events then waited 2 s instead of 40 ms.
    """

    def __init__(self, milliseconds: int = LOCK_WAIT_MS) -> None:
        """Set the maximum wait."""
        self._seconds = milliseconds / 1000
        self._until = 0.0

    def __call__(self, attempts: int) -> bool:
        """Return whether to retry, after a short sleep."""
        if attempts == 0:
            self._until = time.monotonic() + self._seconds
        time.sleep(0.0002)
        return time.monotonic() < self._until


def configure_connection(
    connection: apsw_dbapi.ApswConnection,
    log_pages: int = WAL_PAGES,
    page_cache_kib: int = PAGE_CACHE_KIB,
) -> None:
    """Configure a new connection as requirements R1 to R4 say.

    A commit that makes the write-ahead log longer than `log_pages` checkpoints it.

    Raises:
        UnsafeStorageError: when the file is damaged or not a database.
    """
    connection.apsw.set_busy_handler(SqliteBusyHandler())
    _persist_wal(connection.apsw)
    for pragma in (
        *_new_file_pragmas(connection.apsw),
        "journal_mode = WAL",
        "synchronous = FULL",
        "mmap_size = 0",
        "secure_delete = ON",
        "cell_size_check = ON",
        "trusted_schema = OFF",
        "foreign_keys = ON",
        f"wal_autocheckpoint = {log_pages}",
        f"journal_size_limit = {WAL_LIMIT_BYTES}",
        f"cache_size = -{page_cache_kib}",
        "temp_store = MEMORY",
    ):
        try:
            connection.apsw.execute(f"PRAGMA {pragma}").fetchall()
        except apsw.Error as error:
            if _lacks_wal_on_read_only_disk(connection.apsw.filename):
                raise UnsafeStorageError(_NO_LOG) from error
            raise to_storage_error(apsw_dbapi.to_dbapi_error(error)) from error


def _new_file_pragmas(connection: apsw.Connection) -> tuple[str, ...]:
    """Return what must be set before a database has any content.

    Incremental vacuum lets purges cut free pages off the file.
    """
    file = Path(connection.filename)
    is_new = not file.exists() or file.stat().st_size == 0
    return ("auto_vacuum = INCREMENTAL",) if is_new else ()


def _lacks_wal_on_read_only_disk(path: str) -> bool:
    """Return whether SQLite cannot open a database because it cannot create log files."""
    has_log = Path(f"{path}-wal").exists()
    return not has_log and not os.access(Path(path).parent, os.W_OK)


def _persist_wal(connection: apsw.Connection) -> None:
    """Preserve the write-ahead log and its index when the last connection closes.

    SQLite needs them to open a database on a read-only disk. The preserved log is empty.
    """
    persist = ctypes.c_int(1)
    connection.file_control(
        "main", apsw.SQLITE_FCNTL_PERSIST_WAL, ctypes.addressof(persist)
    )


def to_storage_error(error: apsw_dbapi.Error) -> StorageError:
    """Return our error for one of SQLite's result codes, with its remedy."""
    if error.code in _TRANSIENT_ERRORS:
        kind, message = _TRANSIENT_ERRORS[error.code]
        return kind(message)
    if error.code == _SQLITE_IO:
        return StorageBrokenError(f"the disk failed to read or write: {error}")
    if error.code in _SQLITE_DAMAGED:
        message = (
            f"the database is damaged ({error}); stop the service and restore a backup"
        )
        return DamagedDatabaseError(message)
    if error.code == _SQLITE_CANNOT_OPEN:
        message = "the database cannot be opened; check who may write to the data folder"
        return UnsafeStorageError(message)
    return StorageError(f"the database rejected the operation: {error}")
