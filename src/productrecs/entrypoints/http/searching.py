"""Where do searches run? On threads of their own, so that no other reply waits for one.

And was this searched a moment ago? Then not again: people type alike.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from productrecs.core.errors import QueueFullError

Result = TypeVar("Result")

Moment = tuple[object, ...]
"""What a search is made from; each is replaced whole when it changes."""

LIMIT_BYTES: Final = 8 << 20
_BYTES_OF_AN_ENTRY: Final = 400
_THREADS: Final = 2
_MOST_WAITING: Final = 200
"""More would wait longer than anybody who types does."""


class SearchReplies:
    """What searches found, kept only while nothing of the store changed."""

    def __init__(self, limit_bytes: int = LIMIT_BYTES) -> None:
        """Keep up to `limit_bytes`, the least recently used leave first."""
        self.size = 0
        self._limit = limit_bytes
        self._moment: Moment = ()
        self._kept: OrderedDict[Hashable, bytes] = OrderedDict()

    def get(self, moment: Moment, asked: Hashable) -> bytes | None:
        """Return what was kept for `asked` in this very moment."""
        if not is_same(moment, self._moment):
            self._kept.clear()
            self._moment, self.size = moment, 0
            return None
        kept = self._kept.get(asked)
        if kept is not None:
            self._kept.move_to_end(asked)
        return kept

    def put(self, moment: Moment, asked: Hashable, found: bytes) -> None:
        """Keep what was found, unless that moment is over."""
        if asked in self._kept or not is_same(moment, self._moment):
            return
        self._kept[asked] = found
        self.size += len(found) + _BYTES_OF_AN_ENTRY
        while self.size > self._limit:
            self.size -= len(self._kept.popitem(last=False)[1]) + _BYTES_OF_AN_ENTRY


def is_same(one: Moment, other: Moment) -> bool:
    """Return whether nothing was replaced between two moments."""
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


class Searching:
    """The threads that search; the library lets go of Python's lock meanwhile."""

    def __init__(self) -> None:
        """Start none yet; the first searches do."""
        self._threads = ThreadPoolExecutor(_THREADS, "search")
        self._waiting = 0

    async def run(self, work: Callable[[], Result]) -> Result:
        """Return what `work` returns, once its turn has come.

        Raises:
            QueueFullError: when too many wait already.
        """
        if self._waiting >= _MOST_WAITING:
            message = "too many searches at once; send this one again"
            raise QueueFullError(message)
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """Wait for the searches in hand."""
        self._threads.shutdown()
