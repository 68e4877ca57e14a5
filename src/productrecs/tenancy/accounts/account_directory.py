"""Account directory: finds a store by key, in an in-memory view of all stores."""

import threading
from dataclasses import dataclass
from types import MappingProxyType

from productrecs.core.clock import Clock, system_ms
from productrecs.core.ids import StoreId
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.dialects import RawReader
from productrecs.tenancy.accounts.api_keys import hash_secret
from productrecs.tenancy.accounts.repository import AccountRepository, accounts_version
from productrecs.tenancy.accounts.store import Store


@dataclass(frozen=True, slots=True)
class _StoresByKey:
    version: int
    by_publishable: MappingProxyType[str, Store]
    by_secret_hash: MappingProxyType[str, Store]
    by_id: MappingProxyType[StoreId, Store]
    by_domain: MappingProxyType[str, Store]


class AccountDirectory:
    """All stores by key. Reads take no lock: the view is replaced atomically."""

    def __init__(self, database: Database, clock: Clock = system_ms) -> None:
        """Read every store; call `refresh` for updates. Keys expire by `clock`."""
        self._database = database
        self._clock = clock
        self._loading = threading.Lock()
        self._accounts = self._load_accounts()

    @property
    def version(self) -> int:
        """The version of the accounts in this view."""
        return self._accounts.version

    def by_publishable_key(self, key: str) -> Store | None:
        """Return the store with this publishable key."""
        return self._accounts.by_publishable.get(key)

    def by_secret_key(self, key: str) -> Store | None:
        """Return the store that currently accepts this secret key."""
        secret_hash = hash_secret(key)
        store = self._accounts.by_secret_hash.get(secret_hash)
        if store is None or store.secrets.secret_hash == secret_hash:
            return store
        return store if store.secrets.accepts(secret_hash, self._clock()) else None

    def by_id(self, store_id: StoreId) -> Store | None:
        """Return the store with this id, or None when it was deleted."""
        return self._accounts.by_id.get(store_id)

    def by_domain(self, domain: str) -> Store | None:
        """Return the store with this domain in the form of `normalise_domain`."""
        return self._accounts.by_domain.get(domain)

    def all(self) -> list[Store]:
        """Return every store."""
        return list(self._accounts.by_id.values())

    def refresh(self, reader: RawReader | None = None) -> bool:
        """Read the stores again if their version changed; return whether it did.

        With the caller's `reader` an unchanged version takes no connection.
        """
        if self._stored_version(reader) == self._accounts.version:
            return False
        with self._loading:
            self._accounts = self._load_accounts()
        return True

    def _stored_version(self, reader: RawReader | None) -> int:
        if reader is None:
            with self._database.reading() as connection:
                return AccountRepository(connection).version()
        return accounts_version(reader)

    def _load_accounts(self) -> _StoresByKey:
        with self._database.reading() as connection:
            repository = AccountRepository(connection)
            version, stores = repository.version(), repository.all()
        return _StoresByKey(
            version=version,
            by_publishable=MappingProxyType(
                {store.publishable_key: store for store in stores}
            ),
            by_secret_hash=MappingProxyType(
                {
                    secret_hash: store
                    for store in stores
                    for secret_hash in (store.secrets.old_hash, store.secrets.secret_hash)
                    if secret_hash is not None
                }
            ),
            by_id=MappingProxyType({store.store_id: store for store in stores}),
            by_domain=MappingProxyType({store.domain: store for store in stores}),
        )
