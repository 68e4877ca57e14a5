"""Daily network caps: how many visits and purchases a day one network adds to models.

Visits are easy to invent: a program on one machine can pretend to be hundreds of shoppers.
What a network sends beyond its share of a day is stored as `excess`. It is the shopper's
own history and counts in reports, but no model learns from it. Addresses are never stored:
the counts are in memory, under a hash that only this process can compute.
"""

import ipaddress
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from productrecs.core.cache_registry import BoundedCache, RegisteredCache
from productrecs.core.clock import DAY_MS
from productrecs.core.ids import StoreId
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.tenancy.accounts.key_uses.repository import KeyUseRepository
from productrecs.tenancy.accounts.repository import AccountRepository

SHARE_OF_DAY: Final = 0.02
"""A network of a large store, such as a mobile carrier's, may add this share of a day."""


SHARE_OF_PRODUCT: Final = 12
"""One product may take one in so many of a network's visits and purchases."""


SHARE_OF_PAIR: Final = 60
"""Two products of one visit may take one in so many of a network's visits."""

_PAIRED: Final = 20
"""With how many earlier products of its visit a product makes pairs."""


class NetworkActivity(NamedTuple):
    """What a network sent: a visit or a purchase, and its products."""

    network: str
    unit: str
    items: tuple[str, ...]


@dataclass(slots=True)
class _DailyNetworkUsage:
    """What counts of one network and day: the products of each visit or purchase."""

    units: dict[int, dict[int, None]] = field(default_factory=dict)  # hashes, in order
    products: Counter[int] = field(default_factory=Counter)  # in how many units
    pairs: Counter[int] = field(default_factory=Counter)  # in how many units

    def add(self, unit: int, new: Iterable[int], pairs: Iterable[int]) -> None:
        """Count the products that a unit did not have, and their pairs."""
        self.units.setdefault(unit, {}).update(dict.fromkeys(new))
        self.products.update(new)
        self.pairs.update(pairs)


class DailyNetworkCounts:
    """The visits and purchases of each network and day that models may learn from."""

    def __init__(self) -> None:
        """Start without any."""
        self._networks = BoundedCache[int, _DailyNetworkUsage](
            RegisteredCache.NETWORK_SHARES
        )
        self._totals = BoundedCache[tuple[StoreId, int], int](RegisteredCache.NETWORK_DAYS)

    def is_excess_else_count(
        self, store_id: StoreId, sent: NetworkActivity, now_ms: int, minimum: int
    ) -> bool:
        """Count what a network sent, unless it has used up its share of the day."""
        day, unit_code = now_ms // DAY_MS, hash(sent.unit)
        network_code = hash((store_id, day, sent.network))
        network = self._networks.get(network_code)
        if network is None:
            network = self._networks.put(network_code, _DailyNetworkUsage())
        total = self._totals.get((store_id, day)) or 0
        before = self._totals.get((store_id, day - 1)) or 0
        limit = max(minimum, int(SHARE_OF_DAY * max(total, before)))
        is_new = unit_code not in network.units
        earlier = network.units.get(unit_code, {})
        new = {code for item in sent.items if (code := hash(item)) not in earlier}
        # A product after others of its visit: what models of browsing learn from.
        recent = list(earlier)[-_PAIRED:]
        pairs = [hash(frozenset((hashed, other))) for hashed in new for other in recent]
        of_product = max(1, limit // SHARE_OF_PRODUCT)
        of_pair = max(1, limit // SHARE_OF_PAIR)
        if (
            (is_new and len(network.units) >= limit)
            or any(network.products[hashed] >= of_product for hashed in new)
            or any(network.pairs[hashed] >= of_pair for hashed in pairs)
        ):
            return True
        network.add(unit_code, new, pairs)
        if is_new:
            self._totals.put((store_id, day), total + 1)
        return False


class DailyNetworkCap:
    """The rule of one store in one transaction; reads the store's settings when needed."""

    def __init__(
        self, log: StoreLogTransaction, counts: DailyNetworkCounts | None, now_ms: int
    ) -> None:
        """Without `counts` nothing is excess, as in imports."""
        self._log = log
        self._counts = counts
        self._now_ms = now_ms
        self._policy: tuple[int, tuple[str, ...]] | None = None

    def is_excess_else_count(
        self, network: str | None, unit: str, items: Iterable[str]
    ) -> bool:
        """Return whether a visit or a purchase is beyond its network's share of the day."""
        if self._counts is None or network is None:
            return False
        least, servers = self._policy or self._read_policy()
        if least == 0 or any(_is_in_network(address, network) for address in servers):
            return False
        sent = NetworkActivity(network, unit, tuple(items))
        return self._counts.is_excess_else_count(
            self._log.store_id, sent, self._now_ms, least
        )

    def _read_policy(self) -> tuple[int, tuple[str, ...]]:
        """Return the store's limit, and the addresses of its servers: they use its keys."""
        transaction, store_id = self._log.transaction, self._log.store_id
        least = AccountRepository(transaction).settings(store_id).network_share
        servers = KeyUseRepository(transaction, store_id).last_addresses()
        self._policy = (least, tuple(servers.values()))
        return self._policy


def _is_in_network(address: str, network: str) -> bool:
    """Return whether an address is, or belongs to, a network."""
    if "/" not in network:
        return address == network
    try:
        return ipaddress.ip_address(address) in ipaddress.ip_network(network)
    except ValueError:
        return False
