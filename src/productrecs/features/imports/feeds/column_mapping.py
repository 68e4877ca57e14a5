"""Column mapping: a merchant's TOML file that maps the columns of a table to our fields.

It has a table for each kind of import:

    [items]
    id = "Article no."
    title = ["Name", "Short name"]      # the first of these that the file has

    [items.values.availability]
    "sold out" = "out_of_stock"

    [orders]
    order_id = "Order"
    item_id = "Article no."
    timestamp = "Date"
    timestamp_format = "%d.%m.%Y %H:%M"
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, Final

from productrecs.core.csv_reader import (
    HISTORY_LAYOUT,
    CsvLayout,
    column_names,
    read_head,
    read_header,
)
from productrecs.core.errors import ProductRecsError
from productrecs.records.catalog.item import FIELD_DEFAULTS

SYNONYMS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "brand": ("brand", "vendor", "manufacturer"),
        "color": ("color", "colour", "colors", "colours"),
        "size": ("size", "sizes"),
        "material": ("material", "materials"),
        "gtin": ("gtin", "ean", "upc", "isbn", "barcode"),
    }
)
"""Names that files give to some fields of an item."""

FIELDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {"items": ("id", *FIELD_DEFAULTS), "orders": tuple(HISTORY_LAYOUT.columns)}
)
REQUIRED: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {"items": ("id",), "orders": HISTORY_LAYOUT.required}
)
_VALUES: Final = "values"
_TIME_FORMAT: Final = "timestamp_format"


class ColumnMappingError(ProductRecsError):
    """The mapping file cannot be read, or does not fit the file to import."""


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """A mapping from a file's column names and values to ours."""

    name: str  # of the mapping file
    layout: CsvLayout
    values: Mapping[str, Mapping[str, str]]
    time_format: str | None = None  # how times are written, where not in ISO

    def translate_values_in_place(self, cells: dict[str, str]) -> dict[str, str]:
        """Replace the values of `cells` by ours; return them."""
        for column, words in self.values.items():
            if column in cells:
                cells[column] = words.get(cells[column].strip().casefold(), cells[column])
        return cells

    def require_mapped_columns(self, file: BinaryIO) -> None:
        """Check that the table has every mapped column.

        Raises:
            ColumnMappingError: when one is missing; the message names those that exist.
            MissingColumnsError: when it lacks a required one.
        """
        head = read_head(file)
        present = read_header(head, self.layout).columns
        for column, names in self.layout.columns.items():
            if column not in present:
                message = (
                    f"{self.name} maps {column} to {' or '.join(map(repr, names))}, and "
                    "the table has no such column; it has "
                    f"{', '.join(column_names(head))}"
                )
                raise ColumnMappingError(message)


def read_mapping_file(path: Path, kind: str) -> ColumnMapping:
    """Return the mapping of `kind` (`items` or `orders`) from a TOML file.

    Raises:
        ColumnMappingError: when the file cannot be read or is invalid.
    """
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        message = f"{path} cannot be read as a mapping (TOML): {error}"
        raise ColumnMappingError(message) from error
    table = content.get(kind)
    if not isinstance(table, dict):
        example = ", ".join(f'{name} = "..."' for name in REQUIRED[kind])
        message = f"{path} has no table [{kind}], such as: [{kind}] {example}"
        raise ColumnMappingError(message)
    columns = {
        name: _parse_column_names(path, kind, name, value)
        for name, value in table.items()
        if name not in {_VALUES, _TIME_FORMAT}
    }
    missing = [name for name in REQUIRED[kind] if name not in columns]
    if missing:
        message = f"{path} does not say which column is {' and which is '.join(missing)}"
        raise ColumnMappingError(message)
    return ColumnMapping(
        name=str(path),
        layout=_build_layout(kind, columns),
        values=_parse_value_translations(path, kind, table.get(_VALUES, {})),
        time_format=_parse_time_format(path, columns, table.get(_TIME_FORMAT)),
    )


def mapping_from_choices(
    kind: str, chosen: Mapping[str, str], time_format: str = ""
) -> ColumnMapping:
    """Return the mapping that gives each of our fields one column of a file.

    Raises:
        ColumnMappingError: when a required field has no column.
    """
    columns = {name: (chosen[name],) for name in FIELDS[kind] if chosen.get(name)}
    missing = [name for name in REQUIRED[kind] if name not in columns]
    if missing:
        message = f"choose the column for {' and for '.join(missing)}"
        raise ColumnMappingError(message)
    layout = _build_layout(kind, columns)
    return ColumnMapping("the mapping", layout, {}, time_format or None)


def _build_layout(kind: str, columns: Mapping[str, tuple[str, ...]]) -> CsvLayout:
    return CsvLayout(
        columns=MappingProxyType(columns),
        required=REQUIRED[kind],
        example=",".join(names[0] for names in columns.values()),
        prose=True,
    )


def _parse_column_names(path: Path, kind: str, name: str, value: object) -> tuple[str, ...]:
    _require_known_field(path, kind, name)
    names: Sequence[object] = value if isinstance(value, list) else [value]
    if not names or not all(isinstance(text, str) and text.strip() for text in names):
        message = f"{path}: {name} must be the name of a column, or a list of names"
        raise ColumnMappingError(message)
    return tuple(map(str, names))


def _parse_time_format(
    path: Path, columns: Mapping[str, tuple[str, ...]], form: object
) -> str | None:
    if form is None:
        return None
    if isinstance(form, str) and "%" in form and "timestamp" in columns:
        return form
    message = (
        f"{path}: {_TIME_FORMAT} must be the format of the column timestamp, such as "
        "%d.%m.%Y %H:%M"
    )
    raise ColumnMappingError(message)


def _parse_value_translations(
    path: Path, kind: str, parsed: object
) -> Mapping[str, Mapping[str, str]]:
    tables = parsed if isinstance(parsed, dict) else {"values": parsed}
    translations: dict[str, Mapping[str, str]] = {}
    for name, words in tables.items():
        _require_known_field(path, kind, name)
        if not isinstance(words, dict) or not all(
            isinstance(word, str) for word in words.values()
        ):
            message = f'{path}: [{kind}.values.{name}] must hold words: "theirs" = "ours"'
            raise ColumnMappingError(message)
        translations[name] = {
            their_word.casefold(): our_word for their_word, our_word in words.items()
        }
    return MappingProxyType(translations)


def _require_known_field(path: Path, kind: str, name: str) -> None:
    if name not in FIELDS[kind]:
        message = (
            f"{path}: {name} is not a field of ours; the fields are "
            f"{', '.join(FIELDS[kind])}"
        )
        raise ColumnMappingError(message)
