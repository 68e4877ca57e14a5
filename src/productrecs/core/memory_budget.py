"""Memory budget: bytes of request bodies and queued writes in one process, with shares.

A claimant may hold as much as it leaves free for all others: half of the budget if it is
alone (dynamic thresholds, as switches share their memory: Choudhury and Hahne, 1998). Small
requests may hold three times as much as they leave free: a claimant with a full share of
large bodies can still send an event. The last quarter of the budget is reserved for small
requests, and the last eighth for claimants that hold almost nothing. So a store can always
send its events, whatever others do.

Use it from one thread: the event loop's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

from productrecs.core.errors import QueueFullError

if TYPE_CHECKING:
    from collections.abc import Hashable

MIB: Final = 1 << 20
DEFAULT_MIB: Final = 160
MIN_MIB: Final = 128
"""One push of 32 MiB needs half of the budget."""

SMALL: Final = 64 << 10
"""Bytes; the maximum of a single event."""

MODEST: Final = 512 << 10
"""Bytes that a claimant may hold as long as any budget is left."""

_SHARE, _SHARE_OF_SMALL = 1, 3  # multiples of the free budget
_RESERVE, _RESERVE_OF_SMALL = 4, 8  # one part in so many is reserved


class ByteBudget:
    """The bytes that one process may hold, by claimant."""

    def __init__(self, total: int = DEFAULT_MIB * MIB) -> None:
        """Start with the full budget free."""
        self._total = total
        self._claimed: dict[Hashable, int] = {}
        self.held = 0

    def claim(self, claimant: Hashable) -> ByteClaim:
        """Return an empty claim."""
        return ByteClaim(self, claimant)

    def reserve(self, claimant: Hashable, extra_bytes: int, *, is_small: bool) -> None:
        """Record that a claimant holds `extra_bytes`.

        Raises:
            QueueFullError: when it would exceed its share; nothing is recorded.
        """
        own_total, claimed = (
            self._claimed.get(claimant, 0) + extra_bytes,
            self.held + extra_bytes,
        )
        remaining = self._total - claimed
        share = _SHARE_OF_SMALL if is_small else _SHARE
        reserve = self._total // (_RESERVE_OF_SMALL if is_small else _RESERVE)
        fits = (
            remaining >= 0
            if own_total <= MODEST
            else own_total <= share * remaining and remaining >= reserve
        )
        if not fits:
            message = "too many bytes are being received at once; retry in a moment"
            raise QueueFullError(message)
        self._claimed[claimant], self.held = own_total, claimed

    def release(self, claimant: Hashable, byte_count: int) -> None:
        """Record that a claimant holds fewer bytes."""
        self.held -= byte_count
        remaining = self._claimed.get(claimant, 0) - byte_count
        if remaining > 0:
            self._claimed[claimant] = remaining
        else:
            self._claimed.pop(claimant, None)


class ByteClaim:
    """The bytes that one request, or one queued write, holds of a budget."""

    __slots__ = ("_budget", "_claimant", "size")

    def __init__(self, budget: ByteBudget, claimant: Hashable) -> None:
        """Start empty."""
        self._budget, self._claimant = budget, claimant
        self.size = 0

    def grow(self, extra_bytes: int) -> Self:
        """Add `extra_bytes`, and return the claim.

        Raises:
            QueueFullError: when it would exceed the claimant's share; nothing changes.
        """
        size = self.size + extra_bytes
        self._budget.reserve(self._claimant, extra_bytes, is_small=size <= SMALL)
        self.size = size
        return self

    def shrink_to(self, max_bytes: int) -> None:
        """Reduce the claim to at most `max_bytes`."""
        if max_bytes < self.size:
            self._budget.release(self._claimant, self.size - max_bytes)
            self.size = max_bytes

    def release(self) -> None:
        """Release all bytes; idempotent."""
        self.shrink_to(0)

    def another(self) -> ByteClaim:
        """Return an empty claim for the same claimant."""
        return ByteClaim(self._budget, self._claimant)

    def transfer(self) -> ByteClaim:
        """Move the bytes of this claim to a new one, and return that."""
        target = self.another()
        target.size, self.size = self.size, 0
        return target

    def __enter__(self) -> Self:
        """Return the claim."""
        return self

    def __exit__(self, *_: object) -> None:
        """Release all bytes."""
        self.release()
