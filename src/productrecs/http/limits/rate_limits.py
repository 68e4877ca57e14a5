"""Rate limits: a leaky bucket for each key and address, shared by the processes."""

import math
import time
from array import array
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, NamedTuple

from productrecs.core.errors import ProductRecsError

if TYPE_CHECKING:
    from productrecs.settings import Settings

    Cells = memoryview[float] | array[float]
from productrecs.http.limits.client_address import public_network_of

BURST_SECONDS: Final = 10


"""The burst size, in seconds of the rate."""


_CELLS: Final = 2  # per bucket: the hash of its caller, and when it will be empty


_PROBED_BUCKETS: Final = 4  # candidate buckets of one caller (linear probing)


HeaderLine = tuple[bytes, bytes]  # of a reply's headers


class TooManyRequestsError(ProductRecsError):
    """A caller is over its rate limit, and may call again after some seconds.

    `rate_limit_headers` are the RateLimit headers of the reply.
    """

    def __init__(
        self,
        message: str,
        after_seconds: int,
        rate_limit_headers: Sequence[HeaderLine] = (),
    ) -> None:
        """Store the contents of the reply."""
        super().__init__(message)
        self.after_seconds = after_seconds
        self.rate_limit_headers = rate_limit_headers


class BucketLevel(NamedTuple):
    """How full a caller's bucket is, this call included."""

    limit: "RateLimit"
    cell: int
    caller_hash: float
    empty_at: float  # by the clock of the limit
    checked_at: float  # by the same clock

    def rate_limit_headers(self) -> tuple[HeaderLine, HeaderLine]:
        """Return the RateLimit headers (draft-ietf-httpapi-ratelimit-headers)."""
        limit, wait = self.limit, max(0.0, self.empty_at - self.checked_at)
        remaining = max(0, math.floor(limit.burst - wait * limit.per_second))
        name, policy = limit.name, (limit.burst, limit.burst / limit.per_second)
        return (
            (b"ratelimit-policy", b'"%b";q=%d;w=%d' % (name, *policy)),
            (b"ratelimit", b'"%b";r=%d;t=%d' % (name, remaining, math.ceil(wait))),
        )


class RateLimit:
    """A leaky bucket for each caller: a burst, then a steady rate."""

    def __init__(
        self,
        name: bytes,
        burst: int,
        per_second: float,
        cells: "Cells | None" = None,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start with empty buckets.

        `cells` holds the buckets, initially 0; the default is memory of this process. When
        all are in use, the bucket that is empty first is reused.
        """
        self.name = name
        self.burst = burst
        self.per_second = per_second
        self._cells = array("d", bytes(8 * 8_192)) if cells is None else cells
        self._seconds = seconds

    def check(self, caller: str) -> BucketLevel:
        """Return the level with one more call, without counting it.

        Raises:
            TooManyRequestsError: when the caller has to wait first.
        """
        now = self._seconds()
        digest = blake2b(self.name + caller.encode(), digest_size=6).digest()
        caller_hash = float(int.from_bytes(digest) + 1)  # exact in a double, and never 0
        cell = self._find_own_or_reusable_cell(caller_hash, now)
        empty_at_before = self._cells[cell + 1] if self._cells[cell] == caller_hash else now
        empty_at = max(empty_at_before, now) + 1 / self.per_second
        wait_seconds = empty_at - now - self.burst / self.per_second
        if wait_seconds > 1e-9:  # noqa: PLR2004 - rounding error of doubles
            message = (
                f"more than {self.burst:,} calls arrived at once from this "
                f"{self.name.decode()}; it may send {self.per_second:g} a second"
            )
            full_level = BucketLevel(self, cell, caller_hash, empty_at_before, now)
            retry_seconds = max(1, math.ceil(wait_seconds))
            raise TooManyRequestsError(
                message, retry_seconds, full_level.rate_limit_headers()
            )
        return BucketLevel(self, cell, caller_hash, empty_at, now)

    def count(self, level: BucketLevel) -> None:
        """Count the call."""
        self._cells[level.cell] = level.caller_hash
        self._cells[level.cell + 1] = level.empty_at

    def check_and_count(self, caller: str) -> BucketLevel:
        """Count one call.

        Raises:
            TooManyRequestsError: when the caller has to wait first.
        """
        level = self.check(caller)
        self.count(level)
        return level

    def _find_own_or_reusable_cell(self, caller_hash: float, now: float) -> int:
        """Return the cell of a caller's bucket, else of the bucket that is empty first."""
        cells = self._cells
        buckets = len(cells) // _CELLS
        probed = [
            (int(caller_hash) + step) % buckets * _CELLS
            for step in range(min(_PROBED_BUCKETS, buckets))
        ]
        for cell in probed:
            if cells[cell] == caller_hash:
                return cell
        return min(probed, key=lambda cell: max(cells[cell + 1], now))


class RateLimits:
    """The rate limits of an installation, for each key and each public address."""

    def __init__(
        self,
        of_key: int,
        of_address: int,
        cells: "Cells",
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """Limit the calls per second; 0 means no limit."""
        self._seconds = seconds
        self._of_key = self._make_limit(b"key", of_key, cells)
        self._of_address = self._make_limit(b"address", of_address, cells)

    @classmethod
    def of(cls, settings: "Settings", cells: "Cells") -> "RateLimits | None":
        """Return the rate limits of `settings`; None if all are off."""
        if not settings.rate_per_key and not settings.rate_per_address:
            return None
        return cls(settings.rate_per_key, settings.rate_per_address, cells)

    def check_address(self, address: str) -> BucketLevel | None:
        """Return the level of an address; None if it is not limited.

        Raises:
            TooManyRequestsError: when the address has to wait first.
        """
        network = None if self._of_address is None else public_network_of(address)
        if self._of_address is None or network is None:
            return None
        return self._of_address.check(network)

    def check_key(self, key: str) -> BucketLevel | None:
        """Return the level of a key; None if keys are not limited.

        Raises:
            TooManyRequestsError: when callers with the key have to wait first.
        """
        return None if self._of_key is None else self._of_key.check(key)

    def _make_limit(self, name: bytes, per_second: int, cells: "Cells") -> RateLimit | None:
        if not per_second:
            return None
        return RateLimit(name, per_second * BURST_SECONDS, per_second, cells, self._seconds)
