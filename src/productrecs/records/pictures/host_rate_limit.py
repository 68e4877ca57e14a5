"""Host rate limit: at most two requests at once and two a second to each host."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

MAX_CONCURRENT_PER_HOST: Final = 2
MAX_PER_SECOND: Final = 2.0
_LONGEST_REST: Final = 600.0
_FORGOTTEN_AFTER: Final = 4_096


@dataclass(slots=True)
class _Host:
    in_flight: int = 0  # requests
    next_at: float = 0.0
    pauses: int = 0  # consecutive ones


class HostRateLimiter:
    """Rate limiter of the hosts that serve pictures; safe to share between threads."""

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        """Know no host yet."""
        self._seconds = seconds
        self._lock = threading.Lock()
        self._hosts: dict[str, _Host] = {}

    def take(self, host: str, *, is_ours: bool = False) -> bool:
        """Reserve a request to a host, if it is allowed now; call `end` afterwards.

        Hosts that the operator listed as trusted have no rate limit.
        """
        with self._lock:
            if len(self._hosts) > _FORGOTTEN_AFTER:
                self._hosts = {n: one for n, one in self._hosts.items() if one.in_flight}
            one, now = self._hosts.setdefault(host, _Host()), self._seconds()
            if now < one.next_at or (
                one.in_flight >= MAX_CONCURRENT_PER_HOST and not is_ours
            ):
                return False
            one.in_flight += 1
            one.next_at = now if is_ours else now + 1.0 / MAX_PER_SECOND
            return True

    def end(self, host: str, *, rest: bool = False, seconds: float = 0.0) -> None:
        """Note that a host answered; `rest` when it asked for a pause."""
        with self._lock:
            one = self._hosts.setdefault(host, _Host(in_flight=1))
            one.in_flight = max(0, one.in_flight - 1)
            if not rest:
                one.pauses = 0
                return
            one.pauses += 1
            pause = max(seconds, 2.0**one.pauses)
            one.next_at = self._seconds() + min(pause, _LONGEST_REST)

    def seconds_until_free(self, hosts: set[str]) -> float:
        """Return the seconds until one of the hosts allows a request; 0 for now."""
        with self._lock:
            now = self._seconds()
            waits = [
                max(0.0, one.next_at - now)
                for name in hosts
                if (one := self._hosts.get(name)) is not None
            ]
        return min(waits) if len(waits) == len(hosts) and waits else 0.0
