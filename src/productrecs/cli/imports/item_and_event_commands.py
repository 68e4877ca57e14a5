"""`productrecs import-items` and `productrecs import-events`: items and events from files.

Both are idempotent and may be interrupted: stored rows stay, and none is stored twice.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Final
from urllib.parse import urlsplit

import click

from productrecs.cli.feeds.column_mapping import read_mapping
from productrecs.cli.feeds.format_detection import ItemFileFormat
from productrecs.cli.imports.import_history import recorded_import
from productrecs.cli.imports.import_report import (
    DryRunSample,
    ItemImportReport,
    print_import_result,
)
from productrecs.cli.imports.import_source import (
    ImportSource,
    open_import_source,
    table_format_options,
)
from productrecs.cli.imports.item_import import ItemImportOptions
from productrecs.cli.imports.item_import import import_items as push_items
from productrecs.cli.options_services_and_output import (
    counted,
    data_option,
    json_option,
    open_services,
    progress,
)
from productrecs.records.catalog.price_lists import PriceListNameError, parse_list_name
from productrecs.records.events.event import NewEvent
from productrecs.records.events.repository import EventRepository
from productrecs.records.orders.ingest_events_and_orders import ingest_events
from productrecs.records.orders.order_history_import import RowReport
from productrecs.schemas.events import EVENT_LIMIT, parse_imported_event
from productrecs.schemas.strict_json import parse_json
from productrecs.schemas.validation_errors import BodyError
from productrecs.services import Services
from productrecs.storage.sql.sequence_and_item_numbers import StoreLog
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import find_store

CHUNK: Final = 2_000
"""Lines per transaction: it holds the write lock for about 50 ms."""

_KIND: Final = "events"

_Line = tuple[int, list[NewEvent]]  # a line's number and its events


@dataclass(slots=True)
class EventImportReport(RowReport):
    """The result of an event import; `rows_known` lines were imported before."""

    events_stored: int = 0
    rows_known: int = 0


@dataclass(frozen=True, slots=True)
class _FilePosition:
    """The position in a file: with the file's digest it identifies each line."""

    digest: str
    line: int


def import_event_file(
    services: Services, store: Store, source: ImportSource, on_bytes: Callable[[int], None]
) -> EventImportReport:
    """Store every event of a JSON lines file at its own time; return the result.

    Raises:
        StorageError: earlier lines stay imported; the same file continues from there.
    """
    digest = source.digest()
    with services.database.reading() as connection:
        imported = (
            EventRepository(connection, store.store_id).lines_imported(_KIND, digest) or 0
        )
    report = EventImportReport(rows_known=imported)
    chunk: list[_Line] = []
    number = 0
    for number, line in enumerate(_lines(source.file, on_bytes), start=1):
        if number <= imported or not line.strip():
            continue
        report.rows += 1
        events = _read(line, number, store, report)
        if events is not None:
            chunk.append((number, events))
        if len(chunk) == CHUNK:
            report.events_stored += _store(
                services, store, chunk, _FilePosition(digest, number)
            )
            chunk = []
    if number > imported:
        report.events_stored += _store(
            services, store, chunk, _FilePosition(digest, number)
        )
    return report


def _lines(file: BinaryIO, on_bytes: Callable[[int], None]) -> Iterator[bytes]:
    """Yield each line, cut at the size limit (a cut line is not a valid event)."""
    file.seek(0)
    while line := file.readline(EVENT_LIMIT):
        on_bytes(len(line))
        yield line
        while len(line) == EVENT_LIMIT and not line.endswith(b"\n"):
            line = file.readline(EVENT_LIMIT)
            on_bytes(len(line))


def _read(
    line: bytes, number: int, store: Store, report: EventImportReport
) -> list[NewEvent] | None:
    try:
        return parse_imported_event(parse_json(line), store.settings.zone)
    except BodyError as error:
        report.skipped(number, str(error))
        return None


def _store(
    services: Services, store: Store, chunk: Iterable[_Line], place: _FilePosition
) -> int:
    now_ms = services.clock()
    with services.database.transaction() as transaction:
        log = StoreLog(services.database, transaction, store.store_id, services.numbers)
        log.take_seqs(0)  # a concurrent import of the same file waits here
        repository = EventRepository(transaction, store.store_id)
        imported = repository.lines_imported(_KIND, place.digest) or 0
        new_events = [events for number, events in chunk if number > imported]
        stored = ingest_events(log, new_events, now_ms, imported=True)
        far = max(imported, place.line)
        repository.set_lines_imported(_KIND, place.digest, far, now_ms)
    log.committed()
    return stored


@click.command()
@click.argument("domain")
@click.argument("file")
@table_format_options(ItemFileFormat, "items")
@click.option("--dry-run", is_flag=True, help="Show what would change; change nothing.")
@click.option(
    "--base-url",
    help=(
        "The start of product addresses, for exports that have none (default: https:// "
        "and the store's domain)."
    ),
)
@click.option(
    "--each-variant",
    is_flag=True,
    help="Keep every variant of a Google feed as an item of its own.",
)
@click.option(
    "--price-list",
    callback=lambda _context, _option, name: _price_list(name),
    help=(
        "Store only the prices, in this list (such as USD or group:trade), of products "
        "that are in the catalog."
    ),
)
@json_option
@data_option
def import_items(  # noqa: PLR0913 - one argument for each option
    domain: str,
    file: str,
    *,
    kind: str | None,
    mapping: Path | None,
    dry_run: bool,
    base_url: str | None,
    each_variant: bool,
    price_list: str,
    as_json: bool,
    data: Path | None,
) -> None:
    r"""Import the items of FILE (- for standard input), whatever program wrote it.

    CSV with the item's field names as headers and | between categories, JSON, JSON
    lines; product exports of WooCommerce, Shopify and Magento; Google Merchant feeds
    (XML or a table); any other table with a --mapping.

    Example: productrecs import-items shop.example.com products.csv --dry-run
    """
    options = ItemImportOptions(
        kind=ItemFileFormat(kind) if kind else None,
        address=_address(base_url),
        each_variant=each_variant,
        mapping=read_mapping(mapping, "items") if mapping else None,
        price_list=price_list,
        dry_run=dry_run,
    )
    with open_services(data) as services:
        store = find_store(services.database, domain)
        with open_import_source(file, services.settings.data) as source:
            if dry_run:
                report = push_items(services, store, source, options, progress)
            else:
                with recorded_import(
                    services, store, file, source.size, "items"
                ) as recorded:
                    chosen = replace(options, changes=recorded.changes)
                    report = push_items(services, store, source, chosen, progress)
                    recorded.end(report)
    _print_items_result(report, dry_run=dry_run, as_json=as_json)


def _address(base_url: str | None) -> str | None:
    """Return the base address without its last slash, or None.

    Raises:
        click.BadParameter: when it is not a web address.
    """
    if base_url is None:
        return None
    parts = urlsplit(base_url)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        message = "a web address such as https://shop.example.com"
        raise click.BadParameter(message, param_hint="--base-url")
    return base_url.rstrip("/")


def _price_list(name: str | None) -> str:
    """Return the name of a price list; empty without one.

    Raises:
        click.BadParameter: when it has an invalid form.
    """
    try:
        return str(parse_list_name(name)) if name else ""
    except PriceListNameError as error:
        raise click.BadParameter(str(error), param_hint="--price-list") from error


def _print_items_result(report: ItemImportReport, *, dry_run: bool, as_json: bool) -> None:
    would = "would be " if dry_run else ""
    rows = "row" if report.folded else "item"
    parts = [
        f"{report.created:,} {would}created",
        f"{report.updated:,} {would}updated",
        f"{report.rows_skipped:,} skipped",
    ]
    if report.folded:
        parts.append(f"{report.folded:,} merged into these as variants or pictures")
    if report.hidden:
        parts.append(f"{report.hidden:,} not published and left out")
    verb = "would have" if dry_run else "has"
    for note in report.notes:
        click.echo(note, err=True)
    if dry_run and not as_json:
        for sample in report.would:
            click.echo(f"row {sample.row} would {sample.change} {_line(sample)}")
    summary = (
        f"{counted(report.rows, rows)}: {', '.join(parts)}; "
        f"the catalog {verb} {report.total:,}."
    )
    print_import_result(report, summary, as_json=as_json)


def _line(sample: DryRunSample) -> str:
    """Return an item on one line: its id and its short fields."""
    fields = {
        name: value
        for name, value in sample.fields.items()
        if value not in (None, "", ()) and name != "description"
    }
    return f"{sample.id}: {json.dumps(fields, ensure_ascii=False)}"


@click.command()
@click.argument("domain")
@click.argument("file")
@json_option
@data_option
def import_events(domain: str, file: str, *, as_json: bool, data: Path | None) -> None:
    """Import past events from FILE (JSON lines, or - for standard input).

    Each line is an event as POST /v1/events takes it, with its own ISO "timestamp".

    Example: productrecs import-events shop.example.com events.jsonl
    """
    with open_services(data) as services:
        store = find_store(services.database, domain)
        with (
            open_import_source(file, services.settings.data, may_be_empty=True) as source,
            progress("events", source.size) as on_bytes,
        ):
            report = import_event_file(services, store, source, on_bytes)
    summary = (
        f"{counted(report.rows, 'line')}: {counted(report.events_stored, 'event')} stored, "
        f"{report.rows_skipped:,} lines skipped"
        + (f"; {report.rows_known:,} were imported before." if report.rows_known else ".")
    )
    print_import_result(report, summary, as_json=as_json)
