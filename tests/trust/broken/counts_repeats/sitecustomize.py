"""Broken variant: events and orders are stored as often as they are sent."""

import itertools

from productrecs.records.events.repository import EventRepository
from productrecs.records.purchases.repository import PurchaseRepository

_WEEKS = itertools.count(1)
_admit = PurchaseRepository.number_receipt_unless_repeated_recently


def _after_a_week(self: PurchaseRepository, order_id: str, now_ms: int) -> int | None:
    """Take each order for one that comes after its window of deduplication."""
    return _admit(self, order_id, now_ms + next(_WEEKS) * 8 * 86_400_000)


EventRepository.record_event_id_if_new = lambda *_: True  # type: ignore[method-assign]  # the fault itself
PurchaseRepository.number_receipt_unless_repeated_recently = _after_a_week  # type: ignore[method-assign]
