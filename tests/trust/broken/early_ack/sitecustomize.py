"""Broken variant: answers before it commits."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from productrecs.records.orders.ingest_events_and_orders import OrderReceipt
from productrecs.records.orders.order import NewOrder
from productrecs.storage.group_commit import BatchHandler, CommitWaiter, GroupCommit

if TYPE_CHECKING:
    from collections.abc import Hashable

    from productrecs.storage.byte_budget import Claim

_LATER_SECONDS = 0.05
_put = GroupCommit.put


def _answer_at_once(
    self: GroupCommit,
    many: BatchHandler,
    key: Hashable,
    payload: object,
    answer: CommitWaiter,
    *,
    alone: bool = False,
    claim: Claim | None = None,
) -> None:
    if alone:
        _put(self, many, key, payload, answer, alone=alone, claim=claim)
        return
    loop = asyncio.get_running_loop()
    nobody = loop.create_future()
    loop.call_later(_LATER_SECONDS, lambda: _put(self, many, key, payload, nobody))
    if isinstance(payload, NewOrder):
        receipt = OrderReceipt(payload.order_id, len(payload.lines), duplicate=False)
        loop.call_soon(answer.set_result, receipt)
    else:
        loop.call_soon(answer.set_result, None)


GroupCommit.put = _answer_at_once  # type: ignore[method-assign]  # the fault itself
