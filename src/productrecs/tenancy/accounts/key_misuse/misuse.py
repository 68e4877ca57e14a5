"""Key misuse: a foreign origin or a leaked secret key that came with a call.

Stored once per hour, so that a busy page costs no more rows and writes than a quiet one.
"""

from dataclasses import dataclass
from enum import StrEnum

from productrecs.core.clock import HOUR_MS
from productrecs.core.ids import StoreId


class MisuseKind(StrEnum):
    """The kinds of key misuse."""

    FOREIGN_ORIGIN = "foreign_origin"  # a page that the allowlist does not name
    LEAKED_SECRET = "leaked_secret"  # noqa: S105 - no key: it stood in an address or a page


@dataclass(frozen=True, slots=True)
class KeyMisuse:
    """One observed misuse, with the origin or page where it was seen if known."""

    store_id: StoreId
    sign: MisuseKind
    value: str
    seen_at: int

    @property
    def key(self) -> tuple[StoreId, str, str, int]:
        """What is noted once."""
        return self.store_id, self.sign.value, self.value, self.seen_at // HOUR_MS
