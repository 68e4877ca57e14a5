"""Item file reader: yields the items of our own formats and of shop exports."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, Final, TypeAlias

from productrecs.core.csv_reader import (
    BrokenRow,
    CsvFormat,
    CsvLayout,
    column_names,
    inspect_csv,
    read_head,
    read_rows,
)
from productrecs.core.written_numbers import normalise_number
from productrecs.features.imports.feeds.column_mapping import SYNONYMS, ColumnMapping
from productrecs.features.imports.feeds.feed_read_state import FeedReadState
from productrecs.features.imports.feeds.format_detection import (
    NAMED_CATALOG,
    ItemFileFormat,
    detect_item_format,
)
from productrecs.features.imports.feeds.product_file_reader import (
    note_column_titles_and_unused,
    read_provided_fields_and_products,
)
from productrecs.features.imports.feeds.product_grouping import FeedProduct, RejectedRow
from productrecs.features.imports.feeds.stock_columns import (
    translate_availability,
    with_stock_column_by_values,
)
from productrecs.features.imports.import_source import ImportSource
from productrecs.features.imports.json_array_reader import JsonArrayReader
from productrecs.records.catalog.availability import Availability
from productrecs.records.catalog.item import FIELD_DEFAULTS, ItemPatch
from productrecs.schemas.items import (
    MAX_DESCRIPTION,
    PRICE_COLUMNS,
    parse_item,
    parse_item_row,
)
from productrecs.schemas.strict_json import parse_json
from productrecs.schemas.validation_errors import InvalidInputError

_SHOWN: Final = 40  # characters of a cell in a message
MAX_ITEM_BYTES: Final = 1 << 20
"""The most bytes of one item; the longest description takes 256 KiB."""

_FIELDS: Final = frozenset(
    {"id", *FIELD_DEFAULTS, *(name for names in SYNONYMS.values() for name in names)}
)
_NUMBERS: Final = frozenset({*PRICE_COLUMNS, "planned_price", "cost", "stock_qty"})
OnBytes: TypeAlias = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class RejectedItem:
    """A rejected item, and why: `column` is the field at fault, where it is one.

    `item_id` is empty where it cannot be read.
    """

    problem: str
    column: str = ""
    value: str = ""
    item_id: str = ""


_NOT_TEXT: Final = "has a character that is not text; save the file as CSV UTF-8"
_NOT_A_NUMBER: Final = "is not a number; write it like 19.90 or 19,90"
_NOT_WHOLE: Final = "is not a whole number; write it like 12"
_PROBLEMS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "missing": "is empty; every product needs one",
        "string_too_short": "is empty; every product needs one",
        "string_too_long": "is too long: at most {max_length:,} characters are allowed",
        "string_nul": _NOT_TEXT,
        "string_unicode": _NOT_TEXT,
        "string_control": "holds {character}; remove line breaks and control characters",
        "float_parsing": _NOT_A_NUMBER,
        "float_type": _NOT_A_NUMBER,
        "finite_number": _NOT_A_NUMBER,
        "int_type": _NOT_WHOLE,
        "int_from_float": _NOT_WHOLE,
        "integer_out_of_range": "is out of range",
        "greater_than_equal": "is too small: at least {ge:,.0f} is allowed",
        "less_than_equal": "is too large: at most {le:,.0f} is allowed",
        "too_long": "has {actual_length:,} values; at most {max_length:,} are allowed",
        "dict_type": 'is not JSON with names and values, such as {{"Season": "Winter"}}',
        "iso_date": "is not a date; write it like 2026-12-31",
        "availability": "is not an availability; write in_stock, out_of_stock, preorder, "
        "backorder or discontinued",
    }
)
"""By the kind of a validator's error: what is wrong with a cell, and how to correct it."""


def _to_rejected_item(error: InvalidInputError) -> RejectedItem:
    """Return the first error of an item in a merchant's words."""
    first = error.problems[0]
    words = _PROBLEMS.get(first.type)
    column = str(first.loc[0]) if first.loc else ""
    if words is None or not column:
        return RejectedItem(str(error))
    value = "" if first.type == "missing" else str(first.input)
    return RejectedItem(words.format(**first.ctx), column, value.strip()[:_SHOWN])


@dataclass(frozen=True, slots=True)
class ReadItem:
    """The item in row `row` (or line, or index in an array, from 1), of `rows` in all.

    A hidden item is not published by its shop.
    """

    row: int
    item: ItemPatch | RejectedItem
    rows: int = 1
    is_hidden: bool = False
    is_repeated: bool = False  # an earlier row of the file has its id


def read_items(
    source: ImportSource,
    kind: ItemFileFormat | None,
    reading: FeedReadState,
    folder: Path,
    on_bytes: OnBytes,
) -> Iterator[ReadItem]:
    """Yield the items of a file; `on_bytes` gets the number of further bytes read.

    Without a `kind` the format is detected. Large files of others are sorted below
    `folder`.

    Raises:
        UnknownItemFormatError: when the format cannot be detected.
        BrokenJsonArrayError: when a `.json` is not JSON, or holds no array of items.
        MissingColumnsError: when a table lacks a required column.
        BrokenFeedError: where XML is not well-formed.
        NotAFeedError: when XML holds no item.
        ColumnMappingError: when the mapping names a column that the table lacks.
    """
    if reading.mapping is not None:
        yield from _read_mapped_table(source.file, reading.mapping, reading, on_bytes)
        return
    chosen = kind or detect_item_format(source.file, source.ending)
    own_reader = _OWN_READERS.get(chosen)
    if own_reader is not None:
        yield from own_reader(source.file, reading, on_bytes)
        return
    provided, products = read_provided_fields_and_products(
        source.file, chosen, reading, folder, on_bytes
    )
    for product in products:
        if isinstance(product, RejectedRow):
            yield ReadItem(product.row, RejectedItem(product.message))
        else:
            yield _feed_product_to_read_item(product, provided)


def _feed_product_to_read_item(product: FeedProduct, provided: frozenset[str]) -> ReadItem:
    item: ItemPatch | RejectedItem
    if product.item_id is None:
        item = RejectedItem(
            f"a variation of {product.name[:80]}, which is not in this file"
        )
    else:
        fields = dict.fromkeys(provided) | product.item_fields()
        if product.is_hidden:
            fields["availability"] = Availability.DISCONTINUED
        text = fields.get("description")
        if isinstance(text, str):
            fields["description"] = text[:MAX_DESCRIPTION]
        item = _parse_patch_or_reject(parse_item, {"id": product.item_id, **fields})
    return ReadItem(product.row, item, product.rows, product.is_hidden)


def _read_own_csv(
    file: BinaryIO, reading: FeedReadState, on_bytes: OnBytes
) -> Iterator[ReadItem]:
    csv_format = with_stock_column_by_values(
        file, inspect_csv(file, _layout_with_price_lists(file))
    )
    reading.is_untitled = "title" not in csv_format.columns
    note_column_titles_and_unused(file, csv_format, reading)
    return _read_table(file, csv_format, dict, on_bytes)


def _layout_with_price_lists(file: BinaryIO) -> CsvLayout:
    """Return the layout of a catalog with the file's columns such as `price:USD`."""
    names = column_names(read_head(file))
    listed = [name for name in names if name.partition(":")[0] in PRICE_COLUMNS]
    columns = {**NAMED_CATALOG.columns, **{name: (name,) for name in listed}}
    return replace(NAMED_CATALOG, columns=columns)


def _read_mapped_table(
    file: BinaryIO, mapping: ColumnMapping, reading: FeedReadState, on_bytes: OnBytes
) -> Iterator[ReadItem]:
    mapping.require_mapped_columns(file)
    csv_format = with_stock_column_by_values(file, inspect_csv(file, mapping.layout))
    note_column_titles_and_unused(file, csv_format, reading)
    return _read_table(file, csv_format, mapping.translate_values_in_place, on_bytes)


def _read_table(
    file: BinaryIO,
    csv_format: CsvFormat,
    translate: Callable[[dict[str, str]], dict[str, str]],
    on_bytes: OnBytes,
) -> Iterator[ReadItem]:
    for number, cells in read_rows(file, csv_format, on_bytes):
        if isinstance(cells, BrokenRow):
            yield ReadItem(number, RejectedItem(cells.message))
            continue
        row = translate(
            {
                name: cells[index]
                for name, index in csv_format.columns.items()
                if index < len(cells)
            }
        )
        for name in [column for column in row if column.partition(":")[0] in _NUMBERS]:
            row[name] = normalise_number(row[name], csv_format.separator)
        if "availability" in row:
            row["availability"] = translate_availability(row["availability"])
        yield ReadItem(number, _parse_patch_or_reject(parse_item_row, row))


def _read_json_lines(
    file: BinaryIO, reading: FeedReadState, on_bytes: OnBytes
) -> Iterator[ReadItem]:
    file.seek(0)
    number = 0
    while line := file.readline(MAX_ITEM_BYTES):
        number += 1
        on_bytes(len(line))
        if not line.strip():
            continue
        if len(line) == MAX_ITEM_BYTES and not line.endswith(b"\n"):
            yield ReadItem(
                number, RejectedItem(f"the line is longer than {MAX_ITEM_BYTES} bytes")
            )
            _skip_line(file, on_bytes)
            continue
        yield _parse_json_item(number, line, reading)


def _skip_line(file: BinaryIO, on_bytes: OnBytes) -> None:
    while (remainder := file.readline(MAX_ITEM_BYTES)) and not remainder.endswith(b"\n"):
        on_bytes(len(remainder))


def _read_json_array(
    file: BinaryIO, reading: FeedReadState, on_bytes: OnBytes
) -> Iterator[ReadItem]:
    file.seek(0)
    values = JsonArrayReader(file, MAX_ITEM_BYTES, on_bytes)
    for number, text in enumerate(values, start=1):
        yield _parse_json_item(number, text.encode(), reading)


def _parse_json_item(number: int, text: bytes, reading: FeedReadState) -> ReadItem:
    """Return the item of an object; unknown fields are recorded."""
    try:
        value = parse_json(text)
    except InvalidInputError as error:
        return ReadItem(number, _to_rejected_item(error))
    if isinstance(value, dict):
        reading.add_ignored_columns(value.keys() - _FIELDS)
        for name, synonyms in SYNONYMS.items():
            given_values = [value[other] for other in synonyms if other in value]
            if given_values:
                value.setdefault(name, given_values[0])
    return ReadItem(number, _parse_patch_or_reject(parse_item, value))


def _parse_patch_or_reject(
    parse: Callable[..., ItemPatch], value: object
) -> ItemPatch | RejectedItem:
    try:
        return parse(value)
    except InvalidInputError as error:
        item_id = value.get("id") if isinstance(value, Mapping) else None
        known_id = str(item_id).strip() if isinstance(item_id, str | int) else ""
        return replace(_to_rejected_item(error), item_id=known_id)


_OWN_READERS: Final[
    Mapping[
        ItemFileFormat, Callable[[BinaryIO, FeedReadState, OnBytes], Iterator[ReadItem]]
    ]
] = MappingProxyType(
    {
        ItemFileFormat.CSV: _read_own_csv,
        ItemFileFormat.JSON: _read_json_array,
        ItemFileFormat.JSONL: _read_json_lines,
    }
)
