"""A service that answers before it commits: what the tests of `kill -9` must see."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from productrecs.records.orders.order import NewOrder
from productrecs.records.orders.receive import Receipt
from productrecs.storage.group_commit import GroupCommit, Many

if TYPE_CHECKING:
    from collections.abc import Hashable

_submit = GroupCommit.submit


def _answer_at_once(
    self: GroupCommit, many: Many, key: Hashable, payload: object, *, alone: bool = False
) -> asyncio.Future[Any]:
    written = _submit(self, many, key, payload, alone=alone)
    if alone:
        return written
    answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    if isinstance(payload, NewOrder):
        answered.set_result(Receipt(payload.order_id, len(payload.lines), duplicate=False))
    else:
        answered.set_result(None)
    return answered


GroupCommit.submit = _answer_at_once  # type: ignore[method-assign]  # the fault itself
