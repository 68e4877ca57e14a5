"""Composition root: the one place that constructs the services from settings."""

import contextlib
import logging
import random
import shutil
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from productrecs.core.clock import Clock, system_ms
from productrecs.core.errors import ProductRecsError
from productrecs.core.private_folders import make_data_folder_private
from productrecs.features.imports.import_services import ImportServices
from productrecs.features.privacy.shopper_erasure import ShopperEraser
from productrecs.records.events.event import EventKind
from productrecs.records.pictures.onnx_model_file import (
    BODY_DETECTOR,
    DETECTOR,
    ModelFileError,
    OnnxModelFile,
)
from productrecs.records.pictures.packaged_encoder import find_or_convert_encoder
from productrecs.records.pictures.packaged_ocr_models import find_text_reader_folder
from productrecs.records.uploads.upload_folder import UploadFolder
from productrecs.settings import Settings
from productrecs.storage.files.object_store import (
    MissingObjectError,
    ObjectStore,
    ObjectStoreUnavailableError,
)
from productrecs.storage.files.object_store_snapshots import KINDS, SnapshotStore
from productrecs.storage.files.snapshot_cache import SnapshotCache
from productrecs.storage.jobs.job_queue import JobQueue
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import ItemNumberCache
from productrecs.storage.sql.server_clock import ServerClock
from productrecs.storage.sql.storage_usage import DataKind, Sizes, measure_stored_data
from productrecs.tenancy.accounts.repository import AccountRepository
from productrecs.tenancy.users.stored_secret_cipher import KEY_FILE, StoredSecretCipher
from productrecs.training.installed_models import InstalledModels
from productrecs.training.repository import serving_snapshots
from productrecs.training.search.multilingual_text_model import (
    MultilingualModelFiles,
    load_or_convert_multilingual_model,
)
from productrecs.training.search.packaged_text_model import (
    load_or_convert_packaged_text_model,
)
from productrecs.training.search.text_embedder import TEXT_EMBEDDER, TextModel
from productrecs.training.visual.picture_encoders import PictureEncoders

INSTALLED_MODELS_FOLDER: Final = "installed-models"
"""The operator's models that `productrecs models` installed, in the data folder."""

ENCODER_FOLDER: Final = "picture-encoder"
"""The packaged encoder's model file in the data folder; created if missing."""

TEXT_MODEL_FOLDER: Final = "text-model"
"""The packaged text models' files in the data folder; created if missing."""

_INSTALLATION_OBJECT: Final = "installation"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Services:
    """The services that all entry points of one process share."""

    settings: Settings
    database: Database
    clock: Clock
    numbers: ItemNumberCache
    queue: JobQueue  # of background jobs
    server_clock: ServerClock
    models: Path  # the folder of trained models, one folder per store
    system_clock: Clock = system_ms  # for logins, keys and jobs; tests never freeze it
    snapshots: SnapshotCache = field(default_factory=SnapshotCache)
    backups: ObjectStore | None = None  # where the backups of each night are

    @property
    def indexes(self) -> Path:
        """The folder of search indexes, one folder per store."""
        return search_index_folder(self.settings)

    @property
    def touchpoint_folder(self) -> Path:
        """The folder of attribution's lookup files, one folder per store; derived data."""
        return self.settings.data / "trails"

    @property
    def visual_model_folder(self) -> Path:
        """The folder of visual models, one folder per store."""
        return self.settings.data / "pictures"

    def find_or_convert_picture_encoders(self) -> PictureEncoders:
        """Return this machine's picture encoders; writes the packaged one at first."""
        settings = self.settings
        if not settings.has_packaged_encoder:
            return PictureEncoders(settings.image_model)
        try:
            packaged = find_or_convert_encoder(settings.data / ENCODER_FOLDER)
        except ModelFileError:
            _log.exception("picture encoder rejected")
            packaged = None
        installed = settings.data / INSTALLED_MODELS_FOLDER
        return PictureEncoders(packaged=packaged, installed=installed)

    def find_or_convert_picture_model(self) -> OnnxModelFile | None:
        """Return the operator's picture model, else the packaged one; None without both.

        If the packaged model cannot be used, pictures are described without it.

        Raises:
            ModelFileError: when the operator's cannot be used.
        """
        return self.find_or_convert_picture_encoders().current().model

    def text_reader_folder(self) -> Path | None:
        """Return the folder of the packaged text reader; None without it."""
        if not self.settings.has_packaged_text_reader:
            return None
        try:
            return find_text_reader_folder()
        except ModelFileError:
            _log.exception("text reader rejected")
            return None

    @property
    def installed_models(self) -> InstalledModels:
        """The operator's models in the data folder."""
        return InstalledModels(self.settings.data / INSTALLED_MODELS_FOLDER)

    def load_or_convert_text_model(self) -> TextModel | None:
        """Return the operator's text model, else the packaged one; None without both.

        If the packaged model cannot be used, search is lexical only.

        Raises:
            ModelFileError: when the operator's cannot be used.
        """
        if self.settings.search_model is not None:
            return TextModel.read(self.settings.search_model)
        if not self.settings.has_packaged_search_model:
            return None
        path = self.installed_models.used_file(TEXT_EMBEDDER)
        return (
            TextModel.read(path)
            if path is not None
            else self._load_or_convert_packaged_text_model()
        )

    def load_text_model_named(self, name: str) -> TextModel | None:
        """Return the installed or packaged text model of stored vectors, by their name."""
        if not self.settings.has_packaged_search_model:
            return None
        for path in self.installed_models.text_model_files(name):
            with contextlib.suppress(ModelFileError):
                return TextModel.read(path)
        packaged = self._load_or_convert_packaged_text_model()
        return packaged if packaged is not None and packaged.name == name else None

    def _load_or_convert_packaged_text_model(self) -> TextModel | None:
        try:
            return load_or_convert_packaged_text_model(
                self.settings.data / TEXT_MODEL_FOLDER
            )
        except ModelFileError:
            _log.exception("text model rejected")
            return None

    def load_or_convert_multilingual_model(self) -> MultilingualModelFiles | None:
        """Return the packaged multilingual model; None beside an operator's text model."""
        if not self.settings.has_packaged_search_model:
            return None
        try:
            return load_or_convert_multilingual_model(
                self.settings.data / TEXT_MODEL_FOLDER
            )
        except ModelFileError:
            _log.exception("text model rejected")
            return None

    @property
    def uploads(self) -> Path:
        """The folder of uploaded files that are not imported yet."""
        return self.settings.data / "uploads"

    @property
    def objects(self) -> ObjectStore | None:
        """The object store that machines share; None where they share the data folder."""
        return None if self.snapshots.shared is None else self.snapshots.shared.objects

    @property
    def imports(self) -> ImportServices:
        """What imports of files need."""
        return ImportServices(
            self.database,
            self.clock,
            self.numbers,
            self._folder_for_temporary_files,
            self.settings.plans,
            self.upload_folder,
        )

    @property
    def _folder_for_temporary_files(self) -> Path:
        """The data folder; the system's where a command runs away from the service's."""
        folder = self.settings.data
        return folder if folder.is_dir() else Path(tempfile.gettempdir())

    @property
    def upload_folder(self) -> UploadFolder:
        """The uploaded files, also those that other machines received."""
        return UploadFolder(self.uploads, self.objects)

    @property
    def widget_build_folder(self) -> Path:
        """The folder of all widget script builds that this installation has published."""
        return self.settings.data / "builds"

    @property
    def cipher(self) -> StoredSecretCipher:
        """The cipher of secrets in the database.

        On PostgreSQL only with the operator's key: other machines need the same one.
        """
        settings = self.settings
        has_own_file = settings.database_url is None
        key_file = settings.data / KEY_FILE if has_own_file else None
        return StoredSecretCipher(settings.dashboard_key, key_file)

    def close(self) -> None:
        """Close the database."""
        self.server_clock.close()
        self.database.close()


def search_index_folder(settings: Settings) -> Path:
    """Return the folder of search indexes, one folder per store."""
    return settings.data / "search"


def measure_data(services: Services) -> Sizes:
    """Measure what each kind of data takes, of each store and of the installation."""
    folders = {
        DataKind.MODELS: (services.models, services.indexes, services.touchpoint_folder),
        DataKind.PHOTOS: (services.visual_model_folder,),
    }
    impression = int(EventKind.REC_IMPRESSION)
    return measure_stored_data(services.database, folders, impression, services.clock())


def with_installed_detectors(settings: Settings) -> Settings:
    """Return the settings with the installed detectors; a named one is that of objects."""
    installed = InstalledModels(settings.data / INSTALLED_MODELS_FOLDER)
    kinds = [BODY_DETECTOR] if settings.image_detectors else [DETECTOR, BODY_DETECTOR]
    found = (installed.used_file(kind) for kind in kinds)
    detectors = (*settings.image_detectors, *(path for path in found if path is not None))
    return replace(settings, image_detectors=detectors)


def build_services(settings: Settings, *, creates_folder: bool = True) -> Services:
    """Return the services of `settings`; the first process to start migrates the schema.

    The data folder is created, and closed to other users, unless `creates_folder` is off.

    Raises:
        UnsafeStorageError: when the database must not be opened.
        ObjectStoreAddressError: when `PRODUCTRECS_OBJECTS` or `PRODUCTRECS_BACKUP` is no
            address.
    """
    if creates_folder:
        make_data_folder_private(settings.data)
    settings = with_installed_detectors(settings)
    database = Database.open(settings.database_url, settings.data)
    jitter = random.Random()  # noqa: S311 - spreads retries, guards nothing
    clock = ServerClock(database)
    clock.start()
    return Services(
        settings=settings,
        database=database,
        clock=clock if settings.now_ms is None else settings.clock,
        numbers=ItemNumberCache(),
        queue=JobQueue(database, clock, jitter),
        server_clock=clock,
        models=settings.data / "models",
        system_clock=clock,
        snapshots=_snapshot_cache(settings),
        backups=backup_object_store(settings),
    )


def _snapshot_cache(settings: Settings) -> SnapshotCache:
    """Return the snapshots of the data folder, shared through objects if that is set."""
    folders = {kind: settings.data / kind for kind in KINDS}
    if settings.objects is None:
        is_shared = settings.database_url is not None
        return SnapshotCache(None, folders, has_shared_database=is_shared)
    return SnapshotCache(SnapshotStore(ObjectStore(settings.objects)), folders)


def build_eraser(services: Services) -> ShopperEraser:
    """Return an eraser of shoppers for these services' database and folders."""
    return ShopperEraser(
        services.database,
        services.settings.data,
        services.models,
        services.touchpoint_folder,
        services.clock,
        services.snapshots,
        services.backups,
    )


def backup_object_store(settings: Settings) -> ObjectStore | None:
    """Return where scheduled backups are; None without PRODUCTRECS_BACKUP.

    Raises:
        ObjectStoreAddressError: when it is no folder or bucket.
    """
    if settings.backup is None:
        return None
    return ObjectStore(settings.backup, setting="PRODUCTRECS_BACKUP")


class ForeignObjectsError(ProductRecsError):
    """The object store's bucket and prefix belong to another installation."""


def claim_or_check_shared_objects(services: Services) -> None:
    """Check the object store as `claim_or_check_object_store` does, if there is one.

    Raises:
        ForeignObjectsError: when another installation uses the bucket and prefix.
        ObjectStoreUnavailableError: when the object store does not answer.
    """
    if services.objects is not None:
        claim_or_check_object_store(services.objects, services.database)


def claim_or_check_object_store(objects: ObjectStore, database: Database) -> None:
    """Write this installation's number into an object store, or compare it.

    Purging deletes what the database does not name, so two installations with one bucket
    and prefix would delete each other's models, uploads and backups.

    Raises:
        ForeignObjectsError: when another installation uses the bucket and prefix.
        ObjectStoreUnavailableError: when the object store does not answer.
    """
    with database.transaction() as transaction:
        number = str(
            AccountRepository(transaction).get_or_create_installation_number()
        ).encode()
    try:
        found = objects.get(_INSTALLATION_OBJECT)
    except MissingObjectError:
        objects.put(_INSTALLATION_OBJECT, number)
        return
    if found != number:
        raise ForeignObjectsError(
            f"{objects.address} belongs to another installation: give each a "
            f"prefix of its own; if the other no longer exists, delete the object "
            f"{_INSTALLATION_OBJECT!r} there"
        )


def remove_copies_of_deleted_stores(services: Services) -> None:
    """Remove this machine's copies of deleted stores, if machines share objects."""
    if services.objects is None:
        return
    folders = (services.models, services.visual_model_folder, services.indexes)
    found = [
        path
        for folder in (*folders, services.touchpoint_folder)
        if folder.is_dir()
        for path in folder.iterdir()
        if path.name.startswith("st_")
    ]
    with services.database.reading() as connection:
        present = {head.store_id for head in serving_snapshots(connection)}
    for path in found:
        if path.name not in present:
            shutil.rmtree(path, ignore_errors=True)
    with contextlib.suppress(ObjectStoreUnavailableError):
        services.upload_folder.remove_old_local_copies()
