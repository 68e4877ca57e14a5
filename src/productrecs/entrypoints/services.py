"""The composition root: settings in, services out. Nothing else constructs."""

import logging
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from productrecs.core.clock import Clock, system_ms
from productrecs.features.privacy.erasure import Eraser
from productrecs.records.pictures.onnx_model_file import (
    EMBEDDER,
    ModelFile,
    ModelFileError,
    read_model_file,
)
from productrecs.records.pictures.packaged_encoder import packaged_encoder
from productrecs.settings import Settings
from productrecs.storage.database import Database
from productrecs.storage.folders_and_permissions import make_private
from productrecs.storage.job_queue import JobQueue
from productrecs.storage.store_log import ItemNumbers
from productrecs.training.search.packaged_text_model import packaged_text_model
from productrecs.training.search.text_embedder import TextModel

ENCODER_FOLDER: Final = "picture-encoder"
"""In the data folder: the packaged encoder's model file, made anew where it is missing."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Services:
    """What every way in shares, in one process."""

    settings: Settings
    database: Database
    clock: Clock
    numbers: ItemNumbers
    queue: JobQueue  # whoever wants work done in the background puts it here
    models: Path  # the folder of trained models, one folder a store
    system_clock: Clock = system_ms  # of logins and keys: never frozen

    @property
    def indexes(self) -> Path:
        """The folder of search indexes, one folder a store."""
        return self.settings.data / "search"

    @property
    def trails(self) -> Path:
        """The folder of what attribution looks up, one folder a store: a view."""
        return self.settings.data / "trails"

    @property
    def pictures(self) -> Path:
        """The folder of visual models, one folder a store."""
        return self.settings.data / "pictures"

    def picture_model(self) -> ModelFile | None:
        """Return the operator's picture model, else the packaged one; None without both.

        A packaged one that cannot be used is left out: pictures are described without it.

        Raises:
            ModelFileError: when the operator's cannot be used.
        """
        path = self.settings.image_model
        if path is not None:
            return read_model_file(path, EMBEDDER)
        if not self.settings.has_packaged_encoder:
            return None
        try:
            path = packaged_encoder(self.settings.data / ENCODER_FOLDER)
            return None if path is None else read_model_file(path, EMBEDDER)
        except ModelFileError:
            _log.exception("picture encoder rejected")
            return None

    def text_model(self) -> TextModel | None:
        """Return the operator's text model, else the packaged one; None without both.

        A packaged one that cannot be used is left out: searches go by words alone.

        Raises:
            ModelFileError: when the operator's cannot be used.
        """
        if self.settings.search_model is not None:
            return TextModel.read(self.settings.search_model)
        if not self.settings.has_packaged_search_model:
            return None
        try:
            return packaged_text_model()
        except ModelFileError:
            _log.exception("text model rejected")
            return None

    @property
    def uploads(self) -> Path:
        """The folder of uploaded files that are not imported yet."""
        return self.settings.data / "uploads"

    @property
    def builds(self) -> Path:
        """The folder of the widgets' scripts that this installation ever offered."""
        return self.settings.data / "builds"

    def close(self) -> None:
        """Close the database."""
        self.database.close()


def build_services(settings: Settings) -> Services:
    """Return the services of `settings`; the schema is migrated by whoever starts first.

    Raises:
        UnsafeStorageError: when the database must not be opened.
    """
    make_private(settings.data)
    database = Database.open(settings.database_url, settings.data)
    chance = random.Random()  # noqa: S311 - spreads retries, guards nothing
    return Services(
        settings=settings,
        database=database,
        clock=settings.clock,
        numbers=ItemNumbers(),
        queue=JobQueue(database, system_ms, chance),
        models=settings.data / "models",
    )


def build_eraser(services: Services) -> Eraser:
    """Return what erases shoppers from these services' database and folders."""
    return Eraser(
        services.database,
        services.settings.data,
        services.models,
        services.trails,
        services.clock,
    )
