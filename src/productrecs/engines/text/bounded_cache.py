"""Bounded cache of the text engine: cleared when full, safe to use from any thread."""

from collections.abc import Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class BoundedCache(Generic[Key, Value]):
    """Cache by key, cleared when it is full. Safe to use from any thread.

    Beginning anew costs less than knowing which was asked longest ago: people type the
    same words, so that those that matter are back at once.
    """

    def __init__(self, most: int, bytes_each: int) -> None:
        """Hold up to `most` entries, each of about so many bytes."""
        self._most = most
        self._bytes_each = bytes_each
        self._entries: dict[Key, Value] = {}

    def get(self, key: Key) -> Value | None:
        """Return the cached value of `key`."""
        return self._entries.get(key)

    def put(self, key: Key, value: Value) -> Value:
        """Store a value, and return it."""
        if len(self._entries) >= self._most:
            self._entries = {}
        self._entries[key] = value
        return value

    def memory_bytes(self) -> int:
        """Return about how much memory it holds."""
        return len(self._entries) * self._bytes_each
