"""Import preview: how a file of the dashboard is read, its mapping and its first values."""

import contextlib
import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, BinaryIO, Final

from productrecs.core.csv_column_matching import simplify_column_name
from productrecs.core.csv_reader import (
    HISTORY_LAYOUT,
    BrokenRow,
    CsvLayout,
    MissingColumnsError,
    column_names,
    inspect_csv,
    read_head,
    read_header,
    read_rows,
)
from productrecs.core.errors import ProductRecsError
from productrecs.features.imports.feeds.column_mapping import (
    FIELDS,
    REQUIRED,
    ColumnMapping,
    mapping_from_choices,
)
from productrecs.features.imports.feeds.column_synonyms import FIELD_GROUPS, field_title
from productrecs.features.imports.feeds.format_detection import (
    CATALOG,
    FORMAT_TITLES,
    NAMED_CATALOG,
    ItemFileFormat,
    detect_item_format,
)
from productrecs.features.imports.feeds.stock_columns import with_stock_column_by_values
from productrecs.features.imports.import_report import ANY_TABLE
from productrecs.features.imports.import_source import ImportSource
from productrecs.features.imports.order_file_reader import (
    NAMED_HISTORY,
    ORDER_LAYOUTS,
    OrderFileFormat,
    detect_order_format,
)
from productrecs.features.imports.pending_table_erasure import NO_LAYOUT
from productrecs.records.catalog.item import FIELD_DEFAULTS
from productrecs.records.uploads.file_import import FileImport

BY_COLUMNS: Final = "columns"
"""The format of a table whose columns the merchant has chosen."""

DETECTED: Final = "detected"
"""The format that the merchant chose to have detected, whatever was remembered."""

ORDERS: Final = "orders"
ITEMS: Final = "items"
_LAYOUTS: Final[Mapping[str, CsvLayout]] = MappingProxyType(
    {ORDERS: NAMED_HISTORY, ITEMS: NAMED_CATALOG}
)
_ORDER_TITLES: Final = MappingProxyType(
    {
        OrderFileFormat.CSV: "A table",
        OrderFileFormat.SHOPIFY: "A Shopify order export",
        OrderFileFormat.WOOCOMMERCE: "A WooCommerce order export",
    }
)
_ITEM_TITLES: Final = MappingProxyType(
    {
        ItemFileFormat.CSV: "A table",
        ItemFileFormat.JSON: "JSON",
        ItemFileFormat.JSONL: "JSON lines",
        **{kind: f"A{title[1:]}" for kind, title in FORMAT_TITLES.items()},
    }
)
_SHOWN_ROWS: Final = 10
_LONGEST_CELL: Final = 80
_GUESSES: Final = 3
_AMOUNT: Final = re.compile(r"\W*(?:[A-Z]{3}\s*)?\d[\d.,'\s]{0,12}\s*(?:[A-Z]{3}|[^\w\s])?")
_SAMPLES: Final = 3  # values shown of each column
_SAMPLED_ROWS: Final = 200
_MISREAD_ROWS: Final = 5  # the fewest rows that say something about a column
_MISREAD_SHARE: Final = 0.9
_REJECTED_ROWS_COLUMNS: Final = ["row", "reason"]


def detect_orders_or_items(source: ImportSource) -> str:
    """Return the kind of a file, orders or items, by its header."""
    try:
        detect_order_format(source.file)
    except MissingColumnsError:
        return ITEMS
    return ORDERS


def shopper_table_layout(source: ImportSource, file_import: FileImport) -> CsvLayout | None:
    """Return the layout of a table that may name shoppers; None for products."""
    kind = file_import.choices.kind or detect_orders_or_items(source)
    names = table_columns(source.file)
    if mapping := chosen_mapping(kind, file_import) if names else None:
        return mapping.layout if kind == ORDERS else None
    known_formats = set(ItemFileFormat) - {ItemFileFormat.CSV}  # CSV is also the default
    if not names or (kind == ITEMS and _detect_format_key(source, ITEMS) in known_formats):
        return None
    with contextlib.suppress(MissingColumnsError):
        return ORDER_LAYOUTS[detect_order_format(source.file)]
    with contextlib.suppress(MissingColumnsError):
        read_header(read_head(source.file), CATALOG)
        return None
    return NO_LAYOUT


def describe_format_and_mapping(
    source: ImportSource, kind: str, file_import: FileImport
) -> dict[str, Any]:
    """Return the format of a file, and the mapping of its columns."""
    names = table_columns(source.file)
    titles = _ORDER_TITLES if kind == ORDERS else _ITEM_TITLES
    chosen = file_import.choices.format
    if chosen in {"", DETECTED}:
        chosen = _detect_format_key(source, kind)
    preview: dict[str, Any] = {
        "kind": kind,
        "format": chosen,
        "formats": [[key.value, title] for key, title in titles.items()],
        "columns": names,
        "fields": list(FIELDS[kind]) if names else [],
        "groups": _field_groups(kind) if names else [],
        "required": list(REQUIRED[kind]),
        "mapping": dict(file_import.choices.mapping),
        "samples": _first_column_values(source.file, names),
    }
    if names and chosen != BY_COLUMNS:
        csv_format = inspect_csv(source.file, CsvLayout(_LAYOUTS[kind].columns, (), ""))
        if kind == ITEMS:
            csv_format = with_stock_column_by_values(source.file, csv_format)
        columns = csv_format.columns.items()
        preview["mapping"] = {
            name: names[place] for name, place in columns if place < len(names)
        }
    return preview


def misread_column(dry_run: Mapping[str, Any]) -> str:
    """Return the column at which nearly all rows fail; empty without one."""
    rows, skipped = dry_run["counts"]["rows"], dry_run["counts"]["skipped"]
    columns = Counter(column for _, column, _, _ in dry_run["errors"])
    if rows < _MISREAD_ROWS or skipped < rows * _MISREAD_SHARE or not columns:
        return ""
    column, count = columns.most_common(1)[0]
    is_at_fault = count >= columns.total() * _MISREAD_SHARE
    return str(column) if is_at_fault else ""


def headings_digest(source: ImportSource) -> str:
    """Return what tables with the same headings share; empty for files without.

    A file of failed rows has the headings of its own file.
    """
    names = table_columns(source.file)
    if names[:2] == _REJECTED_ROWS_COLUMNS:
        names = names[2:]
    return hashlib.sha256("\n".join(names).encode()).hexdigest() if names else ""


def guess_price_columns(preview: Mapping[str, Any]) -> list[str]:
    """Return the unused columns of a table that may be the price of its products.

    Those with a word for a price in their name come first.
    """
    used, words = set(preview["mapping"].values()), _LAYOUTS[ITEMS].columns["price"]
    guesses = [
        (
            not any(
                word in simplify_column_name(name)
                for word in map(simplify_column_name, words)
            ),
            place,
        )
        for place, name in enumerate(preview["columns"])
        if name and name not in used and _are_amounts(preview["samples"].get(name, ()))
    ]
    return [preview["columns"][place] for _, place in sorted(guesses)][:_GUESSES]


def _are_amounts(values: Sequence[str]) -> bool:
    """Return whether most values of a column are amounts of money."""
    amounts = [value for value in values if _AMOUNT.fullmatch(value)]
    return len(amounts) * 2 > len(values)


def _field_groups(kind: str) -> list[list[Any]]:
    """Return the fields of a kind of file in groups, each with its title."""
    return [
        [title, [[name, field_title(name)] for name in names]]
        for title, names in FIELD_GROUPS[kind]
    ]


def _first_column_values(file: BinaryIO, names: Sequence[str]) -> dict[str, list[str]]:
    """Return the first different values of each column of a table."""
    values: dict[str, list[str]] = {name: [] for name in names}
    rows = read_rows(file, inspect_csv(file, ANY_TABLE)) if names else ()
    for number, (_, cells) in enumerate(rows):
        if number == _SAMPLED_ROWS:
            break
        for name, cell in zip(names, () if isinstance(cells, BrokenRow) else cells):  # noqa: B905 - rows may be short or long
            value = _format_short_cell(cell.encode("utf-8", "replace").decode().strip())
            if value and value not in values[name] and len(values[name]) < _SAMPLES:
                values[name].append(value)
    return values


def _detect_format_key(source: ImportSource, kind: str) -> str:
    try:
        if kind == ORDERS:
            return detect_order_format(source.file).value
        return detect_item_format(source.file, source.ending).value
    except ProductRecsError:
        return ""


def table_columns(file: BinaryIO) -> list[str]:
    """Return the columns of a table; none for JSON and XML."""
    head = read_head(file)
    if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in {b"[", b"{", b"<"}:
        return []
    return [name[:200] for name in column_names(head)[:500]]


def chosen_mapping(kind: str, file_import: FileImport) -> ColumnMapping | None:
    """Return the mapping that the merchant chose; None without one.

    Raises:
        ColumnMappingError: when a required field has no column.
    """
    choices = file_import.choices
    if choices.format != BY_COLUMNS:
        return None
    return mapping_from_choices(kind, choices.mapping, choices.time_format)


def sample_table(samples: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the first rows as a table of short texts."""
    some = samples[:_SHOWN_ROWS]
    order = ["row", "change", "id", *HISTORY_LAYOUT.columns, *FIELD_DEFAULTS]
    present = {
        name
        for sample in some
        for name, value in sample.items()
        if _format_short_cell(value)
    }
    columns = [name for name in dict.fromkeys(order) if name in present]
    columns = [name for name in columns if name != "description"]
    rows = [[_format_short_cell(sample.get(name)) for name in columns] for sample in some]
    return {"columns": [field_title(name) for name in columns], "cells": rows}


def _format_short_cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and round(value, 2) == value:
        return f"{value:.2f}"
    joined = " | ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return joined[:_LONGEST_CELL]
