"""`productrecs export`: writes items, orders or events to files that the imports read."""

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import IO, Final

import click

from productrecs.core.csv_writer import CsvWriter
from productrecs.entrypoints.cli.command_context import data_option, open_services
from productrecs.entrypoints.cli.exports.export_rows import ROW_READERS
from productrecs.records.catalog.item import FIELD_DEFAULTS
from productrecs.records.events.exported_event import Fields
from productrecs.tenancy.accounts.store_management import find_store

_CSV, _JSONL = "csv", "jsonl"
_USUAL: Final[Mapping[str, str]] = MappingProxyType(
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
        ),
    }
)
_WITHIN: Final = "|"  # between the members of a list in one cell


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
    kind = kind or (Path(file).suffix[1:].lower() if file != "-" else "") or _USUAL[what]
    if kind not in {_CSV, _JSONL}:
        kind = _USUAL[what]
    if kind == _CSV and what not in _COLUMNS:
        message = f"{what} are exported as JSON lines: use --format jsonl"
        raise click.BadParameter(message, param_hint="--format")
    with open_services(data) as services:
        store = find_store(services.database, domain)
        rows = ROW_READERS[what](services.database, store.store_id)
        with _written_whole(file) as out:
            if kind == _CSV:
                count = _write_csv(out, rows, _COLUMNS[what])
            else:
                count = _write_lines(out, rows)
    click.echo(f"{count:,} rows of {what} written.", err=True)


@contextlib.contextmanager
def _written_whole(file: str) -> Iterator[IO[str]]:
    """Open a temporary file; it gets its name when all of it is written."""
    if file == "-":
        with click.open_file("-", "w", encoding="utf-8") as out:
            yield out
        return
    path = Path(file)
    draft = path.with_name(f".{path.name}.part")
    try:
        with draft.open("w", encoding="utf-8", newline="") as out:
            yield out
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _write_lines(out: IO[str], rows: Iterator[Fields]) -> int:
    count = 0
    for row in rows:
        out.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")
        count += 1
    return count


def _write_csv(out: IO[str], rows: Iterator[Fields], columns: tuple[str, ...]) -> int:
    writer = CsvWriter(out, columns)
    count = 0
    for row in rows:
        writer.write(_cell(row.get(name)) for name in columns)
        count += 1
    return count


def _cell(value: object) -> object:
    return _WITHIN.join(value) if isinstance(value, tuple) else value
