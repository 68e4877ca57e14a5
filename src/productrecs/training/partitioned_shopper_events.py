"""Partitioned shopper events: views, carts and clicks, in memory or, if many, in a file.

The file has one row an event, by partition of the shoppers. It has no name, so that it
vanishes with the process: it can always be read from the log again.
"""

import os
import tempfile
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from productrecs.core.cache_registry import RegisteredCache
from productrecs.engines.array_types_and_sorting import (
    Bools,
    Ints,
    Items,
    allocate_in_memory,
)

PARTITIONS: Final = 64
_ROW: Final = np.dtype(
    [("times", "<i8"), ("visitors", "<i8"), ("items", "<i4"), ("kinds", "i1")]
)
_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
_HIGH: Final = np.uint64(40)


@dataclass(slots=True)
class ShopperEventArrays:
    """Events of shoppers, in log order: parallel arrays, one entry an event."""

    times: Ints = field(default_factory=lambda: np.zeros(0, np.int64))  # UTC ms
    kinds: npt.NDArray[np.int8] = field(default_factory=lambda: np.zeros(0, np.int8))
    items: Items = field(default_factory=lambda: np.zeros(0, np.int32))
    visitors: Ints = field(  # core.ids.visitor_hash
        default_factory=lambda: np.zeros(0, np.int64)
    )


Facts = TypeVar("Facts")


def select_rows(facts: Facts, is_selected: Bools) -> Facts:
    """Return the selected rows of parallel arrays, the fields of a dataclass."""
    fields: Any = facts
    names = fields.__dataclass_fields__
    columns = {name: getattr(facts, name)[is_selected] for name in names}
    selected: Facts = replace(fields, **columns)
    return selected


def concatenate_rows(pages: Sequence[Facts]) -> Facts:
    """Return the rows of one or more pages of parallel arrays."""
    first: Any = pages[0]
    columns = {
        name: np.concatenate([getattr(page, name) for page in pages])
        for name in first.__dataclass_fields__
    }
    joined: Facts = replace(first, **columns)
    return joined


def partition_numbers(visitors: Ints, partitions: int) -> npt.NDArray[np.uint8]:
    """Return each shopper's partition, from 0; at most 256 partitions."""
    mixed = (visitors.view(np.uint64) * _MIX) >> _HIGH
    return (mixed % np.uint64(partitions)).astype(np.uint8)


class ShopperEvents:
    """One store's events of shoppers.

    Beyond `max_in_memory` they are written to a file of `folder`; without a folder all are
    in memory.
    """

    def __init__(
        self,
        folder: Path | None = None,
        max_in_memory: int = RegisteredCache.TRAINING_EVENTS.limit,
        partitions: int = PARTITIONS,
    ) -> None:
        """Start without events."""
        self._folder = folder
        self._max_in_memory = max_in_memory
        self._partitions = partitions
        self._pages: list[ShopperEventArrays] = []
        self._file: Any = None
        self._segments: list[tuple[int, Ints]] = []  # first byte, and rows by partition
        self.count_in_memory = 0

    def __len__(self) -> int:
        """Return the number of events."""
        written = sum(int(counts.sum()) for _, counts in self._segments)
        return written + self.count_in_memory

    def add(self, page: ShopperEventArrays) -> None:
        """Append events.

        Raises:
            OSError: when the file cannot be written; then start over.
        """
        self._pages.append(page)
        self.count_in_memory += len(page.items)
        if self._folder is not None and self.count_in_memory > self._max_in_memory:
            self._spill_to_file(self._folder)

    @property
    def is_in_file(self) -> bool:
        """Whether most events are in the file."""
        return self._file is not None

    def load_all(self) -> ShopperEventArrays:
        """Return all events in memory; the same object until more are added."""
        if self._file is None:
            return self._join_pages_in_memory()
        return join_events([self.partition(number) for number in range(self._partitions)])

    @property
    def partition_count(self) -> int:
        """The number of partitions: 1 while all events are in memory."""
        return 1 if self._file is None else self._partitions

    def partition(self, number: int) -> ShopperEventArrays:
        """Return the events of one of `partition_count` partitions, in log order."""
        resident = self._join_pages_in_memory()
        if self._file is None:
            return resident
        numbers = partition_numbers(resident.visitors, self._partitions)
        latest = select_rows(resident, numbers == number)
        return (
            join_events([self._read_partition_from_file(number), latest])
            if self._segments
            else latest
        )

    def allocate(self, size: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return an array of a fit: in memory, or for many events in a file."""
        if self._file is None or size == 0:
            return allocate_in_memory(size, dtype)
        with tempfile.TemporaryFile(dir=self._folder) as file:
            # A full disk is an error here, not a signal when a page is written.
            os.posix_fallocate(file.fileno(), 0, size * np.dtype(dtype).itemsize)
            return np.memmap(file, dtype, "r+", shape=(size,)).view(np.ndarray)

    def _join_pages_in_memory(self) -> ShopperEventArrays:
        if len(self._pages) != 1:
            self._pages = [join_events(self._pages)]
        return self._pages[0]

    def _spill_to_file(self, folder: Path) -> None:
        """Move the events in memory to the file, by partition."""
        if self._file is None:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 - lives as long as the object
            weakref.finalize(self, self._file.close)
        events = self._join_pages_in_memory()
        numbers = partition_numbers(events.visitors, self._partitions)
        order = np.argsort(numbers, kind="stable")
        rows = np.empty(len(order), _ROW)
        for name in ShopperEventArrays.__dataclass_fields__:
            rows[name] = getattr(events, name)[order]
        begin = self._file.seek(0, os.SEEK_END)
        rows.tofile(self._file)
        self._segments.append((begin, np.bincount(numbers, minlength=self._partitions)))
        self._pages, self.count_in_memory = [], 0

    def _read_partition_from_file(self, number: int) -> ShopperEventArrays:
        """Return a partition's events in the file."""
        counts = [int(rows[number]) for _, rows in self._segments]
        rows = np.empty(sum(counts), _ROW)
        row = 0
        for (begin, by_partition), count in zip(self._segments, counts, strict=True):
            first = begin + int(by_partition[:number].sum()) * _ROW.itemsize
            content = os.pread(self._file.fileno(), count * _ROW.itemsize, first)
            rows[row : row + count] = np.frombuffer(content, _ROW, count)
            row += count
        return ShopperEventArrays(
            **{
                name: np.ascontiguousarray(rows[name])
                for name in ShopperEventArrays.__dataclass_fields__
            }
        )


def join_events(pages: Sequence[ShopperEventArrays]) -> ShopperEventArrays:
    """Return the events of all pages."""
    return concatenate_rows([ShopperEventArrays(), *pages])
