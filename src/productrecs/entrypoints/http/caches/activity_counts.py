"""Activity counts: a store's events and orders of the last 30 days, cached where slow."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from productrecs.core.clock import DAY_MS
from productrecs.core.ids import StoreId
from productrecs.entrypoints.services import Services
from productrecs.records.events.repository import EventRepository
from productrecs.records.orders.repository import PurchaseRepository

WINDOW_MS: Final = 30 * DAY_MS
_QUICK_SECONDS: Final = 0.1
_REST_FACTOR: Final = 20.0
_LONGEST_REST_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class ActivityCounts:
    """What came in within the last 30 days, by its own time."""

    events: int  # rows of the log: an impression counts for each product shown
    orders: int


class ActivityCounter:
    """Counts activity by reading a store's log. Safe to ask from several threads.

    Where counting takes long, the last result serves for a multiple of that time, up to a
    minute; elsewhere every answer is fresh.
    """

    def __init__(
        self, services: Services, seconds: Callable[[], float] = time.monotonic
    ) -> None:
        """Count with the business clock of `services`; `seconds` times the counting."""
        self._services = services
        self._seconds = seconds
        self._kept: dict[StoreId, tuple[float, ActivityCounts]] = {}  # until when
        self._changing = threading.Lock()

    def of(self, store_id: StoreId) -> ActivityCounts:
        """Return the store's activity; reads much, so not on the event loop."""
        began = self._seconds()
        kept = self._kept.get(store_id)
        if kept is not None and began < kept[0]:
            return kept[1]
        activity = self._count(store_id)
        ended = self._seconds()
        with self._changing:
            self._kept = {one: it for one, it in self._kept.items() if ended < it[0]}
            if ended - began > _QUICK_SECONDS:
                rest = min(_REST_FACTOR * (ended - began), _LONGEST_REST_SECONDS)
                self._kept[store_id] = (ended + rest, activity)
        return activity

    def _count(self, store_id: StoreId) -> ActivityCounts:
        until_ms = self._services.clock()
        since_ms = until_ms - WINDOW_MS
        with self._services.database.reading() as connection:
            events = EventRepository(connection, store_id).count(since_ms, until_ms)
            repository = PurchaseRepository(connection, store_id)
            buys, orders = repository.count(since_ms, until_ms)
        return ActivityCounts(events=events + buys, orders=orders)
