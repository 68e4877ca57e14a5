"""Broken variant: answers before it commits."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from productrecs.records.orders.ingest_events_and_orders import OrderReceipt
from productrecs.records.orders.order_and_purchase_ledger import NewOrder
from productrecs.storage.sql.group_commit import BatchHandler, CommitWaiter, GroupCommit

if TYPE_CHECKING:
    from collections.abc import Hashable

    from productrecs.core.memory_budget import ByteClaim

_LATER_SECONDS = 0.05
_put = GroupCommit.queue_for_waiter


def _answer_at_once(
    self: GroupCommit,
    handler: BatchHandler,
    key: Hashable,
    payload: object,
    waiter: CommitWaiter,
    *,
    own_transaction: bool = False,
    claim: ByteClaim | None = None,
) -> None:
    if own_transaction:
        _put(
            self,
            handler,
            key,
            payload,
            waiter,
            own_transaction=own_transaction,
            claim=claim,
        )
        return
    loop = asyncio.get_running_loop()
    ignored = loop.create_future()
    loop.call_later(_LATER_SECONDS, lambda: _put(self, handler, key, payload, ignored))
    if isinstance(payload, NewOrder):
        receipt = OrderReceipt(payload.order_id, len(payload.lines), duplicate=False)
        loop.call_soon(waiter.set_result, receipt)
    else:
        loop.call_soon(waiter.set_result, None)


GroupCommit.queue_for_waiter = _answer_at_once  # type: ignore[method-assign]  # the fault itself
