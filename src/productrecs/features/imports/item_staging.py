"""Item staging: a file's valid items, between reading the whole file and storing them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, BinaryIO

import msgspec

from productrecs.features.imports.feeds.feed_read_state import FeedReadState
from productrecs.features.imports.import_errors import (
    catalog_limit_error,
    missing_titles_error,
)
from productrecs.features.imports.import_report import (
    ItemImportReport,
)
from productrecs.features.imports.import_services import ImportServices
from productrecs.features.imports.item_file_reader import ReadItem, RejectedItem
from productrecs.records.catalog.item import ItemPatch, unpack_fields_in_place
from productrecs.records.catalog.repository import CatalogRepository, StoredItem
from productrecs.schemas.items import MAX_ITEMS
from productrecs.tenancy.accounts.repository import AccountRepository
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import catalog_limit

StoredItems = Mapping[str, StoredItem]


class _StagedItem(msgspec.Struct, frozen=True, array_like=True):
    """An item in the staging file, between reading and storing."""

    row: int
    item_id: str
    fields: dict[str, Any]
    rows: int
    is_hidden: bool
    is_repeated: bool


def _staged_to_read_item(staged_item: _StagedItem) -> ReadItem:
    return ReadItem(
        staged_item.row,
        ItemPatch(staged_item.item_id, unpack_fields_in_place(staged_item.fields)),
        staged_item.rows,
        staged_item.is_hidden,
        staged_item.is_repeated,
    )


class ItemStaging:
    """Reads a whole file, and determines what storing its items would do.

    `has_unknown_ids` tells whether a row was rejected whose item is not known.
    """

    def __init__(
        self,
        services: ImportServices,
        store: Store,
        reading: FeedReadState,
        report: ItemImportReport,
        file: BinaryIO,
    ) -> None:
        self.items = 0
        self._services = services
        self._store = store
        self._reading = reading
        self._report = report
        self._file = file
        self._new_ids: set[int] = set()  # hashes of ids: a file may hold a million
        self._seen_ids: set[int] = set()
        self._repeated_ids: set[int] = set()
        self._rejected_ids: set[int] = set()
        self.has_unknown_ids = False  # among rejected rows
        self._known_count = 0

    def stage_and_count(self, items: Iterable[ReadItem]) -> None:
        """Stage the valid items."""
        report = self._report
        chunk: list[ReadItem] = []
        for item in items:
            report.rows += item.rows
            if isinstance(item.item, RejectedItem):
                rejected = item.item
                report.add_skipped(
                    item.row, rejected.problem, rejected.column, rejected.value
                )
                report.rows_skipped += item.rows - 1
                self.has_unknown_ids = self.has_unknown_ids or not rejected.item_id
                self._rejected_ids.add(hash(rejected.item_id))
                continue
            report.folded += item.rows - 1
            chunk.append(item)
            if len(chunk) == MAX_ITEMS:
                self._count_and_write_chunk(chunk)
                chunk = []
        self._count_and_write_chunk(chunk)

    def contains(self, item_id: str) -> bool:
        """Return whether the file has the item, perhaps in a rejected row."""
        return hash(item_id) in self._seen_ids or hash(item_id) in self._rejected_ids

    def has_several_rows(self, item_id: str) -> bool:
        """Return whether several rows have the item."""
        return hash(item_id) in self._repeated_ids

    def check_titles_and_limit(self) -> None:
        """Check that the items may be stored.

        Raises:
            NoTitleColumnError: when a table has no titles, and no product that is known.
            CatalogLimitError: when the catalog would exceed the plan's limit.
        """
        if self._reading.is_untitled and not self._known_count:
            raise missing_titles_error(self._reading)
        services, store = self._services, self._store
        with services.database.reading() as connection:
            size = CatalogRepository(connection, store.store_id).size()
            accounts = AccountRepository(connection)
            limit = catalog_limit(accounts, store.store_id, services.plans)
        if limit is not None and self._new_ids and size + len(self._new_ids) > limit:
            raise catalog_limit_error(services, store, size, len(self._new_ids))

    def chunks(self) -> Iterator[Sequence[ReadItem]]:
        """Yield the staged items."""
        self._file.seek(0)
        remaining = self.items
        while remaining:
            chunk = msgspec.json.decode(self._file.readline(), type=list[_StagedItem])
            remaining -= len(chunk)
            yield [_staged_to_read_item(item) for item in chunk]

    def _count_and_write_chunk(self, chunk: Sequence[ReadItem]) -> None:
        with self._services.database.reading() as connection:
            stored = find_stored_items(
                CatalogRepository(connection, self._store.store_id), chunk
            )
        staged = []
        for item in chunk:
            patch = require_patch(item)
            is_new = patch.item_id not in stored
            if is_new and self._reading.is_untitled:
                message = "it is not in the catalog, and the file has no titles"
                self._report.add_skipped(item.row, message)
                self._report.rows_skipped += item.rows - 1
                self._report.folded -= item.rows - 1
                continue
            is_repeated = hash(patch.item_id) in self._seen_ids
            self._seen_ids.add(hash(patch.item_id))
            self._report.repeated += is_repeated
            if is_repeated:
                self._repeated_ids.add(hash(patch.item_id))
            staged.append(replace(item, is_repeated=is_repeated))
            self._known_count += not is_new
            if is_new and not item.is_hidden and hash(patch.item_id) not in self._new_ids:
                self._new_ids.add(hash(patch.item_id))
                self._report.untitled += not patch.fields.get("title")
                self._report.unpriced += patch.fields.get("price") is None
            stock = patch.fields.get("stock_qty")
            self._report.below_zero += isinstance(stock, int) and stock < 0
        self.items += len(staged)
        if staged:
            staged_items = [
                _StagedItem(
                    item.row,
                    require_patch(item).item_id,
                    dict(require_patch(item).fields),
                    item.rows,
                    item.is_hidden,
                    item.is_repeated,
                )
                for item in staged
            ]
            self._file.write(msgspec.json.encode(staged_items) + b"\n")


def find_stored_items(
    repository: CatalogRepository, chunk: Sequence[ReadItem]
) -> StoredItems:
    """Return the chunk's items that the catalog has, by id."""
    stored = repository.find(require_patch(item).item_id for item in chunk)
    return {item_id: item for item_id, item in stored.items() if item.present}


def require_patch(item: ReadItem) -> ItemPatch:
    """Return the patch of a valid item."""
    if isinstance(item.item, RejectedItem):
        message = "an item that cannot be taken is never pushed"
        raise TypeError(message)
    return item.item
