"""CSV writer: the program's one CSV format, in which no cell is a formula."""

from __future__ import annotations

import csv
import re
from typing import IO, TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_FORMULA: Final = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")  # noqa: RUF001 - spreadsheets take both
_QUOTED: Final = re.compile(r"'+[=+\-@\t\r\n＝＋－＠]")  # noqa: RUF001 - as above
_NUMBER: Final = re.compile(r"[+-]?[0-9]+([.,][0-9]+)?\Z")


def escape_formula(value: object) -> object:
    """Return a cell that spreadsheets do not read as a formula."""
    if isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.match(value):
        return f"'{value}"
    return value


def unescape_formula(cell: str) -> str:
    """Return the original text of a cell that `escape_formula` may have changed."""
    return cell[1:] if _QUOTED.match(cell) else cell


class CsvWriter:
    """Writes rows to a text file, in the program's one CSV format."""

    def __init__(self, out: IO[str], columns: Sequence[str]) -> None:
        """Write the header row with the column names."""
        self._writer = csv.writer(out, lineterminator="\n")
        self._writer.writerow(columns)

    def write(self, row: Iterable[object]) -> None:
        """Write one row, a cell for each column."""
        self._writer.writerow([escape_formula(value) for value in row])
