"""Command context: options that commands share, the open services, and terminal output."""

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from productrecs.core.errors import ProductRecsError
from productrecs.entrypoints.services import Services, build_services
from productrecs.processes.messages import ParentConnection
from productrecs.settings import Settings, from_environment
from productrecs.storage.migrations import migrate

Command = TypeVar("Command", bound=Callable[..., Any])


class DataFolderError(ProductRecsError):
    """The data folder cannot be created or written to."""


def data_option(command: Command) -> Command:
    """Add `--data DIR`, which every command has; its value is None when not given."""
    option = click.option(
        "--data",
        type=click.Path(file_okay=False, path_type=Path),
        envvar="PRODUCTRECS_DATA",
        help="The folder of the embedded database and the models (default ./data).",
    )
    return option(command)


def json_option(command: Command) -> Command:
    """Add `--json`."""
    option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    return option(command)


def settings_for(data: Path | None) -> Settings:
    """Return the settings from the environment and `--data`.

    Raises:
        SettingsError: when the environment holds an invalid value.
    """
    return from_environment(os.environ, data)


@contextlib.contextmanager
def open_services(data: Path | None) -> Iterator[Services]:
    """Open the services; create the folder and migrate the schema if necessary.

    Raises:
        SettingsError: when the environment holds an invalid value.
        DataFolderError: when the folder cannot be created.
        UnsafeStorageError: when the database must not be opened.
    """
    settings = settings_for(data)
    try:
        services = build_services(settings)
    except OSError as error:
        message = (
            f"the data folder {settings.data} cannot be created ({error.strerror}); "
            "choose another with --data"
        )
        raise DataFolderError(message) from error
    try:
        migrate(services.database)
        yield services
    finally:
        services.close()


@contextlib.contextmanager
def open_existing_services(data: Path | None) -> Iterator[Services]:
    """Open the services of existing data; create and migrate nothing.

    Raises:
        SettingsError: when the environment holds an invalid value.
        DataFolderError: when there is no database.
        UnsafeStorageError: when it must not be opened.
    """
    settings = settings_for(data)
    if settings.database_url is None and not settings.database_file.exists():
        message = f"there is no database in {settings.data}; choose its folder with --data"
        raise DataFolderError(message)
    services = build_services(settings)
    try:
        yield services
    finally:
        services.close()


def print_json(value: object) -> None:
    """Print one JSON value to standard output, on one line."""
    click.echo(json.dumps(value, ensure_ascii=False))


@contextlib.contextmanager
def progress(label: str, length: int) -> Iterator[Callable[[int], None]]:
    """Draw a progress bar on a terminal; yield a function to call with each advance."""
    with click.progressbar(
        length=max(length, 1), label=label, file=sys.stderr, hidden=not sys.stderr.isatty()
    ) as bar:
        yield bar.update


def counted(number: int, noun: str) -> str:
    """Return a number with thousands separators and its noun, such as `1,024 rows`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


_PARENT_EXITED: Final = 3


def _connect(
    _context: click.Context, _option: click.Parameter, number: int | None
) -> ParentConnection | None:
    """Return the connection to the worker; this process exits when the worker exits."""
    if number is None:
        return None
    parent = ParentConnection.inherited(number)
    parent.watch(lambda: os._exit(_PARENT_EXITED))
    return parent


parent_option = click.option("--parent", type=int, callback=_connect, hidden=True)
"""The hidden option of a command that a worker runs in a child process."""
