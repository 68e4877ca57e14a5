"""Stock columns: tells units in stock from an availability, by the values of a column."""

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType
from typing import BinaryIO, Final

from productrecs.core.csv_column_matching import simplify_column_name
from productrecs.core.csv_reader import BrokenRow, CsvFormat, read_rows
from productrecs.core.written_numbers import normalise_number
from productrecs.records.catalog.availability import Availability

_SAMPLED_ROWS: Final = 1_000
_NUMERAL: Final = re.compile(r"[+-]?\d+\.?\d*", re.ASCII)
_WORDS: Final = {
    Availability.IN_STOCK: """
        yes y true available in_stock ja j wahr auf_lager lagernd lieferbar verfugbar
        sofort_lieferbar oui o vrai en_stock disponible si s verdadero en_existencia
    """,
    Availability.OUT_OF_STOCK: """
        no n false unavailable not_available sold_out nein falsch ausverkauft
        nicht_verfugbar nicht_lieferbar nicht_auf_lager vergriffen non faux epuise
        indisponible rupture en_rupture rupture_de_stock agotado sin_stock no_disponible
        sin_existencias
    """,
    Availability.BACKORDER: "nachbestellbar sur_commande bajo_pedido",
    Availability.PREORDER: "vorbestellbar vorbestellung precommande preventa",
}
_AVAILABILITIES: Final = MappingProxyType(
    {
        simplify_column_name(word): state
        for state, words in _WORDS.items()
        for word in words.split()
    }
)


def with_stock_column_by_values(file: BinaryIO, csv_format: CsvFormat) -> CsvFormat:
    """Return the format with its only column about stock as what its values say.

    Numbers are units in stock, unless all are 0 or 1; words are an availability.
    """
    columns = dict(csv_format.columns)
    if ("availability" in columns) == ("stock_qty" in columns):
        return csv_format
    name = "availability" if "availability" in columns else "stock_qty"
    place = columns.pop(name)
    values = list(_sampled_column_values(file, csv_format, place))
    numbers = [number for number in map(_parse_number, values) if number is not None]
    if name == "availability" and any(number > 1 for number in numbers):
        name = "stock_qty" if len(numbers) == len(values) else name
    elif name == "stock_qty" and values and not numbers:
        name = "availability"
    return replace(csv_format, columns=MappingProxyType({**columns, name: place}))


def translate_availability(cell: str) -> str:
    """Return our word for an availability such as `ja`, `sold out`, 0 or 12."""
    number = _parse_number(cell)
    if number is not None:
        state = Availability.IN_STOCK if number > 0 else Availability.OUT_OF_STOCK
        return state.value
    return _AVAILABILITIES.get(simplify_column_name(cell), cell)


def _sampled_column_values(
    file: BinaryIO, csv_format: CsvFormat, place: int
) -> Iterator[str]:
    """Yield what the first rows have in a column."""
    for _, cells in itertools.islice(read_rows(file, csv_format), _SAMPLED_ROWS):
        if isinstance(cells, BrokenRow) or place >= len(cells):
            continue
        if text := cells[place].strip():
            yield text


def _parse_number(text: str) -> float | None:
    numeral = normalise_number(text, ";").strip()
    return float(numeral) if _NUMERAL.fullmatch(numeral) else None
