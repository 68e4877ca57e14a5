"""Temporary folders of one process, removed after it ends in any way.

The owner of a folder holds a lock on a file in it, which ends with the process. A folder
without a lock was left behind by a killed process: the next process that makes a folder of
the same kind removes it.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_HELD: Final = ".alive"


@contextlib.contextmanager
def temp_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """Give a new folder that only this user may enter; it is removed at the end.

    Raises:
        OSError: when there can be none.
    """
    remove_abandoned_folders(parent, f"{prefix}*")
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    handle = lock_folder(folder)
    try:
        yield folder
    finally:
        remove_locked_folder(folder, handle)


def lock_folder(folder: Path) -> int:
    """Say for as long as this process lives that a folder is in use; return the handle.

    Raises:
        OSError: when the disk takes nothing.
    """
    draft = folder / f"{_HELD}.draft"
    handle = os.open(draft, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    draft.rename(folder / _HELD)  # who finds it finds it locked
    return handle


def remove_locked_folder(folder: Path, handle: int) -> None:
    """Remove a folder that is held."""
    shutil.rmtree(folder, ignore_errors=True)
    os.close(handle)


def remove_abandoned_folders(parent: Path, names: str = "*") -> None:
    """Remove the folders whose process has ended."""
    for folder in parent.glob(names):
        try:
            handle = os.open(folder / _HELD, os.O_RDWR)
        except OSError:
            continue  # being created, or not a temp folder of ours
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
        else:
            remove_locked_folder(folder, handle)
