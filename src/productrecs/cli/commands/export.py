"""`productrecs export`: writes a store's records as CSV or JSON lines."""

import contextlib
import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import IO, Final, TypeAlias

import click

from productrecs.cli.open_services import open_store
from productrecs.cli.options import data_option
from productrecs.core.csv_writer import CsvWriter
from productrecs.core.ids import StoreId
from productrecs.core.timestamps import iso
from productrecs.records.catalog.item import FIELD_DEFAULTS, pushed_fields
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.records.events.event import (
    EventKind,
    Fields,
    exported_event_fields,
    identity_fields,
    without_empty_fields,
)
from productrecs.records.events.repository import EventRepository
from productrecs.records.orders.order_and_purchase_ledger import merge_lines
from productrecs.records.purchases.repository import (
    FIRST_PAGE_KEY,
    PurchaseLine,
    PurchaseRepository,
)
from productrecs.storage.sql.database import Database

PAGE: Final = 2_000

Rows: TypeAlias = Callable[[Database, StoreId], Iterator[Fields]]


def item_rows(database: Database, store_id: StoreId) -> Iterator[Fields]:
    """Yield the items of the catalog; fields with their default value are left out."""
    after = -1
    while True:
        with database.reading() as connection:
            page = CatalogRepository(connection, store_id).page(after, PAGE)
        for stored_item in page:
            fields = pushed_fields(stored_item.item)
            yield {
                name: value
                for name, value in fields.items()
                if name == "id" or getattr(stored_item.item, name) != FIELD_DEFAULTS[name]
            }
        if len(page) < PAGE:
            return
        after = page[-1].number


def order_rows(database: Database, store_id: StoreId) -> Iterator[Fields]:
    """Yield a row for each item of each order, whether it was sent or imported.

    Several lines of one item become one row, with units and revenue summed. An order id
    that was accepted again after seven days has a row for each time.
    """
    active_lines = _purchase_lines_with_item_ids(database, store_id)
    for _, lines in itertools.groupby(
        active_lines, lambda pair: (pair[1].order_id, pair[1].receipt, pair[1].item)
    ):
        same_item_lines = list(lines)
        item_id, line = (
            same_item_lines[0][0],
            merge_lines([line for _, line in same_item_lines]),
        )
        yield {
            "order_id": line.order_id,
            "item_id": item_id,
            "customer_id": line.person if line.person != line.session else None,
            "timestamp": iso(line.ts),
            "quantity": line.quantity,
            "price": line.price,
            "currency": line.currency,
        }


def _purchase_lines_with_item_ids(
    database: Database, store_id: StoreId
) -> Iterator[tuple[str, PurchaseLine]]:
    after = FIRST_PAGE_KEY
    while True:
        with database.reading() as connection:
            page = PurchaseRepository(connection, store_id).page_of_order_lines(after, PAGE)
            names = CatalogRepository(connection, store_id).ids_of(
                line.item for line in page
            )
        for line in page:
            yield names[line.item], line
        if len(page) < PAGE:
            return
        last = page[-1]
        after = (last.order_id or "", last.receipt, last.item, last.line)


def event_rows(database: Database, store_id: StoreId) -> Iterator[Fields]:
    """Yield the event log, then the purchases that only a `buy` event reported."""
    yield from _rows_of_every_page(database, store_id, _event_log_page)
    yield from _rows_of_every_page(database, store_id, _buy_event_page)


_Page: TypeAlias = tuple[list[Fields], int | None]
"""A batch of rows, and the `seq` after which the next batch starts; None at the end."""


def _rows_of_every_page(
    database: Database, store_id: StoreId, read: Callable[[Database, StoreId, int], _Page]
) -> Iterator[Fields]:
    after: int | None = -1
    while after is not None:
        rows, after = read(database, store_id, after)
        yield from rows


def _event_log_page(database: Database, store_id: StoreId, after: int) -> _Page:
    with database.reading() as connection:
        page = EventRepository(connection, store_id).rows_after(after, PAGE)
        names = CatalogRepository(connection, store_id).ids_of(
            row["item"] for row in page if row["item"] is not None
        )
    rows = [exported_event_fields(row, names) for row in page]
    return rows, page[-1]["seq"] if len(page) == PAGE else None


def _buy_event_page(database: Database, store_id: StoreId, after: int) -> _Page:
    with database.reading() as connection:
        page = PurchaseRepository(connection, store_id).lines_from_buy_events(after, PAGE)
        names = CatalogRepository(connection, store_id).ids_of(line.item for line in page)
    rows = [
        without_empty_fields(
            {
                "event": EventKind.BUY.wire_name,
                **identity_fields(line.shopper or "", line.session),
                "item_id": names[line.item],
                "order_id": line.order_id,
                "value": line.total,
                "currency": line.currency,
                "quantity": line.quantity,
                "timestamp": iso(line.ts),
            }
        )
        for line in page
    ]
    return rows, page[-1].seq if len(page) == PAGE else None


ROW_READERS: Final[Mapping[str, Rows]] = MappingProxyType(
    {"items": item_rows, "orders": order_rows, "events": event_rows}
)


_CSV, _JSONL = "csv", "jsonl"
_DEFAULT_FORMATS: Final[Mapping[str, str]] = MappingProxyType(
    {"items": _JSONL, "orders": _CSV, "events": _JSONL}
)
_COLUMNS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "items": ("id", *FIELD_DEFAULTS),
        "orders": (
            "order_id",
            "item_id",
            "customer_id",
            "timestamp",
            "quantity",
            "price",
            "currency",
        ),
    }
)
_LIST_SEPARATOR: Final = "|"  # separates the members of a list in a cell


@click.command()
@click.argument("domain")
@click.argument("what", type=click.Choice(sorted(ROW_READERS)))
@click.argument("file", default="-")
@click.option(
    "--format",
    "kind",
    type=click.Choice([_CSV, _JSONL]),
    help=(
        "CSV or JSON lines (default: by the file's extension, else CSV for orders and "
        "JSON lines for the rest). Events are always JSON lines."
    ),
)
@data_option
def export(domain: str, what: str, file: str, kind: str | None, data: Path | None) -> None:
    """Write a store's items, orders or events to FILE (- for standard output).

    The import commands read these files: into another store, or into the same one,
    where they change nothing. FILE appears only when it is complete.

    Example: productrecs export shop.example.com orders orders.csv
    """
    kind = (
        kind
        or (Path(file).suffix[1:].lower() if file != "-" else "")
        or _DEFAULT_FORMATS[what]
    )
    if kind not in {_CSV, _JSONL}:
        kind = _DEFAULT_FORMATS[what]
    if kind == _CSV and what not in _COLUMNS:
        message = f"{what} are exported as JSON lines: use --format jsonl"
        raise click.BadParameter(message, param_hint="--format")
    with open_store(data, domain) as (services, store):
        rows = ROW_READERS[what](services.database, store.store_id)
        with _atomic_file(file) as out:
            if kind == _CSV:
                count = _write_csv(out, rows, _COLUMNS[what])
            else:
                count = _write_json_lines(out, rows)
    click.echo(f"{count:,} rows of {what} written.", err=True)


@contextlib.contextmanager
def _atomic_file(file: str) -> Iterator[IO[str]]:
    """Open a temporary file that is renamed to `file` when it is complete."""
    if file == "-":
        with click.open_file("-", "w", encoding="utf-8") as out:
            yield out
        return
    path = Path(file)
    draft_file = path.with_name(f".{path.name}.part")
    try:
        with draft_file.open("w", encoding="utf-8", newline="") as out:
            yield out
        draft_file.replace(path)
    finally:
        draft_file.unlink(missing_ok=True)


def _write_json_lines(out: IO[str], rows: Iterator[Fields]) -> int:
    count = 0
    for row in rows:
        out.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")
        count += 1
    return count


def _write_csv(out: IO[str], rows: Iterator[Fields], columns: tuple[str, ...]) -> int:
    writer = CsvWriter(out, columns)
    count = 0
    for row in rows:
        writer.write(_csv_cell(row.get(name)) for name in columns)
        count += 1
    return count


def _csv_cell(value: object) -> object:
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return _LIST_SEPARATOR.join(value) if isinstance(value, tuple) else value
