"""Network block: sockets of the test process reach this machine only."""

import contextlib
import ipaddress
import socket
import sys
from collections.abc import Iterator

_ALLOWED: list[ipaddress.IPv4Network | ipaddress.IPv6Network] = []


class NetworkError(RuntimeError):
    """A test tried to leave this machine."""


def block_other_machines() -> None:
    """Refuse from now on, in this process, every connection to another machine."""
    sys.addaudithook(_audit)


@contextlib.contextmanager
def allowed(own: ipaddress.IPv4Network | ipaddress.IPv6Network) -> Iterator[None]:
    """Allow addresses of namespaces of this machine while the block runs."""
    _ALLOWED.append(own)
    try:
        yield
    finally:
        _ALLOWED.remove(own)


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if event in {"socket.connect", "socket.sendto"}:
        connecting, address = arguments
        if isinstance(connecting, socket.socket) and isinstance(address, tuple):
            _check(connecting.family, str(address[0]))


def _check(family: socket.AddressFamily | int, host: str) -> None:
    if family not in {socket.AF_INET, socket.AF_INET6} or host == "localhost":
        return
    try:
        address = ipaddress.ip_address(host)
        is_local = address.is_loopback or any(address in own for own in _ALLOWED)
    except ValueError:
        is_local = False
    if not is_local:
        message = f"a test may not reach {host}: tests have no network"
        raise NetworkError(message)
