"""Which items does a file hold? CSV, JSON or JSON lines, read in bounded memory."""

import codecs
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import BinaryIO, Final, TypeAlias

from productrecs.core.errors import ProductRecsError
from productrecs.entrypoints.cli.json_array import JsonArray
from productrecs.entrypoints.cli.source import BLOCK, Source
from productrecs.entrypoints.http.bodies import parse_json
from productrecs.entrypoints.http.schemas.items import parse_item, parse_item_row
from productrecs.entrypoints.http.schemas.problems import BodyError
from productrecs.records.catalog.item import FIELD_DEFAULTS, ItemPatch
from productrecs.records.orders.csv_file import BrokenRow, read_rows
from productrecs.records.orders.csv_format import Layout, inspect
from productrecs.records.orders.csv_line import plain_number

LONGEST_ITEM: Final = 1 << 20
"""Bytes of one item; the longest description takes 256 KiB."""

CATALOG: Final = Layout(
    columns=MappingProxyType({name: (name,) for name in ("id", *FIELD_DEFAULTS)}),
    required=("id",),
    example="id,title,price,categories,... (the item's fields; | between categories)",
    prose=True,
)

_NUMBERS: Final = frozenset({"price", "cost", "stock_qty"})
_BLANKS: Final = b" \t\r\n"
OnBytes: TypeAlias = Callable[[int], None]


class UnknownFileKindError(ProductRecsError):
    """The ending is none of those that files of items have."""


@dataclass(frozen=True, slots=True)
class BadItem:
    """An item that cannot be taken, and why."""

    message: str


Numbered: TypeAlias = tuple[int, ItemPatch | BadItem]
"""An item with the number of its line, row, or place in a JSON array (from 1)."""


def read_items(source: Source, on_bytes: OnBytes) -> Iterator[Numbered]:
    """Yield the items of a file; `on_bytes` is told how many further bytes were read.

    The kind is told by the ending: `.csv`, `.json` (an array, or an object with a list
    `items`), `.jsonl`; without one, by how the content begins.

    Raises:
        UnknownFileKindError: when the ending is none of these.
        NotAnArrayError: when a `.json` is not JSON, or holds no array of items.
        MissingColumnsError: when a CSV has no column `id`.
    """
    ending = source.ending or _guessed(source.file)
    if ending not in _READERS:
        message = f"{ending} is no file of items; it may end in {', '.join(_READERS)}"
        raise UnknownFileKindError(message)
    return _READERS[ending](source.file, on_bytes)


def _guessed(file: BinaryIO) -> str:
    file.seek(0)
    head = file.read(BLOCK).lstrip(codecs.BOM_UTF8 + _BLANKS)
    if head[:1] not in (b"[", b"{"):
        return ".csv"
    first = head.split(b"\n", 1)[0]
    try:
        value = parse_json(first)
    except BodyError:
        return ".json"  # it goes on over the next lines
    return ".jsonl" if isinstance(value, dict) and "id" in value else ".json"


def _csv(file: BinaryIO, on_bytes: OnBytes) -> Iterator[Numbered]:
    csv_format = inspect(file, CATALOG)
    for number, cells in read_rows(file, csv_format, on_bytes):
        if isinstance(cells, BrokenRow):
            yield number, BadItem(cells.message)
            continue
        row = {
            name: cells[place]
            for name, place in csv_format.columns.items()
            if place < len(cells)
        }
        for name in row.keys() & _NUMBERS:
            row[name] = plain_number(row[name], csv_format.separator)
        yield number, _taken(parse_item_row, row)


def _json_lines(file: BinaryIO, on_bytes: OnBytes) -> Iterator[Numbered]:
    file.seek(0)
    number = 0
    while line := file.readline(LONGEST_ITEM):
        number += 1
        on_bytes(len(line))
        if not line.strip():
            continue
        if len(line) == LONGEST_ITEM and not line.endswith(b"\n"):
            yield number, BadItem(f"the line is over {LONGEST_ITEM} bytes")
            _pass_over_line(file, on_bytes)
            continue
        yield number, _taken(_parse_line, line)


def _pass_over_line(file: BinaryIO, on_bytes: OnBytes) -> None:
    while (rest := file.readline(LONGEST_ITEM)) and not rest.endswith(b"\n"):
        on_bytes(len(rest))


def _json(file: BinaryIO, on_bytes: OnBytes) -> Iterator[Numbered]:
    file.seek(0)
    values = JsonArray(file, LONGEST_ITEM, on_bytes)
    for number, text in enumerate(values, start=1):
        yield number, _taken(_parse_line, text.encode())


def _parse_line(line: bytes) -> ItemPatch:
    return parse_item(parse_json(line))


def _taken(read: Callable[..., ItemPatch], value: object) -> ItemPatch | BadItem:
    try:
        return read(value)
    except BodyError as error:
        return BadItem(str(error))


_READERS: Final[Mapping[str, Callable[[BinaryIO, OnBytes], Iterator[Numbered]]]] = (
    MappingProxyType({".csv": _csv, ".json": _json, ".jsonl": _json_lines})
)
