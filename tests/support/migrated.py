"""Data folder of tests: a migrated SQLite and the packaged models, each made once.

Each test process migrates one SQLite and copies its file from then on. It writes the
models that services read from packages once, and links them into the folders of services.
"""

import atexit
import contextlib
import functools
import shutil
import tempfile
from pathlib import Path
from typing import Final

import pytest

from productrecs.records.pictures.packaged_encoder import find_or_convert_encoder
from productrecs.services import ENCODER_FOLDER, TEXT_MODEL_FOLDER
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.migrations.schema_upgrade import migrate
from productrecs.training.search.multilingual_text_model import (
    load_or_convert_multilingual_model,
)
from productrecs.training.search.packaged_text_model import (
    load_or_convert_packaged_text_model,
)

ON_SQLITE: Final = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
"""For what is decided before any SQL: it needs no second database."""


def bring(folder: Path, url: str | None = None) -> None:
    """Put an empty, migrated SQLite into a folder that has none, where no `url` is."""
    if url is None and not (folder / "productrecs.db").exists():
        shutil.copytree(migrated(), folder, dirs_exist_ok=True)


def migrate_at(url: str | None, folder: Path) -> None:
    """Migrate the database of an address, or SQLite in a folder, and let go of it."""
    opened = Database.open(url, folder)
    migrate(opened)
    opened.close()


def link_models(folder: Path) -> None:
    """Put the packaged models into a data folder, where the file system takes links."""
    for path in _models().rglob("*"):
        target = folder / path.relative_to(_models())
        if path.is_dir():
            target.mkdir(parents=True, exist_ok=True, mode=0o700)
        else:
            with contextlib.suppress(OSError):
                target.hardlink_to(path)


@functools.cache
def _models() -> Path:
    """Return a folder with the packaged models of this installation."""
    folder = Path(tempfile.mkdtemp(prefix="models-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    find_or_convert_encoder(folder / ENCODER_FOLDER)
    load_or_convert_packaged_text_model(folder / TEXT_MODEL_FOLDER)
    load_or_convert_multilingual_model(folder / TEXT_MODEL_FOLDER)
    for path in folder.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return folder


@functools.cache
def migrated() -> Path:
    """Return a folder with a migrated SQLite, to copy: never to open."""
    folder = Path(tempfile.mkdtemp(prefix="migrated-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    migrate_at(None, folder)
    return folder
