"""Search result cache: what searches found, until anything of the store changes."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Final

SearchState = tuple[object, ...]
"""What a search is made from; each is replaced whole when it changes."""

LIMIT_BYTES: Final = 40 << 20
_BYTES_OF_AN_ENTRY: Final = 400


class SearchCache:
    """What searches found, kept only while nothing of the store changed."""

    def __init__(self, limit_bytes: int = LIMIT_BYTES) -> None:
        """Keep up to `limit_bytes`, the least recently used leave first."""
        self.size = 0
        self._limit = limit_bytes
        self._moment: SearchState = ()
        self._kept: OrderedDict[Hashable, bytes] = OrderedDict()

    def get(self, moment: SearchState, asked: Hashable) -> bytes | None:
        """Return what was kept for `asked` in this very moment."""
        if not are_same_inputs(moment, self._moment):
            self._kept.clear()
            self._moment, self.size = moment, 0
            return None
        kept = self._kept.get(asked)
        if kept is not None:
            self._kept.move_to_end(asked)
        return kept

    def put(self, moment: SearchState, asked: Hashable, found: bytes) -> None:
        """Keep what was found, unless that moment is over."""
        if asked in self._kept or not are_same_inputs(moment, self._moment):
            return
        self._kept[asked] = found
        self.size += len(found) + _BYTES_OF_AN_ENTRY
        while self.size > self._limit:
            self.size -= len(self._kept.popitem(last=False)[1]) + _BYTES_OF_AN_ENTRY


def are_same_inputs(one: SearchState, other: SearchState) -> bool:
    """Return whether nothing was replaced between two moments."""
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))
