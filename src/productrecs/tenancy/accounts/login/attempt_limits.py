"""Login attempt limits: token buckets of failures, by account and by address.

Kept in the memory of one process: with several API processes the limit is so many times
higher, and a restart forgets it. Argon2id makes each guess cost tens of milliseconds.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from productrecs.core.errors import ProductRecsError

_MAX_BUCKETS: Final = 20_000


class TooManyAttemptsError(ProductRecsError):
    """Too many logins failed; `seconds` is how long to wait."""

    def __init__(self, seconds: int) -> None:
        """Say how long to wait."""
        minutes = max(1, round(seconds / 60))
        super().__init__(
            f"too many logins failed; try again in {minutes} "
            f"{'minute' if minutes == 1 else 'minutes'}, or reset the password"
        )
        self.seconds = seconds


@dataclass(slots=True)
class _Bucket:
    left: float
    at: float


class AttemptLimits:
    """Failures that are allowed: at once `burst` for each name, then one in `seconds`."""

    def __init__(self, burst: int, seconds: float, clock: Callable[[], float]) -> None:
        """Start with nothing counted."""
        self._burst = burst
        self._seconds = seconds
        self._clock = clock
        self._buckets: dict[str, _Bucket] = {}
        self._changing = threading.Lock()

    def check(self, *names: str) -> None:
        """Pass while every name has attempts left.

        Raises:
            TooManyAttemptsError: when one has none.
        """
        with self._changing:
            wait = max(self._wait(name) for name in names)
        if wait > 0:
            raise TooManyAttemptsError(round(wait) + 1)

    def failed(self, *names: str) -> None:
        """Count a failure against every name."""
        with self._changing:
            for name in names:
                self._bucket(name).left -= 1
            while len(self._buckets) > _MAX_BUCKETS:
                del self._buckets[next(iter(self._buckets))]

    def succeeded(self, *names: str) -> None:
        """Forget the failures of every name."""
        with self._changing:
            for name in names:
                self._buckets.pop(name, None)

    def _wait(self, name: str) -> float:
        if name not in self._buckets:
            return 0.0
        left = self._bucket(name).left
        return 0.0 if left >= 1 else (1 - left) * self._seconds

    def _bucket(self, name: str) -> _Bucket:
        now = self._clock()
        bucket = self._buckets.setdefault(name, _Bucket(self._burst, now))
        gained = (now - bucket.at) / self._seconds
        bucket.left, bucket.at = min(self._burst, bucket.left + gained), now
        return bucket
