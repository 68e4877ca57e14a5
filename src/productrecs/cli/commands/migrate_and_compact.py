"""`productrecs migrate` and `compact`: upgrade the schema, and give free space back."""

import sys
from pathlib import Path

import click

from productrecs.cli.open_services import (
    open_services_of_any_schema,
    refuse_second_installation,
)
from productrecs.cli.options import data_option, json_option
from productrecs.cli.output import print_json
from productrecs.cli.settings_and_folder_owner import load_settings, switch_to_folder_owner
from productrecs.services import build_services
from productrecs.settings import Settings
from productrecs.storage.sql.migrations import schema_upgrade


@click.command()
@click.option(
    "--check",
    "only_check",
    is_flag=True,
    help=("Change nothing; exit 1 if a migration is pending."),
)
@json_option
@data_option
def migrate(*, only_check: bool, as_json: bool, data: Path | None) -> None:
    """Migrate the database to this program's schema, forward only.

    `serve`, `api` and `worker` migrate when they start; other commands ask for it.

    Example: productrecs migrate --check
    """
    settings = load_settings(data)
    switch_to_folder_owner(settings)
    changed = False
    if only_check:
        with open_services_of_any_schema(settings) as services:
            is_current = schema_upgrade.is_current(services.database)
    else:
        changed, is_current = _migrate_schema(settings), True
    newest = schema_upgrade.KNOWN[-1]
    if as_json:
        print_json({"schema": newest, "current": is_current, "migrated": changed})
    elif changed:
        click.echo(f"Migrated to schema {newest}.")
    elif is_current:
        click.echo(f"The database has this program's schema, {newest}.")
    else:
        click.echo(
            f"The database is behind schema {newest}; `productrecs migrate` or a start "
            "migrates it. Make a backup first: productrecs backup FILE"
        )
    if not is_current:
        sys.exit(1)


def _migrate_schema(settings: Settings) -> bool:
    refuse_second_installation(settings)
    services = build_services(settings)
    try:
        return schema_upgrade.migrate(services.database)
    finally:
        services.close()


@click.command()
@json_option
@data_option
def compact(*, as_json: bool, data: Path | None) -> None:
    """Give the space of purged events back to the disk.

    For a SQLite database that an earlier release made; in others the nightly purge gives
    space back itself. Writes wait meanwhile, about 10 seconds per GB, so stop the service
    for a large database. It needs as much free disk as the database has.

    Example: productrecs compact
    """
    settings = load_settings(data)
    switch_to_folder_owner(settings)
    with open_services_of_any_schema(settings) as services:
        if settings.database_url is not None:
            message = "PostgreSQL reuses the space itself; nothing to do."
            freed = 0
        else:
            before = settings.database_file.stat().st_size
            services.database.compact()
            freed = before - settings.database_file.stat().st_size
            message = f"Gave {freed / 1e6:,.1f} MB back; nothing was deleted."
    if as_json:
        print_json({"freed_bytes": freed})
    else:
        click.echo(message)
