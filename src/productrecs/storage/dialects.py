"""Database dialects: the interface, and SQLite; PostgreSQL is in `postgres.py`.

SQLite is opened as requirements R1 to R4 say: WAL, synchronous=FULL (with NORMAL a power
cut loses acknowledged rows), BEGIN IMMEDIATE for every write, no memory map, deleted
content overwritten.
"""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import apsw
import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from productrecs.core.errors import (
    DamagedDatabaseError,
    StorageError,
    UnsafeStorageError,
)
from productrecs.storage import apsw_dbapi, sqlite_statistics
from productrecs.storage.raw_sql import RAW_CONNECTION_KEY, SqliteRawConnection
from productrecs.storage.sqlite_connection import (
    LOCK_WAIT_MS,
    WAL_LIMIT_BYTES,
    WAL_PAGES,
    SqliteBusyHandler,
    configure_connection,
    storage_error,
)
from productrecs.storage.wal_checkpointer import INLINE_PAGES, WalCheckpointer, WalFile

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

MIN_SQLITE_VERSION: Final = (3, 51, 3)
_BRIEFLY_MS: Final = 500


class RawReader(Protocol):
    """One bare read-only connection for one thread; `?` marks parameters."""

    def all(self, sql: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
        """Return every row of a short query, seeing all that is committed by now.

        Raises:
            StorageError: one of its kinds, when the database could not answer.
        """

    def close(self) -> None:
        """Give the connection back."""


@dataclass(frozen=True, slots=True)
class DatabaseProblem:
    """Something wrong with a database that is open, and how it is mended."""

    message: str
    remedy: str


class Dialect(Protocol):
    """What one database does its own way."""

    @property
    def name(self) -> str:
        """`sqlite` or `postgresql`."""

    @property
    def can_read_on_event_loop(self) -> bool:
        """Whether a short read may run on the event loop (no network between)."""

    @property
    def syncs_after_commit(self) -> bool:
        """Whether unsynced commits can be synced afterwards, with `flush`."""

    @property
    def driver_error(self) -> type[Exception]:
        """What the driver raises, whatever goes wrong."""

    def engine(self) -> sa.Engine:
        """Return the engine that `Database` builds on."""

    def begin_write(self, connection: sa.Connection, *, synced: bool) -> None:
        """Start a transaction that will write; `synced` waits for the disk at its end."""

    def flush(self) -> None:
        """Return once everything that was committed is on the disk."""

    def checkpoint_in_background(self) -> None:
        """Run checkpoints in the background: no commit waits for them."""

    def overwrite_deleted(self) -> bool:
        """Overwrite deleted rows in files; return whether that was possible."""

    def close(self) -> None:
        """Close open resources other than the connections."""

    def begin_read(self, connection: sa.Connection) -> None:
        """Start a transaction that only reads."""

    def raw_reader(self, failed: Callable[[StorageError], None]) -> RawReader:
        """Open a raw connection for reads on a hot path; `failed` is called at failures."""

    def lock_migrations(self, connection: sa.Connection) -> None:
        """Lock migrations: one process at a time."""

    def after_migration(self, connection: sa.Connection) -> None:
        """Update the database's statistics for a changed schema."""

    def find_damage(self, connection: sa.Connection) -> DatabaseProblem | None:
        """Return the damage in the stored data, if any; reads all of it."""

    def find_problems(self, connection: sa.Connection) -> list[DatabaseProblem]:
        """Return what else is wrong with its files."""

    def translate(self, error: BaseException | None) -> StorageError | None:
        """Return our error for a driver's, or None when it is not a storage error."""


def upsert(
    connection: sa.Connection, table: sa.Table
) -> "sqlite.Insert | postgresql.Insert":
    """Return an INSERT that has `on_conflict_do_update`, in the database's own words."""
    if connection.dialect.name == "sqlite":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # noqa: PLC0415 - slow, and often not needed

    return postgresql.insert(table)


def check_sqlite(version: tuple[int, ...], options: frozenset[str] = frozenset()) -> None:
    """Refuse a SQLite that can corrupt a database with two writers, or has no locks.

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
    """One file, one writer at a time, readers never blocked."""

    path: Path
    name: str = "sqlite"
    can_read_on_event_loop: bool = True
    syncs_after_commit: bool = True
    driver_error: type[Exception] = apsw_dbapi.Error
    _log_file: WalFile = field(init=False, repr=False)
    _checkpointing: WalCheckpointer | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        """Find the write-ahead log beside the database."""
        self._log_file = WalFile(self.path.with_name(self.path.name + "-wal"))

    def engine(self) -> sa.Engine:
        """Return an engine whose every connection is opened safely."""
        check_sqlite(
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
        sa.event.listen(engine, "connect", self._prepare)
        return engine

    def _prepare(
        self, connection: apsw_dbapi.ApswConnection, record: sa.pool.ConnectionPoolEntry
    ) -> None:
        configure_connection(connection, INLINE_PAGES if self._checkpointing else WAL_PAGES)
        record.info[RAW_CONNECTION_KEY] = SqliteRawConnection(connection)

    def begin_write(self, connection: sa.Connection, *, synced: bool) -> None:
        """Take the write lock at once: upgrading a read lock fails without waiting."""
        # Said each time: connections are shared, and only outside a transaction it counts.
        level = "FULL" if synced else "NORMAL"
        connection.exec_driver_sql(f"PRAGMA synchronous = {level}")
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    def flush(self) -> None:
        """Sync the write-ahead log, which is what a synced commit does, after the fact.

        What is no longer in the log has been copied to the database, which was synced.

        Raises:
            StorageBrokenError: when the disk failed.
        """
        self._log_file.sync()

    def checkpoint_in_background(self) -> None:
        """From now on copy the write-ahead log in a thread of its own, not in commits."""
        self._checkpointing = WalCheckpointer(self.path.resolve())

    def overwrite_deleted(self) -> bool:
        """Copy the write-ahead log, which has deleted rows yet, and cut it to nothing."""
        with contextlib.closing(apsw_dbapi.connect(str(self.path.resolve()))) as own:
            configure_connection(own)
            own.apsw.set_busy_handler(SqliteBusyHandler(_BRIEFLY_MS))
            try:
                own.apsw.wal_checkpoint(None, apsw.SQLITE_CHECKPOINT_TRUNCATE)
            except apsw.BusyError:
                return False
            except apsw.Error as error:
                raise apsw_dbapi.to_dbapi_error(error) from error
        return True

    def close(self) -> None:
        """Close the write-ahead log."""
        if self._checkpointing is not None:
            self._checkpointing.close()
        self._log_file.close()

    def begin_read(self, connection: sa.Connection) -> None:
        """See one state of the database for the whole transaction."""
        connection.exec_driver_sql("BEGIN")

    def raw_reader(self, failed: Callable[[StorageError], None]) -> RawReader:
        """Open a connection that cannot write."""
        connection = apsw_dbapi.connect(str(self.path.resolve()))
        configure_connection(connection)
        connection.apsw.execute("PRAGMA query_only = ON")
        return _SqliteHotReader(connection, failed)

    def lock_migrations(self, connection: sa.Connection) -> None:
        """The write transaction is the lock."""

    def after_migration(self, connection: sa.Connection) -> None:
        """Set the query planner's index statistics."""
        sqlite_statistics.set_planner_statistics(connection)

    def find_damage(self, connection: sa.Connection) -> DatabaseProblem | None:
        """Read every page of the file and of its write-ahead log."""
        try:
            verdict = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
        except sa.exc.DBAPIError as error:  # it gives up where too little is left to read
            if not isinstance(self.translate(error.orig), DamagedDatabaseError):
                raise
            verdict = str(error.orig)
        if verdict == "ok":
            return None
        message = f"{self.path} is damaged: {verdict}"
        return DatabaseProblem(message, "stop the service and restore a backup")

    def find_problems(self, connection: sa.Connection) -> list[DatabaseProblem]:  # noqa: ARG002
        """Look whether the write-ahead log is cut back as it should."""
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
        return storage_error(error)


class _SqliteHotReader:
    def __init__(
        self, connection: apsw_dbapi.ApswConnection, failed: Callable[[StorageError], None]
    ) -> None:
        self._connection = connection
        self._cursor = connection.apsw.cursor()
        self._failed = failed

    def all(self, sql: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
        try:
            return self._cursor.execute(sql, parameters).fetchall()
        except apsw.Error as error:
            ours = storage_error(apsw_dbapi.to_dbapi_error(error))
            self._failed(ours)
            raise ours from error

    def close(self) -> None:
        self._connection.close()
