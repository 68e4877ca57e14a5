"""Write handlers: how events and orders of several requests are written together."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from productrecs.core.ids import StoreId
from productrecs.records.events.event import NewEvent
from productrecs.records.orders.ingest_events_and_orders import (
    OrderReceipt,
    ingest_events,
    ingest_order,
)
from productrecs.storage.store_log import StoreLog

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from productrecs.entrypoints.services import Services
    from productrecs.records.orders.order import NewOrder
    from productrecs.storage.group_commit import BatchHandler, WriteTransaction

Groups = list[list[NewEvent]]


_EVENT_BYTES = 250


def memory_weight(groups: Groups) -> int:
    """Return about how many bytes events take in memory until they are written.

    All events of a group repeat the text fields of its object.
    """
    return sum(len(group) * (_EVENT_BYTES + _text_length(group[0])) for group in groups)


def _text_length(event: NewEvent) -> int:
    said = (
        event.item_id,
        event.user_id,
        event.session_id,
        event.term,
        event.order_id,
        event.source,
        event.widget,
        event.event_id,
    )
    return sum([len(one) for one in said if one is not None])


class WriteKind(IntEnum):
    """The kind of a payload: `Groups`, or a `NewOrder`."""

    EVENTS = 1
    ORDER = 2


class EventWriteHandler:
    """Writes the events of several requests of one store together."""

    def __init__(self, services: Services) -> None:
        """Write with this process's clock and its cache of product numbers."""
        self._services = services

    def __call__(
        self, work: WriteTransaction, key: Hashable, payloads: Sequence[Groups]
    ) -> Sequence[None]:
        """Write all payloads of the store whose id is `key`."""
        log = StoreLog(
            work.database, work.connection, StoreId(str(key)), self._services.numbers
        )
        groups = [group for payload in payloads for group in payload]
        ingest_events(log, groups, self._services.clock())
        work.after_commit.append(log.committed)
        return [None] * len(payloads)


class OrderWriteHandler:
    """Writes the orders of several requests of one store, each as a whole."""

    def __init__(self, services: Services) -> None:
        """Write with this process's clock and its cache of product numbers."""
        self._services = services

    def __call__(
        self, work: WriteTransaction, key: Hashable, payloads: Sequence[NewOrder]
    ) -> Sequence[OrderReceipt]:
        """Write the orders of the store whose id is `key`; return their receipts."""
        log = StoreLog(
            work.database, work.connection, StoreId(str(key)), self._services.numbers
        )
        now_ms = self._services.clock()
        work.after_commit.append(log.committed)
        return [ingest_order(log, order, now_ms) for order in payloads]


def write_handlers(services: Services) -> Mapping[WriteKind, BatchHandler]:
    """Return the handler of each kind of write."""
    return {
        WriteKind.EVENTS: EventWriteHandler(services),
        WriteKind.ORDER: OrderWriteHandler(services),
    }
