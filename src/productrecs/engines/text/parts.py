"""Where are an index's arrays kept? In parts: files written once, and a note of which hold.

Readers read a part whole, checksum and all, so that nothing that happens to a file later is
seen by them. A part that was added is joined with the one before while that is not much
larger: there are few, and most of what is known stays as it is.
"""

import json
import secrets
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from productrecs.engines.text.failures import BrokenIndexError

Part = TypeVar("Part")
Arrays = Mapping[str, npt.NDArray[Any]]

_META: Final = "meta.json"
_MAGIC: Final = b"productrecs arrays 1\n"
_HEAD: Final = struct.Struct("<II")  # bytes of the table of contents, checksum of all
_GROWTH: Final = 3
_TRIES: Final = 3


def read_parts(
    folder: Path, known: Mapping[str, Part], made: Callable[[Arrays], Part]
) -> dict[str, Part]:
    """Return the parts below `folder`, the earliest first; those `known` are not read.

    Raises:
        BrokenIndexError: when one is missing or not what was written.
    """
    tries = 0
    while True:
        names = committed(folder)
        try:
            return {one: known.get(one) or made(_read(folder, one)) for one in names}
        except FileNotFoundError as error:  # perhaps joined with another meanwhile
            tries += 1
            if tries == _TRIES:
                message = f"a part of the index is gone: {error}"
                raise BrokenIndexError(message) from error


class Followed(Protocol[Part]):
    """All parts of a folder, as they were read once."""

    by_name: dict[str, Part]


Whole = TypeVar("Whole", bound=Followed[Any])


def followed(
    folder: Path,
    known: Whole | None,
    made: Callable[[Arrays], Part],
    whole: Callable[[Mapping[str, Part]], Whole],
) -> Whole:
    """Return the `whole` of what is below `folder`: `known` itself, where it is that.

    Raises:
        BrokenIndexError: when a part is missing or not what was written.
    """
    before = known.by_name if known is not None else {}
    parts = read_parts(folder, before, made)
    return known if known is not None and list(parts) == list(before) else whole(parts)


def committed(folder: Path) -> dict[str, int]:
    """Return how large each part is; the note is of the form of the library's own.

    Raises:
        BrokenIndexError: when there is none, or it cannot be read.
    """
    try:
        told = json.loads((folder / _META).read_bytes())
        return {str(one["segment_id"]): int(one["size"]) for one in told["segments"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = f"the note of the parts in {folder.name} cannot be read"
        raise BrokenIndexError(message) from error


class PartsWriter(Generic[Part]):
    """The one writer of the parts of a folder."""

    def __init__(
        self,
        folder: Path,
        made: Callable[[Arrays], Part],
        arrays: Callable[[Part], Arrays],
        size: Callable[[Part], int],
    ) -> None:
        """Go on from what is below `folder`.

        Raises:
            BrokenIndexError: when that cannot be read.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._made = folder, made
        self._arrays, self._size = arrays, size
        self._sizes: dict[str, int] = {}
        if (folder / _META).exists():
            self._sizes = committed(folder)
        else:
            self._note()

    def parts(self) -> list[Part]:
        """Return what is written.

        Raises:
            BrokenIndexError: when it cannot be read.
        """
        return [self._part(one) for one in self._sizes]

    def add(self, part: Part, join: Callable[[Sequence[Part], bool], Part]) -> None:
        """Write a part, `join`ed with those before; True says that these are all.

        Raises:
            BrokenIndexError: when an earlier one is damaged.
            OSError: when nothing can be written.
        """
        names, joined = list(self._sizes), [part]
        size = self._size(part)
        while names and self._sizes[names[-1]] <= _GROWTH * size:
            size += self._sizes[names[-1]]
            joined.insert(0, self._part(names.pop()))
        if len(joined) > 1:
            part = join(joined, not names)
        name = secrets.token_hex(16)
        _write(self._folder, name, self._arrays(part))
        self._sizes = {one: self._sizes[one] for one in names}
        self._sizes[name] = self._size(part)
        self._note()

    def _part(self, name: str) -> Part:
        try:
            return self._made(_read(self._folder, name))
        except FileNotFoundError as error:
            message = f"a part of the index is gone: {error}"
            raise BrokenIndexError(message) from error

    def _note(self) -> None:
        sizes = self._sizes.items()
        told = {"segments": [{"segment_id": one, "size": size} for one, size in sizes]}
        draft = self._folder / f".{_META}"
        draft.write_text(json.dumps(told), "utf-8")
        draft.replace(self._folder / _META)
        for path in self._folder.glob("*.part"):
            if path.stem not in self._sizes:
                path.unlink(missing_ok=True)


def _write(folder: Path, name: str, arrays: Arrays) -> None:
    contents = [(one, array.dtype.str, array.size) for one, array in arrays.items()]
    head = json.dumps(contents).encode()
    body = b"".join(
        [head, *(np.ascontiguousarray(one).tobytes() for one in arrays.values())]
    )
    draft = folder / f".{name}.draft"
    draft.write_bytes(_MAGIC + _HEAD.pack(len(head), zlib.crc32(body)) + body)
    draft.replace(folder / f"{name}.part")


def _read(folder: Path, name: str) -> Arrays:
    """Return the arrays of a part.

    Raises:
        FileNotFoundError: when it is gone.
        BrokenIndexError: when it is not what was written.
    """
    begin = len(_MAGIC) + _HEAD.size
    try:
        told = (folder / f"{name}.part").read_bytes()
        size, checksum = _HEAD.unpack_from(told, len(_MAGIC))
        if not told.startswith(_MAGIC) or zlib.crc32(memoryview(told)[begin:]) != checksum:
            message = f"the part {name} of the index is damaged"
            raise BrokenIndexError(message)
        contents = json.loads(told[begin : begin + size])
    except FileNotFoundError:
        raise
    except (OSError, ValueError, struct.error) as error:
        message = f"the part {name} of the index cannot be read"
        raise BrokenIndexError(message) from error
    at = begin + size
    arrays: dict[str, npt.NDArray[Any]] = {}
    for one, kind, length in contents:
        dtype = np.dtype(kind)
        # A copy: aligned, and the bytes that were read can go.
        arrays[one] = np.frombuffer(told, dtype, length, at).copy()
        at += length * dtype.itemsize
    return arrays
