"""Import source: an opened file or address, and a streaming reader of JSON arrays."""

import codecs
import contextlib
import gzip
import hashlib
import json
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, Final

from productrecs.core.csv_reader import (
    read_head,
    unsupported_file_hint,
)
from productrecs.core.errors import ProductRecsError

BLOCK: Final = 1 << 20
_GZIP: Final = b"\x1f\x8b"
_ZIP: Final = b"PK\x03\x04"
_WORKBOOKS: Final = {
    "xl/": "is an Excel workbook (.xlsx); save it as CSV UTF-8 (File, Save as)",
    "content.xml": "is an OpenDocument spreadsheet; save it as CSV (UTF-8)",
}


class UnreadableSourceError(ProductRecsError):
    """The file to import cannot be opened or unpacked."""


@dataclass(frozen=True, slots=True)
class ImportSource:
    """A file to import, which can be read more than once.

    `ending` is the extension of its name, lower case, such as `.csv`; empty for
    standard input.
    """

    file: BinaryIO
    ending: str
    size: int

    def digest(self) -> str:
        """Return the SHA-256 of the file, in hex."""
        self.file.seek(0)
        sha256 = hashlib.sha256()
        while block := self.file.read(BLOCK):
            sha256.update(block)
        return sha256.hexdigest()


@contextlib.contextmanager
def open_import_source(
    name: str,
    folder: Path,
    *,
    may_be_empty: bool = False,
    stored: Path | None = None,
    max_bytes: int | None = None,
) -> Iterator[ImportSource]:
    """Open the file `name`; `-` is standard input, copied below `folder`.

    Compressed files (gzip, a zip archive of one file) are unpacked there first, up to
    `max_bytes` bytes. Nothing is left behind. A file whose sender calls it `name` is
    `stored` elsewhere.

    Raises:
        UnreadableSourceError: when the file does not exist, cannot be unpacked, or is a
            workbook, a web page, a picture or empty.
    """
    path = Path(name)
    with contextlib.ExitStack() as stack:
        if name == "-" and stored is None:
            file, ending = stack.enter_context(_temporary_file(folder)), ""
            shutil.copyfileobj(sys.stdin.buffer, file, BLOCK)
        else:
            stream = _open(stored or path)
            file, ending = stack.enter_context(stream), path.suffix.lower()
        file.seek(0)
        start = file.read(len(_ZIP))
        if start.startswith(_GZIP):
            unpacked = stack.enter_context(_temporary_file(folder))
            _unpack(file, unpacked, name, max_bytes)
            file, ending = unpacked, Path(path.stem).suffix.lower()
        elif start == _ZIP:
            unpacked = stack.enter_context(_temporary_file(folder))
            ending = _unzip(file, unpacked, name, max_bytes)
            file = unpacked
        _refuse_unsupported_file(file, name, may_be_empty=may_be_empty)
        size = file.seek(0, 2)
        file.seek(0)
        yield ImportSource(file, ending, size)


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}"
        raise UnreadableSourceError(message) from error


@contextlib.contextmanager
def _temporary_file(folder: Path) -> Iterator[BinaryIO]:
    # On the data folder's disk, because /tmp may be in memory; always deleted.
    with tempfile.TemporaryFile(dir=folder) as file:
        yield file


def _unpack(packed: BinaryIO, unpacked: BinaryIO, name: str, max_bytes: int | None) -> None:
    packed.seek(0)
    try:
        with gzip.GzipFile(fileobj=packed) as content:
            _copy(content, unpacked, name, max_bytes)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        message = f"{name} is not a complete gzip file: {error}"
        raise UnreadableSourceError(message) from error


def _unzip(packed: BinaryIO, unpacked: BinaryIO, name: str, max_bytes: int | None) -> str:
    """Unpack the one file of an archive; return the extension of its name."""
    try:
        with zipfile.ZipFile(packed) as archive:
            names = [entry.filename for entry in archive.infolist() if not entry.is_dir()]
            for sign, words in _WORKBOOKS.items():
                if any(entry.startswith(sign) for entry in names):
                    message = f"{name} {words}"
                    raise UnreadableSourceError(message)
            files = [entry for entry in names if not entry.startswith(("__MACOSX/", "."))]
            if len(files) != 1:
                message = (
                    f"{name} is a zip archive of {len(files)} files "
                    f"({', '.join(files[:5])}); unpack it and import them one by one"
                )
                raise UnreadableSourceError(message)
            with archive.open(files[0]) as content:
                _copy(content, unpacked, name, max_bytes)
    except (
        zipfile.BadZipFile,
        EOFError,
        RuntimeError,
        NotImplementedError,
        zlib.error,
    ) as error:
        message = f"{name} is a zip archive that cannot be unpacked: {error}"
        raise UnreadableSourceError(message) from error
    return Path(files[0]).suffix.lower()


def _copy(
    content: IO[bytes] | gzip.GzipFile, unpacked: BinaryIO, name: str, max_bytes: int | None
) -> None:
    size = 0
    while block := content.read(BLOCK):
        size += len(block)
        if max_bytes is not None and size > max_bytes:
            message = f"{name} unpacks to more than {max_bytes >> 20:,} MiB; split it"
            raise UnreadableSourceError(message)
        unpacked.write(block)


def _refuse_unsupported_file(file: BinaryIO, name: str, *, may_be_empty: bool) -> None:
    head = read_head(file)
    hint = unsupported_file_hint(head)
    if hint is None and not may_be_empty and not head.strip(b"\xef\xbb\xbf \t\r\n"):
        hint = "is empty; export it again"
    if hint is not None:
        message = f"{'the file' if name == '-' else name} {hint}"
        raise UnreadableSourceError(message)


_BLANKS: Final = " \t\r\n"
_IN_NUMBERS: Final = ("", *"0123456789.eE+-")


class NotAnArrayError(ProductRecsError):
    """The file is not JSON, or neither an array nor an object with one."""


class JsonArrayReader:
    """Yields the texts of an array's members; the array is the file, or its `items`."""

    def __init__(
        self, file: BinaryIO, longest: int, on_bytes: Callable[[int], None]
    ) -> None:
        """Read `file` from its position; no member may be longer than `longest`."""
        self._longest = longest
        self._file = file
        self._on_bytes = on_bytes
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("strict")
        self._scan = json.JSONDecoder().raw_decode
        self._text = ""
        self._at = 0
        self._at_end = False

    def __iter__(self) -> Iterator[str]:
        """Yield the text of each member.

        Raises:
            NotAnArrayError: where the text is not JSON.
        """
        self._skip_to_first_member()
        if self._peek() == "]":
            return
        while True:
            start, end = self._next_value_bounds()
            yield self._text[start:end]
            if self._expect(",]") == "]":
                return

    def _skip_to_first_member(self) -> None:
        """Skip the text before the first member."""
        if self._expect("[{") == "[":
            return
        while True:
            start, end = self._next_value_bounds()
            is_items = self._text[start:end] == '"items"'
            self._expect(":")
            if is_items:
                self._expect("[")
                return
            self._next_value_bounds()
            self._expect(",")

    def _next_value_bounds(self) -> tuple[int, int]:
        """Return the bounds of the next value, and skip it."""
        self._peek()
        while True:
            try:
                _, end = self._scan(self._text, self._at)
                # At the end of a block a number may be truncated to a valid one: 1.5 to 1
                if self._at_end or self._text[end : end + 1] not in _IN_NUMBERS:
                    start, self._at = self._at, end
                    return start, end
                reason = "a number"
            except (ValueError, RecursionError) as error:
                reason = str(error)
            if self._at_end or len(self._text) - self._at > self._longest:
                raise self._error(f"a value is not JSON ({reason})")
            self._read()

    def _expect(self, expected: str) -> str:
        character = self._peek()
        if not character or character not in expected:
            expected_text = " or ".join(expected)
            raise self._error(
                f"found {character or 'the end'!r} instead of {expected_text}"
            )
        self._at += 1
        return character

    def _peek(self) -> str:
        """Return the next character that is not a blank; empty at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _BLANKS:
                self._at += 1
            if self._at < len(self._text) or self._at_end:
                return self._text[self._at : self._at + 1]
            self._read()

    def _read(self) -> None:
        block = self._file.read(BLOCK)
        self._at_end = not block
        self._on_bytes(len(block))
        try:
            decoded = self._decoder.decode(block, final=self._at_end)
        except UnicodeDecodeError as error:
            raise self._error("it is not UTF-8 text") from error
        self._text, self._at = self._text[self._at :] + decoded, 0

    def _error(self, reason: str) -> NotAnArrayError:
        return NotAnArrayError(
            f"this is not a JSON array of items, nor an object with a list items: {reason}"
        )
