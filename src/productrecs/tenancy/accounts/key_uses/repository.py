"""Key use repository: SQL of the last uses of secret keys."""

from collections.abc import Iterable, Sequence

import sqlalchemy as sa

from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import (
    key_uses,
)
from productrecs.tenancy.accounts.api_keys import KeyUse
from productrecs.tenancy.accounts.repository import AccountRepository


class KeyUseRepository(StoreScopedRepository):
    """The last uses of one store's secret keys; never commits."""

    def last_uses(self) -> dict[str, int]:
        """Return the last use of each key by its id; unused keys are missing."""
        query = sa.select(key_uses.c.key_id, key_uses.c.used_at).where(
            key_uses.c.store_id == self._store_id
        )
        return {row.key_id: row.used_at for row in self._connection.execute(query)}

    def last_addresses(self) -> dict[str, str]:
        """Return the address of each key's last use by its id, if known."""
        query = sa.select(key_uses.c.key_id, key_uses.c.address).where(
            key_uses.c.store_id == self._store_id, key_uses.c.address.is_not(None)
        )
        return {row.key_id: row.address for row in self._connection.execute(query)}

    def record(self, uses: Iterable[KeyUse]) -> None:
        """Store uses; the last use of each key counts."""
        for use in sorted(uses, key=lambda use: use.used_at):
            self._put_row(
                key_uses,
                key_id=use.key_id,
                used_at=use.used_at,
                address=use.address[:64] or None,
            )


def store_key_uses(transaction: sa.Connection, batch: Sequence[KeyUse]) -> None:
    """Store uses of keys of any stores."""
    for store_id, uses in AccountRepository(transaction).lock_each_store(batch):
        KeyUseRepository(transaction, store_id).record(uses)
