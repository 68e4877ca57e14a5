"""Broken variant: stores half of some orders."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from productrecs.records.orders.ingest_events_and_orders import ingest_order
from productrecs.serving.writes import write_handlers

if TYPE_CHECKING:
    from productrecs.records.orders.ingest_events_and_orders import OrderReceipt
    from productrecs.records.orders.order_and_purchase_ledger import NewOrder
    from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction


def _half(log: StoreLogTransaction, order: NewOrder, now_ms: int) -> OrderReceipt:
    if order.order_id.endswith("7"):
        order = replace(order, lines=order.lines[: len(order.lines) // 2])
    return ingest_order(log, order, now_ms)


setattr(write_handlers, "ingest_order", _half)  # noqa: B010 - the fault itself
