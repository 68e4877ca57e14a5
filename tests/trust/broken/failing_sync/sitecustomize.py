"""Broken variant: the disk fails every sync while `broken` is beside the database."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from productrecs.storage.sql import sqlite_dialect


def _fail(number: int) -> None:
    log = Path(f"/proc/self/fd/{number}").readlink()
    if log.with_name("broken").exists():
        raise OSError(errno.EIO, os.strerror(errno.EIO))
    os.fdatasync(number)


setattr(sqlite_dialect, "fdatasync", _fail)  # noqa: B010 - the fault itself
