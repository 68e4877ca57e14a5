"""SQLite dialect: connections, transactions, raw SQL, errors, and the WAL checkpointer.

It is opened as requirements R1 to R4 say: WAL, synchronous=FULL (with NORMAL a power cut
loses acknowledged rows), BEGIN IMMEDIATE for every write, no memory map, and deleted
content is overwritten.
"""

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from os import fdatasync
from pathlib import Path
from typing import Any, Final

import apsw
import msgspec
import sqlalchemy as sa

from productrecs.core.cache_registry import RegisteredCache, memoized
from productrecs.core.errors import (
    DamagedDatabaseError,
    StorageBrokenError,
    StorageError,
    UnsafeStorageError,
)
from productrecs.core.ids import StoreId
from productrecs.storage.sql import apsw_dbapi
from productrecs.storage.sql.dialects import (
    FIELD_PLACEHOLDER,
    LOOKUP_PLACEHOLDER,
    RAW_CONNECTION_KEY,
    ROWS_PLACEHOLDER,
    DatabaseProblem,
    RawReader,
    Row,
    encode_parameters,
    insert_column_list,
    rows_to_json,
)
from productrecs.storage.sql.sqlite_connection import (
    LOCK_WAIT_MS,
    PAGE_CACHE_KIB,
    WAL_LIMIT_BYTES,
    WAL_PAGES,
    SqliteBusyHandler,
    configure_connection,
    to_storage_error,
)

_log = logging.getLogger(__name__)

INLINE_PAGES: Final = 8 * WAL_PAGES
CHECK_SECONDS: Final = 0.1
_MIN_PAGES: Final = WAL_PAGES // 4
_LONG_PAGES: Final = 4 * WAL_PAGES
_FEW_PAGES: Final = 400
_MAX_PASSES: Final = 5
_BUSY_TIMEOUT_MS: Final = 5
_TABLE_BYTES: Final = (
    "SELECT coalesce(tbl_name, dbstat.name), sum(pgsize) FROM dbstat "
    "LEFT JOIN sqlite_schema ON sqlite_schema.name = dbstat.name "
    "WHERE aggregate = TRUE GROUP BY 1"
)
_INCREMENTAL: Final = 2  # SQLite's number of this kind of vacuum
_RELEASED_PAGES: Final = 500  # at a time: writes wait for about 10 ms
_LOG_AGAIN_SECONDS: Final = 60.0
_SCAN_PAGE_CACHE_KIB: Final = 1_024


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
                number = self._current_descriptor()
                if number is not None:
                    fdatasync(number)
            except OSError as error:
                message = f"the disk failed to store a write: {error.strerror}"
                raise StorageBrokenError(message, str(error)) from error

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._close()

    def _current_descriptor(self) -> int | None:
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


MIN_SQLITE_VERSION: Final = (3, 51, 3)
_BRIEFLY_MS: Final = 500
_ROWS_PER_INSERT: Final = 1_000
_decode: Final = msgspec.json.Decoder().decode


def reject_unsafe_sqlite(
    version: tuple[int, ...], options: frozenset[str] = frozenset()
) -> None:
    """Reject a SQLite that can corrupt a database with two writers, or has no locks.

    Raises:
        UnsafeStorageError: for a version before 3.51.3, or a build without threads.
    """
    if version < MIN_SQLITE_VERSION:
        found = ".".join(map(str, version))
        message = (
            f"SQLite {found} can corrupt a database that two processes write (fixed in "
            "3.51.3). Install the apsw wheel (pip install --only-binary apsw apsw), which "
            "brings a safe one, or set DATABASE_URL to a PostgreSQL database"
        )
        raise UnsafeStorageError(message)
    if "THREADSAFE=0" in options:
        message = "this SQLite was built without threads; install the apsw wheel from PyPI"
        raise UnsafeStorageError(message)


@dataclass(eq=False)
class SqliteDialect:
    """One file, one writer at a time; readers never block."""

    path: Path
    name: str = "sqlite"
    can_read_on_event_loop: bool = True
    syncs_after_commit: bool = True
    driver_error: type[Exception] = apsw_dbapi.Error
    server_time: str | None = None
    _log_file: WalFile = field(init=False, repr=False)
    _checkpointing: WalCheckpointer | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        """Set the path of the write-ahead log next to the database."""
        self._log_file = WalFile(self.path.with_name(self.path.name + "-wal"))

    def create_engine(self) -> sa.Engine:
        """Return an engine whose connections all have the safe settings."""
        reject_unsafe_sqlite(
            apsw_dbapi.sqlite_version_info, frozenset(apsw_dbapi.compile_options())
        )
        self.path.parent.mkdir(parents=True, exist_ok=True)
        engine = sa.create_engine(
            f"sqlite:///{self.path.resolve()}",
            module=apsw_dbapi,
            pool_size=4,
            max_overflow=16,
            pool_timeout=LOCK_WAIT_MS / 1000,
        )
        sa.event.listen(engine, "connect", self._configure_new_connection)
        return engine

    def _configure_new_connection(
        self, connection: apsw_dbapi.ApswConnection, record: sa.pool.ConnectionPoolEntry
    ) -> None:
        configure_connection(connection, INLINE_PAGES if self._checkpointing else WAL_PAGES)
        record.info[RAW_CONNECTION_KEY] = SqliteRawConnection(connection)

    def begin_write(self, connection: sa.Connection, *, synced: bool) -> None:
        """Take the write lock at once: upgrading a read lock fails without waiting."""
        # Set each time: connections are shared, and it works only outside a transaction.
        level = "FULL" if synced else "NORMAL"
        connection.exec_driver_sql(f"PRAGMA synchronous = {level}")
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    def flush(self) -> None:
        """Sync the write-ahead log after the fact, as a synced commit does.

        Content that has left the log has been copied to the database, which was synced.

        Raises:
            StorageBrokenError: when the disk failed.
        """
        self._log_file.sync()

    def checkpoint_in_background(self) -> None:
        """From now on checkpoint the write-ahead log in a thread, not in commits."""
        self._checkpointing = WalCheckpointer(self.path.resolve())

    def overwrite_deleted(self) -> bool:
        """Checkpoint the write-ahead log, which still has deleted rows, and truncate it."""
        with contextlib.closing(apsw_dbapi.connect(str(self.path.resolve()))) as connection:
            configure_connection(connection)
            connection.apsw.set_busy_handler(SqliteBusyHandler(_BRIEFLY_MS))
            try:
                connection.apsw.wal_checkpoint(None, apsw.SQLITE_CHECKPOINT_TRUNCATE)
            except apsw.BusyError:
                return False
            except apsw.Error as error:
                raise apsw_dbapi.to_dbapi_error(error) from error
        return True

    def compact(self) -> None:
        """Rewrite the file without free pages; `release_free_pages` works from then on."""
        with self._open_translating_errors() as connection:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            connection.execute("VACUUM")
            connection.wal_checkpoint(None, apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def release_free_pages(self) -> bool:
        """Cut free pages off the file's end, if it was compacted once."""
        with self._open_translating_errors() as connection:
            if connection.execute("PRAGMA auto_vacuum").fetchall() != [(_INCREMENTAL,)]:
                return False
            connection.execute(f"PRAGMA incremental_vacuum({_RELEASED_PAGES})").fetchall()
            return connection.execute("PRAGMA freelist_count").fetchall() != [(0,)]

    def table_bytes(self, connection: sa.Connection) -> dict[str, int]:
        """Count pages, each of which is read; those of no table are `free`."""
        sizes = {name: int(size) for name, size in connection.exec_driver_sql(_TABLE_BYTES)}
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        page = connection.exec_driver_sql("PRAGMA page_size").scalar_one()
        return sizes | {"free": max(0, pages * page - sum(sizes.values()))}

    @contextlib.contextmanager
    def _open_translating_errors(self) -> Iterator[apsw.Connection]:
        with contextlib.closing(apsw_dbapi.connect(str(self.path.resolve()))) as connection:
            configure_connection(connection)
            try:
                yield connection.apsw
            except apsw.Error as error:
                raise to_storage_error(apsw_dbapi.to_dbapi_error(error)) from error

    def close(self) -> None:
        """Close the write-ahead log."""
        if self._checkpointing is not None:
            self._checkpointing.close()
        self._log_file.close()

    def begin_read(self, connection: sa.Connection) -> None:
        """Read one snapshot of the database for the whole transaction."""
        connection.exec_driver_sql("BEGIN")

    def raw_reader(
        self, on_failure: Callable[[StorageError], None], *, is_scan: bool = False
    ) -> RawReader:
        """Open a read-only connection."""
        connection = apsw_dbapi.connect(str(self.path.resolve()))
        page_cache_kib = _SCAN_PAGE_CACHE_KIB if is_scan else PAGE_CACHE_KIB
        configure_connection(connection, page_cache_kib=page_cache_kib)
        connection.apsw.execute("PRAGMA query_only = ON")
        return SqliteRawConnection(connection, on_failure)

    def lock_migrations(self, connection: sa.Connection) -> None:
        """Do nothing: the write transaction is the lock."""

    def update_planner_statistics(self, connection: sa.Connection) -> None:
        """Set the query planner's index statistics."""
        _set_planner_statistics(connection)

    def find_damage(self, connection: sa.Connection) -> DatabaseProblem | None:
        """Read every page of the file and of its write-ahead log."""
        try:
            result = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
        except sa.exc.DBAPIError as error:  # the check fails if the file is too damaged
            if not isinstance(self.translate(error.orig), DamagedDatabaseError):
                raise
            result = str(error.orig)
        if result == "ok":
            return None
        message = f"{self.path} is damaged: {result}"
        return DatabaseProblem(message, "stop the service and restore a backup")

    def replication_status(self, connection: sa.Connection) -> None:
        """Return None: there is no server."""

    def find_problems(self, connection: sa.Connection) -> list[DatabaseProblem]:  # noqa: ARG002
        """Check whether the write-ahead log is truncated as it should be."""
        found = []
        log = self.path.with_name(self.path.name + "-wal")
        size = log.stat().st_size if log.exists() else 0
        if size > 4 * WAL_LIMIT_BYTES:
            message = (
                f"the write-ahead log has {size / 1000000.0:.0f} MB: a read transaction "
                "does not end"
            )
            found.append(DatabaseProblem(message, "restart the service"))
        return found

    def translate(self, error: BaseException | None) -> StorageError | None:
        """Return our error for one of SQLite's result codes."""
        if not isinstance(error, apsw_dbapi.Error):
            return None
        return to_storage_error(error)


class SqliteRawConnection:
    """Raw SQL on SQLite, for a transaction or a reader; see `RawConnection`."""

    def __init__(
        self,
        driver: apsw_dbapi.ApswConnection,
        on_failure: Callable[[StorageError], None] | None = None,
    ) -> None:
        """Use an open connection; outside a transaction, pass errors to `on_failure`."""
        self._connection = driver
        self._driver = driver.apsw.cursor()
        self._on_failure = on_failure

    def all(self, sql: str, parameters: Sequence[object]) -> list[Row]:
        """Run one statement and return all its rows."""
        try:
            return self._driver.execute(
                _to_sqlite_sql(sql), encode_parameters(parameters)
            ).fetchall()
        except apsw.Error as error:
            raise self._translate_and_report(error) from error

    def run(self, sql: str, parameters: Sequence[object]) -> None:
        """Run one statement that returns no rows."""
        self.all(sql, parameters)

    def values_by_key(
        self, columns: tuple[str, str, str], store_id: StoreId, keys: Iterable[str]
    ) -> dict[str, Any]:
        """Map keys of a table to values; `columns` are the table, its key and its value."""
        rows = self.all(_sqlite_select_by_keys(*columns), (store_id, list(keys)))
        found: dict[str, Any] = _decode(rows[0][0])
        return found

    def insert(self, table: sa.Table, rows: Sequence[Sequence[object]]) -> None:
        """Insert few rows with one statement, many with a statement that is run per row."""
        try:
            if len(rows) <= _ROWS_PER_INSERT and not _has_binary_column(table):
                self._driver.execute(_sqlite_insert_many(table), (rows_to_json(rows),))
            else:
                self._driver.executemany(_sqlite_insert(table), rows)
        except apsw.Error as error:
            raise self._translate_and_report(error) from error

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _translate_and_report(self, error: apsw.Error) -> Exception:
        """Return the driver's error, which `Database` translates, or a reader's own."""
        dbapi_error = apsw_dbapi.to_dbapi_error(error)
        if self._on_failure is None:
            return dbapi_error
        translated = to_storage_error(dbapi_error)
        self._on_failure(translated)
        return translated


@memoized(RegisteredCache.STATEMENTS)
def _has_binary_column(table: sa.Table) -> bool:
    """Return whether a table has a binary column, which JSON cannot hold."""
    return any(isinstance(column.type, sa.LargeBinary) for column in table.columns)


@memoized(RegisteredCache.STATEMENTS)
def _to_sqlite_sql(sql: str) -> str:
    # In SQLite, the left table of a CROSS JOIN is the outer loop.
    with_rows = sql.replace(ROWS_PLACEHOLDER, "json_each(?) AS given")
    return with_rows.replace(LOOKUP_PLACEHOLDER, "").replace(FIELD_PLACEHOLDER, "")


@memoized(RegisteredCache.STATEMENTS)
def _sqlite_select_by_keys(table: str, key: str, value: str) -> str:
    return (
        f"SELECT json_group_object({key}, {value}) FROM {table} "  # noqa: S608 - own names
        f"WHERE store_id = ? AND {key} IN (SELECT value FROM json_each(?))"
    )


@memoized(RegisteredCache.STATEMENTS)
def _sqlite_insert(table: sa.Table) -> str:
    placeholders = ", ".join("?" for _ in table.columns)
    return (
        f'INSERT INTO "{table.name}" ({insert_column_list(table)}) VALUES ({placeholders})'  # noqa: S608 - own names
    )


@memoized(RegisteredCache.STATEMENTS)
def _sqlite_insert_many(table: sa.Table) -> str:
    values = ", ".join(f"value ->> {place}" for place in range(len(table.columns)))
    return (
        f'INSERT INTO "{table.name}" ({insert_column_list(table)}) '  # noqa: S608 - own names
        f"SELECT {values} FROM json_each(?)"
    )


# Planner statistics are preset to those of a large store. Without them SQLite assumes that
# `store_id` matches ten rows, and scans a whole store to find one order or one shopper.
# ANALYZE does not help while tables are empty.
_ROWS: Final = 1_000_000
_ROWS_OF_A_STORE: Final = 100_000
_ROWS_OF_A_KEY: Final = 20  # rows of one order or one shopper

_INDEXES_SQL: Final = """
    SELECT t.name, t.wr, i.name, i."unique", i.origin,
        (SELECT count(*) FROM pragma_index_info(i.name)),
        (SELECT name FROM pragma_index_info(i.name) WHERE seqno = 0)
    FROM pragma_table_list AS t, pragma_index_list(t.name) AS i
    WHERE t.schema = 'main' AND t.type = 'table'
"""


def _set_planner_statistics(connection: sa.Connection) -> None:
    """Store, for every index that begins with `store_id`, the rows that a key matches."""
    connection.exec_driver_sql("ANALYZE")  # creates the statistics table
    connection.exec_driver_sql("DELETE FROM sqlite_stat1")
    indexes = connection.exec_driver_sql(_INDEXES_SQL).all()
    rows = [
        (
            table,
            table if without_rowid and origin == "pk" else index,
            _index_statistics(width, unique),
        )
        for table, without_rowid, index, unique, origin, width, first in indexes
        if first == "store_id"
    ]
    connection.exec_driver_sql("INSERT INTO sqlite_stat1 VALUES (?, ?, ?)", rows)
    connection.exec_driver_sql("ANALYZE sqlite_schema")  # loads it


def _index_statistics(width: int, unique: int) -> str:
    found = [_ROWS_OF_A_STORE, *[_ROWS_OF_A_KEY] * (width - 1)]
    if unique:
        found[-1] = 1
    return " ".join(map(str, (_ROWS, *found)))
