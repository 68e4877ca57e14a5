"""Write handlers: the events and orders of several requests, written in one batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from productrecs.core.ids import StoreId
from productrecs.records.events.daily_network_caps import DailyNetworkCounts
from productrecs.records.orders.ingest_events_and_orders import (
    OrderReceipt,
    ingest_events,
    ingest_order,
)
from productrecs.storage.sql.group_commit import WriteTransaction
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from productrecs.records.orders.order_and_purchase_ledger import NewOrder
    from productrecs.services import Services
    from productrecs.storage.sql.group_commit import BatchHandler


from productrecs.serving.writes.write_messages import Groups, WriteKind

Change = Callable[[WriteTransaction], Any]


def write_handlers(services: Services) -> Mapping[WriteKind, BatchHandler]:
    """Return the handler of each kind of write, with this process's clock and numbers."""
    counts = DailyNetworkCounts()

    def open_store_log(work: WriteTransaction, key: Hashable) -> StoreLogTransaction:
        store_id = StoreId(str(key))
        log = StoreLogTransaction(
            work.database, work.connection, store_id, services.numbers
        )
        work.after_commit.append(log.cache_committed_numbers)
        return log

    def write_events(
        work: WriteTransaction, key: Hashable, payloads: Sequence[Groups]
    ) -> Sequence[None]:
        groups = [group for payload in payloads for group in payload]
        ingest_events(open_store_log(work, key), groups, services.clock(), counts=counts)
        return [None] * len(payloads)

    def write_orders(
        work: WriteTransaction, key: Hashable, payloads: Sequence[NewOrder]
    ) -> Sequence[OrderReceipt]:
        log, now_ms = open_store_log(work, key), services.clock()
        return [ingest_order(log, order, now_ms, counts) for order in payloads]

    def write_changes(
        work: WriteTransaction, _key: Hashable, payloads: Sequence[Change]
    ) -> Sequence[Any]:
        return [change(work) for change in payloads]

    return {
        WriteKind.EVENTS: write_events,
        WriteKind.ORDER: write_orders,
        WriteKind.CHANGE: write_changes,
    }
