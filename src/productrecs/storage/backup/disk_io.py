"""Disk I/O of backups: free space check, durable renames, idle I/O priority."""

import ctypes
import os
import platform
import shutil
import time
from pathlib import Path
from types import MappingProxyType
from typing import Final

from productrecs.storage.backup.manifest import InsufficientSpaceError

_SPARE: Final = 64 << 20
"""What a service beside us goes on writing must fit too."""


_LONGEST_REST: Final = 0.25
_IOPRIO_SET: Final = MappingProxyType({"x86_64": 251, "aarch64": 30})
_THIS_PROCESS, _IDLE = 1, 3 << 13


def pause_after_io(seconds: float) -> None:
    """Pause for as long as the disk was just used, so that commits can proceed."""
    time.sleep(min(_LONGEST_REST, seconds))


def check_free_space(folder: Path, size: int) -> None:
    """Raise if the disk has less free space than `size` needs.

    Raises:
        InsufficientSpaceError: when the disk lacks `size` free bytes and a margin.
    """
    free = shutil.disk_usage(folder).free
    if free < size + _SPARE:
        message = (
            f"{folder} has {free / 1000000000.0:.2f} GB free and this needs "
            f"{size / 1000000000.0:.2f} GB: free some space, or choose another disk"
        )
        raise InsufficientSpaceError(message)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def use_idle_io_priority() -> None:
    """Give this process idle I/O priority, where the system supports it.

    Only some of Linux's schedulers ask for it; that of a virtual disk often does not.
    """
    number = _IOPRIO_SET.get(platform.machine())
    if number is not None:
        ctypes.CDLL(None).syscall(number, _THIS_PROCESS, 0, _IDLE)
