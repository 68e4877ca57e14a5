"""`productrecs import-orders`: the command, the import and its dry run."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, Final

import click

from productrecs.cli.feeds.column_mapping import read_mapping
from productrecs.cli.feeds.order_export_reader import OrderExportReader
from productrecs.cli.imports.import_history import recorded_import
from productrecs.cli.imports.import_report import print_import_result
from productrecs.cli.imports.import_source import (
    ImportSource,
    open_import_source,
    table_format_options,
)
from productrecs.cli.imports.order_file_reader import (
    OrderFile,
    OrderFileFormat,
    open_orders,
)
from productrecs.cli.options_services_and_output import (
    counted,
    data_option,
    json_option,
    open_services,
    progress,
)
from productrecs.core.clock import MINUTE_MS, iso
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.records.orders.csv_reader import Row, read_rows
from productrecs.records.orders.order_history_import import (
    MAX_ERRORS,
    HistoryImport,
    HistoryReport,
    RowReader,
    read_lines,
    time_column,
)
from productrecs.records.orders.order_history_line import HistoryLine, TimeRule
from productrecs.records.uploads.undo.undo_import import ImportChanges
from productrecs.services import Services
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import find_store

_MAX_SAMPLES: Final = 20
_NAMED: Final = 5
_AHEAD_MS: Final = 5 * MINUTE_MS  # a clock may be ahead by as much
_MAX_COMPARED: Final = 2_000_000  # lines of a dry run that are compared: 200 MB


@dataclass(slots=True)
class OrderDryRun(HistoryReport):
    """The result of a dry run; nothing was imported.

    `orders` and `items` are counted once each, `unknown_items` are those not in the
    catalog, of which `unknown` names some; `returns` are lines of a negative quantity.
    `first` and `last` are times of its lines, and `would` the first lines.
    """

    orders: int = 0
    items: int = 0
    unknown_items: int = 0
    unknown: list[str] = field(default_factory=list)
    returns: int = 0
    first: str | None = None
    last: str | None = None
    would: list[dict[str, object]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class OrderImport:
    """One store's import of an order file that is read as `orders` says.

    `on_bytes` gets the number of further bytes read, `on_note` notes for the user. New
    lines without a readable time are of today if they were `ordered_today`, else errors.
    `changes` stores what is needed to undo the import.
    """

    services: Services
    store: Store
    orders: OrderFile
    on_bytes: Callable[[int], None]
    on_note: Callable[[str], None]
    max_errors: int = MAX_ERRORS
    ordered_today: bool = False
    changes: ImportChanges | None = None

    def run(self, file: BinaryIO) -> HistoryReport:
        """Store every line; an interrupted import resumes with the same file.

        Raises:
            NoOrderTimesError: when no row has a readable time, unless ordered today.
        """
        self._check_times(file)
        services, store, reader = self.services, self.store, self.orders.reader()
        history = HistoryImport(
            services.database,
            services.numbers,
            store.store_id,
            store.settings.zone,
            services.clock(),
            max_errors=self.max_errors,
            times=self._times(),
            changes=self.changes,
        )
        report = history.run(file, self.orders.csv_format, self.on_bytes, reader)
        self._finish(file, reader, report)
        return report

    def dry_run(self, file: BinaryIO) -> OrderDryRun:
        """Report what the file holds; store nothing.

        Raises:
            NoOrderTimesError: as `run`.
        """
        self._check_times(file)
        report, seen = OrderDryRun(max_errors=self.max_errors), set[int]()
        orders_seen, items, times = set[int](), set[str](), set[int]()
        reader, time_index = self.orders.reader(), time_column(self.orders.csv_format)
        for number, line in (
            (row[0], line)
            for row in self._counted_rows(file, report)
            for line in read_lines(reader, row, time_index, report, self._times())
        ):
            key = hash((line.order_id, line.item_id))
            report.lines_repeated += key in seen
            report.returns += line.quantity is not None and line.quantity < 0
            if len(seen) < _MAX_COMPARED:
                seen.add(key)
            orders_seen.add(hash(line.order_id))  # a file may hold millions
            items.add(line.item_id)
            if line.ts_ms is not None:
                times = {min((*times, line.ts_ms)), max((*times, line.ts_ms))}
            if len(report.would) < _MAX_SAMPLES:
                report.would.append({"row": number, **_shown(line)})
        if times:
            report.first, report.last = iso(min(times)), iso(max(times))
        with self.services.database.reading() as connection:
            stored = CatalogRepository(connection, self.store.store_id).find(items)
        known = {item_id for item_id, one in stored.items() if one.present}
        report.orders, report.items = len(orders_seen), len(items)
        report.unknown_items = report.items - len(known)
        report.unknown = sorted(items - known)[:_NAMED]
        self._finish(file, reader, report)
        return report

    def _times(self) -> TimeRule:
        latest_ms = self.services.clock() + _AHEAD_MS
        return TimeRule(required=not self.ordered_today, latest_ms=latest_ms)

    def _check_times(self, file: BinaryIO) -> None:
        if not self.ordered_today:
            self.orders.check_times(file)

    def _counted_rows(self, file: BinaryIO, report: HistoryReport) -> Iterator[Row]:
        for row in read_rows(file, self.orders.csv_format, self.on_bytes):
            report.rows += 1
            yield row

    def _finish(self, file: BinaryIO, reader: RowReader, report: HistoryReport) -> None:
        """Name the file's columns in its errors, and report notes for the user."""
        report.name_columns(self.orders.column_titles(file))
        if unused := self.orders.unused_columns(file):
            self.on_note(f"Columns that are not used: {', '.join(unused)}.")
        for note in reader.notes() if isinstance(reader, OrderExportReader) else ():
            self.on_note(note)


def _shown(line: HistoryLine) -> dict[str, object]:
    fields = line._asdict()
    time_index = fields.pop("ts_ms")
    fields["timestamp"] = None if time_index is None else iso(time_index)
    return {name: value for name, value in fields.items() if value is not None}


@click.command()
@click.argument("domain")
@click.argument("file")
@table_format_options(OrderFileFormat, "orders")
@click.option(
    "--dry-run", is_flag=True, help=("Show what the file contains; change nothing.")
)
@click.option(
    "--timestamp-format",
    "pattern",
    help="The format of times, if it is not detected, such as %d/%m/%Y.",
)
@click.option(
    "--ordered-today",
    is_flag=True,
    help="Import new lines without a readable time as orders of today.",
)
@json_option
@data_option
def import_orders(  # noqa: PLR0913 - one argument for each option
    domain: str,
    file: str,
    *,
    kind: str | None,
    mapping: Path | None,
    dry_run: bool,
    pattern: str | None,
    ordered_today: bool,
    as_json: bool,
    data: Path | None,
) -> None:
    """Import the order history FILE (a CSV, or - for standard input).

    Header: order_id,item_id,timestamp[,customer_id][,quantity][,price][,currency], or
    their names in shop systems and other languages; or an order export of Shopify or
    WooCommerce. A line that was imported before is overwritten.

    Example: productrecs import-orders shop.example.com orders.csv
    """
    columns = read_mapping(mapping, "orders") if mapping else None
    with open_services(data) as services:
        store = find_store(services.database, domain)
        with open_import_source(file, services.settings.data) as source:
            chosen = OrderFileFormat(kind) if kind else None
            orders = open_orders(services, store, source.file, chosen, columns, pattern)
            with progress("orders", orders.csv_format.size) as on_bytes:
                importing = OrderImport(
                    services,
                    store,
                    orders,
                    on_bytes,
                    _print_note,
                    ordered_today=ordered_today,
                )
                report = _run(importing, source, "" if dry_run else file)
    if orders.csv_format.encoding == "cp1252":
        click.echo("This file is not UTF-8; it was read as Windows-1252.", err=True)
    if ordered_today:
        _print_times(report, dry_run=dry_run)
    if report.not_bought:
        omitted = ", ".join(f"{n:,} {reason}" for reason, n in report.not_bought.items())
        click.echo(
            (f"Rows of orders that are not purchases were skipped: {omitted}."), err=True
        )
    print_import_result(report, _summary(report), as_json=as_json)


def _run(importing: OrderImport, source: ImportSource, name: str) -> HistoryReport:
    """Run an import, recorded by the file's name; without one a dry run."""
    if not name:
        return importing.dry_run(source.file)
    services, store = importing.services, importing.store
    with recorded_import(services, store, name, source.size, "orders") as recorded:
        report = replace(importing, changes=recorded.changes).run(source.file)
        recorded.end(report)
    return report


def _print_note(text: str) -> None:
    click.echo(text, err=True)


def _print_times(report: HistoryReport, *, dry_run: bool) -> None:
    """Print the rows whose time cannot be read, and how to set the format."""
    if not report.rows_undated:
        return
    undated = counted(report.rows_undated, "row")
    placed = "would be placed" if dry_run else "placed"
    click.echo(f"{undated} without a readable time: {placed} on today.", err=True)
    for one in report.undated:
        click.echo(f"row {one.row}: {one.message}", err=True)
    if report.undated:
        click.echo(
            "Set the format of times: --timestamp-format %d/%m/%Y for days first, "
            "%m/%d/%Y for months first, with %H:%M:%S for the time.",
            err=True,
        )


def _summary(report: HistoryReport) -> str:
    if isinstance(report, OrderDryRun):
        lines = counted(report.lines, "line")
        between = f", {report.first} to {report.last}," if report.first else ""
        repeated = f" ({report.lines_repeated:,} of them repeated in the file)"
        return (
            f"{counted(report.rows, 'row')}: {lines} of {counted(report.orders, 'order')}"
            f"{between} would be imported{repeated if report.lines_repeated else ''}, "
            f"{report.rows_skipped:,} rows skipped; "
            f"{report.unknown_items:,} of {counted(report.items, 'product')} are not in "
            "the catalog."
        )
    return (
        f"{counted(report.rows, 'row')}: {report.lines_imported:,} lines imported, "
        f"{report.lines_updated:,} changed, {report.rows_skipped:,} rows skipped."
    )
