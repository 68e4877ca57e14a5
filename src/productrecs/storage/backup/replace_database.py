"""Replacement of a data folder by a restored database: exclusive, and by renames."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import apsw

from productrecs.core.clock import iso, system_ms
from productrecs.storage import apsw_dbapi
from productrecs.storage.backup.archive import sync_folder
from productrecs.storage.backup.manifest import (
    DATABASE,
    InUseError,
    TargetExistsError,
    damaged_backup,
)
from productrecs.storage.sqlite_connection import storage_error

_WAIT_MS: Final = 1_000
_FILES: Final = (f"{DATABASE}-wal", f"{DATABASE}-shm", DATABASE)
_FOLDERS: Final = ("uploads", "models", "trails")


def check_replaceable(folder: Path, *, replace: bool) -> None:
    """Refuse to put a database where another is in use, or holds something.

    Raises:
        InUseError: when a process has the one in `folder` open.
        TargetExistsError: when it holds a store, unless it may be replaced.
        StorageError: when it cannot be opened.
    """
    with _alone(folder / DATABASE) as database:
        _check(database, folder, replace=replace)


def replace_data_folder(staged: Path, folder: Path, *, replace: bool) -> Path | None:
    """Move the staged data into `folder`; return where the former data are now.

    None when there were none. Nothing of them is changed or deleted.

    Raises:
        InUseError, TargetExistsError, StorageError: as `check_replaceable` does.
        OSError: when the disk fails.
    """
    with _alone(folder / DATABASE) as database:
        is_empty = _check(database, folder, replace=replace)
        aside = None if is_empty else _new_folder(folder)
        for name in (*_FOLDERS, *_FILES):
            _move(folder / name, aside)
        for name in ("uploads", DATABASE):  # what the database needs comes before it
            _adopt(staged / name, folder)
        sync_folder(folder)
    return aside


class _Database:
    """The database to be replaced, locked while this is open."""

    def __init__(self, path: Path) -> None:
        self._connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        self._connection.set_busy_timeout(_WAIT_MS)

    def lock(self) -> None:
        # Every open connection to such a database holds a lock on it, idle or not.
        for statement in (
            "PRAGMA locking_mode = EXCLUSIVE",
            "PRAGMA journal_mode = DELETE",
            "BEGIN EXCLUSIVE",
            "COMMIT",
        ):
            self._connection.execute(statement).fetchall()

    def is_empty(self) -> bool:
        """Return whether nothing would be lost: there is no table, or no store."""
        query = "SELECT count(*) FROM sqlite_schema"
        if self._connection.execute(query).fetchall() == [(0,)]:
            return True
        query = "SELECT count(*) FROM stores"
        return self._connection.execute(query).fetchall() == [(0,)]

    def close(self) -> None:
        self._connection.close()


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[_Database | None]:
    """Give the database at `path`, locked; None when there is none that can be read."""
    if not path.exists():
        yield None
        return
    with _translated():
        database = _Database(path)
    try:
        with _translated():
            is_readable = _locked(database)
        yield database if is_readable else None
    finally:
        database.close()


def _locked(database: _Database) -> bool:
    try:
        database.lock()
    except (apsw.NotADBError, apsw.CorruptError):
        return False  # unusable, but it may be wanted for inspection
    except apsw.BusyError as error:
        message = (
            "the service, or another command, uses this data folder: stop it first. "
            "Nothing was changed"
        )
        raise InUseError(message) from error
    return True


def _check(database: _Database | None, folder: Path, *, replace: bool) -> bool:
    """Return whether nothing is there, or refuse."""
    path = folder / DATABASE
    try:
        is_empty = not path.exists() if database is None else database.is_empty()
    except apsw.Error:  # it has other tables than ours
        is_empty = False
    if not is_empty and not replace:
        message = (
            f"{path} is not empty: restore into another folder (--data), or use --force, "
            "which keeps the present data in a folder beside it"
        )
        raise TargetExistsError(message)
    return is_empty


def _new_folder(folder: Path) -> Path:
    moment = iso(system_ms()).translate({ord(sign): "-" for sign in ":."})
    aside = folder / f"replaced-{moment}"
    aside.mkdir(mode=0o700)
    return aside


def _move(path: Path, aside: Path | None) -> None:
    if not path.exists():
        return
    if aside is not None:
        path.rename(aside / path.name)
    elif path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def _adopt(path: Path, folder: Path) -> None:
    """Move `path` into the folder, and give it to the folder's owner if root does this."""
    if not path.exists():
        return
    owner = folder.stat()
    if os.geteuid() == 0:
        for one in (path, *(path.iterdir() if path.is_dir() else ())):
            os.chown(one, owner.st_uid, owner.st_gid)
    path.rename(folder / path.name)


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except apsw.Error as error:
        raise storage_error(apsw_dbapi.to_dbapi_error(error)) from error


_TABLES: Final = (
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' "
    "ORDER BY name"
)
_SCHEMA: Final = "alembic_version"


@dataclass(frozen=True, slots=True)
class DatabaseSummary:
    """The schema's last migration, and how many rows each table has."""

    schema: str
    rows: dict[str, int]


def verify_database(path: Path) -> DatabaseSummary:
    """Read every page and index of a database that no other process has open.

    Raises:
        DamagedBackupError: when anything in it is wrong, or it is none of ours.
    """
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            verdict = connection.execute("PRAGMA integrity_check(1)").fetchone()
            if verdict != ("ok",):
                raise damaged_backup(
                    f"SQLite finds: {verdict[0] if verdict else 'nothing'}"
                )
            return DatabaseSummary(_schema(connection), _rows(connection))
        finally:
            connection.close()
    except apsw.Error as error:
        raise damaged_backup(str(error)) from error


def _schema(connection: apsw.Connection) -> str:
    row = connection.execute(f"SELECT version_num FROM {_SCHEMA}").fetchone()  # noqa: S608 - a constant
    if row is None:
        raise damaged_backup("its schema is unknown")
    return str(row[0])


def _rows(connection: apsw.Connection) -> dict[str, int]:
    tables = [str(row[0]) for row in connection.execute(_TABLES).fetchall()]
    counts = {}
    for name in tables:
        if name != _SCHEMA:
            query = f'SELECT count(*) FROM "{name}"'  # noqa: S608 - the names of tables
            counts[name] = int(str(connection.execute(query).fetchall()[0][0]))
    return counts
