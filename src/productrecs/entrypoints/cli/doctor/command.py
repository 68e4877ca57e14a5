"""`productrecs doctor`: looks everywhere, says what is wrong and how to mend it."""

import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import click

from productrecs.core.errors import StorageError, UnsafeStorageError
from productrecs.entrypoints.cli.doctor.address import check_address
from productrecs.entrypoints.cli.doctor.findings import Finding, Level, wrong
from productrecs.entrypoints.cli.doctor.installation import (
    check_background,
    check_clock,
    check_configuration,
    check_folder,
    check_storage,
)
from productrecs.entrypoints.cli.doctor.stores import check_store
from productrecs.entrypoints.cli.session import (
    DataFolderError,
    chosen_settings,
    data_option,
    json_option,
    opened,
    print_json,
)
from productrecs.settings import SettingsError
from productrecs.storage.database import Database
from productrecs.tenancy.accounts.registration import all_stores, find_store
from productrecs.tenancy.accounts.store import Store


@click.command()
@click.argument("domain", required=False)
@json_option
@data_option
def doctor(domain: str | None, *, as_json: bool, data: Path | None) -> None:
    """Check configuration, storage, disk, models and each store's data, or DOMAIN's.

    Exit status 1 when something is wrong; each such line ends with how to mend it.

    Example: productrecs doctor --json
    """
    found = []
    for finding in _examined(domain, data):
        found.append(finding)
        if not as_json:
            click.echo(str(finding))
    if as_json:
        print_json([asdict(finding) for finding in found])
    sys.exit(any(finding.level is Level.WRONG for finding in found))


def _real(database: Database) -> list[Store]:
    """Return all stores but those that are there to try things in."""
    return [store for store in all_stores(database) if not store.is_sandbox]


def _examined(domain: str | None, data: Path | None) -> Iterator[Finding]:
    try:
        settings = chosen_settings(data)
    except SettingsError as error:
        yield wrong("configuration", str(error), "change it; nothing starts before")
        return
    yield from check_configuration(settings, os.environ)
    yield from check_address(settings)
    try:
        with opened(data) as services:
            yield from check_folder(settings.data)
            yield from check_storage(services)
            yield from check_clock(services)
            yield from check_background(services)
            database = services.database
            stores = [find_store(database, domain)] if domain else _real(database)
            for store in stores:
                yield from check_store(services, store)
    except DataFolderError as error:
        yield wrong("disk", str(error), "make the folder, or name another with --data")
    except UnsafeStorageError as error:
        yield Finding("storage", Level.WRONG, str(error))  # it says what to do
    except StorageError as error:
        remedy = "see that the database runs; a damaged file needs a backup restored"
        yield wrong("storage", str(error), remedy)
