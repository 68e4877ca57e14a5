"""CSV writer: the program's one CSV format, in which no cell or line is a formula."""

from __future__ import annotations

import csv
import re
from typing import IO, TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LINE_START: Final = "(?:\\A|(?<=[\n\v\f\r\x1c-\x1e\x85\u2028\u2029]))"
_SIGN: Final = "[=+\\-@\t\r\n＝＋－＠]"  # noqa: RUF001 - spreadsheets take both
_FORMULA: Final = re.compile(f"{_LINE_START}(?='*{_SIGN})")
_ESCAPED: Final = re.compile(f"{_LINE_START}'(?='*{_SIGN})")
_NUMBER: Final = re.compile(r"[+-]?[0-9]+([.,][0-9]+)?\Z")


def escape_formula(value: object) -> object:
    """Return a cell of which spreadsheets read no line as a formula."""
    if isinstance(value, str) and not _NUMBER.match(value):
        return _FORMULA.sub("'", value)
    return value


def unescape_formula(cell: str) -> str:
    """Return the original text of a cell that `escape_formula` may have changed."""
    return _ESCAPED.sub("", cell)


class CsvWriter:
    """Writes rows to a text file, in the program's one CSV format.

    All text is quoted, so that no character in it ends a row or a cell.
    """

    def __init__(
        self,
        out: IO[str],
        columns: Sequence[str] = (),
        *,
        separator: str = ",",
        escapes_formulas: bool = True,
    ) -> None:
        """Write the header row with the column names, if there are any.

        Files that only programs read need not escape what a spreadsheet takes for a
        formula: for them an escaped text is another text.
        """
        self._escapes_formulas = escapes_formulas
        self._writer = csv.writer(
            out, delimiter=separator, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC
        )
        if columns:
            self.write(columns)

    def write(self, row: Iterable[object]) -> None:
        """Write one row, a cell for each column."""
        self._writer.writerow(map(escape_formula, row) if self._escapes_formulas else row)
