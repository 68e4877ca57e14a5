"""Upload folder: uploaded files on disk, durable before they are acknowledged.

The folder is on the data's own disk, and each file is named after its upload's id: client
input never becomes part of a path. A sweep removes files that no upload needs.
"""

import contextlib
import errno
import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO, Final

from productrecs.core.csv_reader import (
    HEAD_BYTES,
    CsvFormat,
    CsvInspector,
    read_header,
)
from productrecs.core.errors import ProductRecsError, StorageBrokenError, StorageFullError
from productrecs.core.ids import StoreId, random_text
from productrecs.core.private_folders import sync_folder
from productrecs.storage.files.object_store import ObjectStore, ObjectStoreUnavailableError

MIB: Final = 1 << 20
MAX_UPLOAD_BYTES: Final = 2 << 30
FREE_SPACE_RESERVE: Final = 512 * MIB
"""Disk space that is reserved for events and orders."""

MAX_CONCURRENT_UPLOADS: Final = 2
"""The most concurrent incoming files of one store."""

_SYNC_EVERY: Final = 8 * MIB  # limits unwritten data, for which other commits would wait
_OBJECTS: Final = "uploads"
_ABANDONED: Final = timedelta(hours=1)
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_PREFIX: Final = "up_"
_LETTERS: Final = 24


class TooManyUploadsError(ProductRecsError):
    """The store has too many unfinished uploads; wait until some are done."""


class FileTooLargeError(ProductRecsError):
    """The file exceeds the upload limit; split it."""


def new_upload_id() -> str:
    """Return a fresh id, which is also the name of the file: `up_` and 24 characters."""
    return _PREFIX + random_text(_LETTERS)


def is_upload_id(text: str) -> bool:
    """Return whether `text` has the form of an upload id, which names its file."""
    letters = text.removeprefix(_PREFIX)
    return (
        text.startswith(_PREFIX)
        and len(letters) == _LETTERS
        and letters.isascii()
        and letters.isalnum()
    )


class IncomingFile:
    """One incoming file; for one thread at a time."""

    def __init__(self, path: Path) -> None:
        """Create the file, which must not exist."""
        self._path = path
        self._inspector = CsvInspector()
        self._size = 0
        self._unsynced = 0
        with _translate_disk_errors():
            self._file = path.open("xb", buffering=0)

    def write(self, block: bytes) -> None:
        """Append bytes; the first call must have 64 KiB, or the whole file.

        Raises:
            FileTooLargeError: when it exceeds 2 GiB.
            MissingColumnsError: when its header lacks a required column.
            StorageFullError: when the disk is full.
            StorageBrokenError: when the disk fails.
        """
        if self._size == 0:
            read_header(block[:HEAD_BYTES])
        self._size += len(block)
        if self._size > MAX_UPLOAD_BYTES:
            raise too_large()
        self._inspector.feed(block)
        with _translate_disk_errors():
            remaining = memoryview(block)
            while remaining:
                remaining = remaining[self._file.write(remaining) :]
            self._unsynced += len(block)
            if self._unsynced >= _SYNC_EVERY:
                os.fdatasync(self._file.fileno())
                self._unsynced = 0
                _check_space(self._path.parent, 0)

    def finish(self) -> CsvFormat:
        """Make the file and its name durable; return its format.

        Raises:
            MissingColumnsError: when its header lacks a required column.
            StorageBrokenError: when the disk fails.
        """
        csv_format = self._inspector.finish()
        with _translate_disk_errors():
            os.fsync(self._file.fileno())
            self.close()
            sync_folder(self._path.parent)
        return csv_format

    def close(self) -> None:
        """Close the file without deleting it."""
        self._file.close()

    def discard(self) -> None:
        """Delete the file."""
        self.close()
        self._path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class UploadFolder:
    """The folder `path`, created on first use; with `objects`, machines share its files."""

    path: Path
    objects: ObjectStore | None = None

    def receive(self, upload_id: str) -> IncomingFile:
        """Return a new, empty file."""
        return IncomingFile(self._file(upload_id))

    def open(self, upload_id: str) -> BinaryIO:
        """Open a durable file.

        Raises:
            FileNotFoundError: when it does not exist.
        """
        return self.fetch_local_path(upload_id).open("rb")

    def move_to_object_store(self, upload_id: str) -> None:
        """Upload a durable file before it is acknowledged: any worker can import it.

        Raises:
            ObjectStoreUnavailableError: when it is not uploaded.
        """
        if self.objects is None:
            return
        path = self._file(upload_id)
        self._put(upload_id, path)
        path.unlink(missing_ok=True)  # the machine that imports it fetches it

    def fetch_local_path(self, upload_id: str) -> Path:
        """Return the path of a file, fetched first if another machine received it.

        Raises:
            FileNotFoundError: when it does not exist, or is damaged.
            ObjectStoreUnavailableError: when the object store does not answer.
        """
        path = self._file(upload_id)
        if self.objects is None or path.exists():
            return path
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        for stored_object in self.objects.list(_key(upload_id)):
            if (
                self.objects.download_and_hash(stored_object.key, path)
                == stored_object.key.rsplit("/", 1)[-1]
            ):
                return path
            path.unlink(missing_ok=True)
        raise FileNotFoundError(errno.ENOENT, "no such upload", str(path))

    @contextlib.contextmanager
    def rewrite(self, upload_id: str) -> Iterator[BinaryIO]:
        """Replace a durable file by what the block writes, unless the block fails.

        Raises:
            StorageBrokenError: when the disk fails.
            ObjectStoreUnavailableError: when it is not uploaded; then nothing changes here.
        """
        new = self._file(new_upload_id())  # after a crash it is swept as an upload
        try:
            with _translate_disk_errors(), new.open("xb") as file:
                yield file
                os.fsync(file.fileno())
            self._replace_object(upload_id, new)
            with _translate_disk_errors():
                new.replace(self._file(upload_id))
                sync_folder(self.path)
        finally:
            new.unlink(missing_ok=True)

    def _put(self, upload_id: str, path: Path) -> str:
        """Upload a file; return its key."""
        assert self.objects is not None  # noqa: S101 - the callers' condition
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            key = f"{_key(upload_id)}/{digest}"
            self.objects.put(key, file)
        return key

    def _replace_object(self, upload_id: str, path: Path) -> None:
        if self.objects is None:
            return
        key = self._put(upload_id, path)
        older = [one.key for one in self.objects.list(_key(upload_id)) if one.key != key]
        self.objects.delete(older)

    def remove(self, upload_id: str) -> None:
        """Delete a file, if it exists; what cannot be deleted now is swept later."""
        self._file(upload_id).unlink(missing_ok=True)
        if self.objects is not None:
            with contextlib.suppress(ObjectStoreUnavailableError):
                keys = [one.key for one in self.objects.list(_key(upload_id))]
                self.objects.delete(keys)

    @contextlib.contextmanager
    def reserve_slot(self, store_id: StoreId, size: int) -> Iterator[None]:
        """Reserve one of the store's slots to receive a file of about `size` bytes.

        The slot is released when the block ends, or this process does.

        Raises:
            FileTooLargeError: when it exceeds 2 GiB.
            StorageFullError: when the disk has too little space.
            TooManyUploadsError: when all slots of the store are in use.
        """
        if size > MAX_UPLOAD_BYTES + MIB:  # more than a form's overhead
            raise too_large()
        with _translate_disk_errors():
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_space(self.path, size)
        with self._take_slot(store_id):
            yield

    def delete_unneeded_files(self, needed: set[str]) -> int:
        """Delete files that no upload needs; return the number.

        Files changed within the hour may still be arriving, and remain.
        """
        before = time.time() - _ABANDONED.total_seconds()
        removed = [
            path
            for path in (self.path.iterdir() if self.path.is_dir() else ())
            if is_upload_id(path.name) and path.name not in needed and _is_old(path, before)
        ]
        for path in removed:
            path.unlink(missing_ok=True)
        return len(removed) + self._delete_unneeded_objects(needed)

    def remove_old_local_copies(self) -> None:
        """Delete old local copies of files in the object store; crashes leave them."""
        if self.objects is None:
            return
        before = time.time() - _ABANDONED.total_seconds()
        for path in self.path.iterdir() if self.path.is_dir() else ():
            if (
                is_upload_id(path.name)
                and _is_old(path, before)
                and any(self.objects.list(_key(path.name)))
            ):
                path.unlink(missing_ok=True)

    def _delete_unneeded_objects(self, needed: set[str]) -> int:
        if self.objects is None:
            return 0
        with contextlib.suppress(ObjectStoreUnavailableError):
            unneeded = [
                one.key
                for one in self.objects.list(_OBJECTS)
                if one.age >= _ABANDONED.total_seconds()
                and one.key.split("/")[1] not in needed
            ]
            self.objects.delete(unneeded)
            return len(unneeded)
        return 0

    @contextlib.contextmanager
    def _take_slot(self, store_id: StoreId) -> Iterator[None]:
        for number in range(MAX_CONCURRENT_UPLOADS):
            with (self.path / f"{store_id}.{number}.lock").open("wb") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                yield
                return
        message = (
            f"{MAX_CONCURRENT_UPLOADS} files of this store are being uploaded; send "
            "this one when one of them has arrived"
        )
        raise TooManyUploadsError(message)

    def _file(self, upload_id: str) -> Path:
        return self.path / upload_id


def _key(upload_id: str) -> str:
    """Return the key below which a file's object is named by its SHA-256."""
    return f"{_OBJECTS}/{upload_id}"


def too_large() -> FileTooLargeError:
    """Return the error for a file over the limit."""
    return FileTooLargeError("a file may have at most 2 GiB; split it by time")


def _check_space(folder: Path, size: int) -> None:
    with _translate_disk_errors():
        free = shutil.disk_usage(folder).free
    if free - size < FREE_SPACE_RESERVE:
        message = "the disk has no room for this file; send it again once there is space"
        raise StorageFullError(message)


def _is_old(path: Path, before: float) -> bool:
    try:
        return path.stat().st_mtime <= before
    except FileNotFoundError:  # another process has deleted it
        return False


@contextlib.contextmanager
def _translate_disk_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            message = "the disk is full; send the file again once there is space"
            raise StorageFullError(message) from error
        message = f"the file could not be stored: {error.strerror}"
        raise StorageBrokenError(message) from error
