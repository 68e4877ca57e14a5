"""Erased names: finds facts that name an erased shopper.

Facts from before the erasure are refused for ever, whichever way they come. Facts of the
week after it are refused too: events that were still on their way (a browser keeps events
for six days) cannot be distinguished from new ones. Later facts belong to a new shopper.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from productrecs.core.clock import DAY_MS
from productrecs.core.ids import StoreId

ERASURE_GRACE_MS: Final = 7 * DAY_MS
"""How long after an erasure facts of that shopper are still turned away."""


def name_digest(store_id: StoreId, name: str) -> str:
    """Return the digest of an erased name: 32 hex digits, different in each store."""
    words = name.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(words, digest_size=16, key=store_id.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class ErasedNames:
    """The erased ones of some names, with the last moment of erasure (UTC ms)."""

    moments: Mapping[str, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether any of them was."""
        return bool(self.moments)

    def covers(self, name: str | None, ts_ms: int | None) -> bool:
        """Return whether a fact of that time must not carry the name.

        A fact without a time of its own cannot show that it is newer: it must not.
        """
        erased_at = self.moments.get(name or "")
        if erased_at is None:
            return False
        return ts_ms is None or ts_ms < erased_at + ERASURE_GRACE_MS


NO_ERASED_NAMES: Final = ErasedNames()


def distinct_names(names: Iterable[str | None]) -> list[str]:
    """Return the distinct names, without empty ones."""
    return list(dict.fromkeys(name for name in names if name))
