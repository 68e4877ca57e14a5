"""How does a file of items become catalog? In pushes of up to 1,000, each whole."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from productrecs.entrypoints.cli.feeds.kinds import Kind
from productrecs.entrypoints.cli.feeds.mapping import ColumnMapping
from productrecs.entrypoints.cli.feeds.reading import Reading
from productrecs.entrypoints.cli.item_files import BadItem, ReadItem, read_items
from productrecs.entrypoints.cli.source import Source
from productrecs.entrypoints.http.schemas.items import MAX_ITEMS
from productrecs.entrypoints.services import Services
from productrecs.records.catalog.item import ItemPatch
from productrecs.records.catalog.push import Pushed, fitting, push
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.records.orders.row_report import RowReport
from productrecs.storage.store_log import StoreLog
from productrecs.tenancy.accounts.allowance import catalog_limit
from productrecs.tenancy.accounts.repository import AccountRepository
from productrecs.tenancy.accounts.store import Store

MOST_SAMPLES: Final = 20
"""So many items are shown of what would change."""


@dataclass(frozen=True, slots=True)
class ItemImport:
    """How a file is to be read. Without a `kind` it is recognised by its content.

    `address` begins the addresses of products in files that have none; without one it is
    the store's domain. `each_variant` leaves the variants of a Google feed apart. A
    `mapping` says which columns of a table are ours. With `dry_run` nothing is stored.
    """

    kind: Kind | None = None
    address: str | None = None
    each_variant: bool = False
    mapping: ColumnMapping | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Sample:
    """What one row would do, in a dry run."""

    row: int
    change: Literal["create", "update"]
    id: str
    fields: dict[str, object]


@dataclass(slots=True)
class ItemReport(RowReport):
    """What became of a file of items; `total` is the size of the catalog after it.

    `folded` rows told more of a product that another row had begun; `hidden` products
    are not shown by their shop and not held by this catalog. `notes` are for a person,
    and what a dry run `would` do is shown by its first items.
    """

    created: int = 0
    updated: int = 0
    total: int = 0
    folded: int = 0
    hidden: int = 0
    notes: list[str] = field(default_factory=list)
    would: list[Sample] = field(default_factory=list)


def import_items(
    services: Services,
    store: Store,
    source: Source,
    on_bytes: Callable[[int], None],
    options: ItemImport | None = None,
) -> ItemReport:
    """Push every item of a file; return what became of it. Doing it again changes nothing.

    Of a full catalog the known items are updated and the new ones skipped.

    Raises:
        UnknownFileKindError: when nothing tells what kind of file it is.
        MissingColumnsError: when a table lacks a column of its kind.
        NotAnArrayError: for a `.json` that is none; what came before that place stays.
        BrokenFeedError: where XML ends being any; what came before that place stays.
        NotAFeedError: for XML without items.
    """
    chosen = options or ItemImport()
    reading = Reading(
        address=chosen.address or f"https://{store.domain}",
        zone=store.settings.zone,
        now_ms=services.clock(),
        each_variant=chosen.each_variant,
        mapping=chosen.mapping,
    )
    items = read_items(source, chosen.kind, reading, services.settings.data, on_bytes)
    report = ItemReport()
    pushing = _Rehearsal if chosen.dry_run else _Pushing
    _push_all(items, pushing(services, store, report))
    report.errors.sort(key=lambda error: error.row)
    report.notes = _notes(reading, store, chosen)
    return report


class _Pushing:
    """Stores items, a chunk of them in one transaction."""

    def __init__(self, services: Services, store: Store, report: ItemReport) -> None:
        self.report = report
        self._services = services
        self._store = store

    def push(self, chunk: Sequence[ReadItem]) -> None:
        """Store what is to be stored of a chunk, and tell it to the report."""
        services, store_id = self._services, self._store.store_id
        with services.database.transaction() as transaction:
            log = StoreLog(services.database, transaction, store_id, services.numbers)
            known = _known(CatalogRepository(transaction, store_id), chunk)
            wanted = [item for item in chunk if not _is_left_out(item, known)]
            patches = [_patch(item) for item in wanted]
            accounts = AccountRepository(transaction)
            limit = catalog_limit(accounts, store_id, services.settings.plans)
            taken = patches if limit is None else fitting(log, patches, limit)
            pushed = push(log, taken, services.clock(), limit)
        log.committed()
        _count(self.report, pushed, len(chunk) - len(wanted))
        taken_ids = {patch.item_id for patch in taken}
        for item in wanted:
            if limit is not None and _patch(item).item_id not in taken_ids:
                _skip(self.report, item, limit)


class _Rehearsal:
    """Stores nothing, and tells what would have been stored."""

    def __init__(self, services: Services, store: Store, report: ItemReport) -> None:
        self.report = report
        self._services = services
        self._store = store
        self._created: set[int] = set()  # hashes of ids: a file may hold a million

    def push(self, chunk: Sequence[ReadItem]) -> None:
        """Tell the report what storing a chunk would do."""
        with self._services.database.reading() as connection:
            repository = CatalogRepository(connection, self._store.store_id)
            known = _known(repository, chunk)
            size, plans = repository.size(), self._services.settings.plans
            accounts = AccountRepository(connection)
            limit = catalog_limit(accounts, self._store.store_id, plans)
        wanted = [item for item in chunk if not _is_left_out(item, known)]
        latest = {_patch(item).item_id: item for item in wanted}
        created = updated = 0
        for item_id, item in latest.items():
            is_new = item_id not in known and hash(item_id) not in self._created
            if is_new and limit is not None and size + len(self._created) >= limit:
                _skip(self.report, item, limit)
                continue
            if is_new:
                self._created.add(hash(item_id))
            created, updated = created + is_new, updated + (not is_new)
            self._show(item, "create" if is_new else "update")
        pushed = Pushed(created, updated, size + len(self._created))
        _count(self.report, pushed, len(chunk) - len(wanted))

    def _show(self, item: ReadItem, change: Literal["create", "update"]) -> None:
        if len(self.report.would) < MOST_SAMPLES:
            patch = _patch(item)
            sample = Sample(item.row, change, patch.item_id, dict(patch.fields))
            self.report.would.append(sample)


def _push_all(items: Iterable[ReadItem], pushing: _Pushing | _Rehearsal) -> None:
    """Push items, those that cannot be taken left out."""
    report = pushing.report
    chunk: list[ReadItem] = []
    for item in items:
        report.rows += item.rows
        if isinstance(item.item, BadItem):
            report.skipped(item.row, item.item.message)
            report.rows_skipped += item.rows - 1
            continue
        report.folded += item.rows - 1
        chunk.append(item)
        if len(chunk) == MAX_ITEMS:
            pushing.push(chunk)
            chunk = []
    pushing.push(chunk)


def _known(repository: CatalogRepository, chunk: Sequence[ReadItem]) -> frozenset[str]:
    """Return which ids of the chunk the catalog holds."""
    stored = repository.find(_patch(item).item_id for item in chunk)
    return frozenset(item_id for item_id, one in stored.items() if one.present)


def _is_left_out(item: ReadItem, known: frozenset[str]) -> bool:
    """Return whether an item is neither shown by its shop nor in the catalog."""
    return item.is_hidden and _patch(item).item_id not in known


def _skip(report: ItemReport, item: ReadItem, limit: int) -> None:
    report.skipped(item.row, f"the catalog is full: the plan allows {limit:,} items")


def _patch(item: ReadItem) -> ItemPatch:
    if isinstance(item.item, BadItem):
        message = "an item that cannot be taken is never pushed"
        raise TypeError(message)
    return item.item


def _count(report: ItemReport, pushed: Pushed, hidden: int) -> None:
    report.created += pushed.created
    report.updated += pushed.updated
    report.hidden += hidden
    report.total = pushed.total


def _notes(reading: Reading, store: Store, chosen: ItemImport) -> list[str]:
    notes = []
    if reading.made_addresses and chosen.address is None:
        notes.append(
            "The file has no addresses of products; they were made to begin with "
            f"{reading.address}. --base-url sets another beginning."
        )
    strange = sorted(reading.currencies - {store.settings.currency})
    if strange:
        notes.append(
            f"Prices are in {', '.join(strange)}, and the store's currency is "
            f"{store.settings.currency}: productrecs settings {store.domain} "
            f"currency={strange[0]} changes it."
        )
    return notes
