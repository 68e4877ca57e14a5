"""Database copy: one moment of a database in use, written to a new SQLite file.

SQLite's pages are copied while one read transaction stays open: writers go on, and what
they write waits in the write-ahead log until the copy is done. (Without that transaction
the copy begins anew with every commit and never ends.) Blocks are synced as they are
written, so that no commit of the service waits for more than one of them. A server's rows
are read in one transaction too, into a new SQLite file.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import apsw
import sqlalchemy as sa

from productrecs.core.errors import StorageError
from productrecs.storage import apsw_dbapi
from productrecs.storage.backup.archive import Advance, pause_after_io
from productrecs.storage.backup.manifest import BackupError, damaged_backup
from productrecs.storage.database import Database
from productrecs.storage.migrations import is_current, migrate
from productrecs.storage.sqlite import SqliteDialect
from productrecs.storage.sqlite_connection import storage_error
from productrecs.storage.tables import metadata

Row = tuple[object, ...]

_AT_ONCE: Final = 5_000


def read_tables(source: sa.Connection) -> Iterator[tuple[sa.Table, Iterator[list[Row]]]]:
    """Yield each table of the schema with its rows, some thousand at a time, by key."""
    for table in metadata.sorted_tables:
        yield table, _read(source, table)


def count_rows(connection: sa.Connection) -> dict[str, int]:
    """Return how many rows each table of the schema has."""
    return {
        table.name: int(
            connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
        )
        for table in metadata.sorted_tables
    }


def delete_rows(transaction: sa.Connection) -> None:
    """Empty every table of the schema."""
    for table in reversed(metadata.sorted_tables):
        transaction.execute(table.delete())


def _read(source: sa.Connection, table: sa.Table) -> Iterator[list[Row]]:
    query = sa.select(table).order_by(*table.primary_key.columns)
    result = source.execution_options(stream_results=True).execute(query)
    for page in result.partitions(table.info.get("rows_at_once", _AT_ONCE)):
        yield [tuple(row) for row in page]


_PAGES: Final = 256  # at a time; 1 MiB
_BYTES_A_ROW: Final = 100  # about; for the progress bar only


def estimate_copy_size(database: Database, snapshot: sa.Connection) -> int:
    """Return about how many bytes a copy takes."""
    if isinstance(database.dialect, SqliteDialect):
        return _pragma(snapshot, "page_count") * _pragma(snapshot, "page_size")
    query = "SELECT pg_database_size(current_database())"
    return int(snapshot.exec_driver_sql(query).scalar_one())


def copy_database(
    database: Database, snapshot: sa.Connection, target: Path, advance: Advance
) -> None:
    """Copy what `snapshot`, a reading transaction, sees into a new SQLite file.

    Raises:
        BackupError: when a server's schema is not this program's.
        DamagedBackupError: when the copy lacks a row.
        StorageError: one of its kinds, when the database or the disk fails.
    """
    if isinstance(database.dialect, SqliteDialect):
        _copy_pages(snapshot, target, advance)
    else:
        _copy_rows(database, snapshot, target.parent, advance)
    make_standalone(target)


def make_standalone(path: Path) -> None:
    """Make an unused database one durable file, complete without its write-ahead log."""
    try:
        connection = apsw.Connection(str(path))
        try:
            connection.execute("PRAGMA journal_mode = DELETE").fetchall()
        finally:
            connection.close()
    except apsw.Error as error:
        raise storage_error(apsw_dbapi.to_dbapi_error(error)) from error
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _copy_pages(snapshot: sa.Connection, target: Path, advance: Advance) -> None:
    page, done = _pragma(snapshot, "page_size"), 0
    descriptor = os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        copy = apsw.Connection(str(target))
        try:
            for pragma in ("synchronous = OFF", "journal_mode = OFF"):
                copy.execute(f"PRAGMA {pragma}").fetchall()  # we sync it ourselves
            with copy.backup("main", _bare(snapshot), "main") as backup:
                while not backup.done:
                    began = time.monotonic()
                    backup.step(_PAGES)
                    os.fdatasync(descriptor)
                    pause_after_io(time.monotonic() - began)
                    copied = (backup.page_count - backup.remaining) * page
                    advance(copied - done)
                    done = copied
        finally:
            copy.close()
    except apsw.Error as error:
        raise storage_error(apsw_dbapi.to_dbapi_error(error)) from error
    finally:
        os.close(descriptor)


def _copy_rows(
    database: Database, snapshot: sa.Connection, folder: Path, advance: Advance
) -> None:
    if not is_current(database):
        message = (
            "the server's schema is not this program's: start the service of this version "
            "once, which migrates it, or save it with pg_dump"
        )
        raise BackupError(message)
    copy = Database.open(None, folder)
    try:
        migrate(copy)
        with copy.transaction(synced=False) as transaction:
            delete_rows(transaction)
        for table, pages in read_tables(snapshot):
            for rows in pages:
                with copy.transaction(synced=False) as transaction:
                    copy.insert_rows(transaction, table, rows)
                advance(len(rows) * _BYTES_A_ROW)
        with copy.reading() as reading:
            if count_rows(reading) != count_rows(snapshot):
                raise damaged_backup("the copy lacks a row")
    finally:
        copy.close()


def _bare(connection: sa.Connection) -> apsw.Connection:
    driver = connection.connection.driver_connection
    if not isinstance(driver, apsw_dbapi.ApswConnection):
        message = "SQLite must be reached through apsw"
        raise StorageError(message)
    return driver.apsw


def _pragma(connection: sa.Connection, name: str) -> int:
    return int(connection.exec_driver_sql(f"PRAGMA {name}").scalar_one())
