"""Search cache: replies to searches, valid while no input of a search changes."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Final

from productrecs.core.cache_registry import RegisteredCache

SearchState = tuple[object, ...]
"""The inputs of a search; each is replaced as a whole when it changes."""

_ENTRY_OVERHEAD_BYTES: Final = 400


class SearchCache:
    """LRU cache of search replies, valid while no input changes."""

    def __init__(self, limit_bytes: int = RegisteredCache.SEARCH_RESULTS.limit) -> None:
        """Hold up to `limit_bytes`; the least recently used is evicted first."""
        self.size = 0
        self._limit = limit_bytes
        self._state: SearchState = ()
        self._bodies: OrderedDict[Hashable, bytes] = OrderedDict()

    def get(self, state: SearchState, key: Hashable) -> bytes | None:
        """Return the body for `key`, if it was stored in the same state."""
        if not are_same_inputs(state, self._state):
            self._bodies.clear()
            self._state, self.size = state, 0
            return None
        body = self._bodies.get(key)
        if body is not None:
            self._bodies.move_to_end(key)
        return body

    def put(self, state: SearchState, key: Hashable, body: bytes) -> None:
        """Store a body, unless the state has changed."""
        if key in self._bodies or not are_same_inputs(state, self._state):
            return
        self._bodies[key] = body
        self.size += len(body) + _ENTRY_OVERHEAD_BYTES
        while self.size > self._limit:
            self.size -= len(self._bodies.popitem(last=False)[1]) + _ENTRY_OVERHEAD_BYTES


def are_same_inputs(state: SearchState, other_state: SearchState) -> bool:
    """Return whether all inputs are the same objects."""
    return len(state) == len(other_state) and all(
        a is b for a, b in zip(state, other_state, strict=True)
    )
