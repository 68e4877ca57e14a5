"""Scheduled backups: one each night in the place that PRODUCTRECS_BACKUP names.

There is none before the first store, and one each hour in that store's first day, when most
data arrive. The newest are kept. The place also holds the list of erased shoppers, so that
a shopper who was erased after a backup does not return with it.
"""

import contextlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from productrecs.core.clock import DAY_MS, SECOND_MS
from productrecs.core.errors import ProductRecsError, operator_text
from productrecs.core.ids import INSTALLATION, StoreId
from productrecs.core.private_folders import temp_folder
from productrecs.core.program_version import PROGRAM_VERSION
from productrecs.features.privacy.shopper_erasure import copy_erasure_ledger_to_backups
from productrecs.records.uploads.file_imports.repository import files_of_open_imports
from productrecs.records.uploads.order_uploads.repository import files_needed
from productrecs.records.uploads.upload_folder import UploadFolder
from productrecs.services import Services, claim_or_check_object_store
from productrecs.storage.backup.backup_archive import Advance, BackupManifest
from productrecs.storage.backup.create_backup import (
    BackupRequest,
    BeginStage,
    create_backup,
)
from productrecs.storage.files.object_store import ObjectStore
from productrecs.storage.jobs.job_queue import Job
from productrecs.storage.jobs.recurring_jobs import RecurringJobEnqueuer
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.worker.job_schedule import (
    JobSchedule,
    PeriodicJob,
    nightly_periodic_jobs,
)
from productrecs.worker.job_worker import JobProgress, JobWorker

BACKUP_FOLDER: Final = "backups"
_WRITE_CHECK: Final = "write-check"
_STAMP: Final = "productrecs-%Y-%m-%dT%H%M%SZ.tar.gz"
BACKUP_JOB: Final = "back-up"
_log = logging.getLogger(__name__)


class StoredBackup(NamedTuple):
    """A stored backup: its name, its bytes and what is in it."""

    name: str
    size: int
    manifest: BackupManifest


class BackupPlaceNotSetError(ProductRecsError):
    """PRODUCTRECS_BACKUP is not set."""


class NoBackupError(ProductRecsError):
    """There is no scheduled backup, or none of the name."""


def build_backup_request(
    services: Services, target: Path, *, replace: bool
) -> BackupRequest:
    """Return the request of a backup of everything to `target`."""
    folder = services.upload_folder
    return BackupRequest(
        database=services.database,
        needed=lambda snapshot: {
            f"{folder.path.name}/{upload_id}": _fetch_upload_path(folder, upload_id)
            for upload_id in files_needed(snapshot) | files_of_open_imports(snapshot)
        },
        target=target,
        program=PROGRAM_VERSION,
        replace=replace,
    )


def _fetch_upload_path(folder: UploadFolder, upload_id: str) -> Path:
    """Return the path of an uploaded file, fetched first if another machine has it."""
    with contextlib.suppress(FileNotFoundError):  # lost: the backup says so
        return folder.fetch_local_path(upload_id)
    return folder.path / upload_id


def require_backup_store(place: ObjectStore | None) -> ObjectStore:
    """Return where scheduled backups are.

    Raises:
        BackupPlaceNotSetError: when PRODUCTRECS_BACKUP is not set.
    """
    if place is None:
        message = "set PRODUCTRECS_BACKUP to a folder or s3://bucket/prefix, or name a file"
        raise BackupPlaceNotSetError(message)
    return place


def backup_names(place: ObjectStore) -> list[str]:
    """Return the names of the backups, oldest first.

    Raises:
        ObjectStoreUnavailableError: when the place does not answer.
    """
    names = (one.key.rsplit("/", 1)[-1] for one in place.list(BACKUP_FOLDER))
    return sorted(name for name in names if _parse_backup_time(name) is not None)


def newest_backup_ms(place: ObjectStore) -> int | None:
    """Return when the newest backup was begun; None without any.

    Raises:
        ObjectStoreUnavailableError: when the place does not answer.
    """
    return max(
        (_parse_backup_time(name) or 0 for name in backup_names(place)), default=None
    )


def make_scheduled_backup_and_delete_old(
    services: Services, begin: BeginStage
) -> StoredBackup:
    """Store a new backup, then delete all but the newest.

    It is verified before it gets its name. The data folder's disk needs room for it.

    Raises:
        BackupPlaceNotSetError: when PRODUCTRECS_BACKUP is not set.
        ForeignObjectsError: when the place holds another installation's backups.
        ObjectStoreUnavailableError: when the place does not answer.
        BackupError, StorageError, OSError: as `create_backup`.
    """
    place = require_backup_store(services.backups)
    claim_or_check_object_store(place, services.database)
    now = datetime.fromtimestamp(services.system_clock() / SECOND_MS, UTC)
    name = now.strftime(_STAMP)
    with temp_folder(services.settings.data, ".scheduled-") as folder:
        manifest = create_backup(
            build_backup_request(services, folder / name, replace=False), begin
        )
        size = (folder / name).stat().st_size
        place.put(f"{BACKUP_FOLDER}/{name}", folder / name)
    copy_erasure_ledger_to_backups(services.settings.data, services.objects, place)
    surplus_names = backup_names(place)[: -services.settings.backups_kept]
    place.delete([f"{BACKUP_FOLDER}/{name_to_delete}" for name_to_delete in surplus_names])
    return StoredBackup(name, size, manifest)


def check_backup_place(place: ObjectStore) -> None:
    """Log an error if the place of scheduled backups takes no files."""
    try:
        place.put(_WRITE_CHECK, b"")
        place.delete([_WRITE_CHECK])
    except (ProductRecsError, OSError) as error:
        _log.error("backup place unusable", extra={"error": operator_text(error)})


def fetch_backup(place: ObjectStore, name: str | None, folder: Path) -> Path:
    """Copy a backup into `folder`, the newest by default; return its path.

    Raises:
        NoBackupError: when there is none, or none of that name.
        ObjectStoreUnavailableError: when the place does not answer.
    """
    names = backup_names(place)
    if not names:
        message = f"there is no backup in {place.address} yet"
        raise NoBackupError(message)
    if name is not None and name not in names:
        message = f"there is no backup {name} in {place.address}; the newest is {names[-1]}"
        raise NoBackupError(message)
    chosen_name = name or names[-1]
    place.download_and_hash(f"{BACKUP_FOLDER}/{chosen_name}", folder / chosen_name)
    return folder / chosen_name


def _parse_backup_time(name: str) -> int | None:
    try:
        made_at = datetime.strptime(name, _STAMP).replace(tzinfo=UTC)
    except ValueError:
        return None
    return int(made_at.timestamp()) * SECOND_MS


def build_backup_worker(services: Services) -> JobWorker:
    """Return the worker of scheduled backups."""

    def back_up(_job: Job, progress: JobProgress) -> None:
        def begin_stage(_stage: str, size: int) -> Advance:
            done = 0

            def advance(step: int) -> None:
                nonlocal done
                done += step
                progress.report_or_interrupt(min(1.0, done / max(1, size)))

            return advance

        backup = make_scheduled_backup_and_delete_old(services, begin_stage)
        _log.info("backup stored", extra={"backup": backup.name, "bytes": backup.size})

    periodic_tasks = RecurringJobEnqueuer(
        services.database, services.queue, services.system_clock
    )
    schedule = JobSchedule(periodic_tasks, backup_schedule(services))
    return JobWorker(services.queue, {BACKUP_JOB: back_up}, schedule)


def backup_schedule(services: Services) -> list[PeriodicJob]:
    """Return when backups are made: hourly in the first store's first day, then nightly.

    One that was missed, because the service stood still, is made when it runs again.
    """
    accounts = AccountDirectory(services.database)

    def is_first_day_of_installation() -> bool | None:
        """Return whether the first store is younger than a day; None without a store."""
        accounts.refresh()
        created = [store.created_at for store in accounts.all()]
        return services.clock() - min(created) < DAY_MS if created else None

    def once_in_first_day() -> Sequence[StoreId]:
        return (INSTALLATION,) if is_first_day_of_installation() else ()

    def after_first_day(stores: Callable[[], Sequence[StoreId]]) -> Sequence[StoreId]:
        return stores() if is_first_day_of_installation() is False else ()

    hourly = PeriodicJob(BACKUP_JOB, every=timedelta(hours=1), stores=once_in_first_day)
    nightly = nightly_periodic_jobs(BACKUP_JOB, services.system_clock)
    return [
        hourly,
        *(replace(task, stores=partial(after_first_day, task.stores)) for task in nightly),
    ]
