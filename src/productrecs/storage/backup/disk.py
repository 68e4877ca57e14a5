"""Has the disk room for it, and is what was renamed there to stay?"""

import os
import shutil
from pathlib import Path
from typing import Final

from productrecs.storage.backup.manifest import NoRoomError

_SPARE: Final = 64 << 20
"""What a service beside us goes on writing must fit too."""


def check_room(folder: Path, size: int) -> None:
    """Refuse to begin what would not fit.

    Raises:
        NoRoomError: when `folder`'s disk has not `size` bytes free, and some to spare.
    """
    free = shutil.disk_usage(folder).free
    if free < size + _SPARE:
        message = (
            f"{folder} has {free / 1e9:.2f} GB free and this needs {size / 1e9:.2f} GB: "
            "make room, or choose another disk"
        )
        raise NoRoomError(message)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
