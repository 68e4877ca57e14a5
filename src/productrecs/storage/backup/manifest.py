"""Backup manifest: the description in a backup; and the errors of backups."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from productrecs.core.errors import ProductRecsError

FORMAT: Final = 1
PRODUCT: Final = "productrecs backup"
DATABASE: Final = "productrecs.db"
"""The name of the database's file, in a backup as in a data folder."""

_OTHER: Final = re.compile(r"[a-z]+/[A-Za-z0-9_-]+")  # never a way out of the folder


class BackupError(ProductRecsError):
    """A backup could not be made or restored; whatever was there before still is."""


class NotABackupError(BackupError):
    """The file is none of our backups."""


class DamagedBackupError(BackupError):
    """The backup is not as it was made: part of it is missing or different."""


class NewerBackupError(BackupError):
    """A newer program made the backup; this one cannot read it."""


class TargetExistsError(BackupError):
    """The target exists."""


class InUseError(BackupError):
    """The database to replace is in use."""


class InsufficientSpaceError(BackupError):
    """The disk has not enough free space."""


@dataclass(frozen=True, slots=True)
class BackupManifest:
    """What was saved, when, by which program; `sizes` are bytes by name in the file."""

    format: int
    product: str
    program: str  # its version
    made_at: str  # ISO, UTC
    made_from: str  # sqlite or postgresql
    schema: str  # the last migration of the saved database
    rows: Mapping[str, int]  # by table
    sizes: Mapping[str, int]

    def to_json(self) -> bytes:
        """Return it as a text that a person can read too."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"


def read_manifest(content: bytes) -> BackupManifest:
    """Return what `to_json` wrote.

    Raises:
        NotABackupError: when it is something else.
        NewerBackupError: when a newer program wrote it in a way of its own.
    """
    try:
        fields = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
        product = msgspec.json.decode(fields.get("product", b"null"))
        version = msgspec.json.decode(fields.get("format", b"0"), type=int)
        if product != PRODUCT:
            raise not_a_backup()
        if version > FORMAT:
            message = (
                f"a newer ProductRecs made this backup (format {version}, this program "
                f"reads {FORMAT}): restore it with that one"
            )
            raise NewerBackupError(message)
        manifest = msgspec.json.decode(content, type=BackupManifest)
    except msgspec.MsgspecError as error:
        raise not_a_backup() from error
    if next(iter(manifest.sizes), None) != DATABASE or not all(
        name == DATABASE or _OTHER.fullmatch(name) for name in manifest.sizes
    ):
        raise not_a_backup()
    return manifest


def not_a_backup() -> NotABackupError:
    """Return the refusal of a file that is something else."""
    message = "this is not a backup of ProductRecs; make one with `productrecs backup FILE`"
    return NotABackupError(message)


def damaged_backup(how: str) -> DamagedBackupError:
    """Return the refusal of a backup that is not whole."""
    message = f"this backup is damaged ({how}); use another one. Nothing was changed"
    return DamagedBackupError(message)
