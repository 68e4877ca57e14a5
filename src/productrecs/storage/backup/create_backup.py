"""Backup creation: copy one moment, check it, pack it, read it back, put it in place."""

import contextlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import sqlalchemy as sa

from productrecs.core.clock import iso, system_ms
from productrecs.storage.backup.archive import (
    Advance,
    check_free_space,
    is_compressed,
    read_archive,
    sync_folder,
    write_archive,
)
from productrecs.storage.backup.copy_database import copy_database, estimate_copy_size
from productrecs.storage.backup.manifest import (
    DATABASE,
    FORMAT,
    PRODUCT,
    BackupError,
    BackupManifest,
    TargetExistsError,
)
from productrecs.storage.backup.replace_database import verify_database
from productrecs.storage.database import Database
from productrecs.storage.temp_folders import temp_folder

Begin = Callable[[str, int], Advance]
"""Called with a stage and its size in bytes; returns the callback for its progress."""

Needed = Callable[[sa.Connection], Mapping[str, Path]]
"""Returns the files to save with a transaction's state, by their names in the backup."""

_TRIES: Final = 20


@dataclass(frozen=True, slots=True)
class BackupRequest:
    """The database and files to back up, and the target; `program` is this version."""

    database: Database
    needed: Needed
    target: Path
    program: str
    replace: bool = False


def create_backup(wish: BackupRequest, begin: Begin) -> BackupManifest:
    """Write a backup of one moment to the target, atomically.

    The service may run and write meanwhile; it is not kept waiting.

    Raises:
        TargetExistsError: when the target is there, unless it may be replaced.
        InsufficientSpaceError: when it would not fit on the target's disk.
        DamagedBackupError: when the database itself is damaged.
        StorageError: one of its kinds, when the database fails.
        OSError: when the disk fails.
    """
    target = wish.target
    if not target.parent.is_dir() or target.is_dir():
        message = f"{target} cannot be a file; choose a name in an existing folder"
        raise TargetExistsError(message)
    if target.exists() and not wish.replace:
        message = f"{target} exists; choose another name, or use --force"
        raise TargetExistsError(message)
    with temp_folder(target.parent, ".backup-") as folder:
        packed = folder / "packed"
        with contextlib.ExitStack() as opened:
            members = _copied(wish, folder / DATABASE, opened, begin)
            manifest = _described(wish, folder / DATABASE, members)
            total = sum(manifest.sizes.values())
            write_archive(
                packed,
                manifest,
                members,
                begin("packing", total),
                compressed=is_compressed(target.name),
            )
        read_archive(packed, None, lambda _manifest: None, begin("reading back", total))
        packed.rename(target)
    sync_folder(target.parent)
    return manifest


def _copied(
    wish: BackupRequest, copy: Path, opened: contextlib.ExitStack, begin: Begin
) -> dict[str, BinaryIO]:
    """Copy the database; return it and the other files of the same moment, open.

    A file is deleted once what it held is stored; one that is open stays readable. Where
    one went before it could be opened, a later moment is taken, which needs it no more;
    what is missing then too was lost long ago.
    """
    files: dict[str, BinaryIO] = {}
    missing: set[str] = set()
    for _ in range(_TRIES):
        with wish.database.reading() as snapshot:
            needed = wish.needed(snapshot)
            for name in needed.keys() - files.keys():
                with contextlib.suppress(FileNotFoundError):
                    files[name] = opened.enter_context(needed[name].open("rb"))
            gone = needed.keys() - files.keys()
            if gone <= missing:
                needed_files = {name: files[name] for name in needed if name in files}
                _copy(wish, snapshot, copy, sum(map(_size, needed_files.values())), begin)
                return {DATABASE: opened.enter_context(copy.open("rb")), **needed_files}
            missing = gone
    message = "uploads change too quickly; run the backup again"
    raise BackupError(message)


def _copy(
    wish: BackupRequest, snapshot: sa.Connection, copy: Path, others: int, begin: Begin
) -> None:
    size = estimate_copy_size(wish.database, snapshot)
    packed = size // 2 if is_compressed(wish.target.name) else size
    check_free_space(copy.parent, size + packed + others)
    copy_database(wish.database, snapshot, copy, begin("copying", size))


def _described(
    wish: BackupRequest, copy: Path, members: Mapping[str, BinaryIO]
) -> BackupManifest:
    found = verify_database(copy)
    return BackupManifest(
        format=FORMAT,
        product=PRODUCT,
        program=wish.program,
        made_at=iso(system_ms()),
        made_from=wish.database.dialect.name,
        schema=found.schema,
        rows=found.rows,
        sizes={name: _size(file) for name, file in members.items()},
    )


def _size(file: BinaryIO) -> int:
    return os.fstat(file.fileno()).st_size
