"""Broken variant: stores the part of a push that fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from productrecs.http.routes.server import item_changes
from productrecs.records.catalog.catalog_push import PushResult, upsert_items
from productrecs.records.catalog.repository import CatalogRepository

if TYPE_CHECKING:
    from collections.abc import Sequence

    from productrecs.records.catalog.item import ItemPatch
    from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction


def _what_fits(
    log: StoreLogTransaction, patches: Sequence[ItemPatch], now_ms: int, limit: int | None
) -> PushResult:
    log.take_seqs(1)
    repository = CatalogRepository(log.transaction, log.store_id)
    known = repository.find(patch.item_id for patch in patches)
    room = len(patches) if limit is None else limit - repository.size()
    new = [patch for patch in patches if patch.item_id not in known]
    taken = [*new[: max(room, 0)], *(one for one in patches if one.item_id in known)]
    return upsert_items(log, taken, now_ms, limit)


setattr(item_changes, "upsert_items", _what_fits)  # noqa: B010 - the fault itself
