"""`productrecs backup` and `productrecs restore`: all data to one file, and back."""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NoReturn

import click

from productrecs import __version__
from productrecs.entrypoints.cli.installation import DataFolderError, find_settings
from productrecs.entrypoints.cli.options_services_and_output import (
    counted,
    data_option,
    json_option,
    open_existing_services,
    print_json,
    progress,
)
from productrecs.entrypoints.services import build_eraser, build_services
from productrecs.features.privacy.erasure import replay_erasures
from productrecs.records.uploads.order_upload import UploadFolder, is_upload_id
from productrecs.records.uploads.repository import files_needed, files_of_open_imports
from productrecs.settings import Settings
from productrecs.storage.backup_archive import Advance, BackupManifest, use_idle_io_priority
from productrecs.storage.create_backup import BackupRequest, create_backup
from productrecs.storage.restore_backup import (
    RestoreTarget,
    restore_backup,
    verify_backup,
)

NICENESS: Final = 10
"""The nice value: under load, the service has priority."""

_COUNTED_TABLES: Final = {"stores": "store", "items": "product", "events": "event"}
_LINES: Final = "purchase_lines"


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@json_option
@data_option
def backup(file: Path, *, force: bool, as_json: bool, data: Path | None) -> None:
    """Save everything in FILE while the service runs; compressed if it ends in .gz.

    FILE is a tar: the database at one moment, with every event and order that was
    acknowledged before the command began, and uploads that wait to be imported. It is
    verified before it gets its name. Trained models are left out: they are trained from
    the database.

    Example: productrecs backup /backups/productrecs-$(date +%F).tar.gz
    """
    began = time.monotonic()
    with open_existing_services(find_settings(data)) as services, _stages() as stages:
        folder = services.upload_folder
        request = BackupRequest(
            database=services.database,
            needed=lambda snapshot: {
                f"{folder.path.name}/{upload_id}": _upload_path(folder, upload_id)
                for upload_id in files_needed(snapshot) | files_of_open_imports(snapshot)
            },
            target=file,
            program=__version__,
            replace=force,
        )
        os.nice(NICENESS)
        use_idle_io_priority()
        manifest = create_backup(request, stages.begin)
    facts = _facts(file, manifest, time.monotonic() - began)
    _print_summary(f"Saved {_summary(manifest)} in {file}", facts, as_json=as_json)


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--verify", is_flag=True, help="Verify FILE as a restore would; change nothing."
)
@click.option(
    "--force",
    is_flag=True,
    help=("Restore over existing data, which is moved to a folder beside it."),
)
@json_option
@data_option
def restore(
    file: Path, *, verify: bool, force: bool, as_json: bool, data: Path | None
) -> None:
    """Restore a backup into the data folder (or the database of DATABASE_URL).

    FILE is unpacked beside the data and verified before anything is changed. The
    service must be stopped, and the target must be empty unless --force is given. A
    backup of SQLite restores into PostgreSQL too, and the other way round.

    Example: productrecs restore /backups/productrecs-2026-11-21.tar.gz --data /srv/recs
    """
    settings, began = find_settings(data), time.monotonic()
    folder = settings.data
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"the data folder {folder} cannot be created: {error.strerror}"
        raise DataFolderError(message) from error
    with _stages() as stages:
        if verify:
            manifest = verify_backup(file, folder, stages.begin)
            facts = _facts(file, manifest, time.monotonic() - began)
            _print_summary(f"{file} is valid: {_summary(manifest)}", facts, as_json=as_json)
            return
        place = RestoreTarget(folder, settings.database_url, replace=force)
        restored = restore_backup(file, place, stages.begin)
        erased = _replay_erasures(settings)
        _share_uploads(settings)
    manifest = restored.manifest
    facts = _facts(file, manifest, time.monotonic() - began)
    facts["names_erased_again"] = erased
    facts["former_data"] = (
        str(restored.replaced_folder) if restored.replaced_folder else None
    )
    _print_summary(
        f"Restored {_summary(manifest)} as of {manifest.made_at}", facts, as_json=as_json
    )
    if restored.replaced_folder and not as_json:
        click.echo(
            f"The previous data is in {restored.replaced_folder}; delete it when you no "
            "longer "
            "need it."
        )
    if erased and not as_json:
        click.echo(f"Erased again: {counted(erased, 'name')} that the backup still had.")
    if not as_json:
        click.echo("Start the service: it retrains its models within seconds.")


def _upload_path(folder: UploadFolder, upload_id: str) -> Path:
    """Return the path of an uploaded file, fetched first if another machine has it."""
    with contextlib.suppress(FileNotFoundError):  # lost: the backup says so
        return folder.fetch(upload_id)
    return folder.path / upload_id


def _share_uploads(settings: Settings) -> None:
    """Upload restored files to the object store, if there is one."""
    services = build_services(settings)
    try:
        folder = services.upload_folder
        for path in sorted(folder.path.glob("*")):
            if is_upload_id(path.name):
                folder.share(path.name)
    finally:
        services.close()


def _replay_erasures(settings: Settings) -> int:
    """Erase the shoppers who were erased since the backup; return how many ids."""
    services = build_services(settings)
    try:
        return replay_erasures(build_eraser(services))
    finally:
        services.close()


class _Stages:
    """Draws one progress bar per stage."""

    def __init__(self) -> None:
        self._bar = contextlib.ExitStack()

    def begin(self, stage: str, size: int) -> Advance:
        self.end()
        return self._bar.enter_context(progress(stage, size))

    def end(self) -> None:
        self._bar.close()


@contextlib.contextmanager
def _stages() -> Iterator[_Stages]:
    """Open the progress bars; SIGTERM ends the work like Ctrl-C and cleans up."""

    def stop(number: int, _frame: object) -> NoReturn:
        sys.exit(128 + number)

    before = signal.signal(signal.SIGTERM, stop)
    stages = _Stages()
    try:
        yield stages
    finally:
        stages.end()
        signal.signal(signal.SIGTERM, before)


def _summary(manifest: BackupManifest) -> str:
    rows = manifest.rows
    parts = [counted(rows.get(table, 0), noun) for table, noun in _COUNTED_TABLES.items()]
    parts.append(counted(rows.get(_LINES, 0), "order line"))
    uploads = len(manifest.sizes) - 1
    if uploads:
        parts.append(counted(uploads, "waiting upload"))
    return ", ".join(parts)


def _facts(file: Path, manifest: BackupManifest, seconds: float) -> dict[str, object]:
    return {
        "file": str(file),
        "bytes": file.stat().st_size,
        "seconds": round(seconds, 2),
        "made_at": manifest.made_at,
        "made_from": manifest.made_from,
        "program": manifest.program,
        "schema": manifest.schema,
        "rows": dict(manifest.rows),
        "uploads": len(manifest.sizes) - 1,
    }


def _print_summary(summary: str, facts: Mapping[str, object], *, as_json: bool) -> None:
    if as_json:
        print_json(facts)
        return
    size, seconds = facts["bytes"], facts["seconds"]
    click.echo(f"{summary} ({_megabytes(size)}, {seconds} s).")


def _megabytes(size: object) -> str:
    return f"{int(str(size)) / 1e6:,.1f} MB"
