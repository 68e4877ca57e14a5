"""Item import: reads the whole file first, then pushes its items by the thousand.

An invalid file is rejected before the first item is stored. Between the two steps the items
are in a temporary file in the data folder, because they may exceed memory.
"""

import contextlib
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO, Final, Literal

import msgspec

from productrecs.features.imports.feeds.column_mapping import ColumnMapping
from productrecs.features.imports.feeds.format_detection import ItemFileFormat
from productrecs.features.imports.feeds.value_parsing import FeedReading
from productrecs.features.imports.import_report import (
    DryRunSample,
    ItemImportReport,
    catalog_limit_error,
    import_notes,
    missing_titles_error,
)
from productrecs.features.imports.import_services import ImportServices
from productrecs.features.imports.import_source import ImportSource
from productrecs.features.imports.item_file_reader import (
    ReadItem,
    RejectedItem,
    read_items,
)
from productrecs.records.catalog.catalog_changes import (
    PushResult,
    upsert_items,
)
from productrecs.records.catalog.item import ItemPatch, unpacked_fields
from productrecs.records.catalog.price_lists import as_list_prices, parse_list_name
from productrecs.records.catalog.repository import CatalogRepository, StoredItem
from productrecs.records.orders.order_history_import import MAX_ERRORS
from productrecs.records.uploads.file_import import ItemMark
from productrecs.records.uploads.undo.repository import Before
from productrecs.records.uploads.undo.undo_import import ImportChanges, item_before
from productrecs.schemas.items import MAX_ITEMS
from productrecs.storage.sql.sequence_and_item_numbers import StoreLog
from productrecs.tenancy.accounts.repository import AccountRepository
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import catalog_limit

MAX_SAMPLES: Final = 20
"""The most items shown in a dry run."""

ProgressFactory = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]
"""Progress display: opened with a step's name and length, called with each advance."""


OnStored = Callable[[Any, ItemMark], None]
"""Called with a chunk's transaction and the import's new mark."""

_StoredItems = Mapping[str, StoredItem]


@dataclass(frozen=True, slots=True)
class ItemImportOptions:
    """How a file is read. Without a `kind` its format is detected.

    `address` begins the product addresses of files that have none; the default is the
    store's domain. `each_variant` keeps the variants of a Google feed separate. A
    `mapping` maps the columns of a table. With a `price_list` the file only sets the
    prices of known items in this list. With `dry_run` nothing is stored. The report
    names up to `max_errors` rejected rows. An import that was interrupted goes
    on after its `progress`; `on_stored` gets the new mark within each chunk's transaction,
    and `changes` what is needed to undo the import.
    """

    kind: ItemFileFormat | None = None
    address: str | None = None
    each_variant: bool = False
    mapping: ColumnMapping | None = None
    price_list: str = ""
    dry_run: bool = False
    max_errors: int = MAX_ERRORS
    progress: ItemMark = field(default_factory=ItemMark)
    on_stored: OnStored | None = None
    changes: ImportChanges | None = None


@contextlib.contextmanager
def _no_progress(_label: str, _length: int) -> Iterator[Callable[[int], None]]:
    yield lambda _step: None


def import_items(
    services: ImportServices,
    store: Store,
    source: ImportSource,
    options: ItemImportOptions | None = None,
    show_progress: ProgressFactory = _no_progress,
) -> ItemImportReport:
    """Store every item of a file; return the result. Repeating it changes nothing.

    Raises:
        UnknownItemFormatError: when the format cannot be detected.
        MissingColumnsError: when a table lacks a required column.
        UntitledTableError: when a table has no column of titles, and no known product.
        NotAnArrayError: for a `.json` without an array.
        BrokenFeedError: where XML is not well-formed.
        NotAFeedError: for XML without items.
        CatalogLimitError: when the catalog would exceed the plan's limit.

    After an error nothing of the file is stored, with one exception: if items pushed
    meanwhile by others fill the catalog, what was stored before stays.
    """
    chosen = options or ItemImportOptions()
    reading = FeedReading(
        address=chosen.address or f"https://{store.domain}",
        zone=store.settings.zone,
        now_ms=services.clock(),
        each_variant=chosen.each_variant,
        mapping=chosen.mapping,
        currency=_currency_of(chosen.price_list, store),
    )
    report = ItemImportReport(max_errors=chosen.max_errors)
    with tempfile.TemporaryFile(dir=services.folder) as file:
        staging = _ItemStaging(services, store, reading, report, file)
        with show_progress("reading", source.size) as on_bytes:
            folder = services.folder
            items = read_items(source, chosen.kind, reading, folder, on_bytes)
            if chosen.price_list:
                items = _prices_in(chosen.price_list, items, reading)
            staging.stage(items)
        staging.check_titles_and_limit()
        # Without titles the result depends on the catalog, so the import starts again.
        progress = ItemMark() if reading.is_untitled else chosen.progress
        writer = _ItemWriter(services, store, report, progress, chosen)
        pusher = _DryRun(services, store, report) if chosen.dry_run else writer
        with show_progress("items", staging.items) as advance:
            for chunk in staging.chunks():
                pusher.push(chunk)
                advance(len(chunk))
            pusher.push(())
    report.name_columns(reading.titles)
    report.errors.sort(key=lambda error: error.row)
    report.ignored_columns = list(reading.ignored)
    report.notes = import_notes(
        reading, store, report, has_address=chosen.address is not None
    )
    return report


def _currency_of(price_list: str, store: Store) -> str:
    own = parse_list_name(price_list).currency if price_list else ""
    return own or store.settings.currency


def _prices_in(
    price_list: str, items: Iterable[ReadItem], reading: FeedReading
) -> Iterator[ReadItem]:
    """Yield items that only set their price in one list; unknown items are rejected."""
    for item in items:
        reading.is_untitled = True
        if isinstance(item.item, RejectedItem):
            yield item
            continue
        fields = item.item.fields
        price, list_price = fields.get("price"), fields.get("list_price")
        prices = as_list_prices([(price_list, price, list_price)])
        yield replace(item, item=ItemPatch(item.item.item_id, {"prices": prices}))


class _StagedItem(msgspec.Struct, frozen=True, array_like=True):
    """An item in the staging file, between reading and storing."""

    row: int
    item_id: str
    fields: dict[str, Any]
    rows: int
    is_hidden: bool
    is_repeated: bool


def _unstaged(staged_item: _StagedItem) -> ReadItem:
    return ReadItem(
        staged_item.row,
        ItemPatch(staged_item.item_id, unpacked_fields(staged_item.fields)),
        staged_item.rows,
        staged_item.is_hidden,
        staged_item.is_repeated,
    )


class _ItemStaging:
    """Reads a whole file, and determines what storing its items would do."""

    def __init__(
        self,
        services: ImportServices,
        store: Store,
        reading: FeedReading,
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
        self._known_count = 0

    def stage(self, items: Iterable[ReadItem]) -> None:
        """Stage the valid items."""
        report = self._report
        chunk: list[ReadItem] = []
        for item in items:
            report.rows += item.rows
            if isinstance(item.item, RejectedItem):
                rejected = item.item
                report.skipped(item.row, rejected.problem, rejected.column, rejected.value)
                report.rows_skipped += item.rows - 1
                continue
            report.folded += item.rows - 1
            chunk.append(item)
            if len(chunk) == MAX_ITEMS:
                self._count_and_write_chunk(chunk)
                chunk = []
        self._count_and_write_chunk(chunk)

    def check_titles_and_limit(self) -> None:
        """Check that the items may be stored.

        Raises:
            UntitledTableError: when a table has no titles, and no product that is known.
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
            yield [_unstaged(item) for item in chunk]

    def _count_and_write_chunk(self, chunk: Sequence[ReadItem]) -> None:
        with self._services.database.reading() as connection:
            stored = _stored_items(
                CatalogRepository(connection, self._store.store_id), chunk
            )
        staged = []
        for item in chunk:
            patch = _patch(item)
            is_new = patch.item_id not in stored
            if is_new and self._reading.is_untitled:
                message = "it is not in the catalog, and the file has no titles"
                self._report.skipped(item.row, message)
                self._report.rows_skipped += item.rows - 1
                self._report.folded -= item.rows - 1
                continue
            is_repeated = hash(patch.item_id) in self._seen_ids
            self._seen_ids.add(hash(patch.item_id))
            self._report.repeated += is_repeated
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
                    _patch(item).item_id,
                    dict(_patch(item).fields),
                    item.rows,
                    item.is_hidden,
                    item.is_repeated,
                )
                for item in staged
            ]
            self._file.write(msgspec.json.encode(staged_items) + b"\n")


class _ItemWriter:
    """Stores items, one transaction per chunk."""

    def __init__(
        self,
        services: ImportServices,
        store: Store,
        report: ItemImportReport,
        progress: ItemMark,
        options: ItemImportOptions,
    ) -> None:
        self.report = report
        self._services = services
        self._store = store
        self._stored = progress.items  # by an earlier attempt
        self._pushed = 0
        self._on_stored, self._changes = options.on_stored, options.changes
        report.created += progress.created
        report.updated += progress.updated
        report.hidden += progress.hidden

    def push(self, chunk: Sequence[ReadItem]) -> None:
        """Store the changed items of a chunk, and update the report."""
        self._pushed += len(chunk)
        if chunk and self._pushed <= self._stored:
            return
        services, store_id = self._services, self._store.store_id
        with services.database.transaction() as transaction:
            log = StoreLog(services.database, transaction, store_id, services.numbers)
            stored = _stored_items(CatalogRepository(transaction, store_id), chunk)
            accepted = [item for item in chunk if not _is_skipped(item, stored)]
            patches = [_patch(item) for item in accepted]
            accounts = AccountRepository(transaction)
            limit = catalog_limit(accounts, store_id, services.plans)
            pushed = self._upsert_with_undo_changes(log, patches, limit, chunk)
            _count_chunk(self.report, pushed, chunk, accepted)
            if chunk and self._on_stored is not None:
                self._on_stored(transaction, self._progress())
        log.committed()

    def _upsert_with_undo_changes(
        self,
        log: StoreLog,
        patches: Sequence[ItemPatch],
        limit: int | None,
        chunk: Sequence[ReadItem],
    ) -> PushResult:
        """Push the patches, and store the earlier values of items that the file has first.

        A repeated id was stored by this import: what came before it is stored already.
        """
        now_ms = self._services.clock()
        if self._changes is None:
            return upsert_items(log, patches, now_ms, limit)
        first = {_patch(item).item_id for item in chunk if not item.is_repeated}
        before = list[Before]()

        def collect_before(old: StoredItem | None, new: StoredItem) -> None:
            if new.item.item_id in first:
                before.append(item_before(old, new))

        pushed = upsert_items(log, patches, now_ms, limit, collect_before)
        if pushed.seq:
            self._changes.add_items(log, pushed.seq, before)
        return pushed

    def _progress(self) -> ItemMark:
        report = self.report
        return ItemMark(self._pushed, report.created, report.updated, report.hidden)


class _DryRun:
    """Stores nothing, and reports what would have been stored."""

    def __init__(
        self, services: ImportServices, store: Store, report: ItemImportReport
    ) -> None:
        self.report = report
        self._services = services
        self._store = store
        self._created: set[int] = set()  # hashes of ids: a file may hold a million

    def push(self, chunk: Sequence[ReadItem]) -> None:
        """Report what storing a chunk would do."""
        with self._services.database.reading() as connection:
            repository = CatalogRepository(connection, self._store.store_id)
            stored, size = _stored_items(repository, chunk), repository.size()
        accepted = [item for item in chunk if not _is_skipped(item, stored)]
        latest = {_patch(item).item_id: item for item in accepted}
        created = 0
        for item_id, item in latest.items():
            is_new = item_id not in stored and hash(item_id) not in self._created
            if is_new:
                self._created.add(hash(item_id))
            created += is_new
            self._show(item, "create" if is_new else "update")
        pushed = PushResult(created, 0, size + len(self._created))
        _count_chunk(self.report, pushed, chunk, accepted)

    def _show(self, item: ReadItem, change: Literal["create", "update"]) -> None:
        if len(self.report.would) < MAX_SAMPLES:
            patch = _patch(item)
            sample = DryRunSample(item.row, change, patch.item_id, dict(patch.fields))
            self.report.would.append(sample)


def _stored_items(repository: CatalogRepository, chunk: Sequence[ReadItem]) -> _StoredItems:
    """Return the chunk's items that the catalog has, by id."""
    stored = repository.find(_patch(item).item_id for item in chunk)
    return {item_id: one for item_id, one in stored.items() if one.present}


def _is_skipped(item: ReadItem, stored: _StoredItems) -> bool:
    """Return whether an item is unpublished and not in the catalog."""
    return item.is_hidden and _patch(item).item_id not in stored


def _patch(item: ReadItem) -> ItemPatch:
    if isinstance(item.item, RejectedItem):
        message = "an item that cannot be taken is never pushed"
        raise TypeError(message)
    return item.item


def _count_chunk(
    report: ItemImportReport,
    pushed: PushResult,
    chunk: Sequence[ReadItem],
    accepted: Sequence[ReadItem],
) -> None:
    """Count each item of a chunk once: repeated ones were counted while staged."""
    first_of_id = sum(not item.is_repeated for item in accepted)
    report.created += pushed.created
    report.updated += max(0, first_of_id - pushed.created)
    report.hidden += sum(not item.is_repeated for item in chunk) - first_of_id
    report.total = pushed.total
