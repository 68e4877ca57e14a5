"""Order import: a file of past orders, imported or only checked in a dry run."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Final

from productrecs.core.clock import MINUTE_MS
from productrecs.core.csv_reader import Row, read_rows
from productrecs.core.timestamps import iso
from productrecs.features.imports.feeds.order_export_reader import OrderExportReader
from productrecs.features.imports.import_services import ImportServices
from productrecs.features.imports.order_file_reader import (
    InspectedOrderFile,
)
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.records.orders.order_history_import import (
    MAX_ERRORS,
    OrderHistoryImport,
    OrderHistoryImportReport,
    OrderRowReader,
    read_and_count_lines,
    time_column,
)
from productrecs.records.orders.order_history_line import AcceptedTimes, OrderHistoryLine
from productrecs.records.uploads.undo.undo_import import ImportChangeJournal
from productrecs.tenancy.accounts.store import Store

_MAX_SAMPLES: Final = 20
_NAMED: Final = 5
_AHEAD_MS: Final = 5 * MINUTE_MS  # a clock may be ahead by as much
_MAX_COMPARED: Final = 2_000_000  # lines of a dry run that are compared: 200 MB


@dataclass(slots=True)
class OrderDryRunReport(OrderHistoryImportReport):
    """The result of a dry run; nothing was imported.

    `orders` and `items` are counted once each, `unknown_items` are those not in the
    catalog, of which `unknown` names some; `returns` are lines of a negative quantity.
    `first` and `last` are times of its lines, and `would` the first lines. `units` and
    `revenue` are sums of all lines; `revenue` is in the store's currency, without lines
    of unknown price and those in another currency.
    """

    orders: int = 0
    items: int = 0
    unknown_items: int = 0
    unknown: list[str] = field(default_factory=list)
    returns: int = 0
    units: int = 0
    revenue: float = 0.0
    first: str | None = None
    last: str | None = None
    would: list[dict[str, object]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class OrderImport:
    """One store's import of an order file that is read as `orders` says.

    `on_bytes` gets the number of further bytes read, `on_note` notes for the user. New
    lines without a readable time are of today if they were `ordered_today`, else errors.
    `changes` stores what is needed to undo the import. With `adds_repeats`, lines of one
    order and item are added up; else the last one counts.
    """

    services: ImportServices
    store: Store
    orders: InspectedOrderFile
    on_bytes: Callable[[int], None]
    on_note: Callable[[str], None]
    max_errors: int = MAX_ERRORS
    ordered_today: bool = False
    changes: ImportChangeJournal | None = None
    adds_repeats: bool = False

    def run(self, file: BinaryIO) -> OrderHistoryImportReport:
        """Store every line; an interrupted import resumes with the same file.

        Raises:
            NoOrderTimesError: when no row has a readable time, unless ordered today.
        """
        self._require_a_readable_time(file)
        services, store, reader = self.services, self.store, self.orders.reader()
        history = OrderHistoryImport(
            services.database,
            services.numbers,
            store.store_id,
            store.settings.zone,
            services.clock(),
            max_errors=self.max_errors,
            times=self._accepted_times(),
            changes=self.changes,
            adds_repeats=self.adds_repeats,
        )
        report = history.run(file, self.orders.csv_format, self.on_bytes, reader)
        self._name_columns_in_errors_and_note(file, reader, report)
        return report

    def dry_run(self, file: BinaryIO) -> OrderDryRunReport:
        """Report what the file holds; store nothing.

        Raises:
            NoOrderTimesError: as `run`.
        """
        self._require_a_readable_time(file)
        report, line_keys = OrderDryRunReport(max_errors=self.max_errors), set[int]()
        orders_seen, items, times = set[int](), set[str](), set[int]()
        reader, time_index = self.orders.reader(), time_column(self.orders.csv_format)
        report.adds_repeats = self.adds_repeats or reader.sums
        own_currency = self.store.settings.currency
        for number, line in (
            (row[0], line)
            for row in self._read_and_count_rows(file, report)
            for line in read_and_count_lines(
                reader, row, time_index, report, self._accepted_times()
            )
        ):
            key = hash((line.order_id, line.item_id))
            report.lines_repeated += key in line_keys
            report.returns += line.quantity is not None and line.quantity < 0
            if len(line_keys) < _MAX_COMPARED:
                line_keys.add(key)
            units = 1 if line.quantity is None else line.quantity
            report.units += units
            if line.price is not None and line.currency in {None, own_currency}:
                report.revenue += units * line.price
            orders_seen.add(hash(line.order_id))  # a file may hold millions
            items.add(line.item_id)
            if line.ts_ms is not None:
                times = {min((*times, line.ts_ms)), max((*times, line.ts_ms))}
            if len(report.would) < _MAX_SAMPLES:
                report.would.append({"row": number, **_order_line_sample(line)})
        if times:
            report.first, report.last = iso(min(times)), iso(max(times))
        with self.services.database.reading() as connection:
            stored = CatalogRepository(connection, self.store.store_id).find(items)
        known = {item_id for item_id, item in stored.items() if item.present}
        report.orders, report.items = len(orders_seen), len(items)
        report.unknown_items = report.items - len(known)
        report.unknown = sorted(items - known)[:_NAMED]
        self._name_columns_in_errors_and_note(file, reader, report)
        return report

    def _accepted_times(self) -> AcceptedTimes:
        latest_ms = self.services.clock() + _AHEAD_MS
        return AcceptedTimes(required=not self.ordered_today, latest_ms=latest_ms)

    def _require_a_readable_time(self, file: BinaryIO) -> None:
        if not self.ordered_today:
            self.orders.require_a_readable_time(file)

    def _read_and_count_rows(
        self, file: BinaryIO, report: OrderHistoryImportReport
    ) -> Iterator[Row]:
        for row in read_rows(file, self.orders.csv_format, self.on_bytes):
            report.rows += 1
            yield row

    def _name_columns_in_errors_and_note(
        self, file: BinaryIO, reader: OrderRowReader, report: OrderHistoryImportReport
    ) -> None:
        """Name the file's columns in its errors, and report notes for the user."""
        report.rename_columns_in_errors(self.orders.column_titles(file))
        if unused := self.orders.unused_columns(file):
            self.on_note(f"Columns that are not used: {', '.join(unused)}.")
        for note in reader.notes() if isinstance(reader, OrderExportReader) else ():
            self.on_note(note)


def _order_line_sample(line: OrderHistoryLine) -> dict[str, object]:
    fields = line._asdict()
    ts_ms = fields.pop("ts_ms")
    fields["timestamp"] = None if ts_ms is None else iso(ts_ms)
    return {name: value for name, value in fields.items() if value is not None}
