"""A service that stores what fits of a push: what "all or nothing" must see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from productrecs.entrypoints.http.server import items
from productrecs.records.catalog.push import Pushed, fitting, push

if TYPE_CHECKING:
    from collections.abc import Sequence

    from productrecs.records.catalog.item import ItemPatch
    from productrecs.storage.store_log import StoreLog


def _what_fits(
    log: StoreLog, patches: Sequence[ItemPatch], now_ms: int, limit: int | None
) -> Pushed:
    taken = patches if limit is None else fitting(log, patches, limit)
    return push(log, taken, now_ms, limit)


setattr(items, "push", _what_fits)  # noqa: B010 - the fault itself
