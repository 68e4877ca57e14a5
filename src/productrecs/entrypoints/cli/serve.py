"""`productrecs serve`: the API, the background and the timetable, in one command."""

import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import click

from productrecs.core.errors import ProductRecsError
from productrecs.entrypoints.cli.listening import (
    address_of,
    listen,
    listening_options,
    settings_of,
)
from productrecs.entrypoints.cli.supervisor import Role, Supervisor
from productrecs.entrypoints.logs import configure_logging
from productrecs.settings import Settings


@click.command
@listening_options
def serve(
    host: str | None, port: int | None, data: Path | None, workers: int | None
) -> None:
    """Run everything: the API, the background jobs and their timetable.

    Stop it with SIGTERM or Ctrl-C: every request that was accepted is answered first.
    """
    settings = settings_of(host, port, data, workers)
    sys.exit(supervise(settings, with_worker=True))


def _announce(address: str) -> None:
    click.echo(f"ProductRecs listens on {address}")


def supervise(
    settings: Settings, *, with_worker: bool, announce: Callable[[str], None] = _announce
) -> int:
    """Run API processes, and one for the background, until told to stop.

    Returns the exit status. The database is migrated before anything starts; `announce`
    is told the address once requests are answered.

    Raises:
        ListenError: when the address cannot be listened on.
    """
    configure_logging(settings.log_format)
    listener = listen(settings.host, settings.port)
    if _migrate_aside(settings) != 0:
        return 1
    address, number = address_of(listener), listener.fileno()
    folder = ("--data", str(settings.data))
    roles = [
        Role(f"api {index + 1}", ("api", *folder, "--fd", str(number)), (number,))
        for index in range(settings.workers)
    ]
    if with_worker:
        roles.append(Role("worker", ("worker", *folder)))
    supervisor = Supervisor(
        roles,
        on_ready=lambda: announce(address),
        on_stop=listener.close,
    )
    return supervisor.run()


def _migrate_aside(settings: Settings) -> int:
    """Migrate in a process of its own, whose memory goes with it; return its status."""
    child = os.fork()
    if child == 0:
        os._exit(_migrate(settings))  # nothing that the supervisor would do at its end
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _migrate(settings: Settings) -> int:
    try:
        from productrecs.entrypoints.cli.session import opened  # noqa: PLC0415 - heavy

        with opened(settings.data):
            return 0
    except ProductRecsError as error:
        click.echo(f"Error: {error}", err=True)
    except Exception:  # not to be handled twice: this is a copy of the supervisor
        traceback.print_exc()
    return 1
