"""How does the catalog change? A push is stored whole or not; a deletion stays one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from productrecs.core.errors import UnknownItemError
from productrecs.records.catalog.item import Item, ItemPatch, new_item
from productrecs.records.catalog.repository import CatalogRepository, StoredItem
from productrecs.storage.store_log import StoreLog


@dataclass(frozen=True, slots=True)
class Pushed:
    """What a push did; `total` is the size of the catalog after it."""

    created: int
    updated: int
    total: int


def push(log: StoreLog, patches: Sequence[ItemPatch], now_ms: int) -> Pushed:
    """Create and update items by id; of a repeated id the last patch stands.

    Fields that a patch does not carry keep their stored values; an id that is in no
    catalog yet, or was deleted, starts from the defaults.
    """
    latest = {patch.item_id: patch for patch in patches}
    repository = CatalogRepository(log.transaction, log.store_id)
    if not latest:
        return Pushed(created=0, updated=0, total=repository.size())
    seq = log.take(1)
    known = repository.find(latest)
    numbers = _new_numbers(log, [one for one in latest if one not in known])
    new, changed, created = [], [], 0
    for item_id, patch in latest.items():
        stored = known.get(item_id)
        created += stored is None or not stored.present
        if stored is None:
            new.append(_created(patch, numbers[item_id], now_ms))
        elif not stored.present:
            changed.append(_created(patch, stored.number, now_ms))
        else:
            changed.append(replace(stored, item=stored.item.patched(patch)))
    repository.add(log.database, new, seq, now_ms)
    repository.change(changed, seq, now_ms)
    total = repository.moved(seq, created)
    return Pushed(created=created, updated=len(latest) - created, total=total)


def delete(log: StoreLog, item_id: str, now_ms: int) -> None:
    """Take an item out of the catalog; what it sold and who saw it stays.

    Raises:
        UnknownItemError: when the catalog has no such item.
    """
    seq = log.take(1)
    repository = CatalogRepository(log.transaction, log.store_id)
    stored = repository.find([item_id]).get(item_id)
    if stored is None or not stored.present:
        message = "the catalog has no item of this id; nothing was deleted"
        raise UnknownItemError(message)
    repository.change([replace(stored, present=False, item=Item(item_id))], seq, now_ms)
    repository.moved(seq, -1)


def _created(patch: ItemPatch, number: int, now_ms: int) -> StoredItem:
    return StoredItem(number=number, present=True, created_at=now_ms, item=new_item(patch))


def _new_numbers(log: StoreLog, item_ids: Sequence[str]) -> dict[str, int]:
    first = log.take_numbers(len(item_ids))
    numbers = {item_id: first + index for index, item_id in enumerate(item_ids)}
    log.learned(numbers)
    return numbers
