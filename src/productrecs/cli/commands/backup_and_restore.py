"""`productrecs backup` and `productrecs restore`: all data to one file, and back."""

import contextlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, NoReturn

import click

from productrecs.cli.open_services import (
    open_services_of_any_schema,
    refuse_second_installation,
)
from productrecs.cli.options import data_option, json_option
from productrecs.cli.output import print_json, progress_bar
from productrecs.cli.settings_and_folder_owner import (
    UnusableInstallationError,
    load_settings,
)
from productrecs.core.plural import counted
from productrecs.core.private_folders import temp_folder
from productrecs.features.privacy.shopper_erasure import LEDGER_FILE, replay_erasures
from productrecs.records.uploads.upload_folder import is_upload_id
from productrecs.services import backup_object_store, build_eraser, build_services
from productrecs.settings import Settings
from productrecs.storage.backup.backup_archive import (
    Advance,
    BackupManifest,
    use_idle_io_priority,
)
from productrecs.storage.backup.create_backup import create_backup
from productrecs.storage.backup.restore_backup import (
    RestoreTarget,
    restore_backup,
    verify_backup,
)
from productrecs.storage.files.object_store import ObjectStore
from productrecs.worker.scheduled_backups import (
    BACKUP_FOLDER,
    build_backup_request,
    fetch_backup,
    make_scheduled_backup_and_delete_old,
    require_backup_store,
)

NICENESS: Final = 10
"""The nice value: under load, the service has priority."""

_COUNTED_TABLES: Final = {"stores": "store", "items": "product", "events": "event"}
_LINES: Final = "purchase_lines"


class _BackupGroup(click.Group):
    """`productrecs backup FILE` is short for `productrecs backup create FILE`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_named = args and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if is_named else ["create", *args])


@click.group(cls=_BackupGroup)
def backup() -> None:
    """Save everything in one file, or verify what the service saved each night.

    `productrecs backup FILE` is short for `productrecs backup create FILE`.
    """


@backup.command("create")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@json_option
@data_option
def create(file: Path | None, *, force: bool, as_json: bool, data: Path | None) -> None:
    """Save everything in FILE while the service runs; compressed if it ends in .gz.

    FILE is a tar: the database at one moment, with every event and order that was
    acknowledged before the command began, and uploads that wait to be imported. It is
    verified before it gets its name. Trained models are left out: they are trained from
    the database. `productrecs backup FILE` does the same.

    Without FILE, the backup goes where PRODUCTRECS_BACKUP says, as each night.

    Example: productrecs backup create /backups/productrecs-$(date +%F).tar.gz
    """
    began = time.monotonic()
    with (
        open_services_of_any_schema(load_settings(data)) as services,
        _stage_progress_bars() as stages,
    ):
        os.nice(NICENESS)
        use_idle_io_priority()
        if file is None:
            scheduled_backup = make_scheduled_backup_and_delete_old(services, stages.begin)
            name, manifest = scheduled_backup.name, scheduled_backup.manifest
            facts = _backup_facts(
                name, scheduled_backup.size, manifest, time.monotonic() - began
            )
            place = require_backup_store(services.backups)
            summary = f"Saved {_backup_summary(manifest)} as {name} in {place.address}"
        else:
            request = build_backup_request(services, file, replace=force)
            manifest = create_backup(request, stages.begin)
            size = file.stat().st_size
            facts = _backup_facts(str(file), size, manifest, time.monotonic() - began)
            summary = f"Saved {_backup_summary(manifest)} in {file}"
    _print_summary(summary, facts, as_json=as_json)


@backup.command("verify")
@click.argument("name", required=False)
@click.option(
    "--restore",
    "restores",
    is_flag=True,
    help="Also restore it into a temporary folder, and erase who was erased since.",
)
@json_option
@data_option
def verify(name: str | None, *, restores: bool, as_json: bool, data: Path | None) -> None:
    """Verify the newest backup of PRODUCTRECS_BACKUP, or NAME; nothing is changed.

    Its checksums, rows and schema are compared with its manifest. The data folder's disk
    needs room for it.

    Example: productrecs backup verify --restore
    """
    settings, began = load_settings(data), time.monotonic()
    place = require_backup_store(backup_object_store(settings))
    with temp_folder(settings.data, ".verify-") as folder, _stage_progress_bars() as stages:
        file = fetch_backup(place, name, folder)
        erased = 0
        if restores:
            copy_settings = replace(
                settings,
                data=folder / "restored",
                database_url=None,
                objects=None,
                backup=None,
            )
            copy_settings.data.mkdir()
            target = RestoreTarget(copy_settings.data, None)
            manifest = restore_backup(file, target, stages.begin).manifest
            with contextlib.suppress(FileNotFoundError):
                shutil.copy(settings.data / LEDGER_FILE, copy_settings.data)
            erased = _replay_erasures(copy_settings, place)
        else:
            manifest = verify_backup(file, folder, stages.begin)
        size = file.stat().st_size
    facts = _backup_facts(file.name, size, manifest, time.monotonic() - began)
    facts["restored"], facts["names_erased_again"] = restores, erased
    done_text = "was restored into a temporary folder" if restores else "is valid"
    _print_summary(
        f"{file.name} {done_text}: {_backup_summary(manifest)}", facts, as_json=as_json
    )


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--verify",
    "verifies",
    is_flag=True,
    help="Verify FILE as a restore would; change nothing.",
)
@click.option(
    "--force",
    is_flag=True,
    help=("Restore over existing data, which is moved to a folder beside it."),
)
@json_option
@data_option
def restore(
    file: Path, *, verifies: bool, force: bool, as_json: bool, data: Path | None
) -> None:
    """Restore a backup into the data folder (or the database of DATABASE_URL).

    FILE is unpacked beside the data and verified before anything is changed. The
    service must be stopped, and the target must be empty unless --force is given. A
    backup of SQLite restores into PostgreSQL too, and the other way round.

    Example: productrecs restore /backups/productrecs-2026-11-21.tar.gz --data /srv/recs
    """
    settings, began = load_settings(data), time.monotonic()
    refuse_second_installation(settings)
    folder = settings.data
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"the data folder {folder} cannot be created: {error.strerror}"
        raise UnusableInstallationError(message) from error
    with _stage_progress_bars() as stages:
        if verifies:
            manifest = verify_backup(file, folder, stages.begin)
            size = file.stat().st_size
            facts = _backup_facts(str(file), size, manifest, time.monotonic() - began)
            _print_summary(
                f"{file} is valid: {_backup_summary(manifest)}", facts, as_json=as_json
            )
            return
        target = RestoreTarget(folder, settings.database_url, replace=force)
        restored = restore_backup(file, target, stages.begin)
        erased = _replay_erasures(
            settings, backup_object_store(settings), _scheduled_backup_place_of(file)
        )
        _move_uploads_to_object_store(settings)
    manifest = restored.manifest
    seconds = time.monotonic() - began
    facts = _backup_facts(str(file), file.stat().st_size, manifest, seconds)
    facts["names_erased_again"] = erased
    facts["former_data"] = (
        str(restored.replaced_folder) if restored.replaced_folder else None
    )
    _print_summary(
        f"Restored {_backup_summary(manifest)} as of {manifest.made_at}",
        facts,
        as_json=as_json,
    )
    if restored.replaced_folder and not as_json:
        click.echo(
            f"The previous data is in {restored.replaced_folder}; delete it when you no "
            "longer need it."
        )
    if erased and not as_json:
        click.echo(f"Erased again: {counted(erased, 'name')} that the backup still had.")
    if not as_json:
        click.echo("Start the service: it retrains its models within seconds.")


def _move_uploads_to_object_store(settings: Settings) -> None:
    """Upload restored files to the object store, if there is one."""
    services = build_services(settings)
    try:
        folder = services.upload_folder
        for path in sorted(folder.path.glob("*")):
            if is_upload_id(path.name):
                folder.move_to_object_store(path.name)
    finally:
        services.close()


def _scheduled_backup_place_of(file: Path) -> ObjectStore | None:
    """Return the folder of scheduled backups that a file lies in, if it does."""
    folder = file.absolute().parent
    return ObjectStore(str(folder.parent)) if folder.name == BACKUP_FOLDER else None


def _replay_erasures(settings: Settings, *places: ObjectStore | None) -> int:
    """Erase the shoppers who were erased since the backup; return how many ids."""
    services = build_services(settings)
    try:
        return replay_erasures(build_eraser(services), *places)
    finally:
        services.close()


class _StageProgressBars:
    """Draws one progress bar per stage."""

    def __init__(self) -> None:
        self._bar = contextlib.ExitStack()

    def begin(self, stage: str, size: int) -> Advance:
        self.end()
        return self._bar.enter_context(progress_bar(stage, size))

    def end(self) -> None:
        self._bar.close()


@contextlib.contextmanager
def _stage_progress_bars() -> Iterator[_StageProgressBars]:
    """Open the progress bars; SIGTERM ends the work like Ctrl-C and cleans up."""

    def stop(number: int, _frame: object) -> NoReturn:
        sys.exit(128 + number)

    before = signal.signal(signal.SIGTERM, stop)
    stages = _StageProgressBars()
    try:
        yield stages
    finally:
        stages.end()
        signal.signal(signal.SIGTERM, before)


def _backup_summary(manifest: BackupManifest) -> str:
    rows = manifest.rows
    parts = [counted(rows.get(table, 0), noun) for table, noun in _COUNTED_TABLES.items()]
    parts.append(counted(rows.get(_LINES, 0), "order line"))
    uploads = len(manifest.sizes) - 1
    if uploads:
        parts.append(counted(uploads, "waiting upload"))
    return ", ".join(parts)


def _backup_facts(
    file: str, size: int | None, manifest: BackupManifest, seconds: float
) -> dict[str, object]:
    return {
        "file": file,
        "bytes": size,
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
    click.echo(f"{summary} ({_megabytes(facts['bytes'])}, {facts['seconds']} s).")


def _megabytes(size: object) -> str:
    return f"{int(str(size)) / 1e6:,.1f} MB"
