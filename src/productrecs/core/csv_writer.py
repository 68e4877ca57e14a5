"""CSV writer for spreadsheets: escapes cells that would be read as formulas.

Anybody with a publishable key can choose order ids, and a merchant opens the export in a
spreadsheet, which runs cells that begin like a formula. Such text gets an apostrophe before
it, which our imports remove again. Numbers stay numbers.
"""

import csv
import re
from collections.abc import Iterable, Sequence
from typing import IO, Final

_FORMULA: Final = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")  # noqa: RUF001 - spreadsheets take both
_QUOTED: Final = re.compile(r"'+[=+\-@\t\r\n＝＋－＠]")  # noqa: RUF001 - as above
_NUMBER: Final = re.compile(r"[+-]?[0-9]+([.,][0-9]+)?\Z")


def escape_formula(value: object) -> object:
    """Return a cell that no spreadsheet takes for a formula."""
    if isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.match(value):
        return f"'{value}"
    return value


def unescape_formula(cell: str) -> str:
    """Return the text of a cell that `escape_formula` may have written."""
    return cell[1:] if _QUOTED.match(cell) else cell


class CsvWriter:
    """Writes rows to a text file, as every CSV file of this program is written."""

    def __init__(self, out: IO[str], columns: Sequence[str]) -> None:
        """Write the head, the names of the columns."""
        self._writer = csv.writer(out, lineterminator="\n")
        self._writer.writerow(columns)

    def write(self, row: Iterable[object]) -> None:
        """Write one row, a cell for each column."""
        self._writer.writerow([escape_formula(value) for value in row])
