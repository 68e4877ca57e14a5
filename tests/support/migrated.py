"""Migrated database: a SQLite file of the current schema, migrated once per process.

Each test process migrates one SQLite, and copies its file from then on.
"""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
from pathlib import Path

from productrecs.storage.database import Database
from productrecs.storage.migrations import migrate


def bring(folder: Path, url: str | None = None) -> None:
    """Put an empty, migrated SQLite into a folder that has none, where no `url` is."""
    if url is None and not (folder / "productrecs.db").exists():
        shutil.copytree(migrated(), folder, dirs_exist_ok=True)


def migrate_at(url: str | None, folder: Path) -> None:
    """Migrate the database of an address, or SQLite in a folder, and let go of it."""
    opened = Database.open(url, folder)
    migrate(opened)
    opened.close()


@functools.cache
def migrated() -> Path:
    """Return a folder with a migrated SQLite, to copy: never to open."""
    folder = Path(tempfile.mkdtemp(prefix="migrated-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    migrate_at(None, folder)
    return folder
