"""CSV format detection: encoding, separator, header and columns."""

import codecs
import csv
import hashlib
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import BinaryIO, Final

from productrecs.core.errors import ProductRecsError

BLOCK_BYTES: Final = 1 << 20
HEAD_BYTES: Final = 64 * 1024
"""The header must end within this many bytes."""

SEPARATORS: Final = (",", ";", "\t", "|")


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
        }
    ),
    required=("order_id", "item_id"),
    example="order_id,item_id[,customer_id][,timestamp][,quantity][,price]",
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
_BLANKS: Final = re.compile(r"[\s_\-\ufeff]+")
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
            self._is_utf8 = _decodes(self._strict, block, final=False)

    def finish(self) -> CsvFormat:
        """Return the format of the whole file.

        Raises:
            MissingColumnsError: when its header lacks a required column.
        """
        if self._is_utf8:
            self._is_utf8 = _decodes(self._strict, b"", final=True)
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
    found = [_header(line, separator, len(above) + 1, layout) for separator in SEPARATORS]
    best = max(found, key=lambda header: (_complete(header, layout), header.width))
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


def _header(line: str, separator: str, lines: int, layout: CsvLayout) -> CsvHeader:
    try:
        names = [_simplified(name) for name in split_line(line, separator)]
    except csv.Error:
        names = []
    return CsvHeader(separator, _places(names, layout), len(names), lines)


def _complete(header: CsvHeader, layout: CsvLayout) -> tuple[int, int]:
    required = sum(name in header.columns for name in layout.required)
    return required, len(header.columns)


def _places(names: Sequence[str], layout: CsvLayout) -> Mapping[str, int]:
    """Return the index of each column: by its own name, else its first synonym."""
    places: dict[str, int] = {}
    for column, synonyms in layout.columns.items():
        for name in map(_simplified, synonyms):
            if name in names:
                places.setdefault(column, names.index(name))
    return MappingProxyType(places)


def _simplified(name: str) -> str:
    return _BLANKS.sub("", name).casefold()


def decode_head(head: bytes) -> str:
    """Decode a file's first bytes as far as possible."""
    encoding = next((name for bom, name in _BOMS if head.startswith(bom)), "utf-8")
    # Other letters do not matter: the required column names are ASCII.
    return codecs.getincrementaldecoder(encoding)("replace").decode(head)


def _decodes(decoder: codecs.IncrementalDecoder, block: bytes, *, final: bool) -> bool:
    try:
        decoder.decode(block, final)
    except UnicodeDecodeError:
        return False
    return True
