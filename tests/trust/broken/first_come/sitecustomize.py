"""Broken variant: one photo queue for all stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from productrecs.http.pipeline.photo_worker_pool import FairQueue

if TYPE_CHECKING:
    from collections.abc import Hashable

_take, _check_room = FairQueue.acquire, FairQueue.check_capacity


async def _take_as_one(self: FairQueue, store: Hashable) -> None:  # noqa: ARG001 - the fault
    await _take(self, "everybody")


def _check_as_one(self: FairQueue, store: Hashable) -> None:  # noqa: ARG001 - the fault
    _check_room(self, "everybody")


FairQueue.acquire = _take_as_one  # type: ignore[method-assign]  # the fault itself
FairQueue.check_capacity = _check_as_one  # type: ignore[method-assign]  # the fault itself
