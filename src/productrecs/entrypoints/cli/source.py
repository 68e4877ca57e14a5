"""Where do the lines of an import come from? A file, standard input, compressed or not."""

import contextlib
import gzip
import hashlib
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeVar

import click

from productrecs.core.errors import ProductRecsError
from productrecs.entrypoints.cli.session import is_watched

BLOCK: Final = 1 << 20
_GZIP: Final = b"\x1f\x8b"


class UnreadableSourceError(ProductRecsError):
    """The file to import cannot be opened or unpacked."""


@dataclass(frozen=True, slots=True)
class Source:
    """What is imported: a file that can be read more than once.

    `ending` is that of its name, lower case, such as `.csv`; empty for standard input.
    """

    file: BinaryIO
    ending: str
    size: int

    def digest(self) -> str:
        """Return the SHA-256 of all of it, in hex."""
        self.file.seek(0)
        found = hashlib.sha256()
        while block := self.file.read(BLOCK):
            found.update(block)
        return found.hexdigest()


Command = TypeVar("Command", bound=Callable[..., Any])


def table_options(kinds: type[StrEnum], section: str) -> Callable[[Command], Command]:
    """Add `--format`, one of `kinds`, and `--mapping`, a file that has a `section`."""
    kind = click.option(
        "--format",
        "kind",
        type=click.Choice([one.value for one in kinds]),
        help="The kind of file, where its content does not tell it.",
    )
    mapping = click.option(
        "--mapping",
        type=click.Path(dir_okay=False, path_type=Path),
        help=f"A TOML file whose [{section}] says which column of a table is what.",
    )
    return lambda command: kind(mapping(command))


@contextlib.contextmanager
def opened_source(name: str, folder: Path) -> Iterator[Source]:
    """Give the file `name`; `-` is standard input, kept below `folder` while it is read.

    Compressed files (gzip) are unpacked there first. Nothing is left behind.

    Raises:
        UnreadableSourceError: when there is no such file, or it cannot be unpacked.
    """
    path = Path(name)
    with contextlib.ExitStack() as stack:
        if name == "-":
            file, ending = stack.enter_context(_spool(folder)), ""
            shutil.copyfileobj(sys.stdin.buffer, file, BLOCK)
        else:
            file, ending = stack.enter_context(_open(path)), path.suffix.lower()
        file.seek(0)
        if file.read(len(_GZIP)) == _GZIP:
            unpacked = stack.enter_context(_spool(folder))
            _unpack(file, unpacked, name)
            file, ending = unpacked, Path(path.stem).suffix.lower()
        size = file.seek(0, 2)
        file.seek(0)
        yield Source(file, ending, size)


@contextlib.contextmanager
def progress(label: str, length: int) -> Iterator[Callable[[int], None]]:
    """Draw a bar on a terminal's standard error; give what to call with each step."""
    with click.progressbar(
        length=max(length, 1), label=label, file=sys.stderr, hidden=not is_watched()
    ) as bar:
        yield bar.update


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}"
        raise UnreadableSourceError(message) from error


@contextlib.contextmanager
def _spool(folder: Path) -> Iterator[BinaryIO]:
    # On the data's own disk, not in /tmp, which may be memory; gone however we end.
    with tempfile.TemporaryFile(dir=folder) as file:
        yield file


def _unpack(packed: BinaryIO, unpacked: BinaryIO, name: str) -> None:
    packed.seek(0)
    try:
        with gzip.GzipFile(fileobj=packed) as content:
            shutil.copyfileobj(content, unpacked, BLOCK)
    except (EOFError, gzip.BadGzipFile) as error:
        message = f"{name} is not a whole gzip file: {error}"
        raise UnreadableSourceError(message) from error
