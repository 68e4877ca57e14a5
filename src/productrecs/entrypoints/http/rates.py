"""Does one address ask more often than anybody needs to? A bucket for each that leaks."""

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final

from productrecs.core.errors import ProductRecsError

_MOST_ADDRESSES: Final = 10_000
_LONGEST: Final = 64


class TooManyRequestsError(ProductRecsError):
    """One address asked more often in a minute than anybody needs to."""


class RateLimit:
    """So many calls at once from one address, and so many a second from then on."""

    def __init__(
        self,
        at_once: int,
        a_second: float,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin with every address free to ask; the newest addresses are remembered."""
        self._at_once = at_once
        self._a_second = a_second
        self._seconds = seconds
        self._filled: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, address: str) -> None:
        """Count one call.

        Raises:
            TooManyRequestsError: when the address has to wait first.
        """
        now = self._seconds()
        level, then = self._filled.pop(address, (0.0, now))
        level = max(0.0, level - (now - then) * self._a_second) + 1
        is_over = level > self._at_once
        self._filled[address] = (level - is_over, now)
        if len(self._filled) > _MOST_ADDRESSES:
            self._filled.popitem(last=False)
        if is_over:
            message = (
                f"more than {self._at_once} calls came from this address at once; it may "
                f"send {self._a_second:g} a second"
            )
            raise TooManyRequestsError(message)


def address_of_client(client: tuple[str, int] | None, headers: Mapping[str, str]) -> str:
    """Return where a request comes from: a proxy beside us says for whom it asks."""
    peer = client[0] if client else ""
    told = headers.get("x-forwarded-for", "").split(",")[-1].strip()
    return told[:_LONGEST] if told and _is_beside(peer) else peer


def _is_beside(peer: str) -> bool:
    try:
        return ipaddress.ip_address(peer).is_private
    except ValueError:
        return True  # a socket of this machine has no address
