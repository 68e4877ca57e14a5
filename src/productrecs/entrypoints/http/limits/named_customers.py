"""Named customers: how many customers' ids one network names without proof.

Whoever tries one customer number after another reads the interests of all of them. A
network that names too many is served as anonymous.
"""

import time
from collections.abc import Callable
from typing import Final

from productrecs.core.cache_registry import BoundedCache, Cache
from productrecs.core.ids import StoreId
from productrecs.entrypoints.http.limits.bot_detection import FLAGGED_SECONDS

MAX_CUSTOMERS: Final = 60
"""The most customers that a network may name in an hour."""

_HOUR: Final = 3_600.0


class NamedCustomers:
    """The customers that networks named in one process in the last hour."""

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        """Start without any."""
        self._seconds = seconds
        self._named = BoundedCache[tuple[StoreId, str], dict[str, float]](
            Cache.NAMED_CUSTOMERS
        )
        self._anonymous_until = BoundedCache[tuple[StoreId, str], float](
            Cache.ANONYMOUS_NETWORKS
        )

    def is_anonymous(self, store_id: StoreId, network: str | None) -> bool:
        """Return whether a network is served as anonymous; a private one never is."""
        if network is None:
            return False
        until = self._anonymous_until.get((store_id, network))
        return until is not None and until > self._seconds()

    def count(self, store_id: StoreId, network: str | None, customer: str) -> None:
        """Count that a network named a customer."""
        if network is None:
            return
        now, key = self._seconds(), (store_id, network)
        named = self._named.get(key)
        if named is None:
            named = self._named.put(key, {})
        named.pop(customer, None)
        named[customer] = now
        if len(named) <= MAX_CUSTOMERS:
            return
        for name in [name for name, at in named.items() if at <= now - _HOUR]:
            del named[name]
        if len(named) > MAX_CUSTOMERS:
            del named[next(iter(named))]
            self._anonymous_until.put(key, now + FLAGGED_SECONDS)
