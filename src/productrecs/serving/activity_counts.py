"""Activity counts: a store's events and orders of the last 30 days, cached if slow."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from productrecs.core.cache_registry import RegisteredCache
from productrecs.core.clock import DAY_MS
from productrecs.core.ids import StoreId
from productrecs.records.events.repository import EventRepository
from productrecs.records.purchases.repository import PurchaseRepository
from productrecs.services import Services

WINDOW_MS: Final = 30 * DAY_MS
_FAST_SECONDS: Final = 0.1
_CACHE_FACTOR: Final = 20.0


@dataclass(frozen=True, slots=True)
class ActivityCounts:
    """Events and orders of the last 30 days, by the time they happened."""

    events: int  # rows of the log: an impression counts for each product shown
    orders: int


class ActivityCounter:
    """Counts activity by reading a store's log. Thread-safe.

    A slow count is cached for a multiple of the time it took, up to a minute; a quick one
    is not cached.
    """

    def __init__(
        self, services: Services, seconds: Callable[[], float] = time.monotonic
    ) -> None:
        """Count with the business clock of `services`; `seconds` times the counting."""
        self._services = services
        self._seconds = seconds
        self._cached: dict[StoreId, tuple[float, ActivityCounts]] = {}  # with expiry time
        self._changing = threading.Lock()

    def cached_or_counted(self, store_id: StoreId) -> ActivityCounts:
        """Return the store's activity. Blocks: not for the event loop."""
        began = self._seconds()
        cached = self._cached.get(store_id)
        if cached is not None and began < cached[0]:
            return cached[1]
        activity = self._count_activity(store_id)
        ended = self._seconds()
        with self._changing:
            self._cached = {
                cached_id: cached_counts
                for cached_id, cached_counts in self._cached.items()
                if ended < cached_counts[0]
            }
            if ended - began > _FAST_SECONDS:
                lifetime = min(
                    _CACHE_FACTOR * (ended - began), RegisteredCache.ACTIVITY_COUNTS.limit
                )
                self._cached[store_id] = (ended + lifetime, activity)
        return activity

    def _count_activity(self, store_id: StoreId) -> ActivityCounts:
        until_ms = self._services.clock()
        since_ms = until_ms - WINDOW_MS
        with self._services.database.reading() as connection:
            events = EventRepository(connection, store_id).count_events(since_ms, until_ms)
            repository = PurchaseRepository(connection, store_id)
            buys, orders = repository.count_buys_and_orders(since_ms, until_ms)
        return ActivityCounts(events=events + buys, orders=orders)
