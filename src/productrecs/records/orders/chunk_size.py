"""Chunk size: lines of a file per transaction, so that other writes do not wait long."""

from typing import Final

HOLD_SECONDS: Final = 0.012
"""So long should a transaction hold the write lock, which events wait for."""

FIRST, FEWEST, MOST = 200, 50, 2_000


class ChunkSize:
    """The lines of the next transaction, by how long those before held the lock.

    No fixed number fits: the same lines take ten times as long on a slow disk, or in a
    store whose indexes no longer fit into memory.
    """

    def __init__(self) -> None:
        """Begin small, and find out."""
        self.lines = min(FIRST, MOST)

    def record(self, lines: int, seconds: float) -> None:
        """Learn from a transaction of so many lines, from its lock to its commit."""
        fitting = lines * HOLD_SECONDS / max(seconds, 1e-6)
        # One that others held up says little, so half or half as much again at most.
        steady = max(self.lines / 2, min(self.lines * 1.5, fitting))
        self.lines = max(min(FEWEST, MOST), min(MOST, round(steady)))
