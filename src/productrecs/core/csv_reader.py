"""CSV reader: detects encoding, separator and columns, and yields rows in bounded memory.

Unreadable rows are reported.
"""

import codecs
import csv
import hashlib
import io
import itertools
import re
import string
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import BinaryIO, Final, TypeAlias

from productrecs.core.csv_column_matching import find_columns
from productrecs.core.csv_writer import unescape_formula
from productrecs.core.errors import ProductRecsError
from productrecs.core.timestamps import (
    FileTimeFormat,
    detect_day_first,
    written_date_to_iso,
)

BLOCK_BYTES: Final = 1 << 20
HEAD_BYTES: Final = 64 * 1024
"""The header must end within this many bytes."""

SEPARATORS: Final = (",", ";", "\t", "|")


def read_head(file: BinaryIO) -> bytes:
    """Return the first bytes of a file, which hold its header."""
    file.seek(0)
    return file.read(HEAD_BYTES)


@dataclass(frozen=True, slots=True)
class CsvLayout:
    """The columns of a kind of file, each with its accepted names.

    `example` is a valid header, for error messages. In a `prose` file, cells may hold
    long multi-line texts.
    """

    columns: Mapping[str, tuple[str, ...]]
    required: tuple[str, ...]
    example: str
    prose: bool = False


HISTORY_LAYOUT: Final = CsvLayout(
    columns=MappingProxyType(
        {
            "order_id": ("order_id",),
            "item_id": ("item_id",),
            "customer_id": ("customer_id", "user_id"),
            "timestamp": ("timestamp", "created_at"),
            "quantity": ("quantity", "qty", "units"),
            "price": ("price", "unit_price", "item_price"),
            "currency": ("currency",),
        }
    ),
    required=("order_id", "item_id"),
    example="order_id,item_id[,customer_id][,timestamp][,quantity][,price][,currency]",
)
"""An order history (interface 4.2); the first known name of a column counts."""

_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_HTML_PROBE_BYTES: Final = 200  # bytes in which an HTML page declares itself
_PICTURE: Final = "is a picture, not a table; choose the file of products or orders"
_WORKBOOK: Final = "is an Excel workbook (.xls); save it as CSV UTF-8 (File, Save as)"
_FOREIGN: Final[Mapping[bytes, str]] = MappingProxyType(
    {
        b"\x89PNG": _PICTURE,
        b"\xff\xd8\xff": _PICTURE,
        b"GIF8": _PICTURE,
        b"RIFF": _PICTURE,
        b"%PDF": "is a PDF, not a table; export the data as CSV",
        b"\xd0\xcf\x11\xe0": _WORKBOOK,
        b"PK\x03\x04": "is an Excel workbook or a zip archive; send it as CSV, unpacked",
    }
)
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_EXCEL_HINT: Final = re.compile(r"sep=.", re.IGNORECASE)
_ERRORS: Final[Mapping[str, str]] = MappingProxyType({"cp1252": "surrogateescape"})


class MissingColumnsError(ProductRecsError):
    """The header lacks a required column."""


@dataclass(frozen=True, slots=True)
class CsvFormat:
    """The format of one file; `columns` maps each column to its cell index."""

    encoding: str
    separator: str
    columns: Mapping[str, int]
    width: int  # number of cells in the header
    header_lines: int  # number of lines up to and including the header
    digest: str  # SHA-256 of the whole file, in hex
    size: int  # bytes
    prose: bool

    @property
    def errors(self) -> str:
        """The decoding error mode: rows with undecodable bytes are rejected."""
        return _ERRORS.get(self.encoding, "replace")


class CsvInspector:
    """Detects a file's format while its bytes arrive, as during an upload."""

    def __init__(self, layout: CsvLayout = HISTORY_LAYOUT) -> None:
        """Start before the first byte of a file that should have `layout`."""
        self._layout = layout
        self._hash = hashlib.sha256()
        self._strict = codecs.getincrementaldecoder("utf-8")()
        self._is_utf8 = True
        self._head = b""
        self._size = 0

    def feed(self, block: bytes) -> None:
        """Inspect the next bytes."""
        self._hash.update(block)
        self._size += len(block)
        if len(self._head) < HEAD_BYTES:
            self._head += block[: HEAD_BYTES - len(self._head)]
        if self._is_utf8:
            self._is_utf8 = _is_decodable(self._strict, block, final=False)

    def finish(self) -> CsvFormat:
        """Return the format of the whole file.

        Raises:
            MissingColumnsError: when its header lacks a required column.
        """
        if self._is_utf8:
            self._is_utf8 = _is_decodable(self._strict, b"", final=True)
        header = read_header(self._head, self._layout)
        with_bom = [name for bom, name in _BOMS if self._head.startswith(bom)]
        encoding = with_bom[0] if with_bom else "utf-8" if self._is_utf8 else "cp1252"
        return CsvFormat(
            # Ignore a UTF-8 byte order mark before bytes that are not UTF-8.
            encoding="cp1252"
            if encoding == "utf-8-sig" and not self._is_utf8
            else encoding,
            separator=header.separator,
            columns=header.columns,
            width=header.width,
            header_lines=header.lines,
            digest=self._hash.hexdigest(),
            size=self._size,
            prose=self._layout.prose,
        )


def inspect_csv(file: BinaryIO, layout: CsvLayout = HISTORY_LAYOUT) -> CsvFormat:
    """Return the format of `file`, reading all of it once from the start.

    Raises:
        MissingColumnsError: when its header lacks a required column.
    """
    file.seek(0)
    inspector = CsvInspector(layout)
    while block := file.read(BLOCK_BYTES):
        inspector.feed(block)
    return inspector.finish()


@dataclass(frozen=True, slots=True)
class CsvHeader:
    """The header row; `lines` counts it and the lines above."""

    separator: str
    columns: Mapping[str, int]
    width: int
    lines: int


def read_header(head: bytes, layout: CsvLayout = HISTORY_LAYOUT) -> CsvHeader:
    """Return the header in a file's first bytes (64 KiB are enough).

    Raises:
        MissingColumnsError: when there is none, or it lacks a required column.
    """
    lines = _LINE_END.split(decode_head(head))
    above = list(itertools.takewhile(_is_above_the_header, lines))
    line = lines[len(above)] if len(above) < len(lines) else ""
    headers = [
        _parse_header(line, separator, len(above) + 1, layout) for separator in SEPARATORS
    ]
    best = max(headers, key=lambda header: (_completeness(header, layout), header.width))
    missing = [name for name in layout.required if name not in best.columns]
    if missing and (words := unsupported_file_hint(head)) is not None:
        message = f"the file {words}"
        raise MissingColumnsError(message)
    if missing:
        message = (
            f"the CSV has no column {' and no column '.join(missing)}; its first line "
            f"names them: {layout.example}"
        )
        raise MissingColumnsError(message)
    return best


def column_names(head: bytes, separator: str | None = None) -> list[str]:
    """Return the unchanged column names in a file's first bytes."""
    lines = _LINE_END.split(decode_head(head))
    line = next((one for one in lines if not _is_above_the_header(one)), "")
    separators = SEPARATORS if separator is None else (separator,)
    names = max((split_line(line, one) for one in separators), key=len)
    return [name.strip().lstrip("\ufeff") for name in names]


def unsupported_file_hint(head: bytes) -> str | None:
    """Describe an unsupported file and its remedy; None for tables and feeds.

    `head` is the file's beginning, or all of a zip archive, which may be a workbook.
    """
    for start, words in _FOREIGN.items():
        if head.startswith(start):
            return words
    text = decode_head(head[:_HTML_PROBE_BYTES]).lstrip("\ufeff \t\r\n").casefold()
    if text.startswith(("<!doctype html", "<html")):
        return (
            "is a web page (HTML), perhaps a login page or an error that was saved instead "
            "of the file; download it again while you are logged in"
        )
    return None


def split_line(line: str, separator: str) -> list[str]:
    """Return the cells of one line, parsed on its own."""
    if '"' not in line:
        return line.split(separator)
    return next(csv.reader((line,), delimiter=separator), [])


def _is_above_the_header(line: str) -> bool:
    return not line.strip() or bool(_EXCEL_HINT.fullmatch(line.strip()))


def _parse_header(line: str, separator: str, lines: int, layout: CsvLayout) -> CsvHeader:
    try:
        names = split_line(line, separator)
    except csv.Error:
        names = []
    return CsvHeader(separator, find_columns(names, layout.columns), len(names), lines)


def _completeness(header: CsvHeader, layout: CsvLayout) -> tuple[int, int]:
    required = sum(name in header.columns for name in layout.required)
    return required, len(header.columns)


def decode_head(head: bytes) -> str:
    """Decode a file's first bytes as far as possible."""
    encoding = next((name for bom, name in _BOMS if head.startswith(bom)), "")
    if not encoding:
        decoder = codecs.getincrementaldecoder("utf-8")()
        encoding = "utf-8" if _is_decodable(decoder, head, final=False) else "cp1252"
    return codecs.getincrementaldecoder(encoding)("replace").decode(head)


def _is_decodable(decoder: codecs.IncrementalDecoder, block: bytes, *, final: bool) -> bool:
    try:
        decoder.decode(block, final)
    except UnicodeDecodeError:
        return False
    return True


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
                yield number, _without_formulas(cells) if "'" in line else cells
            continue
        quoted = _read_quoted_row(line, lines, csv_format)
        yield number, quoted if isinstance(quoted, BrokenRow) else _without_formulas(quoted)


def _without_formulas(cells: list[str]) -> list[str]:
    """Return the cells without an export's protection against formulas."""
    return [unescape_formula(cell) for cell in cells]


def detect_time_format(
    file: BinaryIO, csv_format: CsvFormat, column: str
) -> FileTimeFormat:
    """Detect whether a column's times have the day first; unknown if all are ambiguous.

    Stops after a thousand times of other formats.
    """
    index = csv_format.columns.get(column)
    ambiguous = 0
    for _, cells in read_rows(file, csv_format) if index is not None else ():
        if isinstance(cells, BrokenRow) or index is None or index >= len(cells):
            continue
        text = cells[index]
        day_first = detect_day_first(text)
        if day_first is not None:
            return FileTimeFormat(day_first=day_first)
        ambiguous += bool(text.strip()) and written_date_to_iso(text) is not None
        if ambiguous >= _ENOUGH_TIMES:
            break
    return FileTimeFormat()


def _read_quoted_row(
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
    continuation = _QuotedCellLines(lines, csv_format)
    try:
        cells = next(
            csv.reader(continuation.lines_from(line), delimiter=separator, strict=True)
        )
    except (csv.Error, StopIteration):
        cells = []
    if len(cells) != csv_format.width:
        return BrokenRow("a quotation mark is opened on this line and not closed")
    lines.skip(continuation.count)
    return cells


class _QuotedCellLines:
    """The lines that a quoted cell may span, inspected before they are consumed."""

    def __init__(self, lines: "_LineBuffer", csv_format: CsvFormat) -> None:
        self.count = 0
        self._lines = lines
        self._format = csv_format

    def lines_from(self, first: str) -> Iterator[str]:
        yield first + "\n"
        room = MAX_LINE_LENGTH - len(first)
        while self._format.prose or self.count < _LONGEST_SPAN:
            line = self._lines.peek(self.count)
            if line is None or len(line) >= room or self._is_complete_row(line):
                return
            room -= len(line) + 1
            self.count += 1
            yield line + "\n"

    def _is_complete_row(self, line: str) -> bool:
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
        if self._next >= len(self._lines) and not self._buffer_lines(1):
            self._report_progress()
            return None
        line = self._lines[self._next]
        self._next += 1
        self._consumed += 1
        return line

    def peek(self, ahead: int) -> str | None:
        """Return the line `ahead` lines after the next one, or None past the end."""
        if self._next + ahead >= len(self._lines) and not self._buffer_lines(ahead + 1):
            return None
        return self._lines[self._next + ahead]

    def skip(self, count: int) -> None:
        """Skip `count` lines."""
        for _ in range(count):
            self.next()

    def _buffer_lines(self, needed: int) -> bool:
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
