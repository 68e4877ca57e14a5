"""Text engine cache: bounded by number and by memory."""

from __future__ import annotations

from productrecs.engines.text.bounded_cache import BoundedCache


def test_a_full_memory_begins_anew() -> None:
    memory: BoundedCache[str, int] = BoundedCache(2, bytes_each=100)

    assert memory.put("a", 1) == 1
    memory.put("b", 2)
    assert (memory.get("a"), memory.get("b"), memory.memory_bytes()) == (1, 2, 200)

    memory.put("c", 3)
    assert (memory.get("a"), memory.get("c"), memory.memory_bytes()) == (None, 3, 100)
