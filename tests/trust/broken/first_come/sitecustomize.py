"""Broken variant: one photo queue for all stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from productrecs.entrypoints.http.pipeline.photo_worker_pool import FairQueue

if TYPE_CHECKING:
    from collections.abc import Hashable

_take, _check_room = FairQueue.take, FairQueue.check_room


async def _take_as_one(self: FairQueue, store: Hashable) -> None:  # noqa: ARG001 - the fault
    await _take(self, "everybody")


def _check_as_one(self: FairQueue, store: Hashable) -> None:  # noqa: ARG001 - the fault
    _check_room(self, "everybody")


FairQueue.take = _take_as_one  # type: ignore[method-assign]  # the fault itself
FairQueue.check_room = _check_as_one  # type: ignore[method-assign]  # the fault itself
