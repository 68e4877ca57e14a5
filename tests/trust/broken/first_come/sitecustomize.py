"""Broken variant: one photo queue for all stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from productrecs.http.pipeline.store_fair_queue import StoreFairQueue

if TYPE_CHECKING:
    from collections.abc import Hashable

_take, _check_room = StoreFairQueue.acquire, StoreFairQueue.check_capacity


async def _take_as_one(self: StoreFairQueue, store: Hashable) -> None:  # noqa: ARG001 - the fault
    await _take(self, "everybody")


def _check_as_one(self: StoreFairQueue, store: Hashable) -> None:  # noqa: ARG001 - the fault
    _check_room(self, "everybody")


StoreFairQueue.acquire = _take_as_one  # type: ignore[method-assign]  # the fault itself
StoreFairQueue.check_capacity = _check_as_one  # type: ignore[method-assign]  # the fault itself
