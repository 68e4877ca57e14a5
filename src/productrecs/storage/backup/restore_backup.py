"""Restore: unpacks a backup, checks and migrates it, then puts it in place."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from productrecs.storage.backup.archive import (
    Advance,
    check_free_space,
    read_archive,
    sync_folder,
)
from productrecs.storage.backup.copy_database import (
    count_rows,
    delete_rows,
    make_standalone,
    read_tables,
)
from productrecs.storage.backup.create_backup import Begin
from productrecs.storage.backup.manifest import (
    DATABASE,
    BackupManifest,
    InUseError,
    NewerBackupError,
    TargetExistsError,
    damaged_backup,
)
from productrecs.storage.backup.replace_database import (
    check_replaceable,
    replace_data_folder,
    verify_database,
)
from productrecs.storage.database import Database
from productrecs.storage.migrations import knows, migrate
from productrecs.storage.tables import models, store_heads, stores
from productrecs.storage.temp_folders import temp_folder

_OTHERS: Final = (
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
    aside: Path | None


def verify_backup(path: Path, folder: Path, begin: Begin) -> BackupManifest:
    """Do all that a restore does but its last step; `folder` has room for it meanwhile.

    Raises:
        BackupError: one of its kinds, when the backup could not be restored.
        OSError: when the file cannot be read, or the disk fails.
    """
    with temp_folder(folder, ".restore-") as staged:
        return _stage(path, staged, begin)


def restore_backup(path: Path, place: RestoreTarget, begin: Begin) -> RestoreResult:
    """Put what a backup holds into an empty place, or one that may be replaced.

    The service must not run there. It is all there afterwards, or nothing has changed.
    Models are not part of a backup: the service trains them when it starts.

    Raises:
        BackupError: one of its kinds; it says what to do.
        StorageError: one of its kinds, when the place's database cannot be opened.
        OSError: when the file cannot be read, or the disk fails.
    """
    _check_place(place)
    with temp_folder(place.folder, ".restore-") as staged:
        manifest = _stage(path, staged, begin)
        if place.url is None:
            aside = replace_data_folder(staged, place.folder, replace=place.replace)
            return RestoreResult(manifest, aside)
        _bring_uploads(staged, place.folder)  # rows that name files come after them
        _fill_server(staged, place, begin("restoring", sum(manifest.rows.values())))
        return RestoreResult(manifest, None)


def _stage(path: Path, staged: Path, begin: Begin) -> BackupManifest:
    """Unpack below `staged`, check everything, bring it to this program's schema."""
    size = path.stat().st_size
    advance = begin("unpacking", size)
    share = 1.0

    def accept(manifest: BackupManifest) -> None:
        nonlocal share
        total = sum(manifest.sizes.values())
        share = size / max(total, 1)
        check_free_space(staged, total)
        if not knows(manifest.schema):
            message = (
                f"this backup was made with ProductRecs {manifest.program}, which is newer "
                f"(schema {manifest.schema}): restore it with that one"
            )
            raise NewerBackupError(message)

    manifest = read_archive(path, staged, accept, lambda done: advance(round(done * share)))
    begin("checking", 1)
    found = verify_database(staged / DATABASE)
    if (found.schema, found.rows) != (manifest.schema, manifest.rows):
        raise damaged_backup("it does not have the number of rows in its manifest")
    _prepare(staged)
    return manifest


def _prepare(staged: Path) -> None:
    database = Database.open(None, staged)
    try:
        migrate(database)
        with database.transaction() as transaction:
            transaction.execute(store_heads.update().values(model_id=None))
            transaction.execute(models.delete())
    finally:
        database.close()
    make_standalone(staged / DATABASE)


def _check_place(place: RestoreTarget) -> None:
    if place.url is None:
        check_replaceable(place.folder, replace=place.replace)
        return
    server = Database.open(place.url, place.folder)
    try:
        migrate(server)
        with server.reading() as reading:
            _check_server(reading, replace=place.replace)
    finally:
        server.close()


def _check_server(connection: sa.Connection, *, replace: bool) -> None:
    others = int(connection.exec_driver_sql(_OTHERS).scalar_one())
    if others:
        message = (
            f"{others} other connections to this database are open: stop the service on "
            "every machine first. Nothing was changed"
        )
        raise InUseError(message)
    found = int(
        connection.execute(sa.select(sa.func.count(stores.c.store_id))).scalar_one()
    )
    if found and not replace:
        message = (
            f"this database has {found} stores already: restore into an empty one, or "
            "use --force, which deletes them"
        )
        raise TargetExistsError(message)


def _fill_server(staged: Path, place: RestoreTarget, advance: Advance) -> None:
    source = Database.open(None, staged)
    server = Database.open(place.url, place.folder)
    try:
        migrate(server)
        with source.reading() as reading, server.transaction() as transaction:
            _check_server(transaction, replace=place.replace)
            delete_rows(transaction)
            for table, pages in read_tables(reading):
                for rows in pages:
                    server.insert_rows(transaction, table, rows)
                    advance(len(rows))
            if count_rows(transaction) != count_rows(reading):
                raise damaged_backup("rows were lost during the restore")
    finally:
        source.close()
        server.close()


def _bring_uploads(staged: Path, folder: Path) -> None:
    uploads = folder / "uploads"
    for path in sorted((staged / "uploads").glob("*")):
        uploads.mkdir(mode=0o700, exist_ok=True)
        path.replace(uploads / path.name)
    if uploads.exists():
        sync_folder(uploads)
