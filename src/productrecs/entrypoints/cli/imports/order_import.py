"""Order import: stores the lines of an order file, or reports what storing would do."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Final

from productrecs.core.clock import iso
from productrecs.entrypoints.cli.feeds.order_export_reader import OrderExportReader
from productrecs.entrypoints.cli.imports.order_file_reader import OrderFile
from productrecs.entrypoints.services import Services
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.records.orders.csv_reader import Row, read_rows
from productrecs.records.orders.history_import import (
    HistoryImport,
    RowReader,
    read_lines,
    time_column,
)
from productrecs.records.orders.history_line import HistoryLine
from productrecs.records.orders.row_report import MAX_ERRORS, HistoryReport
from productrecs.tenancy.accounts.store import Store

_MOST_SAMPLES: Final = 20


@dataclass(slots=True)
class OrderDryRun(HistoryReport):
    """The content of a file in a dry run; nothing was imported.

    `orders` and `items` are counted once each, `unknown_items` are those not in the
    catalog; `first` and `last` are times of its lines, and `would` the first lines.
    """

    lines: int = 0
    orders: int = 0
    items: int = 0
    unknown_items: int = 0
    first: str | None = None
    last: str | None = None
    would: list[dict[str, object]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class OrderImport:
    """One store's import of an order file that is read as `orders` says.

    `on_bytes` gets the number of further bytes read, `on_note` what a person should know.
    """

    services: Services
    store: Store
    orders: OrderFile
    on_bytes: Callable[[int], None]
    on_note: Callable[[str], None]
    errors_kept: int = MAX_ERRORS

    def run(self, file: BinaryIO) -> HistoryReport:
        """Store every line; an interrupted import resumes with the same file."""
        services, store, reader = self.services, self.store, self.orders.reader()
        history = HistoryImport(
            services.database,
            services.numbers,
            store.store_id,
            store.settings.zone,
            services.clock(),
            errors_kept=self.errors_kept,
        )
        report = history.run(file, self.orders.written, self.on_bytes, reader)
        self._tell_notes(reader)
        return report

    def dry_run(self, file: BinaryIO) -> OrderDryRun:
        """Report what the file holds; store nothing."""
        report = OrderDryRun(errors_kept=self.errors_kept)
        seen, items, moments = set[int](), set[str](), set[int]()
        reader, moment = self.orders.reader(), time_column(self.orders.written)
        for number, line in (
            (row[0], line)
            for row in self._counted_rows(file, report)
            for line in read_lines(reader, row, moment, report)
        ):
            report.lines += 1
            seen.add(hash(line.order_id))  # a file may hold millions
            items.add(line.item_id)
            if line.ts_ms is not None:
                moments = {min((*moments, line.ts_ms)), max((*moments, line.ts_ms))}
            if len(report.would) < _MOST_SAMPLES:
                report.would.append({"row": number, **_shown(line)})
        if moments:
            report.first, report.last = iso(min(moments)), iso(max(moments))
        with self.services.database.reading() as connection:
            stored = CatalogRepository(connection, self.store.store_id).find(items)
        held = sum(one.present for one in stored.values())
        report.orders, report.items = len(seen), len(items)
        report.unknown_items = report.items - held
        self._tell_notes(reader)
        return report

    def _counted_rows(self, file: BinaryIO, report: HistoryReport) -> Iterator[Row]:
        for row in read_rows(file, self.orders.written, self.on_bytes):
            report.rows += 1
            yield row

    def _tell_notes(self, reader: RowReader) -> None:
        for note in reader.notes() if isinstance(reader, OrderExportReader) else ():
            self.on_note(note)


def _shown(line: HistoryLine) -> dict[str, object]:
    fields = line._asdict()
    moment = fields.pop("ts_ms")
    fields["timestamp"] = None if moment is None else iso(moment)
    return {name: value for name, value in fields.items() if value is not None}
