"""Login attempt limits: token buckets of failures, by account and by address.

Buckets are database rows, so all API processes share them and they survive a restart.
Argon2id also makes each guess cost tens of milliseconds.
"""

import hashlib
import ipaddress
from collections.abc import Iterable
from typing import Final

from productrecs.core.clock import Clock
from productrecs.core.errors import ProductRecsError
from productrecs.storage.sql.database import Database
from productrecs.tenancy.users.login_attempts.repository import LoginAttemptRepository

_SITE: Final = 64  # IPv6 prefix length that one customer of a provider has


class TooManyAttemptsError(ProductRecsError):
    """Too many logins failed; `seconds` is the time to wait."""

    def __init__(self, seconds: int) -> None:
        """Set the time to wait."""
        minutes = max(1, round(seconds / 60))
        super().__init__(
            f"too many logins failed; try again in {minutes} "
            f"{'minute' if minutes == 1 else 'minutes'}, or reset the password"
        )
        self.seconds = seconds


class LoginAttemptLimits:
    """Token bucket of failures per name: `burst` at once, then one per `seconds`.

    A bucket is stored as the time at which it will be full again. Each failure adds
    `seconds` in one statement, so that concurrent failures both count.
    """

    def __init__(
        self, database: Database, clock: Clock, burst: int, seconds: float
    ) -> None:
        """Use buckets in `database`, by the machine's clock."""
        self._database = database
        self._clock = clock
        self._each_ms = round(seconds * 1000)
        self._burst = burst

    def check_attempts_left(self, *names: str) -> None:
        """Return if every name has attempts left.

        Raises:
            TooManyAttemptsError: when a name has none left.
        """
        with self._database.reading() as connection:
            refill_ms = LoginAttemptRepository(connection).latest_refill_ms(_hashes(names))
        wait_ms = refill_ms - self._clock() - (self._burst - 1) * self._each_ms
        if wait_ms > 0:
            raise TooManyAttemptsError(round(wait_ms / 1000) + 1)

    def count_failure(self, *names: str) -> None:
        """Count a failure for every name; delete the buckets that are full again."""
        now_ms = self._clock()
        with self._database.transaction() as transaction:
            attempts = LoginAttemptRepository(transaction)
            attempts.purge(now_ms)
            for name_hash in _hashes(names):
                attempts.count_failure(name_hash, now_ms, self._each_ms)

    def clear_failures(self, *names: str) -> None:
        """Delete the failures of every name."""
        with self._database.transaction() as transaction:
            LoginAttemptRepository(transaction).delete(_hashes(names))


def network_of(address: str) -> str:
    """Return the network of an address that is counted: for IPv6 its /64."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if found.version == 4:  # noqa: PLR2004 - the Internet Protocol's
        return address
    return str(ipaddress.ip_network((int(found), _SITE), strict=False))


def _hashes(names: Iterable[str]) -> list[str]:
    """Return the hashed names, sorted so that processes cannot deadlock."""
    return sorted(hashlib.sha256(name.encode()).hexdigest() for name in names)
