"""Write handlers: write the events and orders of several requests in one batch."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from productrecs.core.ids import StoreId
from productrecs.records.events.event import NewEvent
from productrecs.records.orders.ingest_events_and_orders import (
    OrderReceipt,
    ingest_events,
    ingest_order,
)
from productrecs.storage.group_commit import WriteTransaction
from productrecs.storage.store_log import StoreLog

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from productrecs.entrypoints.services import Services
    from productrecs.records.orders.order import NewOrder
    from productrecs.storage.group_commit import BatchHandler

Groups = list[list[NewEvent]]


_EVENT_BYTES = 250


def memory_weight(groups: Groups) -> int:
    """Return the approximate memory of events until they are written, in bytes.

    All events of a group repeat the text fields of its object.
    """
    return sum(len(group) * (_EVENT_BYTES + _text_length(group[0])) for group in groups)


def _text_length(event: NewEvent) -> int:
    length = (
        event.item_id,
        event.user_id,
        event.session_id,
        event.term,
        event.order_id,
        event.source,
        event.widget,
        event.event_id,
    )
    return sum([len(one) for one in length if one is not None])


class WriteKind(IntEnum):
    """The kind of a write, by its payload."""

    EVENTS = 1  # `Groups`
    ORDER = 2  # a `NewOrder`
    CHANGE = 3  # a function that changes the store in its own transaction


Change = Callable[[WriteTransaction], Any]


def write_handlers(services: Services) -> Mapping[WriteKind, BatchHandler]:
    """Return the handler of each kind of write, with this process's clock and numbers."""

    def log_of(work: WriteTransaction, key: Hashable) -> StoreLog:
        store_id = StoreId(str(key))
        log = StoreLog(work.database, work.connection, store_id, services.numbers)
        work.after_commit.append(log.committed)
        return log

    def write_events(
        work: WriteTransaction, key: Hashable, payloads: Sequence[Groups]
    ) -> Sequence[None]:
        groups = [group for payload in payloads for group in payload]
        ingest_events(log_of(work, key), groups, services.clock())
        return [None] * len(payloads)

    def write_orders(
        work: WriteTransaction, key: Hashable, payloads: Sequence[NewOrder]
    ) -> Sequence[OrderReceipt]:
        log, now_ms = log_of(work, key), services.clock()
        return [ingest_order(log, order, now_ms) for order in payloads]

    def write_changes(
        work: WriteTransaction, _key: Hashable, payloads: Sequence[Change]
    ) -> Sequence[Any]:
        return [change(work) for change in payloads]

    return {
        WriteKind.EVENTS: write_events,
        WriteKind.ORDER: write_orders,
        WriteKind.CHANGE: write_changes,
    }
