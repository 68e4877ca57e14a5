"""Catalog diff: what a product file would change, and the brake on large changes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from productrecs.core.ids import StoreId
from productrecs.core.plural import counted
from productrecs.records.catalog.availability import Availability
from productrecs.records.catalog.item import Item, ItemPatch
from productrecs.records.catalog.repository import CatalogRepository, StoredItem
from productrecs.storage.sql.database import Database

BRAKE_PERCENT: Final = 20
"""A feed that removes or reprices a larger share of the catalog waits for a yes."""

MAX_EXAMPLES: Final = 10
"""The most products that are shown for each kind of change."""

_BATCH_SIZE: Final = 1_000


class CatalogChangeKind(StrEnum):
    """What happens to a product. One with a new price is also `changed`."""

    NEW = "new"
    CHANGED = "changed"
    PRICE = "price"
    REMOVED = "removed"


@dataclass(slots=True)
class CatalogDiff:
    """Counts the products that a file changes, and collects the first of each kind.

    Memory holds a hash per changed product: a file may have a million.
    """

    _ids: dict[CatalogChangeKind, set[int]] = field(
        default_factory=lambda: {kind: set() for kind in CatalogChangeKind}
    )
    _examples: dict[CatalogChangeKind, list[dict[str, Any]]] = field(
        default_factory=lambda: {kind: [] for kind in CatalogChangeKind}
    )

    def count_patch(self, stored: Item | None, patch: ItemPatch) -> None:
        """Count what a patch does to an item of the catalog, or to none."""
        if stored is None:
            self._count_and_keep_example(
                CatalogChangeKind.NEW, patch.item_id, patch.fields.get("title")
            )
            return
        after = stored.with_patch(patch)
        if after == stored:
            return
        if _is_removed(after) and not _is_removed(stored):
            self.count_removed(stored)
            return
        self._count_and_keep_example(CatalogChangeKind.CHANGED, stored.item_id, after.title)
        if stored.price is not None and after.price != stored.price:
            prices = {"before": stored.price, "after": after.price}
            self._count_and_keep_example(
                CatalogChangeKind.PRICE, stored.item_id, after.title, prices
            )

    def count_removed(self, stored: Item) -> None:
        """Count an item that leaves the lists."""
        self._count_and_keep_example(
            CatalogChangeKind.REMOVED, stored.item_id, stored.title
        )

    def _brake_reason(self, catalog_size: int) -> str:
        """Return why a person must agree to the changes; empty if nobody must."""
        removed, repriced = (
            self._ids[CatalogChangeKind.REMOVED],
            self._ids[CatalogChangeKind.PRICE],
        )
        affected = len(removed | repriced)
        if affected * 100 <= catalog_size * BRAKE_PERCENT:
            return ""
        return (
            f"It would remove {counted(len(removed), 'product')} and change the price of "
            f"{len(repriced):,}, of {catalog_size:,} in your catalog. That is more than "
            f"{BRAKE_PERCENT} %, so it waits for your yes."
        )

    def report_fields(self, catalog_size: int) -> dict[str, Any]:
        """Return the counts and examples as JSON, and a `brake` if someone has to agree."""
        kinds = {
            kind.value: {"count": len(self._ids[kind]), "examples": self._examples[kind]}
            for kind in CatalogChangeKind
        }
        return {**kinds, "brake": self._brake_reason(catalog_size)}

    def _count_and_keep_example(
        self,
        kind: CatalogChangeKind,
        item_id: str,
        title: object,
        extra_fields: Mapping[str, object] | None = None,
    ) -> None:
        ids = self._ids[kind]
        if hash(item_id) not in ids and len(ids) < MAX_EXAMPLES:
            example = {
                "id": item_id,
                "title": str(title or "")[:120],
                **(extra_fields or {}),
            }
            self._examples[kind].append(example)
        ids.add(hash(item_id))


def active_item_batches(
    database: Database, store_id: StoreId
) -> Iterator[Sequence[StoredItem]]:
    """Yield the catalog without discontinued items, in batches."""
    number = -1
    while True:
        with database.reading() as connection:
            page = CatalogRepository(connection, store_id).page(number, _BATCH_SIZE)
        if not page:
            return
        number = page[-1].number
        yield [stored for stored in page if not _is_removed(stored.item)]


def removal_patch(item_id: str) -> ItemPatch:
    """Return the patch that takes a product out of all lists; a later feed can undo it."""
    return ItemPatch(item_id, {"availability": Availability.DISCONTINUED})


def restoring_patch(patch: ItemPatch, stored: Item | None) -> ItemPatch:
    """Return a patch that makes a removed product available, if it says nothing of that."""
    if stored is None or "availability" in patch.fields or not _is_removed(stored):
        return patch
    return ItemPatch(patch.item_id, {**patch.fields, "availability": None})


def _is_removed(item: Item) -> bool:
    return item.availability is Availability.DISCONTINUED
