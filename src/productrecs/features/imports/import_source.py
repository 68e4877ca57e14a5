"""Import source: an opened file or address, which can be read more than once."""

import contextlib
import gzip
import hashlib
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, Final

from productrecs.core.csv_reader import (
    read_head,
    unsupported_file_hint,
)
from productrecs.core.errors import ProductRecsError

_BLOCK: Final = 1 << 20
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
        while block := self.file.read(_BLOCK):
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
            shutil.copyfileobj(sys.stdin.buffer, file, _BLOCK)
        else:
            stream = _open_file(stored or path)
            file, ending = stack.enter_context(stream), path.suffix.lower()
        file.seek(0)
        start = file.read(len(_ZIP))
        if start.startswith(_GZIP):
            unpacked = stack.enter_context(_temporary_file(folder))
            _unpack_gzip(file, unpacked, name, max_bytes)
            file, ending = unpacked, Path(path.stem).suffix.lower()
        elif start == _ZIP:
            unpacked = stack.enter_context(_temporary_file(folder))
            ending = _unzip(file, unpacked, name, max_bytes)
            file = unpacked
        _refuse_unsupported_file(file, name, may_be_empty=may_be_empty)
        size = file.seek(0, 2)
        file.seek(0)
        yield ImportSource(file, ending, size)


def _open_file(path: Path) -> BinaryIO:
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


def _unpack_gzip(
    packed: BinaryIO, unpacked: BinaryIO, name: str, max_bytes: int | None
) -> None:
    packed.seek(0)
    try:
        with gzip.GzipFile(fileobj=packed) as content:
            _copy_within_limit(content, unpacked, name, max_bytes)
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
                _copy_within_limit(content, unpacked, name, max_bytes)
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


def _copy_within_limit(
    content: IO[bytes] | gzip.GzipFile, unpacked: BinaryIO, name: str, max_bytes: int | None
) -> None:
    size = 0
    while block := content.read(_BLOCK):
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
