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
    asked: int = 0  # now
    next_at: float = 0.0
    rests: int = 0  # one after the other


class HostRateLimiter:
    """Rate limiter of the hosts that serve pictures; safe to share between threads."""

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        """Know no host yet."""
        self._seconds = seconds
        self._lock = threading.Lock()
        self._hosts: dict[str, _Host] = {}

    def take(self, host: str, *, is_ours: bool = False) -> bool:
        """Begin to ask a host, if it may be asked now; call `end` afterwards.

        Hosts that the operator named as his own are asked without a pace.
        """
        with self._lock:
            if len(self._hosts) > _FORGOTTEN_AFTER:
                self._hosts = {n: one for n, one in self._hosts.items() if one.asked}
            one, now = self._hosts.setdefault(host, _Host()), self._seconds()
            if now < one.next_at or (one.asked >= MAX_CONCURRENT_PER_HOST and not is_ours):
                return False
            one.asked += 1
            one.next_at = now if is_ours else now + 1.0 / MAX_PER_SECOND
            return True

    def end(self, host: str, *, rest: bool = False, seconds: float = 0.0) -> None:
        """Note that a host answered; `rest` when it asked to be left alone for a while."""
        with self._lock:
            one = self._hosts.setdefault(host, _Host(asked=1))
            one.asked = max(0, one.asked - 1)
            if not rest:
                one.rests = 0
                return
            one.rests += 1
            pause = max(seconds, 2.0**one.rests)
            one.next_at = self._seconds() + min(pause, _LONGEST_REST)

    def seconds_until_free(self, hosts: set[str]) -> float:
        """Return in how many seconds one of the hosts may be asked; 0 for now."""
        with self._lock:
            now = self._seconds()
            waits = [
                max(0.0, one.next_at - now)
                for name in hosts
                if (one := self._hosts.get(name)) is not None
            ]
        return min(waits) if len(waits) == len(hosts) and waits else 0.0
