"""Listening socket: the options for its address, and the socket itself."""

import errno
import os
import socket
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click

from productrecs.cli.options import data_option, joined_options
from productrecs.core.errors import ProductRecsError
from productrecs.settings import Settings, from_environment

BACKLOG: Final = 2_048
BIND_RETRY_SECONDS: Final = 2.0
_ANY_ADDRESS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - to connect to
listening_options = joined_options(
    click.option("--host", envvar="PRODUCTRECS_HOST", help="The address to listen on."),
    click.option(
        "--port",
        envvar="PRODUCTRECS_PORT",
        type=click.IntRange(0, 65_535),
        help="The port to listen on; 0 takes a free one.",
    ),
    data_option,
    click.option(
        "--workers",
        envvar="PRODUCTRECS_WORKERS",
        type=click.IntRange(1, 64),
        help="How many API processes to run.",
    ),
)


class ListenError(ProductRecsError):
    """Listening on the address failed; the message says why and what to do."""


def settings_from_options(
    host: str | None = None,
    port: int | None = None,
    data: Path | None = None,
    workers: int | None = None,
) -> Settings:
    """Return the settings of the environment, overridden by the given options."""
    settings = from_environment(os.environ, data)
    options = {"host": host, "port": port, "workers": workers}
    chosen: dict[str, Any] = {key: one for key, one in options.items() if one is not None}
    return replace(settings, **chosen)


def open_listening_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket; wait if the previous process is still stopping.

    Raises:
        ListenError: when the address is unknown, taken or forbidden.
    """
    try:
        family, kind, protocol, _, address = sorted(
            socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        )[0]  # IPv4 first
    except OSError as error:
        message = f"{host!r} is not an address of this machine; choose another with --host"
        raise ListenError(message) from error
    deadline = time.monotonic() + BIND_RETRY_SECONDS
    while True:
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
            listener.listen(BACKLOG)
        except OSError as error:
            listener.close()
            if error.errno != errno.EADDRINUSE or time.monotonic() > deadline:
                raise ListenError(_bind_error_message(error, host, port)) from error
            time.sleep(0.05)
        else:
            return listener


def listener_url(listener: socket.socket) -> str:
    """Return the address for a browser on this machine, such as `http://127.0.0.1:8000`."""
    host, port = listener.getsockname()[:2]
    host = _ANY_ADDRESS.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _bind_error_message(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"port {port} of {host} is in use by another program; stop it, or choose "
            "another port with --port"
        )
    if error.errno == errno.EACCES:
        return (
            f"this user is not allowed to listen on port {port}; choose one above 1023 "
            "with --port"
        )
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{host!r} is not an address of this machine; choose another with --host"
    return f"cannot listen on port {port} of {host}: {os.strerror(error.errno or 0)}"
