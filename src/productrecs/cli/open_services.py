"""Open the services of an installation for a command: existing, created or migrated."""

import contextlib
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from productrecs.cli.last_service_run import address_of_running_service
from productrecs.cli.settings_and_folder_owner import (
    UnusableInstallationError,
    load_settings,
    switch_to_folder_owner,
)
from productrecs.core.errors import StorageBusyError, operator_text
from productrecs.services import Services, build_services
from productrecs.settings import Settings
from productrecs.storage.sql.audit_log import AuditEntry, with_audit_entry
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.migrations.schema_upgrade import (
    check_schema_is_current,
    has_schema,
    migrate,
)
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import find_store

DATABASE_WAIT_SECONDS: Final = 60.0
"""How long a process of the service waits at its start for a database server."""

_RETRY_SECONDS: Final = 0.5
_log = logging.getLogger(__name__)


@contextlib.contextmanager
def open_and_migrate_services(
    settings: Settings, wait_seconds: float = 0.0
) -> Iterator[Services]:
    """Open the services; create the folder and migrate the schema if necessary.

    Root continues as the owner of the folder. A database that cannot be reached is tried
    again for `wait_seconds`.

    Raises:
        UnusableInstallationError: when the folder cannot be created, or is another user's.
        StorageBusyError: when the database cannot be reached in time.
        UnsafeStorageError: when the database must not be opened.
    """
    switch_to_folder_owner(settings)
    try:
        services = build_services(settings)
    except OSError as error:
        message = (
            f"the data folder {settings.data} cannot be created ({error.strerror}); "
            "choose another with --data"
        )
        raise UnusableInstallationError(message) from error
    try:
        _migrate_with_retries(services, time.monotonic() + wait_seconds)
        yield services
    finally:
        services.close()


def _migrate_with_retries(services: Services, deadline: float) -> None:
    is_first = True
    while True:
        try:
            migrate(services.database)
        except StorageBusyError as error:
            if time.monotonic() > deadline:
                raise
            if is_first:
                _log.info("database awaited", extra={"error": operator_text(error)})
            is_first = False
            time.sleep(_RETRY_SECONDS)
        else:
            return


@contextlib.contextmanager
def open_services_as_owner(data: Path | None) -> Iterator[Services]:
    """Open an existing installation as its owner; create and migrate nothing.

    Raises:
        SettingsError: when the environment holds an invalid value.
        UnusableInstallationError: when there is none, or it is another user's.
        OutdatedSchemaError: when it has to be migrated first.
        StorageError: one of its kinds, when the database cannot be used.
    """
    settings = load_settings(data)
    switch_to_folder_owner(settings)
    with open_services_of_any_schema(settings) as services:
        check_schema_is_current(services.database)
        yield services


@contextlib.contextmanager
def open_store(data: Path | None, domain: str) -> Iterator[tuple[Services, Store]]:
    """Open an installation as `open_services_as_owner` does, and find a store in it.

    Raises:
        UnknownStoreError: when it has none of this domain.
    """
    with open_services_as_owner(data) as services:
        yield services, find_store(services.database, domain)


@contextlib.contextmanager
def open_or_create_services(data: Path | None) -> Iterator[Services]:
    """Open an installation as its owner; create one where there is none, and say where.

    Raises:
        SettingsError: when the environment holds an invalid value.
        UnusableInstallationError: when it cannot be created, is another user's, or its
            service uses a database server.
        OutdatedSchemaError: when it has to be migrated first.
        StorageError: one of its kinds, when the database cannot be used.
    """
    settings = load_settings(data)
    switch_to_folder_owner(settings)
    if _is_installed(settings):
        with open_services_as_owner(data) as services:
            yield services
        return
    folder = settings.data.resolve()
    place = "the database of DATABASE_URL" if settings.database_url else folder
    click.echo(f"Creating a new installation in {place}.", err=True)
    with open_and_migrate_services(settings) as services:
        yield services


def _is_installed(settings: Settings) -> bool:
    refuse_second_installation(settings)
    if _lacks_database(settings):
        return False
    with open_services_of_any_schema(settings) as services:
        return has_schema(services.database)


def _lacks_database(settings: Settings) -> bool:
    """Return whether neither a database server nor a file in the folder is there."""
    return settings.database_url is None and not settings.database_file.exists()


def refuse_second_installation(settings: Settings) -> None:
    """Do nothing, unless a service runs in a folder without a database file.

    Raises:
        UnusableInstallationError: when one does: its database is PostgreSQL's.
    """
    if not _lacks_database(settings):
        return
    address = address_of_running_service(settings.data)
    if address is not None:
        message = (
            f"the service of {settings.data.resolve()} at {address} uses a PostgreSQL "
            "database: set DATABASE_URL as it does"
        )
        raise UnusableInstallationError(message)


@contextlib.contextmanager
def open_services_of_any_schema(settings: Settings) -> Iterator[Services]:
    """Open the services of existing data, whatever its schema; change nothing.

    Raises:
        UnusableInstallationError: when there is no database.
        UnsafeStorageError: when it must not be opened.
    """
    refuse_second_installation(settings)
    if _lacks_database(settings):
        folder = settings.data.resolve()
        message = f"there is no database in {folder}; choose its folder with --data"
        raise UnusableInstallationError(message)
    services = build_services(settings, creates_folder=False)
    try:
        yield services
    finally:
        services.close()


COMMAND_LINE: Final = "command line"
"""The author of a command's changes in the audit log and in histories."""


def database_with_audit_entry(
    services: Services, store: Store, action: str, detail: str
) -> Database:
    """Return the database; its next transaction also stores a line of the audit log."""
    entry = AuditEntry(services.clock(), COMMAND_LINE, action, detail)
    return with_audit_entry(services.database, store.store_id, entry)
