"""Catalog push: creates, updates and deletes items; each push is atomic."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from productrecs.core.errors import ProductRecsError, UnknownItemError
from productrecs.core.ids import StoreId
from productrecs.records.catalog.item import Item, PushedItem, new_item
from productrecs.records.catalog.price_lists import price_list_counts_after
from productrecs.records.catalog.repository import CatalogRepository, StoredItem
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction

_ITEMS_PER_BATCH: Final = 50
_BYTES_PER_BATCH: Final = 256 << 10
"""The items, or bytes of them, that are unpacked and written at once.

Python stores a text with one emoji in four bytes per character.
"""


class CatalogLimitError(ProductRecsError):
    """The push would exceed the plan's item limit; updates are always allowed."""


@dataclass(frozen=True, slots=True)
class PushResult:
    """The result of a push; `total` is the catalog's size afterwards."""

    created: int
    updated: int
    total: int
    seq: int = field(default=0, compare=False)  # in the store's log


OnChange = Callable[[StoredItem | None, StoredItem], None]
"""Called with each item of a push: before, if it was in the catalog, and after."""


def upsert_items(
    log: StoreLogTransaction,
    patches: Sequence[PushedItem],
    now_ms: int,
    limit: int | None = None,
    on_change: OnChange | None = None,
) -> PushResult:
    """Create and update items by id; the last patch of a repeated id wins.

    Fields missing in a patch stay unchanged; a new or deleted id starts from the
    defaults.

    Raises:
        CatalogLimitError: new items would exceed `limit`; the caller must roll back.
        TooManyPriceListsError: there would be too many price lists; likewise.
    """
    latest = {patch.item_id: patch for patch in patches}
    repository = CatalogRepository(log.transaction, log.store_id)
    if not latest:
        return PushResult(created=0, updated=0, total=repository.size())
    seq = log.take_seqs(1)
    is_present = repository.presence(latest)
    created = [item_id for item_id in latest if not is_present.get(item_id)]
    if created and limit is not None:
        _check_item_limit(repository.size() + len(created), limit)
    numbers = _assign_new_numbers(
        log, [item_id for item_id in latest if item_id not in is_present]
    )
    before, after = list[Item](), list[Item]()  # only items in price lists
    for batch in _batches(latest.values()):
        new, changed = [], []
        stored_items = repository.find(
            stored_item.item_id
            for stored_item in batch
            if stored_item.item_id in is_present
        )
        for patch in batch:
            stored = stored_items.get(patch.item_id)
            if stored is None:
                new.append(_new_stored_item(patch, numbers[patch.item_id], now_ms))
            elif not stored.present:
                changed.append(_new_stored_item(patch, stored.number, now_ms))
            else:
                changed.append(replace(stored, item=stored.item.with_patch(patch)))
        if on_change is not None:
            _report_changes(on_change, stored_items, (*new, *changed))
        before += [
            stored_item.item
            for stored_item in stored_items.values()
            if stored_item.item.prices
        ]
        after += [
            stored_item.item for stored_item in (*new, *changed) if stored_item.item.prices
        ]
        repository.add(log.database, new, seq, now_ms)
        repository.change(changed, seq, now_ms)
    _update_price_list_counts(repository, before, after)
    total = repository.record_catalog_change_and_read_size(seq, len(created))
    return PushResult(len(created), len(latest) - len(created), total, seq)


def remove_item(log: StoreLogTransaction, item_id: str, now_ms: int) -> None:
    """Remove an item from the catalog; its sales and views are retained.

    Raises:
        UnknownItemError: when the catalog has no such item.
    """
    seq = log.take_seqs(1)
    repository = CatalogRepository(log.transaction, log.store_id)
    stored = repository.find([item_id]).get(item_id)
    if stored is None or not stored.present:
        message = "the catalog has no item of this id; nothing was deleted"
        raise UnknownItemError(message)
    repository.change([replace(stored, present=False, item=Item(item_id))], seq, now_ms)
    _update_price_list_counts(repository, [stored.item], [])
    repository.record_catalog_change_and_read_size(seq, -1)


def _report_changes(
    on_change: OnChange, before: Mapping[str, StoredItem], after: Sequence[StoredItem]
) -> None:
    for one in after:
        old = before.get(one.item.item_id)
        on_change(old if old is not None and old.present else None, one)


def restore_items(
    log: StoreLogTransaction, restored: Sequence[StoredItem], seq: int, now_ms: int
) -> None:
    """Give known items these values at `seq`; those not present leave the catalog."""
    repository = CatalogRepository(log.transaction, log.store_id)
    found = repository.find(one.item.item_id for one in restored).values()
    repository.change(restored, seq, now_ms)
    _update_price_list_counts(
        repository, [one.item for one in found], [one.item for one in restored]
    )
    gone = sum(one.present for one in found) - sum(one.present for one in restored)
    repository.record_catalog_change_and_read_size(seq, -gone)


def _batches(patches: Iterable[PushedItem]) -> Iterator[list[PushedItem]]:
    """Yield the patches in order, in batches that may be unpacked at once."""
    batch, size = list[PushedItem](), 0
    for patch in patches:
        if len(batch) == _ITEMS_PER_BATCH or (
            batch and size + patch.size > _BYTES_PER_BATCH
        ):
            yield batch
            batch, size = [], 0
        batch.append(patch)
        size += patch.size
    if batch:
        yield batch


def _update_price_list_counts(
    repository: CatalogRepository, before: Iterable[Item], after: Iterable[Item]
) -> None:
    """Record how many items each price list has gained or lost."""
    changes = Counter(price.name for item in after for price in item.prices)
    changes.subtract(price.name for item in before for price in item.prices)
    if any(changes.values()):
        counts = price_list_counts_after(repository.price_lists(), changes)
        repository.set_price_lists(counts)


def _check_item_limit(size: int, limit: int) -> None:
    if size > limit:
        message = (
            f"the catalog would have {size:,} items and the plan allows {limit:,}; "
            "nothing of this push was stored. Updates always pass: delete items that "
            "are no longer sold, or choose a larger plan"
        )
        raise CatalogLimitError(message)


def _new_stored_item(patch: PushedItem, number: int, now_ms: int) -> StoredItem:
    return StoredItem(number=number, present=True, created_at=now_ms, item=new_item(patch))


def _assign_new_numbers(
    log: StoreLogTransaction, item_ids: Sequence[str]
) -> dict[str, int]:
    first = log.take_item_numbers(len(item_ids))
    numbers = {item_id: first + index for index, item_id in enumerate(item_ids)}
    log.remember_numbers(numbers)
    return numbers


CHUNK: Final = 5_000


def mark_all_items_changed(
    database: Database, store_id: StoreId, chunk_size: int = CHUNK
) -> Iterator[float]:
    """Mark every item, also deleted ones, as just changed; yield the share done, 0 to 1.

    Readers that follow the catalog read all of it again, with the same values. A
    transaction covers `chunk_size` products, so that the store's own writes can run in
    between; stopping early is safe.

    Raises:
        StoreDeletedError: when the store was deleted.
    """
    start, end = 0, 1
    while start < end:
        with database.transaction() as transaction:
            seq = StoreLogTransaction(database, transaction, store_id).take_seqs(1)
            repository = CatalogRepository(transaction, store_id)
            end = repository.next_number()
            if repository.mark_changed(range(start, start + chunk_size), seq):
                repository.record_catalog_change_and_read_size(seq, 0)
        start += chunk_size
        yield min(1.0, start / end) if end else 1.0
