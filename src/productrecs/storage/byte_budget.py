"""Byte budget: memory of request bodies and waiting writes in one process, with shares.

One budget a process. A claimant may hold as much as it leaves free for all others: half of
the budget while it is alone (switches share their memory so: dynamic thresholds, Choudhury
and Hahne, 1998). What is small may hold three times as much as it leaves free: a claimant
whose large bodies fill its share can still send an event. The last quarter of the budget is
for what is small, and the last eighth for claimants that hold next to nothing: whatever
others do, a store can send its events.

For one thread, that of the event loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

from productrecs.core.errors import QueueFullError

if TYPE_CHECKING:
    from collections.abc import Hashable

MIB: Final = 1 << 20
DEFAULT_MIB: Final = 192
MIN_MIB: Final = 128
"""One push of 32 MiB needs half of it."""

SMALL: Final = 64 << 10
"""Bytes; a single event has no more."""

MODEST: Final = 512 << 10
"""Bytes that a claimant may hold while there is anything left."""

_SHARE, _SHARE_OF_SMALL = 1, 3  # times what is left free
_RESERVE, _RESERVE_OF_SMALL = 4, 8  # parts of the budget, of which one stays free


class ByteBudget:
    """The bytes that one process may hold, by claimant."""

    def __init__(self, total: int = DEFAULT_MIB * MIB) -> None:
        """Begin with all of it free."""
        self._total = total
        self._held: dict[Hashable, int] = {}
        self.held = 0

    def claim(self, claimant: Hashable) -> Claim:
        """Return a claim of nothing yet."""
        return Claim(self, claimant)

    def take(self, claimant: Hashable, more: int, *, is_small: bool) -> None:
        """Note that a claimant holds `more` bytes.

        Raises:
            QueueFullError: when it would hold more than its share; nothing is noted.
        """
        own, held = self._held.get(claimant, 0) + more, self.held + more
        left = self._total - held
        share = _SHARE_OF_SMALL if is_small else _SHARE
        reserve = self._total // (_RESERVE_OF_SMALL if is_small else _RESERVE)
        fits = left >= 0 if own <= MODEST else own <= share * left and left >= reserve
        if not fits:
            message = "too many bytes are being received at once; retry in a moment"
            raise QueueFullError(message)
        self._held[claimant], self.held = own, held

    def give_back(self, claimant: Hashable, less: int) -> None:
        """Note that a claimant holds so many bytes less."""
        self.held -= less
        left = self._held.get(claimant, 0) - less
        if left > 0:
            self._held[claimant] = left
        else:
            self._held.pop(claimant, None)


class Claim:
    """What one request, or one waiting write, holds of a budget."""

    __slots__ = ("_budget", "_claimant", "size")

    def __init__(self, budget: ByteBudget, claimant: Hashable) -> None:
        """Hold nothing yet."""
        self._budget, self._claimant = budget, claimant
        self.size = 0

    def grow(self, more: int) -> Self:
        """Hold `more` bytes, and return the claim.

        Raises:
            QueueFullError: when that is more than the claimant's share; it stays as it is.
        """
        size = self.size + more
        self._budget.take(self._claimant, more, is_small=size <= SMALL)
        self.size = size
        return self

    def shrink(self, size: int) -> None:
        """Hold no more than `size` bytes from now on."""
        if size < self.size:
            self._budget.give_back(self._claimant, self.size - size)
            self.size = size

    def release(self) -> None:
        """Hold nothing any more; once more is harmless."""
        self.shrink(0)

    def another(self) -> Claim:
        """Return a claim of nothing for the same claimant."""
        return Claim(self._budget, self._claimant)

    def handed_over(self) -> Claim:
        """Return a claim that holds what this one held, which is then empty."""
        heir = self.another()
        heir.size, self.size = self.size, 0
        return heir

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Hold nothing any more."""
        self.release()
