"""CSV reader: yields rows in bounded memory, and reports unreadable rows."""

import codecs
import csv
import io
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final, TypeAlias

from productrecs.core.clock import detect_day_first, written_date_to_iso
from productrecs.core.report import unescape_formula
from productrecs.records.orders.csv_format import BLOCK_BYTES, CsvFormat
from productrecs.records.orders.history_line import TimeFormat

_ENOUGH_TIMES: Final = 1_000  # readable times, after which the search stops
_STEP: Final = 500  # lines between two progress reports
MAX_LINE_LENGTH: Final = 100_000
"""Characters of one row; the csv module itself rejects a cell of 131,072."""
_LONGEST_SPAN: Final = 100  # lines per cell, unless cells hold prose


@dataclass(frozen=True, slots=True)
class BrokenRow:
    """An unreadable row; `message` gives the reason."""

    message: str


Row: TypeAlias = tuple[int, list[str] | BrokenRow]
"""A row's number, as in a spreadsheet, and its cells."""


def read_rows(
    file: BinaryIO, csv_format: CsvFormat, on_bytes: Callable[[int], None] | None = None
) -> Iterator[Row]:
    """Yield each row below the header with its number; skip blank rows.

    `on_bytes` is called regularly with the further bytes of the yielded rows: a block
    that was read ahead counts once its rows are yielded.
    """
    file.seek(0)
    lines = _LineBuffer(file, csv_format, on_bytes)
    number = csv_format.header_lines
    lines.skip(number)
    separator = csv_format.separator
    blanks = string.whitespace + separator  # spreadsheets save empty rows as ;;;;
    while (line := lines.next()) is not None:
        number += 1
        if '"' not in line:
            if len(line) > MAX_LINE_LENGTH:
                yield (
                    number,
                    BrokenRow(f"the row is longer than {MAX_LINE_LENGTH} characters"),
                )
            elif line.strip(blanks):
                cells = line.split(separator)
                yield number, _simplified(cells) if "'" in line else cells
            continue
        quoted = _quoted(line, lines, csv_format)
        yield number, quoted if isinstance(quoted, BrokenRow) else _simplified(quoted)


def _simplified(cells: list[str]) -> list[str]:
    """Return the cells without an export's protection against formulas."""
    return [unescape_formula(cell) for cell in cells]


def detect_time_format(file: BinaryIO, csv_format: CsvFormat, column: str) -> TimeFormat:
    """Detect whether a column's times have the day first; None if all are ambiguous.

    Stops after a thousand times of other formats.
    """
    place = csv_format.columns.get(column)
    ambiguous = 0
    for _, cells in read_rows(file, csv_format) if place is not None else ():
        if isinstance(cells, BrokenRow) or place is None or place >= len(cells):
            continue
        text = cells[place]
        day_first = detect_day_first(text)
        if day_first is not None:
            return TimeFormat(day_first=day_first)
        ambiguous += bool(text.strip()) and written_date_to_iso(text) is not None
        if ambiguous >= _ENOUGH_TIMES:
            break
    return TimeFormat()


def _quoted(
    line: str, lines: "_LineBuffer", csv_format: CsvFormat
) -> list[str] | BrokenRow:
    """Return the cells of a row with quotes, which may continue on the next lines.

    An unclosed quote must not swallow the rest of the file: then only this line is broken,
    and reading continues with the next one.
    """
    if len(line) > MAX_LINE_LENGTH:
        return BrokenRow(f"the row is longer than {MAX_LINE_LENGTH} characters")
    separator = csv_format.separator
    # An open quote joins the next line: the two lines become one row.
    parsed_alone = list(csv.reader((line + "\n", "x\n"), delimiter=separator))
    if len(parsed_alone) > 1:
        return parsed_alone[0]
    continuation = _Continuation(lines, csv_format)
    try:
        cells = next(csv.reader(continuation.feed(line), delimiter=separator, strict=True))
    except (csv.Error, StopIteration):
        cells = []
    if len(cells) != csv_format.width:
        return BrokenRow("a quotation mark is opened on this line and not closed")
    lines.skip(continuation.count)
    return cells


class _Continuation:
    """The lines that a quoted cell may span, inspected before they are consumed."""

    def __init__(self, lines: "_LineBuffer", csv_format: CsvFormat) -> None:
        self.count = 0
        self._lines = lines
        self._format = csv_format

    def feed(self, first: str) -> Iterator[str]:
        yield first + "\n"
        room = MAX_LINE_LENGTH - len(first)
        while self._format.prose or self.count < _LONGEST_SPAN:
            line = self._lines.peek(self.count)
            if line is None or len(line) >= room or self._is_a_row(line):
                return
            room -= len(line) + 1
            self.count += 1
            yield line + "\n"

    def _is_a_row(self, line: str) -> bool:
        # A complete row within quotes: most likely an earlier quote was never closed.
        separators = self._format.width - 1
        is_complete = line.count(self._format.separator) == separators > 0
        return is_complete and '"' not in line and not self._format.prose


class _LineBuffer:
    """The lines of a file without line ends (LF, CR or both), with look-ahead.

    A line longer than `MAX_LINE_LENGTH` is cut at that length.
    """

    def __init__(
        self,
        file: BinaryIO,
        csv_format: CsvFormat,
        on_bytes: Callable[[int], None] | None,
    ) -> None:
        decoder = codecs.getincrementaldecoder(csv_format.encoding)(csv_format.errors)
        self._decoder = io.IncrementalNewlineDecoder(decoder, translate=True)
        self._file = file
        self._on_bytes = on_bytes
        self._lines: list[str] = []
        self._next = 0
        self._unread = ""
        self._is_at_end = False
        self._unreported = 0  # bytes read since the last report
        self._consumed = 0  # lines consumed since the last report

    def next(self) -> str | None:
        """Return the next line, or None at the end."""
        if self._consumed == _STEP:
            self._report_progress()
        if self._next >= len(self._lines) and not self._read_until(1):
            self._report_progress()
            return None
        line = self._lines[self._next]
        self._next += 1
        self._consumed += 1
        return line

    def peek(self, ahead: int) -> str | None:
        """Return the line `ahead` lines after the next one, or None past the end."""
        if self._next + ahead >= len(self._lines) and not self._read_until(ahead + 1):
            return None
        return self._lines[self._next + ahead]

    def skip(self, count: int) -> None:
        """Skip `count` lines."""
        for _ in range(count):
            self.next()

    def _read_until(self, needed: int) -> bool:
        """Read until `needed` lines are buffered; return whether there are that many."""
        self._lines = self._lines[self._next :]
        self._next = 0
        while len(self._lines) < needed and not self._is_at_end:
            block = self._file.read(BLOCK_BYTES)
            self._is_at_end = not block
            text = self._unread + self._decoder.decode(block, final=self._is_at_end)
            *complete_lines, self._unread = text.split("\n")
            self._lines += complete_lines
            if self._is_at_end and self._unread:
                self._lines.append(self._unread)
            self._unread = self._unread[: MAX_LINE_LENGTH + 1]
            self._unreported += len(block)
            if not self._lines:
                self._report_progress()  # for a line that spans blocks
        return len(self._lines) >= needed

    def _report_progress(self) -> None:
        """Report the bytes of the lines consumed since the last report."""
        ahead = len(self._lines) - self._next
        unreported = self._unreported
        if ahead:
            unreported = unreported * self._consumed // (self._consumed + ahead)
        self._unreported -= unreported
        self._consumed = 0
        if self._on_bytes is not None and unreported:
            self._on_bytes(unreported)
