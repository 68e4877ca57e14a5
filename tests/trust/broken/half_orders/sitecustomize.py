"""A service that keeps half of some orders: what the tests of cut connections must see."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from productrecs.entrypoints.http.writing import facts
from productrecs.records.orders.receive import receive_order

if TYPE_CHECKING:
    from productrecs.records.orders.order import NewOrder
    from productrecs.records.orders.receive import Receipt
    from productrecs.storage.store_log import StoreLog


def _half(log: StoreLog, order: NewOrder, now_ms: int) -> Receipt:
    if order.order_id.endswith("7"):
        order = replace(order, lines=order.lines[: len(order.lines) // 2])
    return receive_order(log, order, now_ms)


setattr(facts, "receive_order", _half)  # noqa: B010 - the fault itself
