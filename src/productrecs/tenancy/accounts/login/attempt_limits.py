"""Login attempt limits: token buckets of failures, by account and by address.

They are rows of the database, so every API process counts together and a restart keeps
them. Argon2id makes each guess cost tens of milliseconds as well.
"""

import hashlib
import ipaddress
from collections.abc import Iterable
from typing import Final

from productrecs.core.clock import Clock
from productrecs.core.errors import ProductRecsError
from productrecs.storage.database import Database
from productrecs.tenancy.accounts.login.repository import AttemptRepository

_SITE: Final = 64  # bits of an IPv6 address that one customer of a provider has


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


class AttemptLimits:
    """Failures that are allowed: at once `burst` for each name, then one in `seconds`.

    A bucket is one number: when it will be full again. Each failure moves that on by
    `seconds`, in one statement, so that failures of two processes both count.
    """

    def __init__(
        self, database: Database, clock: Clock, burst: int, seconds: float
    ) -> None:
        """Count in `database`, by the machine's clock."""
        self._database = database
        self._clock = clock
        self._each_ms = round(seconds * 1000)
        self._burst = burst

    def check(self, *names: str) -> None:
        """Pass while every name has attempts left.

        Raises:
            TooManyAttemptsError: when one has none.
        """
        with self._database.reading() as connection:
            full_at = AttemptRepository(connection).full_at(_hashes(names))
        wait_ms = full_at - self._clock() - (self._burst - 1) * self._each_ms
        if wait_ms > 0:
            raise TooManyAttemptsError(round(wait_ms / 1000) + 1)

    def failed(self, *names: str) -> None:
        """Count a failure against every name; delete the buckets that are full again."""
        now_ms = self._clock()
        with self._database.transaction() as transaction:
            attempts = AttemptRepository(transaction)
            attempts.purge(now_ms)
            for one in _hashes(names):
                attempts.extend(one, now_ms, self._each_ms)

    def succeeded(self, *names: str) -> None:
        """Delete the failures of every name."""
        with self._database.transaction() as transaction:
            AttemptRepository(transaction).delete(_hashes(names))


def network_of(address: str) -> str:
    """Return what is counted of an address: of IPv6 the /64, which is one customer's."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if found.version == 4:  # noqa: PLR2004 - the Internet Protocol's
        return address
    return str(ipaddress.ip_network((int(found), _SITE), strict=False))


def _hashes(names: Iterable[str]) -> list[str]:
    """Return the keys of names, in an order in which no two processes can deadlock."""
    return sorted(hashlib.sha256(name.encode()).hexdigest() for name in names)
