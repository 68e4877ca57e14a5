"""Private folders: a data folder for its owner only, temporary folders, atomic writes.

The folder holds orders, shoppers' histories and key hashes. The program's umask makes new
files private; folders of earlier releases are restricted when they are opened.
"""

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_OTHERS_MASK: Final = 0o077
_DATABASE: Final = "productrecs.db"
_PRIVATE_NAMES: Final = (
    "productrecs.db*",
    "dashboard.key",
    "damaged",
    "builds",
    "demo",
    "models",
    "pictures",
    "search",
    "trails",
    "uploads",
)


def make_data_folder_private(folder: Path) -> None:
    """Create the data folder, and restrict its files to their owner.

    Files are checked one by one only when the folder or its database is open to others.
    Files of other owners or on a read-only disk are not changed: `doctor` reports them.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not is_readable_by_others(folder) and not is_readable_by_others(folder / _DATABASE):
        return
    if not is_shared_folder(folder):
        _tighten(folder)
    for path in _private_paths(folder):
        if not path.is_symlink():
            _tighten(path)


def is_readable_by_others(path: Path) -> bool:
    """Return whether others may read a file or enter a folder; False if it is missing."""
    try:
        return bool(path.stat().st_mode & _OTHERS_MASK)
    except OSError:
        return False


def is_shared_folder(folder: Path) -> bool:
    """Return whether other users share a folder, such as `/tmp`: never restrict it."""
    path = folder.resolve()
    return bool(path.stat().st_mode & stat.S_ISVTX) or path in {Path("/"), Path.home()}


def files_of_others(folder: Path, uid: int) -> list[Path]:
    """Return the files and folders of a data folder that do not belong to `uid`."""
    found = []
    for path in _private_paths(folder):
        with contextlib.suppress(OSError):  # deleted meanwhile
            if path.lstat().st_uid != uid:
                found.append(path)
    return found


def write_file_atomically(path: Path, content: bytes) -> None:
    """Write a private file that appears whole, and its folder if it is missing.

    Raises:
        OSError: when it cannot be written; nothing of it is left.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent)
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make the file names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _private_paths(folder: Path) -> Iterator[Path]:
    for name in _PRIVATE_NAMES:
        for path in folder.glob(name):
            yield path
            if path.is_dir() and not path.is_symlink():
                yield from path.rglob("*")


def _tighten(path: Path) -> None:
    with contextlib.suppress(OSError):  # deleted, another owner's, or on a read-only disk
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & _OTHERS_MASK:
            path.chmod(mode & ~_OTHERS_MASK)


_LOCK_FILE: Final = ".alive"


@contextlib.contextmanager
def temp_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """Yield a new private folder, which is removed at the end.

    Raises:
        OSError: when it cannot be created.
    """
    remove_abandoned_folders(parent, f"{prefix}*")
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    handle = lock_folder(folder)
    try:
        yield folder
    finally:
        remove_locked_folder(folder, handle)


def lock_folder(folder: Path) -> int:
    """Lock a folder as in use while this process lives; return the handle.

    Raises:
        OSError: when the disk rejects the write.
    """
    draft = folder / f"{_LOCK_FILE}.draft"
    handle = os.open(draft, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    draft.rename(folder / _LOCK_FILE)  # atomic: the lock file appears already locked
    return handle


def remove_locked_folder(folder: Path, handle: int) -> None:
    """Remove a locked folder."""
    shutil.rmtree(folder, ignore_errors=True)
    os.close(handle)


def remove_abandoned_folders(parent: Path, name_pattern: str = "*") -> None:
    """Remove the folders of processes that have ended."""
    for folder in parent.glob(name_pattern):
        try:
            handle = os.open(folder / _LOCK_FILE, os.O_RDWR)
        except OSError:
            continue  # being created, or not a temp folder of ours
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
        else:
            remove_locked_folder(folder, handle)
