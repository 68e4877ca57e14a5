"""`productrecs migrate`: upgrades the database schema, or checks that it is current."""

import sys
from pathlib import Path

import click

from productrecs.entrypoints.cli.options_services_and_output import (
    data_option,
    json_option,
    print_json,
    settings_for,
)
from productrecs.entrypoints.services import build_services
from productrecs.storage import migrations


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

    Usually unnecessary: every command and `serve` migrate when they start. Use it in
    deployments that migrate, or check, before they start.

    Example: productrecs migrate --check
    """
    services = build_services(settings_for(data))
    try:
        changed = False
        if only_check:
            is_current = migrations.is_current(services.database)
        else:
            changed = migrations.migrate(services.database)
            is_current = True
    finally:
        services.close()
    newest = migrations.KNOWN[-1]
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
