"""Refused key repository: calls with a key of no store, by its start and the caller."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

import sqlalchemy as sa

from productrecs.core.clock import DAY_MS
from productrecs.core.ids import INSTALLATION
from productrecs.storage.sql.dialects import put_row
from productrecs.storage.sql.tables import refused_identities
from productrecs.tenancy.accounts.key_misuse.repository import (
    KeyMisuse,
    KeyMisuseRepository,
    MisuseKind,
)

_REASON: Final = "unknown_key"
_START: Final = 8  # characters: the prefix, and five of forty or so
_RETENTION_MS: Final = 7 * DAY_MS
_NOT_IN_KEYS: Final = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class RefusedKeyCall:
    """One call with a key that no store has."""

    start: str
    place: str
    at_ms: int

    @classmethod
    def of(cls, key: str, origin: bytes | None, address: str, now_ms: int) -> Self:
        """Return the call; of the key only its start, which is at most its half."""
        start = _NOT_IN_KEYS.sub("?", key[: min(_START, len(key) // 2)])
        page = KeyMisuse.of(INSTALLATION, MisuseKind.UNKNOWN_KEY, origin, now_ms).value
        return cls(start, page or address, now_ms)

    @property
    def key(self) -> None:
        """Return None: each call counts."""

    @property
    def caller(self) -> str:
        """The key's start and the page's origin or the client's address."""
        return f"{self.start}... from {self.place}"[:255]


def store_and_purge_refused_keys(
    transaction: sa.Connection, batch: Sequence[RefusedKeyCall]
) -> None:
    """Count calls by day, and store their callers; delete what is older than a week."""
    now_ms = max(refused_key.at_ms for refused_key in batch)
    counts = refused_identities.c
    is_ours = (counts.store_id == INSTALLATION) & (counts.reason == _REASON)
    for day, calls in sorted(
        Counter(refused_key.at_ms // DAY_MS for refused_key in batch).items()
    ):
        put_row(
            transaction,
            refused_identities,
            summed_columns=("calls",),
            store_id=INSTALLATION,
            day=day,
            reason=_REASON,
            calls=calls,
        )
    oldest_ms = now_ms - _RETENTION_MS
    is_old = counts.day < oldest_ms // DAY_MS
    transaction.execute(refused_identities.delete().where(is_ours & is_old))
    repository = KeyMisuseRepository(transaction, INSTALLATION)
    repository.delete(MisuseKind.UNKNOWN_KEY, before_ms=oldest_ms)
    latest = {refused_key.caller: refused_key.at_ms for refused_key in batch}
    repository.add(
        [
            KeyMisuse(INSTALLATION, MisuseKind.UNKNOWN_KEY, caller, at_ms)
            for caller, at_ms in sorted(latest.items())
        ]
    )


class RefusedKeySummary(NamedTuple):
    """The calls since the start of a day, and their callers, the latest first."""

    calls: int
    callers: list[str]


def recent_refused_key_calls(connection: sa.Connection, now_ms: int) -> RefusedKeySummary:
    """Return the calls of today and yesterday (UTC) with a key that no store has."""
    since = now_ms // DAY_MS - 1
    counts = refused_identities.c
    calls = connection.execute(
        sa.select(sa.func.coalesce(sa.func.sum(counts.calls), 0)).where(
            counts.store_id == INSTALLATION, counts.reason == _REASON, counts.day >= since
        )
    ).scalar_one()
    callers = KeyMisuseRepository(connection, INSTALLATION).all(since * DAY_MS)
    return RefusedKeySummary(int(calls), [misuse.value for misuse in callers])
