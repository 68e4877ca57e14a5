"""Touchpoint index: a store's touchpoints in sorted arrays, one file per log segment.

A segment is a fixed range of the log, and its file depends on that range alone: a missing
file is rebuilt from the log. Touchpoints after the last full segment are held in memory.
"""

import contextlib
import os
import secrets
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np

from productrecs.core.cache_registry import RegisteredCache
from productrecs.core.ids import visitor_hash
from productrecs.engines.array_types_and_sorting import Ints
from productrecs.features.attribution.last_touch import (
    EMPTY_SEGMENT,
    Touchpoints,
    TouchpointSegment,
    build_segment,
    hash_shopper_item_pairs,
    sort_touchpoints,
)
from productrecs.features.attribution.repository import (
    AttributionRepository,
    SearchClickColumns,
    TouchpointColumns,
)
from productrecs.records.events.event import EventKind

SEGMENT_LENGTH: Final = 400_000
"""The length of a segment in log entries: its file has at most 10 MB."""

_BATCH: Final = 100_000  # log entries that are held as rows at a time
_ROWS: Final = 3  # pairs, seqs, times
_HEADER: Final = 3  # columns before the touchpoints
_FILE_FORMAT: Final = -2  # file format; the older format has a time or a log position here
_CLICK: Final = int(EventKind.REC_CLICK)


class VisitorHashCache(dict[str, int]):
    """The `visitor_hash` of recently used ids."""

    def __missing__(self, name: str) -> int:
        """Compute a name's code, and cache it."""
        if len(self) >= RegisteredCache.VISITOR_CODES.limit:
            self.clear()
        self[name] = code = visitor_hash(name)
        return code

    def of(self, names: Iterable[str | None]) -> Ints:
        """Return the codes of ids; 0 for no id."""
        return np.array([self[name] if name else 0 for name in names], np.int64)


class TouchpointIndex:
    """One store's touchpoints; `folder` holds the files of its full segments."""

    def __init__(
        self, folder: Path, codes: VisitorHashCache, segment_length: int = SEGMENT_LENGTH
    ) -> None:
        """Start empty; `try_read_up_to` reads the touchpoints."""
        self._folder = folder
        self._length = segment_length
        self.codes = codes
        self._segments: list[TouchpointSegment] = []
        self._tail = EMPTY_SEGMENT
        self._read = 0  # the log position up to which touchpoints are read

    @property
    def touchpoints_in_memory(self) -> int:
        """How many touchpoints are held in memory, not in files."""
        tail = self._tail
        kinds = (tail.clicks, tail.impressions, tail.searches)
        return sum(len(kind.pairs) for kind in kinds)

    @property
    def segments(self) -> Sequence[TouchpointSegment]:
        """All touchpoints read so far, in the order of the log."""
        return [*self._segments, self._tail]

    @property
    def end(self) -> int:
        """The end of the segment that is being read."""
        return (len(self._segments) + 1) * self._length

    def try_read_up_to(self, repository: AttributionRepository, seq: int) -> bool:
        """Read the log up to `seq`; return False while there is more to read.

        Reads at most one part of the log, and the files that exist.
        """
        if self._read > seq:  # another process restarted from the beginning
            self._discard(seq)
        while self.end <= seq and self._open_next_stored_segment(repository):
            pass
        if self._read == seq:
            return True
        up_to = min(seq, self.end, self._read + _BATCH)
        self.add(*repository.touchpoints_and_search_clicks(self._read, up_to), up_to)
        self.close_segment_if_full(repository)
        return self._read == seq

    def add(
        self, touchpoints: TouchpointColumns, searches: SearchClickColumns, up_to: int
    ) -> None:
        """Add the touchpoints up to log position `up_to`; none may be missing."""
        if touchpoints.seqs or searches.seqs:
            new_tail, tail = _to_segment(touchpoints, searches, self.codes), self._tail
            self._tail = build_segment(
                new_tail.clicks.merged_after(tail.clicks),
                new_tail.impressions.merged_after(tail.impressions),
                new_tail.searches.merged_after(tail.searches),
            )
        self._read = up_to

    def close_segment_if_full(self, repository: AttributionRepository) -> None:
        """Write the segment to its file once it is full."""
        if self._read < self.end:
            return
        last_event = repository.log.last_seq_and_time(self.end - self._length, self.end)
        _try_write_segment(self._file(len(self._segments)), self._tail, last_event)
        self._segments.append(self._tail)
        self._tail = EMPTY_SEGMENT

    def _open_next_stored_segment(self, repository: AttributionRepository) -> bool:
        """Open the next full segment from its file; return whether there is one."""
        if self._read > self.end - self._length:
            return False  # part of the segment is in memory
        last_event = repository.log.last_seq_and_time(self.end - self._length, self.end)
        segment = _open_segment_if_current(self._file(len(self._segments)), last_event)
        if segment is None:
            return False
        self._read = self.end
        self._segments.append(segment)
        return True

    def _discard(self, seq: int) -> None:
        self._segments = self._segments[: seq // self._length]
        self._tail = EMPTY_SEGMENT
        self._read = len(self._segments) * self._length

    def _file(self, number: int) -> Path:
        return self._folder / f"{number:06d}.npy"


def _to_segment(
    touchpoints: TouchpointColumns, searches: SearchClickColumns, codes: VisitorHashCache
) -> TouchpointSegment:
    """Return touchpoints of the log by kind."""
    pairs = hash_shopper_item_pairs(
        codes.of(touchpoints.shoppers), np.array(touchpoints.items, np.int64)
    )
    seqs = np.array(touchpoints.seqs, np.int64)
    times = np.array(touchpoints.times, np.int64)
    is_click = np.array(touchpoints.kinds, np.int64) == _CLICK
    has_terms = np.array([bool(term) for term in searches.terms], np.bool_)
    search_pairs = hash_shopper_item_pairs(
        codes.of(searches.shoppers), np.array(searches.items, np.int64)
    )
    return build_segment(
        sort_touchpoints(pairs[is_click], seqs[is_click], times[is_click]),
        sort_touchpoints(pairs[~is_click], seqs[~is_click], times[~is_click]),
        sort_touchpoints(
            search_pairs[has_terms],
            np.array(searches.seqs, np.int64)[has_terms],
            np.array(searches.times, np.int64)[has_terms],
        ),
    )


def _try_write_segment(
    path: Path, segment: TouchpointSegment, last_event: tuple[int, int]
) -> None:
    """Write a file atomically; on a full disk the segment is read from the log later."""
    touchpoints_by_kind = (segment.clicks, segment.impressions, segment.searches)
    lengths = [len(kind.pairs) for kind in touchpoints_by_kind]
    header = [
        [lengths[0], segment.earliest, lengths[1]],
        [last_event[0], segment.latest, _FILE_FORMAT],
        [last_event[1], segment.last_seq, lengths[2]],
    ]
    array = np.empty((_ROWS, _HEADER + sum(lengths)), np.int64)
    array[:, :_HEADER] = header
    for row, name in enumerate(("pairs", "seqs", "times")):
        array[row, _HEADER:] = np.concatenate(
            [getattr(kind, name) for kind in touchpoints_by_kind]
        )
    temporary_file = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary_file.open("xb") as file:
            np.save(file, array, allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())
        temporary_file.rename(path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary_file.unlink(missing_ok=True)


def _open_segment_if_current(
    path: Path, last_event: tuple[int, int]
) -> TouchpointSegment | None:
    """Map a file's segment into memory; None when it is missing or of another log."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False).view(np.ndarray)
    except (OSError, ValueError, EOFError):
        return None
    if array.dtype != np.int64 or array.shape[:-1] != (_ROWS,) or array.shape[1] < _HEADER:
        return None
    (
        (clicks, earliest, impressions),
        (last_seq, latest, file_format),
        (last_time, newest_seq, searches),
    ) = array[:, :_HEADER].tolist()
    if (last_seq, last_time, file_format) != (*last_event, _FILE_FORMAT):
        return None  # written before a backup was restored, or by another release
    ends = np.cumsum([_HEADER, clicks, impressions, searches]).tolist()
    if min(clicks, impressions, searches) < 0 or ends[-1] != array.shape[1]:
        return None
    click_touchpoints, impression_touchpoints, search_touchpoints = (
        Touchpoints(*array[:, start:end]) for start, end in pairwise(ends)
    )
    return TouchpointSegment(
        click_touchpoints,
        impression_touchpoints,
        search_touchpoints,
        earliest,
        latest,
        newest_seq,
    )
