"""How does a file of items become catalog? In pushes of up to 1,000, each whole."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from productrecs.entrypoints.cli.item_files import BadItem, Numbered, read_items
from productrecs.entrypoints.cli.source import Source
from productrecs.entrypoints.http.schemas.items import MAX_ITEMS
from productrecs.entrypoints.services import Services
from productrecs.records.catalog.item import ItemPatch
from productrecs.records.catalog.push import push
from productrecs.records.orders.row_report import RowReport
from productrecs.storage.store_log import StoreLog
from productrecs.tenancy.accounts.store import Store


@dataclass(slots=True)
class ItemReport(RowReport):
    """What became of a file of items; `total` is the size of the catalog after it."""

    created: int = 0
    updated: int = 0
    total: int = 0


def import_items(
    services: Services, store: Store, source: Source, on_bytes: Callable[[int], None]
) -> ItemReport:
    """Push every item of a file; return what became of it. Doing it again changes nothing.

    Raises:
        UnknownFileKindError: for an ending that files of items do not have.
        MissingColumnsError: for a CSV without a column `id`.
        NotAnArrayError: for a `.json` that is none; what came before that place stays.
    """
    return push_all(services, store, read_items(source, on_bytes))


def push_all(services: Services, store: Store, items: Iterable[Numbered]) -> ItemReport:
    """Push items, those that cannot be taken left out; return what became of them."""
    report = ItemReport()
    chunk: list[ItemPatch] = []
    for number, item in items:
        report.rows += 1
        if isinstance(item, BadItem):
            report.skipped(number, item.message)
            continue
        chunk.append(item)
        if len(chunk) == MAX_ITEMS:
            _push(services, store, chunk, report)
            chunk = []
    _push(services, store, chunk, report)
    return report


def _push(
    services: Services, store: Store, chunk: list[ItemPatch], report: ItemReport
) -> None:
    with services.database.transaction() as transaction:
        log = StoreLog(services.database, transaction, store.store_id, services.numbers)
        pushed = push(log, chunk, services.clock())
    log.committed()
    report.created += pushed.created
    report.updated += pushed.updated
    report.total = pushed.total
