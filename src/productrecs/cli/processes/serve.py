"""`productrecs serve`: the API, the background jobs and their schedule, in one command."""

import contextlib
import os
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from productrecs.cli.last_service_run import record_end_of_service, write_service_run
from productrecs.cli.main import run_command
from productrecs.cli.processes.listening_options import (
    listening_options,
    settings_from_options,
)
from productrecs.cli.processes.listening_socket import (
    listener_url,
    open_listening_socket,
)
from productrecs.cli.processes.service_lock import lock_data_folder
from productrecs.cli.settings_and_folder_owner import switch_to_folder_owner
from productrecs.cli.unknown_settings import log_unknown_settings
from productrecs.core.errors import StorageError
from productrecs.core.private_folders import temp_folder
from productrecs.logs import configure_logging
from productrecs.processes.process_slot_and_shared_memory import (
    ProcessSlot,
    SharedMemory,
    create_metrics_folder,
)
from productrecs.processes.supervisor import ProcessRole, Supervisor
from productrecs.settings import Settings

_PROGRAM: Final = (sys.executable, "-m", "productrecs")
_LONGEST_SOCKET_PATH: Final = 107  # bytes: `sun_path` of Linux, without its last zero


@click.command
@listening_options
def serve(
    host: str | None, port: int | None, data: Path | None, workers: int | None
) -> None:
    """Run everything: the API, the background jobs and their schedule.

    Stop it with SIGTERM or Ctrl-C: every accepted request is answered first.

    Example: productrecs serve --port 8000 --data /srv/productrecs --workers 2
    """
    settings = settings_from_options(host, port, data, workers)
    sys.exit(supervise(settings, with_worker=True))


def print_address_and_first_store_link(settings: Settings, address: str) -> None:
    """Print the address, and in a new installation how to create the first store.

    A terminal gets the link. Elsewhere the output may be a log, which must not hold it.
    """
    from productrecs.cli.commands.dashboard_logins import (  # noqa: PLC0415 - not before the socket
        create_first_store_link,
        is_first_store_awaited,
    )

    click.echo(f"ProductRecs listens on {address}")
    link = None
    try:
        if sys.stdout.isatty():
            link = create_first_store_link(settings, address)
        elif is_first_store_awaited(settings):
            click.echo("Run `productrecs account invite` for a link that creates a store")
    except StorageError as error:  # the service runs all the same
        click.echo(f"Run `productrecs account invite` to create a store: {error}")
    if link is not None:
        click.echo(f"Create your first store, within seven days: {link}")


def supervise(
    settings: Settings,
    *,
    with_worker: bool,
    announce: Callable[[Settings, str], None] = print_address_and_first_store_link,
    middleware: str | None = None,
) -> int:
    """Run the API and background processes until told to stop.

    Returns the exit status. The first process migrates the database, then the others
    start; `announce` is called with the address when all of them are ready.
    `middleware` is the MODULE:NAME of an ASGI middleware around each API process, such
    as the demo's.

    Raises:
        ListenError: when the address cannot be listened on.
        UnusableInstallationError: when the data folder belongs to another user, or another
            service runs on it.
    """
    configure_logging(settings.log_format, settings.log_level)
    log_unknown_settings(os.environ)
    listener = open_listening_socket(settings.host, settings.port)
    switch_to_folder_owner(settings)  # now: the port may be one that only root opens
    address, number = listener_url(listener), listener.fileno()
    if middleware is None:
        _preload_api()
    folder = ("--data", str(settings.data))
    middleware_options = () if middleware is None else ("--middleware", middleware)
    with (
        lock_data_folder(settings, address),
        create_writer_socket() as (write_socket, writer_listener),
        create_metrics_folder() as metrics,
    ):
        roles = [
            ProcessRole(
                f"api {index + 1}",
                (
                    "api",
                    *folder,
                    "--fd",
                    str(number),
                    "--write-socket",
                    str(write_socket),
                    *middleware_options,
                ),
                run_command,
                (number,),
                hung_after=30.0,
            )
            for index in range(settings.workers)
        ]
        writer_arguments = (
            "worker",
            *folder,
            "--lane",
            "writing",
            "--fd",
            str(writer_listener.fileno()),
        )
        inherited = (writer_listener.fileno(),)
        roles.append(
            ProcessRole("writer", writer_arguments, run_command, inherited, hung_after=30.0)
        )
        if with_worker:
            roles += background_roles(settings)
        if middleware is not None:  # no fork: this process has used threads and connections
            roles = [replace(role, program=_PROGRAM) for role in roles]
        supervisor = Supervisor(
            with_slots(roles, metrics),
            on_ready=lambda: announce(settings, address),
            on_stop=listener.close,
            on_change=partial(write_service_run, settings.data, address),
        )
        status = supervisor.run()
        record_end_of_service(settings.data, address)
        return status


@contextlib.contextmanager
def create_writer_socket() -> Iterator[tuple[Path, socket.socket]]:
    """Create the socket of the writer process, and return its address with it.

    Only this user can access the folder. The socket outlives the writer process:
    clients that connect meanwhile wait for the restarted one.

    Raises:
        OSError: when it cannot be created; the message says what to change.
    """
    temporary = Path(tempfile.gettempdir())
    with temp_folder(temporary, "productrecs-writer-") as folder:
        path = folder / "socket"
        if len(os.fsencode(path)) > _LONGEST_SOCKET_PATH:
            message = (
                f"The path of the temporary folder, {temporary}, is too long for a socket."
                " Set TMPDIR to a folder with a path of at most 70 characters."
            )
            raise OSError(message)
        with socket.socket(socket.AF_UNIX) as writer_listener:
            writer_listener.bind(str(path))
            writer_listener.listen()
            yield path, writer_listener


def supervise_background(settings: Settings) -> int:
    """Run only the background processes until told to stop; return the status."""
    configure_logging(settings.log_format, settings.log_level)
    log_unknown_settings(os.environ)
    switch_to_folder_owner(settings)
    _preload_worker()
    roles = background_roles(settings)
    return Supervisor(roles, on_ready=lambda: None, on_stop=lambda: None).run()


def _preload_api() -> None:
    """Import the API's modules once, before the API processes fork and share this memory.

    Nothing is opened: forked processes must not share connections or threads.
    """
    # Before numpy is imported: its threads would compete, and a fork does not copy them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    import productrecs.application  # noqa: PLC0415
    import productrecs.cli.open_services  # noqa: PLC0415 - not before the socket
    import productrecs.http.transport.server  # noqa: F401, PLC0415


def _preload_worker() -> None:
    """Import the modules of every background process."""
    import productrecs.cli.open_services  # noqa: F401, PLC0415


def slot_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the hidden option of the process slot."""

    def parse(
        _context: click.Context, _option: click.Parameter, option: str | None
    ) -> ProcessSlot | None:
        return None if option is None else ProcessSlot.parse(option)

    return click.option("--slot", callback=parse, hidden=True)(command)


def with_slots(roles: Sequence[ProcessRole], metrics: Path) -> list[ProcessRole]:
    """Return the roles with a slot each, so that every process can report all metrics."""
    memory = SharedMemory.create(len(roles))
    return [
        replace(
            role,
            command=(
                *role.command,
                "--slot",
                str(ProcessSlot(role.name, number, memory, metrics)),
            ),
            inherits=(*role.inherits, memory.file),
        )
        for number, role in enumerate(roles)
    ]


def background_roles(settings: Settings) -> list[ProcessRole]:
    """Return the background processes: training, indexes, files, pictures."""
    command = ("worker", "--data", str(settings.data), "--lane")
    return [
        ProcessRole("worker", (*command, "learning"), run_command),
        ProcessRole("indexer", (*command, "indexes"), run_command),
        ProcessRole("importer", (*command, "uploads"), run_command),
        ProcessRole("pictures", (*command, "pictures"), run_command),
    ]
