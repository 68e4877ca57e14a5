"""Backup creation: copies a database at one moment, checks the copy and packs it."""

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import apsw
import sqlalchemy as sa

from productrecs.core.clock import system_ms
from productrecs.core.errors import StorageError
from productrecs.core.private_folders import sync_folder, temp_folder
from productrecs.core.timestamps import iso
from productrecs.storage.backup.backup_archive import (
    DATABASE,
    FORMAT,
    PRODUCT,
    Advance,
    BackupError,
    BackupManifest,
    UnusableTargetError,
    check_free_space,
    damaged_backup,
    is_compressed,
    pause_after_io,
    unpack_archive,
    write_archive,
)
from productrecs.storage.sql import apsw_dbapi
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.migrations.schema_upgrade import is_current, migrate
from productrecs.storage.sql.sqlite_connection import to_storage_error
from productrecs.storage.sql.sqlite_dialect import SqliteDialect
from productrecs.storage.sql.tables import metadata

Row = tuple[object, ...]

_PAGES_PER_STEP: Final = 5_000


def read_tables(source: sa.Connection) -> Iterator[tuple[sa.Table, Iterator[list[Row]]]]:
    """Yield each table of the schema with its rows in batches, ordered by key."""
    for table in metadata.sorted_tables:
        yield table, _pages_of_rows(source, table)


def count_rows(connection: sa.Connection) -> dict[str, int]:
    """Return how many rows each table of the schema has."""
    return {
        table.name: int(
            connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
        )
        for table in metadata.sorted_tables
    }


def delete_all_rows(transaction: sa.Connection) -> None:
    """Empty every table of the schema."""
    for table in reversed(metadata.sorted_tables):
        transaction.execute(table.delete())


def _pages_of_rows(source: sa.Connection, table: sa.Table) -> Iterator[list[Row]]:
    query = sa.select(table).order_by(*table.primary_key.columns)
    result = source.execution_options(stream_results=True).execute(query)
    for page in result.partitions(table.info.get("rows_at_once", _PAGES_PER_STEP)):
        yield [tuple(row) for row in page]


_PAGES: Final = 256  # at a time; 1 MiB
_BYTES_A_ROW: Final = 100  # an estimate, for the progress bar only


def estimate_copy_size(database: Database, snapshot: sa.Connection) -> int:
    """Return the approximate size of a copy in bytes."""
    if isinstance(database.dialect, SqliteDialect):
        return _read_pragma(snapshot, "page_count") * _read_pragma(snapshot, "page_size")
    query = "SELECT pg_database_size(current_database())"
    return int(snapshot.exec_driver_sql(query).scalar_one())


def copy_to_sqlite_file(
    database: Database, snapshot: sa.Connection, target: Path, advance: Advance
) -> None:
    """Copy the state that `snapshot`, a read transaction, sees to a new SQLite file.

    Raises:
        BackupError: when a server's schema differs from this program's.
        DamagedBackupError: when the copy lacks a row.
        StorageError: one of its kinds, when the database or the disk fails.
    """
    if isinstance(database.dialect, SqliteDialect):
        _copy_sqlite_pages(snapshot, target, advance)
    else:
        _copy_rows_to_new_sqlite(database, snapshot, target.parent, advance)
    make_database_standalone(target)


def make_database_standalone(path: Path) -> None:
    """Make an unused database one durable file that needs no write-ahead log."""
    try:
        connection = apsw.Connection(str(path))
        try:
            connection.execute("PRAGMA journal_mode = DELETE").fetchall()
        finally:
            connection.close()
    except apsw.Error as error:
        raise to_storage_error(apsw_dbapi.to_dbapi_error(error)) from error
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _copy_sqlite_pages(snapshot: sa.Connection, target: Path, advance: Advance) -> None:
    page, done = _read_pragma(snapshot, "page_size"), 0
    descriptor = os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        copy = apsw.Connection(str(target))
        try:
            for pragma in ("synchronous = OFF", "journal_mode = OFF"):
                copy.execute(f"PRAGMA {pragma}").fetchall()  # we sync it ourselves
            with copy.backup("main", _apsw_connection(snapshot), "main") as backup:
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
        raise to_storage_error(apsw_dbapi.to_dbapi_error(error)) from error
    finally:
        os.close(descriptor)


def _copy_rows_to_new_sqlite(
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
            delete_all_rows(transaction)
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


def _apsw_connection(connection: sa.Connection) -> apsw.Connection:
    driver = connection.connection.driver_connection
    if not isinstance(driver, apsw_dbapi.ApswConnection):
        message = "SQLite must be reached through apsw"
        raise StorageError(message)
    return driver.apsw


def _read_pragma(connection: sa.Connection, name: str) -> int:
    return int(connection.exec_driver_sql(f"PRAGMA {name}").scalar_one())


BeginStage = Callable[[str, int], Advance]
"""Called with a stage and its size in bytes; returns the callback for its progress."""

NeededFiles = Callable[[sa.Connection], Mapping[str, Path]]
"""Returns the files to save with a transaction's state, by their names in the backup."""

_ATTEMPTS: Final = 20


_TABLES: Final = (
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' "
    "ORDER BY name"
)
_SCHEMA: Final = "alembic_version"


@dataclass(frozen=True, slots=True)
class SchemaAndRowCounts:
    """The schema's last migration, and how many rows each table has."""

    schema: str
    rows: dict[str, int]


def verify_database(path: Path) -> SchemaAndRowCounts:
    """Read every page and index of a database that no other process has open.

    Raises:
        DamagedBackupError: when it is damaged, or not a database of this program.
    """
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            result = connection.execute("PRAGMA integrity_check(1)").fetchone()
            if result != ("ok",):
                raise damaged_backup(f"SQLite finds: {result[0] if result else 'nothing'}")
            return SchemaAndRowCounts(
                _read_schema_revision(connection), _count_rows_by_table(connection)
            )
        finally:
            connection.close()
    except apsw.Error as error:
        raise damaged_backup(str(error)) from error


def _read_schema_revision(connection: apsw.Connection) -> str:
    row = connection.execute(f"SELECT version_num FROM {_SCHEMA}").fetchone()  # noqa: S608 - a constant
    if row is None:
        raise damaged_backup("its schema is unknown")
    return str(row[0])


def _count_rows_by_table(connection: apsw.Connection) -> dict[str, int]:
    tables = [str(row[0]) for row in connection.execute(_TABLES).fetchall()]
    counts = {}
    for name in tables:
        if name != _SCHEMA:
            query = f'SELECT count(*) FROM "{name}"'  # noqa: S608 - the names of tables
            counts[name] = int(str(connection.execute(query).fetchall()[0][0]))
    return counts


@dataclass(frozen=True, slots=True)
class BackupRequest:
    """The database and files to back up, the target, and this program's version."""

    database: Database
    needed: NeededFiles
    target: Path
    program: str
    replace: bool = False


def create_backup(request: BackupRequest, begin: BeginStage) -> BackupManifest:
    """Write a backup of one moment to the target, atomically.

    The service may run and write meanwhile; the backup does not block it.

    Raises:
        UnusableTargetError: when the target exists, unless it may be replaced.
        InsufficientSpaceError: when it would not fit on the target's disk.
        DamagedBackupError: when the database itself is damaged.
        StorageError: one of its kinds, when the database fails.
        OSError: when the disk fails.
    """
    target = request.target
    if not target.parent.is_dir() or target.is_dir():
        message = f"{target} cannot be a file; choose a name in an existing folder"
        raise UnusableTargetError(message)
    if target.exists() and not request.replace:
        message = f"{target} exists; choose another name, or use --force"
        raise UnusableTargetError(message)
    with temp_folder(target.parent, ".backup-") as folder:
        packed = folder / "packed"
        with contextlib.ExitStack() as stack:
            members = _copy_database_and_open_files(
                request, folder / DATABASE, stack, begin
            )
            manifest = _verify_and_describe_copy(request, folder / DATABASE, members)
            total = sum(manifest.sizes.values())
            write_archive(
                packed,
                manifest,
                members,
                begin("packing", total),
                compressed=is_compressed(target.name),
            )
        unpack_archive(packed, None, lambda _manifest: None, begin("reading back", total))
        packed.rename(target)
    sync_folder(target.parent)
    return manifest


def _copy_database_and_open_files(
    request: BackupRequest, copy: Path, stack: contextlib.ExitStack, begin: BeginStage
) -> dict[str, BinaryIO]:
    """Copy the database; return it and the other files of the same moment, open.

    The service deletes a file once its content is stored, but an open file stays readable.
    If a file disappears before it is opened, a later snapshot is taken, which no longer
    needs it. A file that is missing again was lost long ago.
    """
    files: dict[str, BinaryIO] = {}
    missing: set[str] = set()
    for _ in range(_ATTEMPTS):
        with request.database.reading() as snapshot:
            needed = request.needed(snapshot)
            for name in needed.keys() - files.keys():
                with contextlib.suppress(FileNotFoundError):
                    files[name] = stack.enter_context(needed[name].open("rb"))
            missing_files = needed.keys() - files.keys()
            if missing_files <= missing:
                needed_files = {name: files[name] for name in needed if name in files}
                _check_space_and_copy(
                    request, snapshot, copy, sum(map(_size, needed_files.values())), begin
                )
                return {DATABASE: stack.enter_context(copy.open("rb")), **needed_files}
            missing = missing_files
    message = "uploads change too quickly; run the backup again"
    raise BackupError(message)


def _check_space_and_copy(
    request: BackupRequest,
    snapshot: sa.Connection,
    copy: Path,
    other_bytes: int,
    begin: BeginStage,
) -> None:
    size = estimate_copy_size(request.database, snapshot)
    packed = size // 2 if is_compressed(request.target.name) else size
    check_free_space(copy.parent, size + packed + other_bytes)
    copy_to_sqlite_file(request.database, snapshot, copy, begin("copying", size))


def _verify_and_describe_copy(
    request: BackupRequest, copy: Path, members: Mapping[str, BinaryIO]
) -> BackupManifest:
    found = verify_database(copy)
    return BackupManifest(
        format=FORMAT,
        product=PRODUCT,
        program=request.program,
        made_at=iso(system_ms()),
        made_from=request.database.dialect.name,
        schema=found.schema,
        rows=found.rows,
        sizes={name: _size(file) for name, file in members.items()},
    )


def _size(file: BinaryIO) -> int:
    return os.fstat(file.fileno()).st_size
