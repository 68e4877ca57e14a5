"""Unconfirmed purchases: those that only the publishable key reported, and when they count.

Everybody can read the publishable key, so everybody can send orders with it. Their lines
are stored as `unconfirmed`; those that do not count are `void` too.
"""

from collections.abc import Sequence
from typing import Final

from productrecs.core.clock import DAY_MS, HOUR_MS
from productrecs.records.events.repository import EventRepository
from productrecs.records.purchases.repository import PurchaseLine, PurchaseRepository
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.tenancy.accounts.repository import AccountRepository
from productrecs.tenancy.accounts.store import Store

CONFIRMED_FOR_MS: Final = 30 * DAY_MS
"""So long after the last order with the secret key, the store counts as sending them."""

_CHUNK: Final = 1_000
_AT_MOST_EVERY_MS: Final = HOUR_MS  # so precisely the last order's time is recorded


class UnconfirmedPurchasePolicy:
    """What a store decided about unconfirmed purchases, read once for a transaction."""

    def __init__(self, log: StoreLogTransaction, now_ms: int) -> None:
        """Prepare; the first question reads the store's settings."""
        self._log = log
        self._now_ms = now_ms
        self._policy: str | None = None

    def leaves_out_orders(self) -> bool:
        """Return whether orders sent with the publishable key do not count now."""
        if self._read_policy() != "auto":
            return self._policy == "ignore"
        repository = PurchaseRepository(self._log.transaction, self._log.store_id)
        last_ms = repository.confirmed_order_at()
        return last_ms is not None and last_ms > self._now_ms - CONFIRMED_FOR_MS

    def leaves_out_buys(self) -> bool:
        """Return whether `buy` events do not count now."""
        return self._read_policy() == "ignore"

    def _read_policy(self) -> str:
        if self._policy is None:
            accounts = AccountRepository(self._log.transaction)
            settings = accounts.settings(self._log.store_id)
            self._policy = settings.unconfirmed_orders
        return self._policy


def record_confirmed_order_time(repository: PurchaseRepository, now_ms: int) -> None:
    """Record that the store sends orders with the secret key."""
    repository.record_confirmed_order_time(now_ms, now_ms - _AT_MOST_EVERY_MS)


def is_policy_applied(repository: PurchaseRepository, policy: str) -> bool:
    """Return whether no earlier purchase has to be counted or left out."""
    if policy == "auto":  # decides about each when it is received
        return True
    return not repository.unconfirmed_lines(void=policy == "count", limit=1)


def apply_order_policy_to_chunk(database: Database, store: Store, now_ms: int) -> bool:
    """Count or leave out some earlier purchases; return whether there may be more."""
    policy = store.settings.unconfirmed_orders
    if policy == "auto":
        return False
    with database.transaction() as transaction:
        repository = PurchaseRepository(transaction, store.store_id)
        lines = repository.unconfirmed_lines(void=policy == "count", limit=_CHUNK)
        _toggle_counting(
            StoreLogTransaction(database, transaction, store.store_id),
            repository,
            lines,
            now_ms,
        )
    return len(lines) == _CHUNK


def exclude_excess_chunk(database: Database, store: Store, now_ms: int) -> bool:
    """Leave some visits and purchases of crowded networks out of reports too.

    Return whether there may be more.
    """
    with database.transaction() as transaction:
        log = StoreLogTransaction(database, transaction, store.store_id)
        log.take_seqs(0)
        moved = EventRepository(transaction, store.store_id).move_excess_to_bot_events(
            _CHUNK
        )
        repository = PurchaseRepository(transaction, store.store_id)
        lines = repository.excess_lines(_CHUNK)
        _toggle_counting(log, repository, lines, now_ms)
    return _CHUNK in {moved, len(lines)}


def _toggle_counting(
    log: StoreLogTransaction,
    repository: PurchaseRepository,
    lines: Sequence[PurchaseLine],
    now_ms: int,
) -> None:
    """Count lines that did not, and leave out those that did."""
    first = log.take_seqs(len(lines))
    repository.change_lines(
        [
            line._replace(void=not line.void, seq=first + index, updated_at=now_ms)
            for index, line in enumerate(lines)
        ]
    )
