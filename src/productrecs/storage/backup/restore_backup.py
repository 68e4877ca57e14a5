"""Restore: unpacks a backup, checks and migrates it, and replaces the data folder."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import apsw
import sqlalchemy as sa

from productrecs.core.clock import system_ms
from productrecs.core.private_folders import sync_folder, temp_folder
from productrecs.core.program_version import PROGRAM_VERSION
from productrecs.core.timestamps import iso
from productrecs.storage.backup.backup_archive import (
    DATABASE,
    Advance,
    BackupManifest,
    DatabaseInUseError,
    NewerBackupError,
    UnusableTargetError,
    check_free_space,
    damaged_backup,
    unpack_archive,
)
from productrecs.storage.backup.create_backup import (
    BeginStage,
    count_rows,
    delete_all_rows,
    make_database_standalone,
    read_tables,
    verify_database,
)
from productrecs.storage.sql import apsw_dbapi
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.migrations.schema_upgrade import is_known, migrate
from productrecs.storage.sql.sqlite_connection import to_storage_error
from productrecs.storage.sql.tables import models, store_heads, stores

_WAIT_MS: Final = 1_000
_FILES: Final = (f"{DATABASE}-wal", f"{DATABASE}-shm", DATABASE)
_FOLDERS: Final = ("uploads", "models", "trails")


def check_replaceable(folder: Path, *, replace: bool) -> None:
    """Raise if a database in `folder` is in use, or has data that may not be replaced.

    Raises:
        DatabaseInUseError: when a process has the one in `folder` open.
        UnusableTargetError: when it holds a store, unless it may be replaced.
        StorageError: when it cannot be opened.
    """
    with _lock_database(folder / DATABASE) as database:
        _check_may_replace(
            folder, is_empty=_has_no_store(database, folder), replace=replace
        )


def replace_data_folder(staged: Path, folder: Path, *, replace: bool) -> Path | None:
    """Move the staged data into `folder`; return the folder of the replaced data.

    None when there were none. The replaced data are not changed or deleted.

    Raises:
        DatabaseInUseError, UnusableTargetError, StorageError: as `check_replaceable` does.
        OSError: when the disk fails.
    """
    with _lock_database(folder / DATABASE) as database:
        is_empty = _has_no_store(database, folder)
        _check_may_replace(folder, is_empty=is_empty, replace=replace)
        replaced_folder = None if is_empty else _create_folder_for_replaced(folder)
        for name in (*_FOLDERS, *_FILES):
            _move_or_delete(folder / name, replaced_folder)
        for name in ("uploads", DATABASE):  # the database refers to uploads: move it last
            _move_and_chown(staged / name, folder)
        sync_folder(folder)
    return replaced_folder


class _DatabaseToReplace:
    """The database to replace, locked while this is open."""

    def __init__(self, path: Path) -> None:
        self._connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        self._connection.set_busy_timeout(_WAIT_MS)

    def lock(self) -> None:
        # Every open connection to such a database holds a lock on it, even when idle.
        for statement in (
            "PRAGMA locking_mode = EXCLUSIVE",
            "PRAGMA journal_mode = DELETE",
            "BEGIN EXCLUSIVE",
            "COMMIT",
        ):
            self._connection.execute(statement).fetchall()

    def is_empty(self) -> bool:
        """Return whether it has no data to lose: no table, or no store."""
        query = "SELECT count(*) FROM sqlite_schema"
        if self._connection.execute(query).fetchall() == [(0,)]:
            return True
        query = "SELECT count(*) FROM stores"
        return self._connection.execute(query).fetchall() == [(0,)]

    def close(self) -> None:
        self._connection.close()


@contextlib.contextmanager
def _lock_database(path: Path) -> Iterator[_DatabaseToReplace | None]:
    """Yield the locked database at `path`; None if none is readable."""
    if not path.exists():
        yield None
        return
    with _translate_sqlite_errors():
        database = _DatabaseToReplace(path)
    try:
        with _translate_sqlite_errors():
            is_readable = _lock_if_readable(database)
        yield database if is_readable else None
    finally:
        database.close()


def _lock_if_readable(database: _DatabaseToReplace) -> bool:
    try:
        database.lock()
    except (apsw.NotADBError, apsw.CorruptError):
        return False  # unusable, but the operator may want to inspect it
    except apsw.BusyError as error:
        message = (
            "the service, or another command, uses this data folder: stop it first. "
            "Nothing was changed"
        )
        raise DatabaseInUseError(message) from error
    return True


def _has_no_store(database: _DatabaseToReplace | None, folder: Path) -> bool:
    """Return whether a folder has no database, or an empty one."""
    if database is None:
        return not (folder / DATABASE).exists()
    try:
        return database.is_empty()
    except apsw.Error:  # its tables are not ours
        return False


def _check_may_replace(folder: Path, *, is_empty: bool, replace: bool) -> None:
    """Raise `UnusableTargetError` if a folder has data that may not be replaced."""
    if not is_empty and not replace:
        message = (
            f"{folder / DATABASE} is not empty: restore into another folder (--data), or "
            "use --force, which keeps the present data in a folder beside it"
        )
        raise UnusableTargetError(message)


def _create_folder_for_replaced(folder: Path) -> Path:
    moment = iso(system_ms()).translate({ord(sign): "-" for sign in ":."})
    replaced_folder = folder / f"replaced-{moment}"
    replaced_folder.mkdir(mode=0o700)
    return replaced_folder


def _move_or_delete(path: Path, replaced_folder: Path | None) -> None:
    if not path.exists():
        return
    if replaced_folder is not None:
        path.rename(replaced_folder / path.name)
    elif path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def _move_and_chown(path: Path, folder: Path) -> None:
    """Move `path` into the folder; as root, change its owner to the folder's owner."""
    if not path.exists():
        return
    owner = folder.stat()
    if os.geteuid() == 0:
        for member in (path, *(path.iterdir() if path.is_dir() else ())):
            os.chown(member, owner.st_uid, owner.st_gid)
    path.rename(folder / path.name)


@contextlib.contextmanager
def _translate_sqlite_errors() -> Iterator[None]:
    try:
        yield
    except apsw.Error as error:
        raise to_storage_error(apsw_dbapi.to_dbapi_error(error)) from error


_OTHER_SESSIONS: Final = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
    "AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
)


@dataclass(frozen=True, slots=True)
class RestoreTarget:
    """The target of a restore: a data folder, and a server if `url` names one."""

    folder: Path
    url: str | None
    replace: bool = False


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """The result of a restore, and where the replaced data are now, if any."""

    manifest: BackupManifest
    replaced_folder: Path | None


def verify_backup(path: Path, work_folder: Path, begin: BeginStage) -> BackupManifest:
    """Do every step of a restore except the last; `work_folder` needs room for it.

    Raises:
        BackupError: one of its kinds, when the backup could not be restored.
        OSError: when the file cannot be read, or the disk fails.
    """
    with temp_folder(work_folder, ".restore-") as staged:
        return _unpack_verify_and_migrate(path, staged, begin)


def restore_backup(path: Path, target: RestoreTarget, begin: BeginStage) -> RestoreResult:
    """Restore a backup to an empty target, or to one that may be replaced.

    The service must not run there. The restore is atomic: all or nothing. Models are not
    part of a backup: the service trains them when it starts.

    Raises:
        BackupError: one of its kinds; the message says what to do.
        StorageError: one of its kinds, when the target's database cannot be opened.
        OSError: when the file cannot be read, or the disk fails.
    """
    _check_target_and_migrate_server(target)
    with temp_folder(target.folder, ".restore-") as staged:
        manifest = _unpack_verify_and_migrate(path, staged, begin)
        if target.url is None:
            replaced_folder = replace_data_folder(
                staged, target.folder, replace=target.replace
            )
            return RestoreResult(manifest, replaced_folder)
        _move_uploads(staged, target.folder)  # before the rows that name these files
        _replace_server_rows(
            staged, target, begin("restoring", sum(manifest.rows.values()))
        )
        return RestoreResult(manifest, None)


def _unpack_verify_and_migrate(
    path: Path, staged: Path, begin: BeginStage
) -> BackupManifest:
    """Unpack below `staged`, check everything, and migrate to this program's schema."""
    size = path.stat().st_size
    advance = begin("unpacking", size)
    share = 1.0

    def check_space_and_schema(manifest: BackupManifest) -> None:
        nonlocal share
        total = sum(manifest.sizes.values())
        share = size / max(total, 1)
        check_free_space(staged, total)
        if not is_known(manifest.schema):
            message = (
                f"ProductRecs {manifest.program} made this backup, and this program, "
                f"{PROGRAM_VERSION}, does not know its database's schema "
                f"{manifest.schema}: restore it with that one or a newer one"
            )
            raise NewerBackupError(message)

    manifest = unpack_archive(
        path, staged, check_space_and_schema, lambda done: advance(round(done * share))
    )
    begin("checking", 1)
    found = verify_database(staged / DATABASE)
    if (found.schema, found.rows) != (manifest.schema, manifest.rows):
        raise damaged_backup("it does not have the number of rows in its manifest")
    _migrate_and_remove_models(staged)
    return manifest


def _migrate_and_remove_models(staged: Path) -> None:
    database = Database.open(None, staged)
    try:
        migrate(database)
        with database.transaction() as transaction:
            transaction.execute(store_heads.update().values(model_id=None, index_id=None))
            transaction.execute(models.delete())
    finally:
        database.close()
    make_database_standalone(staged / DATABASE)


def _check_target_and_migrate_server(target: RestoreTarget) -> None:
    if target.url is None:
        check_replaceable(target.folder, replace=target.replace)
        return
    server = Database.open(target.url, target.folder)
    try:
        migrate(server)
        with server.reading() as reading:
            _check_server_unused_and_replaceable(reading, replace=target.replace)
    finally:
        server.close()


def _check_server_unused_and_replaceable(
    connection: sa.Connection, *, replace: bool
) -> None:
    other_sessions = int(connection.exec_driver_sql(_OTHER_SESSIONS).scalar_one())
    if other_sessions:
        message = (
            f"{other_sessions} other connections to this database are open: stop the "
            "service on every machine first. Nothing was changed"
        )
        raise DatabaseInUseError(message)
    found = int(
        connection.execute(sa.select(sa.func.count(stores.c.store_id))).scalar_one()
    )
    if found and not replace:
        message = (
            f"this database has {found} stores already: restore into an empty one, or "
            "use --force, which deletes them"
        )
        raise UnusableTargetError(message)


def _replace_server_rows(staged: Path, target: RestoreTarget, advance: Advance) -> None:
    source = Database.open(None, staged)
    server = Database.open(target.url, target.folder)
    try:
        migrate(server)
        with source.reading() as reading, server.transaction() as transaction:
            _check_server_unused_and_replaceable(transaction, replace=target.replace)
            delete_all_rows(transaction)
            for table, pages in read_tables(reading):
                for rows in pages:
                    server.insert_rows(transaction, table, rows)
                    advance(len(rows))
            if count_rows(transaction) != count_rows(reading):
                raise damaged_backup("rows were lost during the restore")
    finally:
        source.close()
        server.close()


def _move_uploads(staged: Path, folder: Path) -> None:
    uploads = folder / "uploads"
    for path in sorted((staged / "uploads").glob("*")):
        uploads.mkdir(mode=0o700, exist_ok=True)
        path.replace(uploads / path.name)
    if uploads.exists():
        sync_folder(uploads)
