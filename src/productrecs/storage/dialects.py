"""Which database is it? The only file that knows, and the only one that may ask.

SQLite is opened as requirements R1 to R4 say: WAL, synchronous=FULL (with NORMAL a power
cut loses acknowledged rows), BEGIN IMMEDIATE for every write, no memory map, deleted
content overwritten. PostgreSQL is left at its durable defaults, with limits on every wait.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import apsw
import psycopg
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from productrecs.core.errors import (
    StorageBusyError,
    StorageError,
    StorageFullError,
    UnsafeStorageError,
)
from productrecs.storage import apsw_dbapi, sqlite_statistics
from productrecs.storage.sqlite_connection import (
    LOCK_WAIT_MS,
    WAL_LIMIT_BYTES,
    prepare,
    storage_error,
)

SAFE_SQLITE: Final = (3, 51, 3)


class HotReader(Protocol):
    """One bare read-only connection for one thread; `?` marks parameters."""

    def all(self, sql: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
        """Return every row of a short query, seeing all that is committed by now.

        Raises:
            StorageError: one of its kinds, when the database could not answer.
        """

    def close(self) -> None:
        """Give the connection back."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something wrong with a database that is open, and how it is mended."""

    message: str
    remedy: str


class Dialect(Protocol):
    """What one database does its own way."""

    @property
    def name(self) -> str:
        """`sqlite` or `postgresql`."""

    @property
    def reads_on_the_loop(self) -> bool:
        """Whether a short read may run on the event loop (no network between)."""

    def engine(self) -> sa.Engine:
        """Return the engine that `Database` builds on."""

    def begin_write(self, connection: sa.Connection, *, synced: bool) -> None:
        """Start a transaction that will write; `synced` waits for the disk at its end."""

    def begin_read(self, connection: sa.Connection) -> None:
        """Start a transaction that only reads."""

    def hot_reader(self) -> HotReader:
        """Open a bare connection for reads on a hot path."""

    def lock_migrations(self, connection: sa.Connection) -> None:
        """Let one process at a time migrate."""

    def after_migration(self, connection: sa.Connection) -> None:
        """Tell the database what it should know of a changed schema."""

    def troubles(self, connection: sa.Connection) -> list[Trouble]:
        """Return what is wrong with the stored data; looks at all of it."""

    def translate(self, error: BaseException) -> StorageError | None:
        """Return our error for a driver's, or None where it is not about the storage."""


def dialect_for(url: str | None, folder: Path) -> Dialect:
    """Return the dialect of `DATABASE_URL`, or SQLite under `folder` without one.

    Raises:
        UnsafeStorageError: when the address names a database we do not know.
    """
    if not url:
        return SqliteDialect(folder / "productrecs.db")
    if url.startswith(("postgres://", "postgresql://", "postgresql+psycopg://")):
        return PostgresDialect("postgresql+psycopg://" + url.split("://", 1)[1])
    message = "DATABASE_URL must begin with postgresql://; leave it unset for SQLite"
    raise UnsafeStorageError(message)


def upsert(connection: sa.Connection, table: sa.Table) -> sqlite.Insert | postgresql.Insert:
    """Return an INSERT that has `on_conflict_do_update`, in the database's own words."""
    if connection.dialect.name == "sqlite":
        return sqlite.insert(table)
    return postgresql.insert(table)


def check_sqlite(version: tuple[int, ...], options: frozenset[str] = frozenset()) -> None:
    """Refuse a SQLite that can corrupt a database with two writers, or has no locks.

    Raises:
        UnsafeStorageError: for a version before 3.51.3, or a build without threads.
    """
    if version < SAFE_SQLITE:
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


@dataclass(frozen=True)
class SqliteDialect:
    """One file, one writer at a time, readers never blocked."""

    path: Path
    name: str = "sqlite"
    reads_on_the_loop: bool = True

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
        sa.event.listen(engine, "connect", lambda connection, _record: prepare(connection))
        return engine

    def begin_write(self, connection: sa.Connection, *, synced: bool) -> None:
        """Take the write lock at once: upgrading a read lock fails without waiting."""
        # Said each time: connections are shared, and only outside a transaction it counts.
        level = "FULL" if synced else "NORMAL"
        connection.exec_driver_sql(f"PRAGMA synchronous = {level}")
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    def begin_read(self, connection: sa.Connection) -> None:
        """See one state of the database for the whole transaction."""
        connection.exec_driver_sql("BEGIN")

    def hot_reader(self) -> HotReader:
        """Open a connection that cannot write."""
        connection = apsw_dbapi.connect(str(self.path.resolve()))
        prepare(connection)
        connection.apsw.execute("PRAGMA query_only = ON")
        return _SqliteHotReader(connection)

    def lock_migrations(self, connection: sa.Connection) -> None:
        """The write transaction is the lock."""

    def after_migration(self, connection: sa.Connection) -> None:
        """Tell it which indexes find much and which find little."""
        sqlite_statistics.tell_statistics(connection)

    def troubles(self, connection: sa.Connection) -> list[Trouble]:
        """Check the file, and that its write-ahead log is cut back as it should."""
        found = []
        verdict = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
        if verdict != "ok":
            message = f"{self.path} is damaged: {verdict}"
            found.append(Trouble(message, "stop the service and restore a backup"))
        log = self.path.with_name(self.path.name + "-wal")
        size = log.stat().st_size if log.exists() else 0
        if size > 4 * WAL_LIMIT_BYTES:
            message = f"the write-ahead log has {size / 1e6:.0f} MB: a reader never ends"
            found.append(Trouble(message, "restart the service"))
        return found

    def translate(self, error: BaseException) -> StorageError | None:
        """Return our error for one of SQLite's result codes."""
        if not isinstance(error, apsw_dbapi.Error):
            return None
        return storage_error(error)


class _SqliteHotReader:
    def __init__(self, connection: apsw_dbapi.Connection) -> None:
        self._connection = connection
        self._cursor = connection.apsw.cursor()

    def all(self, sql: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
        try:
            return self._cursor.execute(sql, parameters).fetchall()
        except apsw.Error as error:
            raise storage_error(apsw_dbapi.translated(error)) from error

    def close(self) -> None:
        self._connection.close()


@dataclass(frozen=True)
class PostgresDialect:
    """A server, many writers, rows locked one by one."""

    url: str
    name: str = "postgresql"
    reads_on_the_loop: bool = False

    def engine(self) -> sa.Engine:
        """Return an engine whose waits all have a limit."""
        return sa.create_engine(
            self.url,
            pool_size=5,
            max_overflow=15,
            pool_pre_ping=True,
            pool_timeout=LOCK_WAIT_MS / 1000,
            connect_args={
                "options": f"-c lock_timeout={LOCK_WAIT_MS}",
                "connect_timeout": 5,
            },
        )

    def begin_write(self, connection: sa.Connection, *, synced: bool) -> None:
        """SQLAlchemy begins by itself; rows are locked where they are written."""
        if not synced:
            connection.exec_driver_sql("SET LOCAL synchronous_commit = off")

    def begin_read(self, connection: sa.Connection) -> None:
        """See one state of the database for the whole transaction."""
        connection.exec_driver_sql(
            "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
        )

    def hot_reader(self) -> HotReader:
        """Open a connection that cannot write and reconnects when it was lost."""
        return _PostgresHotReader(self.url.replace("+psycopg", "", 1))

    def lock_migrations(self, connection: sa.Connection) -> None:
        """Hold one advisory lock until the transaction ends."""
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7270001)")

    def after_migration(self, connection: sa.Connection) -> None:
        """It measures its tables by itself."""

    def troubles(self, connection: sa.Connection) -> list[Trouble]:  # noqa: ARG002
        """It checks its pages as it reads them."""
        return []

    def translate(self, error: BaseException) -> StorageError | None:
        """Return our error for one of psycopg's."""
        return _postgres_error(error) if isinstance(error, psycopg.Error) else None


def _postgres_error(error: psycopg.Error) -> StorageError:
    if isinstance(
        error,
        psycopg.errors.LockNotAvailable
        | psycopg.errors.DeadlockDetected
        | psycopg.errors.SerializationFailure
        | psycopg.errors.TooManyConnections,
    ):
        return StorageBusyError("the database is busy; send the request again")
    if isinstance(error, psycopg.errors.DiskFull):
        return StorageFullError("the database's disk is full; nothing is lost")
    if isinstance(error, psycopg.OperationalError):
        return StorageBusyError("the database cannot be reached; send the request again")
    return StorageError(f"the database refused: {error.__class__.__name__}")


class _PostgresHotReader:
    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None

    def all(self, sql: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
        try:
            try:
                return self._run(sql, parameters)
            except psycopg.OperationalError:  # the server was restarted: once more, afresh
                self.close()
                return self._run(sql, parameters)
        except psycopg.Error as error:
            raise _postgres_error(error) from error

    def _run(self, sql: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
        if self._connection is None:
            self._connection = psycopg.connect(
                self._url,
                autocommit=True,
                connect_timeout=5,
                options="-c default_transaction_read_only=on -c statement_timeout=5000",
            )
        query = sql.replace("?", "%s").encode()
        return self._connection.execute(query, parameters).fetchall()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None
