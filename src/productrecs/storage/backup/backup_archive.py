"""Backup archive: a manifest and a tar file with a SHA-256 checksum of every member.

The manifest comes first, so that a backup is rejected before gigabytes are unpacked.
`SHA256SUMS` comes last, in the format of `sha256sum -c`, so that one pass writes everything
and a truncated file has none. Members are unpacked only under names that we choose.
"""

import contextlib
import ctypes
import gzip
import hashlib
import io
import os
import platform
import re
import shutil
import tarfile
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, Final, cast

import msgspec

from productrecs.core.errors import ProductRecsError

FORMAT: Final = 1
PRODUCT: Final = "productrecs backup"
DATABASE: Final = "productrecs.db"
"""The database's file name, in a backup and in a data folder."""

_FILE_NAME: Final = re.compile(r"[a-z]+/[A-Za-z0-9_-]+")  # no path outside the folder


class BackupError(ProductRecsError):
    """A backup could not be made or restored; existing data are unchanged."""


class NotABackupError(BackupError):
    """The file is not a backup of this program."""


class DamagedBackupError(BackupError):
    """The backup is damaged: part of it is missing or different."""


class NewerBackupError(BackupError):
    """A newer program made the backup; this one cannot read it."""


class UnusableTargetError(BackupError):
    """The target of a backup or restore exists already, or cannot be written."""


class DatabaseInUseError(BackupError):
    """The database to replace is in use."""


class InsufficientSpaceError(BackupError):
    """The disk has not enough free space."""


@dataclass(frozen=True, slots=True)
class BackupManifest:
    """What was saved, when, and by which program; `sizes` are bytes by member name."""

    format: int
    product: str
    program: str  # its version and revision
    made_at: str  # ISO, UTC
    made_from: str  # sqlite or postgresql
    schema: str  # the database's last migration
    rows: Mapping[str, int]  # by table
    sizes: Mapping[str, int]

    def to_json(self) -> bytes:
        """Return it as readable JSON."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"


def parse_manifest(content: bytes) -> BackupManifest:
    """Return what `to_json` wrote.

    Raises:
        NotABackupError: when it is not a manifest.
        NewerBackupError: when a newer program wrote it in an unknown format.
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
        name == DATABASE or _FILE_NAME.fullmatch(name) for name in manifest.sizes
    ):
        raise not_a_backup()
    return manifest


def not_a_backup() -> NotABackupError:
    """Return the error for a file that is not a backup."""
    message = "this is not a backup of ProductRecs; make one with `productrecs backup FILE`"
    return NotABackupError(message)


def damaged_backup(problem: str) -> DamagedBackupError:
    """Return the error for a damaged backup."""
    message = f"this backup is damaged ({problem}); use another one. Nothing was changed"
    return DamagedBackupError(message)


_FREE_SPACE_MARGIN: Final = 64 << 20
"""Free space that must remain for a service that writes meanwhile."""


_MAX_PAUSE: Final = 0.25
_IOPRIO_SET: Final = MappingProxyType({"x86_64": 251, "aarch64": 30})
_THIS_PROCESS, _IDLE = 1, 3 << 13


def pause_after_io(io_seconds: float) -> None:
    """Pause for as long as the last I/O took, so that the service can commit."""
    time.sleep(min(_MAX_PAUSE, io_seconds))


def check_free_space(folder: Path, size: int) -> None:
    """Raise if the disk has less free space than `size` needs.

    Raises:
        InsufficientSpaceError: when the disk lacks `size` free bytes and a margin.
    """
    free = shutil.disk_usage(folder).free
    if free < size + _FREE_SPACE_MARGIN:
        message = (
            f"{folder} has {free / 1000000000.0:.2f} GB free and this needs "
            f"{size / 1000000000.0:.2f} GB: free some space, or choose another disk"
        )
        raise InsufficientSpaceError(message)


def use_idle_io_priority() -> None:
    """Give this process idle I/O priority, where the system supports it.

    Only some Linux I/O schedulers honour it; those of virtual disks often do not.
    """
    number = _IOPRIO_SET.get(platform.machine())
    if number is not None:
        ctypes.CDLL(None).syscall(number, _THIS_PROCESS, 0, _IDLE)


Advance = Callable[[int], None]
"""Called with the number of further bytes that are done."""

_MANIFEST: Final = "manifest.json"
_SUMS: Final = "SHA256SUMS"
_BLOCK: Final = 1 << 20
_SYNC_EVERY: Final = 8 << 20  # limits unwritten data, for which other commits would wait
_STEP: Final = 2 << 20  # between pauses for the running service
_SMALL: Final = 16 << 20  # larger than any manifest or checksum list
_LEVEL: Final = 3
_GZIP: Final = b"\x1f\x8b"
_BROKEN: Final = (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile)


def is_compressed(name: str) -> bool:
    """Return whether a backup of this name is compressed."""
    return name.endswith((".gz", ".tgz"))


def write_archive(
    path: Path,
    manifest: BackupManifest,
    members: Mapping[str, BinaryIO],
    advance: Advance,
    *,
    compressed: bool,
) -> None:
    """Write a new, durable file at `path` that only its owner may read.

    `members` holds a file for each name of the manifest's sizes.

    Raises:
        OSError: when the disk is full or fails.
    """
    with (
        _create_durable_file(path) as file,
        _compress(file, compressed=compressed) as packed,
    ):
        sums = _MemberChecksums()
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
            tar.copybufsize = _BLOCK  # type: ignore[attr-defined]  # not in the stubs
            content = manifest.to_json()
            _add_member(
                tar,
                _MANIFEST,
                len(content),
                sums.hash_as_read(_MANIFEST, io.BytesIO(content)),
            )
            for name, size in manifest.sizes.items():
                watched = _ReadCallbackFile(
                    members[name], _sync_and_pause_callback(file, advance)
                )
                _add_member(tar, name, size, sums.hash_as_read(name, watched))
            listed = sums.to_sha256sums()
            _add_member(tar, _SUMS, len(listed), io.BytesIO(listed))


def unpack_archive(
    path: Path,
    target: Path | None,
    check_manifest: Callable[[BackupManifest], None],
    advance: Advance,
) -> BackupManifest:
    """Verify a backup and unpack it into the folder `target`, if any; return its manifest.

    `check_manifest` receives the manifest before anything is unpacked, and may raise.
    Unpacked files are valid only once this returns: then every checksum has matched.

    Raises:
        NotABackupError: when the file is not a backup.
        NewerBackupError: when this program does not know its format.
        DamagedBackupError: when a member is damaged or missing.
        OSError: when the file cannot be read, or the disk is full.
    """
    with path.open("rb") as file, _decompress_if_gzipped(file) as decompressed:
        try:
            tar = tarfile.open(fileobj=decompressed, mode="r|", bufsize=_BLOCK)  # noqa: SIM115 - a stream: nothing of its own to close
            head = _read_next_small_member(tar, _MANIFEST)
            manifest, sums = parse_manifest(head), _MemberChecksums()
        except (*_BROKEN, NotABackupError) as error:
            raise _diagnose_missing_manifest(decompressed) from error
        sums.add_content(_MANIFEST, head)
        check_manifest(manifest)
        try:
            for name, size in manifest.sizes.items():
                content = sums.hash_as_read(name, _open_next_member(tar, name, size))
                _unpack_member(content, None if target is None else target / name, advance)
            if _read_next_small_member(tar, _SUMS) != sums.to_sha256sums():
                raise damaged_backup("a checksum differs")
            while decompressed.read(
                _BLOCK
            ):  # verifies the compressed stream's own checksum
                pass
        except _BROKEN as error:
            raise damaged_backup(str(error) or "it ends too early") from error
    return manifest


def _diagnose_missing_manifest(decompressed: object) -> BackupError:
    """Return the error for a file that has no manifest: damaged if its gzip data break."""
    if isinstance(decompressed, gzip.GzipFile):
        try:
            decompressed.seek(0)
            while decompressed.read(_BLOCK):
                pass
        except _BROKEN as error:
            return damaged_backup(str(error) or "it ends too early")
    return not_a_backup()


class _ReadCallbackFile(io.RawIOBase):
    """A file that calls `on_block` with each block read."""

    def __init__(self, file: BinaryIO, on_block: Callable[[bytes], object]) -> None:
        self._file = file
        self._on_block = on_block

    def read(self, size: int = -1) -> bytes:
        block = self._file.read(size)
        self._on_block(block)
        return block


class _MemberChecksums:
    """The SHA-256 of each member, in the order in which they are read."""

    def __init__(self) -> None:
        self._found: dict[str, hashlib._Hash] = {}

    def add_content(self, name: str, content: bytes) -> None:
        self._found[name] = hashlib.sha256(content)

    def hash_as_read(self, name: str, file: BinaryIO | _ReadCallbackFile) -> BinaryIO:
        """Return `file`; its digest is known once it has been read."""
        found = self._found[name] = hashlib.sha256()
        return cast("BinaryIO", _ReadCallbackFile(cast("BinaryIO", file), found.update))

    def to_sha256sums(self) -> bytes:
        lines = (f"{sha256.hexdigest()}  {name}\n" for name, sha256 in self._found.items())
        return "".join(lines).encode()


def _add_member(tar: tarfile.TarFile, name: str, size: int, content: BinaryIO) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o600
    tar.addfile(member, content)


def _read_next_small_member(tar: tarfile.TarFile, name: str) -> bytes:
    found = tar.next()
    if found is None or found.name != name or not found.isfile() or found.size > _SMALL:
        message = f"{name} is missing"
        raise tarfile.ReadError(message)
    return _content(tar, found).read()


def _open_next_member(tar: tarfile.TarFile, name: str, size: int) -> BinaryIO:
    found = tar.next()
    if found is None or (found.name, found.size) != (name, size) or not found.isfile():
        message = f"{name} is missing"
        raise tarfile.ReadError(message)
    return _content(tar, found)


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> BinaryIO:
    content = tar.extractfile(member)
    assert content is not None, "a file has content"  # noqa: S101 - `isfile` was true
    return cast("BinaryIO", content)


def _unpack_member(content: BinaryIO, path: Path | None, advance: Advance) -> None:
    if path is None:
        while block := content.read(_BLOCK):
            advance(len(block))
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _create_durable_file(path) as file:
        on_block = _sync_callback(file, advance)
        while block := content.read(_BLOCK):
            file.write(block)
            on_block(block)


def _sync_callback(file: BinaryIO, advance: Advance) -> Callable[[bytes], None]:
    """Return a callback for each block that syncs `file` from time to time."""
    unsynced = 0

    def advance_and_sync(block: bytes) -> None:
        nonlocal unsynced
        advance(len(block))
        unsynced += len(block)
        if unsynced >= _SYNC_EVERY:
            os.fdatasync(file.fileno())
            unsynced = 0

    return advance_and_sync


def _sync_and_pause_callback(file: BinaryIO, advance: Advance) -> Callable[[bytes], None]:
    """Return a callback for each block that syncs `file` in small steps.

    After each step it pauses equally long, so that the running service can use the disk.
    """
    unsynced, began = 0, time.monotonic()

    def advance_sync_and_pause(block: bytes) -> None:
        nonlocal unsynced, began
        advance(len(block))
        unsynced += len(block)
        if unsynced >= _STEP:
            os.fdatasync(file.fileno())
            pause_after_io(time.monotonic() - began)
            unsynced, began = 0, time.monotonic()

    return advance_sync_and_pause


@contextlib.contextmanager
def _create_durable_file(path: Path) -> Iterator[BinaryIO]:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor has no path
        yield file
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def _compress(file: BinaryIO, *, compressed: bool) -> Iterator[BinaryIO]:
    if not compressed:
        yield file
        return
    with gzip.GzipFile("", "wb", _LEVEL, file, mtime=0) as packed:
        yield cast("BinaryIO", packed)


@contextlib.contextmanager
def _decompress_if_gzipped(file: BinaryIO) -> Iterator[BinaryIO]:
    is_packed = file.read(len(_GZIP)) == _GZIP
    file.seek(0)
    if not is_packed:
        yield file
        return
    with gzip.GzipFile(fileobj=file, mode="rb") as decompressed:
        yield cast("BinaryIO", decompressed)
