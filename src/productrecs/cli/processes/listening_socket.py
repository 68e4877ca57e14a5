"""Listening socket: opens it, and says why an address cannot be listened on."""

import errno
import os
import socket
import time
from typing import Final

from productrecs.core.errors import ProductRecsError

BACKLOG: Final = 2_048
BIND_RETRY_SECONDS: Final = 2.0
_ANY_ADDRESS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - to connect to


class ListenError(ProductRecsError):
    """Listening on the address failed; the message says why and what to do."""


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
