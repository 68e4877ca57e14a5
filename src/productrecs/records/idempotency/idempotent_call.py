"""Idempotent call: an operation, its idempotency key, and its body's digest."""

from dataclasses import dataclass
from typing import Final

from productrecs.core.clock import DAY_MS
from productrecs.core.errors import ProductRecsError

RETENTION_MS: Final = DAY_MS


class IdempotencyConflictError(ProductRecsError):
    """The same name came with another body: one of the two calls is not what was meant."""


@dataclass(frozen=True, slots=True)
class IdempotentCall:
    """A call: what it asks for, the name that its caller gave it, and its body's digest."""

    what: str
    name: str
    digest: str
