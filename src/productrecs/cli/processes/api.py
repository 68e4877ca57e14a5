"""`productrecs api`: the API without background jobs, for replicas."""

import importlib
import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from productrecs.cli.processes.listening_options import (
    listening_options,
    settings_from_options,
)
from productrecs.cli.processes.listening_socket import (
    listener_url,
    open_listening_socket,
)
from productrecs.cli.processes.serve import slot_option, supervise
from productrecs.cli.processes.service_lock import lock_data_folder
from productrecs.cli.settings_and_folder_owner import switch_to_folder_owner
from productrecs.cli.unknown_settings import log_unknown_settings
from productrecs.logs import configure_logging
from productrecs.processes.child_process import share_malloc_arenas
from productrecs.processes.process_messages import ParentConnection
from productrecs.processes.process_slot_and_shared_memory import ProcessSlot
from productrecs.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from productrecs.http.transport.connection import SharedTransportState
    from productrecs.http.transport.server import Application
    from productrecs.services import Services


@click.command
@listening_options
@click.option("--fd", "listen_fd", type=int, hidden=True)
@click.option("--parent", "parent_fd", type=int, hidden=True)
@click.option("--write-socket", type=click.Path(path_type=Path), hidden=True)
@click.option(
    "--middleware",
    hidden=True,
    help=("MODULE:NAME of an ASGI middleware around the service."),
)
@slot_option
def api(  # noqa: PLR0913, PLR0917 - one an option
    host: str | None,
    port: int | None,
    data: Path | None,
    workers: int | None,
    listen_fd: int | None,
    parent_fd: int | None,
    write_socket: Path | None,
    middleware: str | None,
    slot: ProcessSlot | None,
) -> None:
    """Answer requests only; run `productrecs worker` beside it, once or more.

    Stop it with SIGTERM or Ctrl-C: every request that was accepted is answered first.

    Example: DATABASE_URL=postgresql://... productrecs api --host 0.0.0.0 --workers 4
    """
    settings = settings_from_options(host, port, data, workers)
    if listen_fd is not None and parent_fd is not None:
        listener = socket.socket(fileno=listen_fd)
        supervisor = ParentConnection.inherited(parent_fd)
        _run_api_process(settings, listener, supervisor, slot, write_socket, middleware)
    elif settings.workers > 1:
        sys.exit(supervise(settings, with_worker=False))
    else:
        listener = open_listening_socket(settings.host, settings.port)
        switch_to_folder_owner(settings)
        with lock_data_folder(settings, listener_url(listener)):
            _run_api_process(settings, listener, None)


def _run_api_process(
    settings: Settings,
    listener: socket.socket,
    supervisor: ParentConnection | None,
    slot: ProcessSlot | None = None,
    write_socket: Path | None = None,
    middleware: str | None = None,
) -> None:
    # Before numpy is imported: its threads would compete with other API processes.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Imported here: a supervisor of several processes does not need it.
    from productrecs.application import create_application  # noqa: PLC0415
    from productrecs.cli.open_services import (  # noqa: PLC0415
        DATABASE_WAIT_SECONDS,
        open_and_migrate_services,
    )
    from productrecs.http.limits.connection_limits import MaxConnections  # noqa: PLC0415
    from productrecs.http.transport.server import HttpServerOptions, run_server  # noqa: PLC0415

    share_malloc_arenas()
    configure_logging(settings.log_format, settings.log_level)
    if supervisor is None:  # else it has logged them
        log_unknown_settings(os.environ)
    address = listener_url(listener)

    def on_ready() -> None:
        if supervisor is None:
            click.echo(f"ProductRecs listens on {address}")
        else:
            supervisor.report_ready()
            supervisor.report_alive()

    def create_service(
        services: "Services", state: "SharedTransportState"
    ) -> "Application":
        service = create_application(
            services, state.draining, slot, state.admission, write_socket
        )
        service.logs_requests = settings.access_log
        if not settings.access_log:  # the fast path logs nothing
            state.fast_path = service.fast_path.try_reply_and_meter
        state.request_queue = service.request_queue
        return _wrap_in_middleware(service, services, middleware) if middleware else service

    with open_and_migrate_services(settings, DATABASE_WAIT_SECONDS) as services:
        run_server(
            lambda state: create_service(services, state),
            listener,
            HttpServerOptions(
                parent_fd=None if supervisor is None else supervisor.fileno(),
                limits=MaxConnections(
                    settings.connections or sys.maxsize,
                    settings.connections_per_address or sys.maxsize,
                ),
                on_check=(lambda: None) if supervisor is None else supervisor.report_alive,
            ),
            on_ready,
        )


def _wrap_in_middleware(
    service: "Application", services: "Services", middleware: str
) -> "Application":
    """Return the service wrapped in the ASGI middleware `MODULE:NAME`."""
    module, _, name = middleware.partition(":")
    wrap: Callable[[Application, Services], Application]
    wrap = getattr(importlib.import_module(module), name)
    return wrap(service, services)
