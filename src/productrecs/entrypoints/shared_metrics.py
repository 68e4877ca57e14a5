"""Shared metrics: counters of all processes of one service, in shared memory.

The supervisor creates a board with one row per process slot. The process in a slot writes
to its own row, and any process can read all rows. There is no file, lock or message: a
count is an addition to eight bytes that only one process writes. When a process dies, its
successor continues in the same row, so counters never fall while the service runs. One
more row is common to all processes.
"""

import mmap
import os
import struct
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

CELLS_PER_ROW: Final = 1 << 16
"""Numbers in a row. Pages of memory that nobody writes to are never taken."""

NO_LAYOUT: Final = -1
"""The layout of a process that counts nothing, and is only there."""

_HEAD: Final = struct.Struct("=qq48s")  # the layout, the process's number, its role
_ROW_BYTES: Final = _HEAD.size + 8 * CELLS_PER_ROW
_COMMON_BYTES: Final = 8 * CELLS_PER_ROW


@dataclass(frozen=True, slots=True)
class MetricsRow:
    """One process's row: who it is, and its cells (doubles, 0 at first)."""

    role: str
    pid: int
    cells: "memoryview[float]"


@dataclass(frozen=True, slots=True)
class MetricsSlot:
    """Where a process counts: in the row `number` of a board."""

    board: "SharedMetrics"
    number: int

    @classmethod
    def alone(cls, role: str) -> "MetricsSlot":
        """Return the place of a process that nobody supervises."""
        return cls(SharedMetrics.make([role]), 0)


class SharedMetrics:
    """Some rows in shared memory; `number` is its file, for children to inherit."""

    def __init__(self, number: int) -> None:
        """Open the board that is kept in the file `number`."""
        self.number = number
        memory = memoryview(mmap.mmap(number, os.fstat(number).st_size))
        self._memory = memory[:-_COMMON_BYTES]
        self.common: memoryview[float] = memory[-_COMMON_BYTES:].cast("d")
        """Numbers that any process may change, 0 at first."""

    @classmethod
    def make(cls, roles: Sequence[str]) -> "SharedMetrics":
        """Return a new board with a row for each of `roles`."""
        number = _anonymous_file()
        os.ftruncate(number, len(roles) * _ROW_BYTES + _COMMON_BYTES)
        board = cls(number)
        for place, role in enumerate(roles):
            _HEAD.pack_into(board._memory, place * _ROW_BYTES, 0, 0, role.encode()[:48])
        return board

    def take(self, place: int, layout: int) -> MetricsRow:
        """Return the row of `place` as this process's own, from now on.

        What a predecessor counted stays, if its cells meant the same: had they the same
        `layout` (a number other than 0).
        """
        start = place * _ROW_BYTES
        known, _, name = _HEAD.unpack_from(self._memory, start)
        row = self._memory[start + _HEAD.size : start + _ROW_BYTES]
        if known != layout:
            row[:] = bytes(len(row))
        _HEAD.pack_into(self._memory, start, layout, os.getpid(), name)
        return self._row(place)

    def rows(self, layout: int) -> Iterator[MetricsRow]:
        """Yield the rows of all processes whose cells mean the same as ours."""
        for place in range(len(self._memory) // _ROW_BYTES):
            known, pid, _ = _HEAD.unpack_from(self._memory, place * _ROW_BYTES)
            if pid and known == layout:
                yield self._row(place)

    def processes(self) -> Iterator[tuple[str, int]]:
        """Yield the role and the number of every process that has come so far."""
        for start in range(0, len(self._memory), _ROW_BYTES):
            _, pid, name = _HEAD.unpack_from(self._memory, start)
            if pid:
                yield name.rstrip(b"\0").decode(), pid

    def _row(self, place: int) -> MetricsRow:
        start = place * _ROW_BYTES
        _, pid, name = _HEAD.unpack_from(self._memory, start)
        cells = self._memory[start + _HEAD.size : start + _ROW_BYTES].cast("d")
        return MetricsRow(name.rstrip(b"\0").decode(), pid, cells)


def _anonymous_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("productrecs")
    with tempfile.TemporaryFile() as file:  # not Linux
        return os.dup(file.fileno())
