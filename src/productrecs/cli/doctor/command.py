"""`productrecs doctor`: runs every check; prints each problem and how to fix it."""

import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import click

from productrecs.cli.doctor.check_result import CheckLevel, CheckResult, problem
from productrecs.cli.doctor.disk_and_clock_checks import (
    check_clock,
    check_data_sizes_and_disk,
)
from productrecs.cli.doctor.installation_checks import (
    check_address_and_proxy,
    check_background_jobs,
    check_backups,
    check_configuration,
    check_data_folder,
    check_database,
    check_file_owners,
    check_object_store,
    check_replication,
    check_text_model,
)
from productrecs.cli.doctor.picture_checks import check_picture_models, check_text_reader
from productrecs.cli.doctor.service_checks import check_mail, check_service
from productrecs.cli.doctor.store_checks import (
    check_refused_keys,
    check_store,
    check_two_factor_secrets_readable,
)
from productrecs.cli.open_services import open_services_as_owner
from productrecs.cli.options import data_option, json_option
from productrecs.cli.output import print_json
from productrecs.cli.settings_and_folder_owner import (
    UnusableInstallationError,
    load_settings,
)
from productrecs.core.errors import (
    ProductRecsError,
    StorageError,
    UnsafeStorageError,
    operator_text,
)
from productrecs.settings import Settings, SettingsError
from productrecs.storage.files.object_store import ObjectStoreAddressError
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import all_stores, find_store


@click.command()
@click.argument("domain", required=False)
@json_option
@data_option
def doctor(domain: str | None, *, as_json: bool, data: Path | None) -> None:
    """Check configuration, storage, disk, models and the data of each store, or of DOMAIN.

    Exit status 1 when there is a problem; each problem ends with how to fix it.

    Example: productrecs doctor --json
    """
    results = []
    for result in _run_checks(domain, data):
        results.append(result)
        if not as_json:
            click.echo(str(result))
    if as_json:
        print_json([asdict(result) for result in results])
    sys.exit(any(result.level is CheckLevel.WRONG for result in results))


def _real_stores(database: Database) -> list[Store]:
    """Return all stores except test stores."""
    return [store for store in all_stores(database) if not store.is_sandbox]


def _run_checks(domain: str | None, data: Path | None) -> Iterator[CheckResult]:
    try:
        settings = load_settings(data)
    except SettingsError as error:
        yield problem(
            "configuration", str(error), "correct it; the service does not start before"
        )
        return
    except UnusableInstallationError as error:
        yield CheckResult("configuration", CheckLevel.WRONG, str(error))
        return
    yield from check_configuration(settings, os.environ)
    yield from check_address_and_proxy(settings)
    yield from check_file_owners(settings)
    yield from check_service(settings)
    yield from check_mail(settings)
    try:
        with open_services_as_owner(data) as services:
            yield from check_data_folder(settings.data)
            yield from check_database(services)
            yield from check_replication(services)
            yield from check_object_store(services)
            yield from check_picture_models(services)
            yield from check_text_reader(services)
            yield from check_text_model(services)
            yield from check_data_sizes_and_disk(services)
            yield from check_clock(services)
            yield from check_background_jobs(services)
            yield from check_backups(services)
            yield from check_refused_keys(services)
            yield from check_two_factor_secrets_readable(services)
            database = services.database
            stores = [find_store(database, domain)] if domain else _real_stores(database)
            for store in stores:
                yield from check_store(services, store)
    except (UnusableInstallationError, StorageError, ObjectStoreAddressError) as error:
        yield _failure_result(error, settings)
        if isinstance(error, StorageError) and settings.data.is_dir():
            causes = check_data_folder(settings.data)
            yield from (cause for cause in causes if cause.level is CheckLevel.WRONG)


def _failure_result(error: ProductRecsError, settings: Settings) -> CheckResult:
    """Return why no further check can run."""
    message = operator_text(error)
    if isinstance(error, UnusableInstallationError):
        return CheckResult("disk", CheckLevel.WRONG, message)  # with its remedy
    if isinstance(error, ObjectStoreAddressError):
        remedy = "correct it; the service does not start before"
        return problem("objects", message, remedy)
    if isinstance(error, UnsafeStorageError):
        return CheckResult("storage", CheckLevel.WRONG, message)  # with its remedy
    remedy = "make sure that the database runs, and correct DATABASE_URL"
    if settings.database_url is None:
        remedy = "see that its disk has space and works, then run this again"
    return problem("storage", message, remedy)
