"""Usage journal: counted calls in a mapped file, which survive a killed process.

Each process counts in a usage file of its own, mapped into its memory: the counts outlive
the process, though not a power cut of the machine. Other processes on the machine read the
file while it counts; a process that finds it abandoned adds the rest to the database.

A counter belongs to a store and month: how many calls were counted, how many of them the
database has, and how many it will have once the flush round that the counter names is
stored. The round is stored with the counts in one transaction, so wherever a process was
killed, it is known whether they are in the database.
"""

import contextlib
import fcntl
import mmap
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from productrecs.core.ids import StoreId, random_text

CallsByStoreMonth = tuple[StoreId, str]
"""A store and a month."""

CLOSED_ROUND: Final = 1 << 62
"""The round of a usage file whose calls are all in the database."""

_MARK: Final = int.from_bytes(b"calls 1\n", "little")
_SUFFIX: Final = ".calls"
_WORD: Final = 8
_KEY_WORDS: Final = 6
_LINE_WORDS: Final = _KEY_WORDS + 4
_FIRST: Final = 2  # the mark, and how many lines there are
_LINES: Final = 200_000  # of one process, until it ends
_TOGETHER: Final = 1_000  # lines whose room on the disk is taken at once
_COUNTED, _STORED, _COMING, _ROUND = range(_KEY_WORDS, _LINE_WORDS)
_CLOSED_FILE: Final = -1
_BYTES: Final = _WORD * (_FIRST + _LINES * _LINE_WORDS)


class UsageCounter:
    """One process's counter of a store's calls in one month."""

    __slots__ = ("_at", "_words")

    def __init__(self, words: "memoryview[int]", at: int) -> None:
        """Use the words of `words` from index `at` on."""
        self._words = words
        self._at = at

    @classmethod
    def unlisted(cls) -> "UsageCounter":
        """Return a counter outside of any file: it ends with its process."""
        return cls(memoryview(bytearray(_WORD * _LINE_WORDS)).cast("Q"), 0)

    @property
    def counted(self) -> int:
        """How many calls were counted."""
        return self._words[self._at + _COUNTED]

    @counted.setter
    def counted(self, calls: int) -> None:
        self._words[self._at + _COUNTED] = calls

    @property
    def stored(self) -> int:
        """How many of them are certainly in the database."""
        return self._words[self._at + _STORED]

    @property
    def is_in_flight(self) -> bool:
        """Whether it is unknown of some of them whether they are in the database."""
        words, at = self._words, self._at
        return words[at + _STORED] != words[at + _COMING]

    @property
    def round(self) -> int:
        """The last flush round that included it; 0 before the first."""
        return self._words[self._at + _ROUND]

    def prepare(self, number: int, calls: int) -> None:
        """Note that `calls` more will be in the database once the round is stored."""
        words, at = self._words, self._at
        # In this order: between the two, the round is not stored, and `stored` holds.
        words[at + _ROUND] = number
        words[at + _COMING] = words[at + _STORED] + calls

    def confirm(self) -> None:
        """Note that the round is stored."""
        self._words[self._at + _STORED] = self._words[self._at + _COMING]


class UsageFile:
    """The usage file of one process, with its counters."""

    def __init__(self, path: Path, file: int) -> None:
        """Map the sheet that is open as `file`."""
        self.path = path
        self._file = file
        memory = mmap.mmap(file, _BYTES)
        self._words = memoryview(memory).cast("Q")
        self._room = 0
        self._lines: dict[CallsByStoreMonth, UsageCounter] = {}

    @classmethod
    def begin(cls, folder: Path) -> "UsageFile":
        """Return a new sheet of this process, which holds its lock while it lives.

        Raises:
            OSError: when there can be none.
        """
        folder.mkdir(parents=True, exist_ok=True)
        while True:
            path = folder / (random_text(16) + _SUFFIX)
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            fcntl.flock(file, fcntl.LOCK_EX)
            if os.fstat(file).st_nlink:  # not removed as abandoned by another process
                break
            os.close(file)
        try:
            # Allocate the space: a write to a mapped page without it kills the process.
            os.posix_fallocate(file, 0, _WORD * _FIRST)
            os.ftruncate(file, _BYTES)
            sheet = cls(path, file)
        except OSError:
            path.unlink()
            os.close(file)
            raise
        sheet._words[0] = _MARK
        return sheet

    @property
    def name(self) -> str:
        """The unique name of the file."""
        return self.path.stem

    def line(self, key: CallsByStoreMonth) -> UsageCounter:
        """Return the line of a store's month, a new one if need be: loose if no room is."""
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = self._add("|".join(key).encode())
        return line

    def lines(self) -> Iterable[tuple[CallsByStoreMonth, UsageCounter]]:
        """Return all lines, also those that were added since by its process."""
        there = self._words[1] if self._words[0] == _MARK else 0
        while len(self._lines) < min(there, _LINES):
            at = _FIRST + len(self._lines) * _LINE_WORDS
            text = self._words[at : at + _KEY_WORDS].tobytes().rstrip(b"\0").decode()
            store_id, month = text.split("|")
            self._lines[StoreId(store_id), month] = UsageCounter(self._words, at)
        return self._lines.items()

    def get(self, key: CallsByStoreMonth) -> UsageCounter | None:
        """Return a line, if it was there at the last call of `lines`."""
        return self._lines.get(key)

    def is_abandoned(self) -> bool:
        """Return whether its process has ended; if so, take its lock."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def settle(self, last_round: int) -> None:
        """Confirm the lines of all rounds up to `last_round`."""
        for _, line in list(self.lines()):
            if line.round <= last_round:
                line.confirm()

    def prepare_rest(self, last_round: int) -> dict[CallsByStoreMonth, int]:
        """Return the calls that the database lacks; their round is `CLOSED`.

        None, when it knows of a round that the sheet does not: after a loss of power, what
        is on the sheet may be older than what is stored.
        """
        self.settle(last_round)
        lines = list(self.lines())
        is_older = last_round > max((line.round for _, line in lines), default=0)
        rest = {key: line.counted - line.stored for key, line in lines}
        for key, line in lines:
            line.prepare(CLOSED_ROUND, rest[key])
        return {} if is_older else {key: calls for key, calls in rest.items() if calls}

    def close(self) -> None:
        """Close the file but keep it, for the process that takes it over; idempotent."""
        file, self._file = self._file, _CLOSED_FILE
        if file == _CLOSED_FILE:  # by now its number may be that of another file
            return
        fcntl.flock(file, fcntl.LOCK_UN)
        os.close(file)

    def remove(self) -> None:
        """Delete and close the file."""
        self.path.unlink(missing_ok=True)
        self.close()

    def _add(self, text: bytes) -> UsageCounter:
        number = self._words[1]
        if number >= _LINES or len(text) > _WORD * _KEY_WORDS or not self._has_room(number):
            return UsageCounter.unlisted()
        at = _FIRST + number * _LINE_WORDS
        key = memoryview(text.ljust(_WORD * _KEY_WORDS, b"\0")).cast("Q")
        self._words[at : at + _KEY_WORDS] = key
        self._words[1] = number + 1
        return UsageCounter(self._words, at)

    def _has_room(self, number: int) -> bool:
        if number >= self._room:
            until = min(number + _TOGETHER, _LINES)
            try:
                os.posix_fallocate(self._file, 0, _WORD * (_FIRST + until * _LINE_WORDS))
            except OSError:
                return False
            self._room = until
        return True


class PeerUsageFiles:
    """Usage files of the other processes on this machine. For one thread."""

    def __init__(self, folder: Path, own: str) -> None:
        """Look into `folder`, where our own sheet is called `own`."""
        self._folder = folder
        self._own = own
        self._sheets: dict[str, UsageFile] = {}

    def look(self) -> None:
        """Find out which sheets there are, and which lines."""
        found = {path.stem: path for path in self._folder.glob("*" + _SUFFIX)}
        found.pop(self._own, None)
        for name in self._sheets.keys() - found.keys():
            self._sheets.pop(name).close()
        for name in found.keys() - self._sheets.keys():
            with contextlib.suppress(OSError, ValueError):  # gone, or not whole yet
                self._sheets[name] = _opened(found[name])
        for sheet in self._sheets.values():
            sheet.lines()

    def lines(self, key: CallsByStoreMonth) -> tuple[UsageCounter, ...]:
        """Return the lines of a store's month, as the last look found them."""
        found = (sheet.get(key) for sheet in list(self._sheets.values()))
        return tuple(line for line in found if line is not None)

    def abandoned(self) -> Iterator[UsageFile]:
        """Yield abandoned usage files, which this process now owns."""
        return (sheet for sheet in list(self._sheets.values()) if sheet.is_abandoned())

    def close(self) -> None:
        """Close all files."""
        for sheet in self._sheets.values():
            sheet.close()
        self._sheets.clear()


def _opened(path: Path) -> UsageFile:
    file = os.open(path, os.O_RDWR)
    try:
        if os.fstat(file).st_size == _BYTES:
            return UsageFile(path, file)  # if its mark is not ours, it has no lines for us
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()  # its process ended as it began
    except BaseException:
        os.close(file)
        raise
    os.close(file)
    message = f"{path} is incomplete"
    raise ValueError(message)
