"""The SQL of stores: rows in, `Store` out."""

import json
from collections.abc import Mapping

import sqlalchemy as sa

from productrecs.core.errors import ProductRecsError
from productrecs.core.ids import StoreId
from productrecs.storage.tables import counters, metadata, store_heads, stores
from productrecs.tenancy.accounts.settings import SettingValue, resolve
from productrecs.tenancy.accounts.store import Store

_ACCOUNTS = "accounts"


class DomainTakenError(ProductRecsError):
    """Another store of this installation already has the domain."""


class AccountRepository:
    """Stores and their keys, inside one transaction. Every change moves the version on."""

    def __init__(self, connection: sa.Connection) -> None:
        """Work inside `connection`'s transaction."""
        self._connection = connection

    def version(self) -> int:
        """Return a number that grows with every change of any store; 0 before the first."""
        query = sa.select(counters.c.value).where(counters.c.name == _ACCOUNTS)
        return int(self._connection.execute(query).scalar() or 0)

    def all(self) -> list[Store]:
        """Return every store, by domain."""
        rows = self._connection.execute(sa.select(stores).order_by(stores.c.domain))
        return [_store(row) for row in rows.mappings()]

    def find(self, domain: str) -> Store | None:
        """Return the store of a (normal) domain."""
        query = sa.select(stores).where(stores.c.domain == domain)
        row = self._connection.execute(query).mappings().first()
        return None if row is None else _store(row)

    def add(self, store: Store, password_hash: str | None) -> None:
        """Store a new store and its head.

        Raises:
            DomainTakenError: another store has the domain.
        """
        row = {
            "store_id": store.store_id,
            "domain": store.domain,
            "email": store.email,
            "password_hash": password_hash,
            "plan": store.plan,
            "publishable_key": store.publishable_key,
            "secret_hash": store.secret_hash,
            "origins": json.dumps(sorted(store.origins)),
            "settings": json.dumps(
                {name: getattr(store.settings, name) for name in store.chosen}
            ),
            "created_at": store.created_at,
        }
        try:
            self._connection.execute(stores.insert().values(row))
        except sa.exc.IntegrityError as error:
            message = f"{store.domain} is registered already; `store show` shows it"
            raise DomainTakenError(message) from error
        self._connection.execute(store_heads.insert().values(store_id=store.store_id))
        self._move_version()

    def set_secret(self, store_id: StoreId, secret_hash: str | None) -> None:
        """Replace the secret; the old one is refused once processes see the version."""
        self._update(store_id, secret_hash=secret_hash)

    def set_origins(self, store_id: StoreId, origins: frozenset[str]) -> None:
        """Replace the origin allowlist."""
        self._update(store_id, origins=json.dumps(sorted(origins)))

    def set_settings(self, store_id: StoreId, chosen: Mapping[str, SettingValue]) -> None:
        """Replace what the merchant has set (defaults are not stored)."""
        self._update(store_id, settings=json.dumps(dict(chosen)))

    def remove(self, store_id: StoreId) -> None:
        """Delete the store and every row of it, in every table."""
        for table in metadata.sorted_tables:
            if "store_id" in table.c:
                self._connection.execute(table.delete().where(table.c.store_id == store_id))
        self._move_version()

    def _update(self, store_id: StoreId, **values: object) -> None:
        query = stores.update().where(stores.c.store_id == store_id).values(**values)
        self._connection.execute(query)
        self._move_version()

    def _move_version(self) -> None:
        moved = counters.update().where(counters.c.name == _ACCOUNTS)
        done = self._connection.execute(moved.values(value=counters.c.value + 1))
        if done.rowcount == 0:
            self._connection.execute(counters.insert().values(name=_ACCOUNTS, value=1))


def _store(row: sa.RowMapping) -> Store:
    chosen = json.loads(row["settings"])
    return Store(
        store_id=StoreId(row["store_id"]),
        domain=row["domain"],
        email=row["email"],
        plan=row["plan"],
        publishable_key=row["publishable_key"],
        secret_hash=row["secret_hash"],
        origins=frozenset(json.loads(row["origins"])),
        settings=resolve(chosen),
        chosen=tuple(chosen),
        created_at=row["created_at"],
    )
