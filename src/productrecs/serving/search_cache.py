"""Search cache: replies to searches, valid while no input of a search changes."""

import zlib
from collections import OrderedDict
from collections.abc import Hashable
from typing import Final

from productrecs.core.cache_registry import MIB, RegisteredCache

SearchState = tuple[object, ...]
"""The inputs of a search; each is replaced as a whole when it changes."""

_ENTRY_OVERHEAD_BYTES: Final = 400
_UNCOMPRESSED_BYTES: Final = 4 * MIB
_FASTEST: Final = 1  # compression level


class SearchCache:
    """LRU cache of search replies, valid while no input changes.

    Those that were not used lately are compressed to less than a third, which takes 20 us;
    to use one again takes 8 us more.
    """

    def __init__(
        self,
        limit_bytes: int = RegisteredCache.SEARCH_RESULTS.limit,
        uncompressed_bytes: int = _UNCOMPRESSED_BYTES,
    ) -> None:
        """Hold up to `limit_bytes`; the least recently used is evicted first."""
        self._limit = limit_bytes
        self._uncompressed_limit = min(uncompressed_bytes, limit_bytes)
        self._state: SearchState = ()
        self._bodies: OrderedDict[Hashable, bytes] = OrderedDict()
        self._compressed: OrderedDict[Hashable, bytes] = OrderedDict()  # used before those
        self._uncompressed_size = self._compressed_size = 0

    @property
    def size(self) -> int:
        """The approximate memory in bytes."""
        return self._uncompressed_size + self._compressed_size

    def get(self, state: SearchState, key: Hashable) -> bytes | None:
        """Return the body for `key`, if it was stored in the same state."""
        if not are_same_inputs(state, self._state):
            self._bodies.clear()
            self._compressed.clear()
            self._state = state
            self._uncompressed_size = self._compressed_size = 0
            return None
        body = self._bodies.get(key)
        if body is not None:
            self._bodies.move_to_end(key)
        elif (compressed := self._compressed.pop(key, None)) is not None:
            self._compressed_size -= _entry_size(compressed)
            body = zlib.decompress(compressed)
            self._add(key, body)
        return body

    def put(self, state: SearchState, key: Hashable, body: bytes) -> None:
        """Store a body, unless the state has changed."""
        is_known = key in self._bodies or key in self._compressed
        if not is_known and are_same_inputs(state, self._state):
            self._add(key, body)

    def _add(self, key: Hashable, body: bytes) -> None:
        """Add a body as the one used last; compress and evict those used least recently."""
        self._bodies[key] = body
        self._uncompressed_size += _entry_size(body)
        while self._uncompressed_size > self._uncompressed_limit:
            old_key, old_body = self._bodies.popitem(last=False)
            self._uncompressed_size -= _entry_size(old_body)
            compressed = zlib.compress(old_body, _FASTEST)
            self._compressed[old_key] = compressed
            self._compressed_size += _entry_size(compressed)
        while self._compressed and self.size > self._limit:
            _, compressed = self._compressed.popitem(last=False)
            self._compressed_size -= _entry_size(compressed)


def _entry_size(body: bytes) -> int:
    return len(body) + _ENTRY_OVERHEAD_BYTES


def are_same_inputs(state: SearchState, other_state: SearchState) -> bool:
    """Return whether all inputs are the same objects."""
    return len(state) == len(other_state) and all(
        a is b for a, b in zip(state, other_state, strict=True)
    )
