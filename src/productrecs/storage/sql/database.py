"""Database: opens, commits and rolls back transactions."""

import contextlib
import copy
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Self

import sqlalchemy as sa

from productrecs.core.errors import (
    RETRY_ADVICE,
    StorageBusyError,
    StorageError,
    UnconfirmedWriteError,
    UnsafeStorageError,
)
from productrecs.storage.sql.dialects import (
    DatabaseProblem,
    RawReader,
    SqlDialect,
    raw_connection,
)
from productrecs.storage.sql.sqlite_connection import LOCK_WAIT_MS
from productrecs.storage.sql.sqlite_dialect import SqliteDialect
from productrecs.storage.sql.storage_failures import StorageFailures


class Database:
    """The source of truth. Everything in memory can be rebuilt from it.

    The threads of one process can share it. Open one per process and after any fork: a
    file's locks do not survive a fork.
    """

    def __init__(self, dialect: SqlDialect) -> None:
        """Open lazily: the first transaction opens the database."""
        self.dialect = dialect
        self._engine = dialect.create_engine()
        self.failures = StorageFailures()
        # Threads of one process queue here, in order, instead of polling in SQLite.
        self._writing = threading.Lock() if dialect.can_read_on_event_loop else None
        self._extra_write: Callable[[sa.Connection], None] | None = None

    @classmethod
    def open(cls, url: str | None, folder: Path) -> Self:
        """Open `DATABASE_URL`, or SQLite under `folder` when it is empty.

        Raises:
            UnsafeStorageError: when this build of SQLite or the address is not supported.
        """
        return cls(_dialect_for(url, folder))

    @property
    def has_one_writer(self) -> bool:
        """Whether a write waits for the writes of all stores, not just its own."""
        return self._writing is not None

    @contextlib.contextmanager
    def transaction(self, *, synced: bool = True) -> Iterator[sa.Connection]:
        """Yield a connection for writing; commit (durably) at the end, or roll back.

        Without `synced` the commit does not wait for the disk: a power cut may undo it and
        all later commits. The next synced commit makes it durable too. Use it for steps
        that no client relies on and that are repeated when lost.

        Raises:
            UnconfirmedWriteError: when the connection was lost during the commit: the
                transaction is stored as a whole, or nothing of it.
            StorageError: another of its kinds, when the database failed; then nothing of
                this transaction is stored.
        """
        failed, before = self.failures.record_write_failure, self.failures.write_failures
        with (
            self._write_lock(),
            self._translate_and_record_errors(failed),
            self._engine.connect() as connection,
        ):
            connection.begin()  # explicit: raw statements do not begin a transaction
            self.dialect.begin_write(connection, synced=synced)
            yield connection
            if self._extra_write is not None:
                self._extra_write(connection)
            _commit(connection)
            self._extra_write = None
        self.failures.record_write_success(before)

    def with_extra_write(self, write: Callable[[sa.Connection], None]) -> Self:
        """Return this database; its next transaction also runs `write` before it commits.

        Earlier extra writes run first.

        For one use case in one thread: `write` and that transaction are stored together
        or not at all.
        """
        copied, earlier = copy.copy(self), self._extra_write

        def both(connection: sa.Connection) -> None:
            if earlier is not None:
                earlier(connection)
            write(connection)

        copied._extra_write = both  # noqa: SLF001 - of the same class
        return copied

    @property
    def has_extra_write(self) -> bool:
        """Whether the extra write still waits for a transaction."""
        return self._extra_write is not None

    @property
    def syncs_after_commit(self) -> bool:
        """Whether `flush` makes commits without `synced` durable."""
        return self.dialect.syncs_after_commit

    def flush(self) -> None:
        """Return once all earlier commits are on the disk.

        Raises:
            StorageBrokenError: when the disk may have lost them.
        """
        self.dialect.flush()

    def checkpoint_in_background(self) -> None:
        """Run checkpoints in the background, so that no commit of this process waits."""
        self.dialect.checkpoint_in_background()
        self._engine.dispose()  # new connections use the setting

    def overwrite_deleted(self) -> bool:
        """Overwrite deleted rows in the database's files; return whether that was possible.

        It is impossible while a reader uses an older state; retry then. On PostgreSQL the
        server's VACUUM does this.

        Raises:
            StorageError: one of its kinds.
        """
        with self._translate_and_record_errors(self.failures.record_write_failure):
            return self.dialect.overwrite_deleted()

    def compact(self) -> None:
        """Give the space of deleted rows back to the disk; writes wait meanwhile.

        Raises:
            StorageError: one of its kinds; then nothing changed.
        """
        self.dialect.compact()

    def release_free_pages(self) -> bool:
        """Give some of that space back, briefly; return whether there may be more.

        Works after the first `compact`.

        Raises:
            StorageError: one of its kinds.
        """
        return self.dialect.release_free_pages()

    @contextlib.contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Yield a connection that reads one snapshot of the database."""
        failed = self.failures.record_read_failure
        with (
            self._translate_and_record_errors(failed),
            self._engine.connect() as connection,
        ):
            self.dialect.begin_read(connection)
            yield connection

    def probe_write(self) -> None:
        """Write a harmless row to check whether the database accepts writes.

        A rolled-back transaction would not show it: SQLite writes at the commit.

        Raises:
            StorageError: one of its kinds, when the write failed.
        """
        with self.transaction(synced=False) as connection:
            connection.exec_driver_sql(
                "UPDATE alembic_version SET version_num = version_num"
            )

    def find_damage(self) -> DatabaseProblem | None:
        """Return the damage in the stored data, if any; reads all of it.

        Raises:
            StorageError: one of its kinds, when the check could not run.
        """
        with self.reading() as connection:
            return self.dialect.find_damage(connection)

    def insert_rows(
        self, transaction: sa.Connection, table: sa.Table, rows: Sequence[Sequence[object]]
    ) -> None:
        """Insert many rows, each holding a value for every column of `table` in order."""
        raw_connection(transaction).insert(table, rows)

    def raw_reader(self, *, is_scan: bool = False) -> RawReader:
        """Return a raw read-only connection; use it from one thread, then close it.

        With `is_scan`, few pages are cached: it reads whole tables, and no page twice.
        """
        try:
            failed = self.failures.record_read_failure
            return self.dialect.raw_reader(failed, is_scan=is_scan)
        except StorageError as error:
            self.failures.record_read_failure(error)
            raise

    def close(self) -> None:
        """Close every idle connection."""
        self._engine.dispose()
        self.dialect.close()

    @contextlib.contextmanager
    def _write_lock(self) -> Iterator[None]:
        if self._writing is None:
            yield
            return
        if not self._writing.acquire(timeout=LOCK_WAIT_MS / 1000):
            message = "the database is busy; retry"
            error = StorageBusyError(message)
            self.failures.record_write_failure(error)
            raise error
        try:
            yield
        finally:
            self._writing.release()

    @contextlib.contextmanager
    def _translate_and_record_errors(
        self, record_failure: Callable[[StorageError], None]
    ) -> Iterator[None]:
        try:
            yield
        except sa.exc.IntegrityError:
            raise  # a violated constraint, not a storage failure: the caller handles it
        except sa.exc.TimeoutError as error:
            message = "all connections to the database are in use; retry"
            busy = StorageBusyError(message)
            record_failure(busy)
            raise busy from error
        except sa.exc.DBAPIError as error:
            translated = self.dialect.translate(error.orig) if error.orig else None
            if translated is None:
                raise
            record_failure(translated)
            raise translated from error
        except self.dialect.driver_error as error:
            translated = self.dialect.translate(error)
            if translated is not None:
                record_failure(translated)
            raise translated or error from error
        except StorageError as error:  # raised while a new connection is prepared
            record_failure(error)
            raise


def _commit(connection: sa.Connection) -> None:
    """Commit; distinguish a commit that failed from one that may have succeeded."""
    try:
        connection.commit()
    except sa.exc.DBAPIError as error:
        if not error.connection_invalidated:
            raise
        message = f"the connection was lost during the commit: {RETRY_ADVICE}"
        raise UnconfirmedWriteError(message) from error


def _dialect_for(url: str | None, folder: Path) -> SqlDialect:
    """Return the dialect of `DATABASE_URL`, or SQLite under `folder` without one.

    Raises:
        UnsafeStorageError: when the address names an unsupported database.
    """
    if not url:
        return SqliteDialect(folder / "productrecs.db")
    if url.startswith(("postgres://", "postgresql://", "postgresql+psycopg://")):
        # Imported here because it is slow, and most installations do not need it.
        from productrecs.storage.sql.postgres_dialect import PostgresDialect  # noqa: PLC0415

        return PostgresDialect("postgresql://" + url.split("://", 1)[1])
    message = "DATABASE_URL must begin with postgresql://; leave it unset for SQLite"
    raise UnsafeStorageError(message)
