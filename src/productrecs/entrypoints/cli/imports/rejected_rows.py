"""Rejected rows: a CSV of the rows of a file that failed, each with its reason."""

import io
from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import BinaryIO, Final

from productrecs.core.csv_writer import CsvWriter
from productrecs.records.orders.csv_format import (
    HEAD_BYTES,
    CsvLayout,
    column_names,
    inspect_csv,
)
from productrecs.records.orders.csv_reader import BrokenRow, read_rows
from productrecs.records.orders.import_report import RowError

KEPT_ROWS: Final = 10_000
"""So many rejected rows are listed; all are counted."""

_MOST_CHARACTERS: Final = 2_000_000
_ANY_TABLE: Final = CsvLayout(MappingProxyType({}), (), "", prose=True)


def rejected_rows(file: BinaryIO, errors: Sequence[RowError], *, is_table: bool) -> str:
    """Return the rows with their reasons; of a table with their cells as they were."""
    if not errors:
        return ""
    reasons = {error.row: error.message for error in errors}
    out = io.StringIO()
    names = column_names(_head(file)) if is_table else []
    writer = CsvWriter(out, ["row", "reason", *names])
    cells_of = dict(_cells(file, set(reasons))) if is_table else {}
    for row in sorted(reasons):
        writer.write([row, reasons[row], *cells_of.get(row, ())])
        if out.tell() > _MOST_CHARACTERS:
            break
    return out.getvalue()


def _cells(file: BinaryIO, wanted: set[int]) -> Iterator[tuple[int, list[str]]]:
    kept = 0
    for number, cells in read_rows(file, inspect_csv(file, _ANY_TABLE)):
        if number not in wanted or isinstance(cells, BrokenRow):
            continue
        yield number, [_clean(cell) for cell in cells]
        kept += sum(map(len, cells))
        if kept > _MOST_CHARACTERS:
            return


def _clean(cell: str) -> str:
    """Return a cell without half surrogate pairs, which no file can hold."""
    return cell.encode("utf-8", "replace").decode()


def _head(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read(HEAD_BYTES)
