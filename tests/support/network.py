"""Network block: sockets of the test process reach this machine only."""

from __future__ import annotations

import ipaddress
import socket
import sys


class NetworkError(RuntimeError):
    """A test tried to leave this machine."""


def stay_at_home() -> None:
    """Refuse from now on, in this process, every connection to another machine."""
    sys.addaudithook(_audit)


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if event in {"socket.connect", "socket.sendto"}:
        connecting, address = arguments
        if isinstance(connecting, socket.socket) and isinstance(address, tuple):
            _check(connecting.family, str(address[0]))


def _check(family: socket.AddressFamily | int, host: str) -> None:
    if family not in {socket.AF_INET, socket.AF_INET6} or host == "localhost":
        return
    try:
        at_home = ipaddress.ip_address(host).is_loopback
    except ValueError:
        at_home = False
    if not at_home:
        message = f"a test may not reach {host}: tests have no network"
        raise NetworkError(message)
