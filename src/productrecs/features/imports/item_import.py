"""Item import: reads the whole file first, then pushes its items by the thousand.

An invalid file is rejected before the first item is stored. Between the two steps the items
are in a temporary file in the data folder, because they may exceed memory.
"""

import contextlib
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from productrecs.core.outbound_http import url_host
from productrecs.features.imports.catalog_diff import (
    CatalogDiff,
    active_item_batches,
    removal_patch,
    restoring_patch,
)
from productrecs.features.imports.feeds.column_mapping import ColumnMapping
from productrecs.features.imports.feeds.feed_read_state import FeedReadState
from productrecs.features.imports.feeds.format_detection import ItemFileFormat
from productrecs.features.imports.import_report import (
    DryRunSample,
    ItemImportReport,
    foreign_link_host_notes,
    item_import_notes,
)
from productrecs.features.imports.import_services import ImportServices
from productrecs.features.imports.import_source import ImportSource
from productrecs.features.imports.item_file_reader import (
    ReadItem,
    RejectedItem,
    read_items,
)
from productrecs.features.imports.item_staging import (
    ItemStaging,
    StoredItems,
    find_stored_items,
    require_patch,
)
from productrecs.records.catalog.catalog_push import (
    PushResult,
    upsert_items,
)
from productrecs.records.catalog.item import ItemPatch
from productrecs.records.catalog.price_lists import as_list_prices, parse_list_name
from productrecs.records.catalog.repository import CatalogRepository, StoredItem
from productrecs.records.orders.order_history_import import MAX_ERRORS
from productrecs.records.uploads.file_import import ItemImportProgress
from productrecs.records.uploads.undo.repository import Before
from productrecs.records.uploads.undo.undo_import import ImportChangeJournal, item_before
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.tenancy.accounts.repository import AccountRepository
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import catalog_limit

_NOT_REMOVED: Final = (
    "The file has rows without a readable id, so no product was removed from the catalog."
)
MAX_SAMPLES: Final = 20
"""The most items shown in a dry run."""

ProgressFactory = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]
"""Progress display: opened with a step's name and length, called with each advance."""


OnStored = Callable[[Any, ItemImportProgress], None]
"""Called with a chunk's transaction and the import's new progress."""


@dataclass(frozen=True, slots=True)
class ItemImportOptions:
    """How a file is read. Without a `kind` its format is detected.

    `address` begins the product addresses of files that have none; the default is the
    store's domain. `each_variant` keeps the variants of a Google feed separate. A
    `mapping` maps the columns of a table. With a `price_list` the file only sets the
    prices of known items in this list. With `dry_run` nothing is stored. The report
    names up to `max_errors` rejected rows. An import that was interrupted goes
    on after its `progress`; `on_stored` gets the new one within each chunk's transaction,
    and `changes` what is needed to undo the import. With `only_changes` items that are
    stored as they are in the file are not stored again. The file `is_complete` if products
    that it lacks are no longer sold: then they are discontinued.
    """

    kind: ItemFileFormat | None = None
    address: str | None = None
    each_variant: bool = False
    mapping: ColumnMapping | None = None
    price_list: str = ""
    dry_run: bool = False
    max_errors: int = MAX_ERRORS
    progress: ItemImportProgress = field(default_factory=ItemImportProgress)
    only_changes: bool = False
    is_complete: bool = False
    on_stored: OnStored | None = None
    changes: ImportChangeJournal | None = None


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
        NoTitleColumnError: when a table has no column of titles, and no known product.
        BrokenJsonArrayError: for a `.json` without an array.
        BrokenFeedError: where XML is not well-formed.
        NotAFeedError: for XML without items.
        CatalogLimitError: when the catalog would exceed the plan's limit.

    After an error nothing of the file is stored, with one exception: if items pushed
    meanwhile by others fill the catalog, what was stored before stays.
    """
    chosen = options or ItemImportOptions()
    reading = FeedReadState(
        address=chosen.address or f"https://{store.domain}",
        zone=store.settings.zone,
        now_ms=services.clock(),
        each_variant=chosen.each_variant,
        mapping=chosen.mapping,
        currency=_file_currency(chosen.price_list, store),
    )
    report = ItemImportReport(max_errors=chosen.max_errors)
    with tempfile.TemporaryFile(dir=services.folder) as file:
        staging = ItemStaging(services, store, reading, report, file)
        with show_progress("reading", source.size) as on_bytes:
            folder = services.folder
            items = read_items(source, chosen.kind, reading, folder, on_bytes)
            if chosen.price_list:
                items = _price_list_items(chosen.price_list, items, reading)
            staging.stage_and_count(items)
        staging.check_titles_and_limit()
        # Without titles the result depends on the catalog, so the import starts again.
        progress = ItemImportProgress() if reading.is_untitled else chosen.progress
        writer = _ItemWriter(services, store, report, staging, chosen, progress)
        pusher = _DryRunReporter(services, store, report) if chosen.dry_run else writer
        with show_progress("items", staging.items) as advance:
            for chunk in staging.chunks():
                pusher.push(chunk)
                advance(len(chunk))
            if chosen.is_complete:
                _remove_missing_items(services, store, staging, pusher, report)
            pusher.push(())
    report.rename_columns_in_errors(reading.titles)
    report.errors.sort(key=lambda error: error.row)
    report.ignored_columns = list(reading.ignored)
    report.notes += item_import_notes(
        reading, store, report, has_address=chosen.address is not None
    )
    return report


def _remove_missing_items(
    services: ImportServices,
    store: Store,
    staging: ItemStaging,
    pusher: "_DryRunReporter | _ItemWriter",
    report: ItemImportReport,
) -> None:
    """Remove the active items that a complete file lacks.

    A rejected row may be about any item: then all stay.
    """
    if staging.has_unknown_ids:
        report.notes.append(_NOT_REMOVED)
        return
    for page in active_item_batches(services.database, store.store_id):
        missing = [stored for stored in page if not staging.contains(stored.item.item_id)]
        if missing:
            pusher.remove(missing)


def _file_currency(price_list: str, store: Store) -> str:
    own = parse_list_name(price_list).currency if price_list else ""
    return own or store.settings.currency


def _price_list_items(
    price_list: str, items: Iterable[ReadItem], reading: FeedReadState
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


class _ItemWriter:
    """Stores items, one transaction per chunk."""

    def __init__(
        self,
        services: ImportServices,
        store: Store,
        report: ItemImportReport,
        staging: ItemStaging,
        options: ItemImportOptions,
        progress: ItemImportProgress,
    ) -> None:
        self.report = report
        self._services = services
        self._store = store
        self._staging = staging
        self._options = options
        self._stored = progress.items  # by an earlier attempt
        self._pushed = 0
        report.created += progress.created
        report.updated += progress.updated
        report.hidden += progress.hidden
        report.unchanged += progress.unchanged
        report.removed += progress.removed

    def push(self, chunk: Sequence[ReadItem]) -> None:
        """Store the changed items of a chunk, and update the report."""
        self._pushed += len(chunk)
        if chunk and self._pushed <= self._stored:
            return
        with self._log_transaction() as log:
            repository = CatalogRepository(log.transaction, log.store_id)
            stored = find_stored_items(repository, chunk)
            accepted = [item for item in chunk if not _is_hidden_and_unknown(item, stored)]
            changed = [item for item in accepted if self._has_to_be_stored(item, stored)]
            first = {require_patch(item).item_id for item in chunk if not item.is_repeated}
            patches = [
                self._patch_to_store(patch, stored.get(patch.item_id))
                for patch in map(require_patch, changed)
            ]
            pushed = self._upsert_with_undo_changes(log, patches, first)
            self.report.unchanged += len(accepted) - len(changed)
            self.report.updated -= len(accepted) - len(changed)
            _add_chunk_to_report(self.report, pushed, chunk, accepted)
            if chunk:
                self._store_progress(log)

    def remove(self, missing: Sequence[StoredItem]) -> None:
        """Discontinue items."""
        patches = [removal_patch(stored.item.item_id) for stored in missing]
        with self._log_transaction() as log:
            first = {patch.item_id for patch in patches}
            self._upsert_with_undo_changes(log, patches, first)
            self.report.removed += len(missing)
            self._store_progress(log)

    @contextlib.contextmanager
    def _log_transaction(self) -> Iterator[StoreLogTransaction]:
        services, store_id = self._services, self._store.store_id
        with services.database.transaction() as transaction:
            log = StoreLogTransaction(
                services.database, transaction, store_id, services.numbers
            )
            yield log
        log.cache_committed_numbers()

    def _has_to_be_stored(self, item: ReadItem, stored: StoredItems) -> bool:
        """Return whether an item has to be stored.

        Of a repeated id the last row counts, which may be in another chunk.
        """
        patch = require_patch(item)
        known = stored.get(patch.item_id)
        if known is None or not self._options.only_changes:
            return True
        is_repeated = self._staging.has_several_rows(patch.item_id)
        return (
            is_repeated
            or known.item.with_patch(self._patch_to_store(patch, known)) != known.item
        )

    def _patch_to_store(self, patch: ItemPatch, known: StoredItem | None) -> ItemPatch:
        if known is None or not self._options.is_complete:
            return patch
        return restoring_patch(patch, known.item)

    def _upsert_with_undo_changes(
        self, log: StoreLogTransaction, patches: Sequence[ItemPatch], first: Collection[str]
    ) -> PushResult:
        """Push the patches, and store the earlier values of items that the file has first.

        A repeated id was stored by this import: what came before it is stored already.
        """
        now_ms, changes = self._services.clock(), self._options.changes
        accounts = AccountRepository(log.transaction)
        limit = catalog_limit(accounts, log.store_id, self._services.plans)
        if changes is None:
            return upsert_items(log, patches, now_ms, limit)
        before = list[Before]()

        def collect_before(old: StoredItem | None, new: StoredItem) -> None:
            if new.item.item_id in first:
                before.append(item_before(old, new))

        pushed = upsert_items(log, patches, now_ms, limit, collect_before)
        if pushed.seq:
            changes.add_items(log, pushed.seq, before)
        return pushed

    def _store_progress(self, log: StoreLogTransaction) -> None:
        report = self.report
        counts = (report.created, report.updated, report.hidden)
        progress = ItemImportProgress(
            self._pushed, *counts, report.unchanged, report.removed
        )
        if self._options.on_stored is not None:
            self._options.on_stored(log.transaction, progress)


class _DryRunReporter:
    """Stores nothing, and reports what would have been stored."""

    def __init__(
        self, services: ImportServices, store: Store, report: ItemImportReport
    ) -> None:
        self.report = report
        self._services = services
        self._store = store
        self._created: set[int] = set()  # hashes of ids: a file may hold a million
        self._diff = CatalogDiff()
        self._links = Counter[str]()  # by host

    def push(self, chunk: Sequence[ReadItem]) -> None:
        """Report what storing a chunk would do; the last one is empty."""
        with self._services.database.reading() as connection:
            repository = CatalogRepository(connection, self._store.store_id)
            stored, size = find_stored_items(repository, chunk), repository.size()
            if not chunk:
                self.report.diff = self._diff.report_fields(
                    repository.count_not_discontinued()
                )
                self.report.notes += foreign_link_host_notes(
                    self._links, self._store.domain
                )
        accepted = [item for item in chunk if not _is_hidden_and_unknown(item, stored)]
        latest = {require_patch(item).item_id: item for item in accepted}
        created = 0
        for item_id, item in latest.items():
            known = stored.get(item_id)
            self._diff.count_patch(
                None if known is None else known.item, require_patch(item)
            )
            if url := require_patch(item).fields.get("product_url"):
                self._links[url_host(str(url))] += 1
            is_new = known is None and hash(item_id) not in self._created
            if is_new:
                self._created.add(hash(item_id))
            created += is_new
            self._add_sample(item, "create" if is_new else "update")
        pushed = PushResult(created, 0, size + len(self._created))
        _add_chunk_to_report(self.report, pushed, chunk, accepted)

    def remove(self, missing: Sequence[StoredItem]) -> None:
        """Report the items that would be discontinued."""
        for stored in missing:
            self._diff.count_removed(stored.item)

    def _add_sample(self, item: ReadItem, change: Literal["create", "update"]) -> None:
        if len(self.report.would) < MAX_SAMPLES:
            patch = require_patch(item)
            sample = DryRunSample(item.row, change, patch.item_id, dict(patch.fields))
            self.report.would.append(sample)


def _is_hidden_and_unknown(item: ReadItem, stored: StoredItems) -> bool:
    """Return whether an item is unpublished and not in the catalog."""
    return item.is_hidden and require_patch(item).item_id not in stored


def _add_chunk_to_report(
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
