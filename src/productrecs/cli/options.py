"""Options that commands share: data folder, JSON, and the worker's connection."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from productrecs.processes.process_messages import ParentConnection

Command = TypeVar("Command", bound=Callable[..., Any])


data_option = click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="PRODUCTRECS_DATA",
    help="The folder of the embedded database and the models (default ./data).",
)
"""`--data DIR`, which every command has; its value is None when not given."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def joined_options(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Return several options as one decorator, in this order."""

    def add_options(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add_options


_PARENT_EXITED: Final = 3


def _connect_to_parent(
    _context: click.Context, _option: click.Parameter, number: int | None
) -> ParentConnection | None:
    """Return the connection to the worker; this process exits when the worker exits."""
    if number is None:
        return None
    parent = ParentConnection.inherited(number)
    parent.stop_with_parent(lambda: os._exit(_PARENT_EXITED))
    return parent


parent_option = click.option("--parent", type=int, callback=_connect_to_parent, hidden=True)
"""The hidden option of a command that a worker runs in a child process."""
