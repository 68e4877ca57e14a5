"""Account repository: SQL of stores, with their keys, settings and subscriptions."""

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from typing import Protocol, TypeVar

import sqlalchemy as sa

from productrecs.core.errors import ProductRecsError
from productrecs.core.ids import StoreId
from productrecs.storage.sql.dialects import RawReader
from productrecs.storage.sql.sequence_and_item_numbers import StoreDeletedError
from productrecs.storage.sql.store_counters_and_versions import add_head
from productrecs.storage.sql.tables import (
    counters,
    metadata,
    stores,
)
from productrecs.tenancy.accounts.api_keys import SecretKeyHashes
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_settings import (
    SettingValue,
    StoreSettings,
    resolve_settings,
)
from productrecs.tenancy.billing.plans_and_subscriptions import Subscription

_ACCOUNTS = "accounts"
_INSTALLATION = "installation"


class HasStoreId(Protocol):
    """A record that belongs to one store."""

    @property
    def store_id(self) -> StoreId:
        """The store's id."""


Row = TypeVar("Row", bound=HasStoreId)


class DomainTakenError(ProductRecsError):
    """Another store of this installation has the domain."""


class AccountRepository:
    """Stores and their keys, in one transaction. Every change increments the version."""

    def __init__(self, connection: sa.Connection) -> None:
        """Work inside `connection`'s transaction."""
        self._connection = connection

    def version(self) -> int:
        """Return a number that grows with every change of a store; 0 before the first."""
        query = sa.select(counters.c.value).where(counters.c.name == _ACCOUNTS)
        return int(self._connection.execute(query).scalar() or 0)

    def get_or_create_installation_number(self) -> int:
        """Return the random number of this installation; drawn when first asked for."""
        query = sa.select(counters.c.value).where(counters.c.name == _INSTALLATION)
        found = self._connection.execute(query).scalar()
        if found is not None:
            return int(found)
        number = secrets.randbits(62)
        self._connection.execute(counters.insert().values(name=_INSTALLATION, value=number))
        return number

    def all(self) -> list[Store]:
        """Return every store, ordered by domain."""
        rows = self._connection.execute(sa.select(stores).order_by(stores.c.domain))
        return [_store_from_row(row) for row in rows.mappings()]

    def find(self, domain: str) -> Store | None:
        """Return the store with a normalised domain."""
        query = sa.select(stores).where(stores.c.domain == domain)
        row = self._connection.execute(query).mappings().first()
        return None if row is None else _store_from_row(row)

    def lock(self, store_id: StoreId) -> Store:
        """Return the store, locked until this transaction ends.

        Raises:
            StoreDeletedError: when it was deleted.
        """
        query = sa.select(stores).where(stores.c.store_id == store_id).with_for_update()
        row = self._connection.execute(query).mappings().first()
        if row is None:
            raise StoreDeletedError
        return _store_from_row(row)

    def lock_each_store(self, batch: Iterable[Row]) -> Iterator[tuple[StoreId, list[Row]]]:
        """Yield each store's rows of a batch, in their order, while its store is locked.

        All processes lock stores in the same order, which prevents deadlocks. Rows of
        deleted stores are skipped.
        """
        ordered = sorted(batch, key=lambda row: row.store_id)
        for store_id, rows in groupby(ordered, key=lambda row: row.store_id):
            try:
                self.lock(store_id)
            except StoreDeletedError:
                continue
            yield store_id, list(rows)

    def subscription(self, store_id: StoreId) -> Subscription:
        """Return the store's plan, its end and its suspension.

        Raises:
            StoreDeletedError: when it was deleted.
        """
        query = sa.select(stores.c.plan, stores.c.plan_ends_at, stores.c.suspended_at)
        row = self._connection.execute(query.where(stores.c.store_id == store_id)).first()
        if row is None:
            raise StoreDeletedError
        return Subscription(*row)

    def settings(self, store_id: StoreId) -> StoreSettings:
        """Return a store's settings as they are now; the defaults for a deleted store."""
        query = sa.select(stores.c.settings).where(stores.c.store_id == store_id)
        stored = self._connection.execute(query).scalar()
        return resolve_settings(json.loads(stored or "{}"))

    def add(self, store: Store) -> None:
        """Store a new store and its head.

        Raises:
            DomainTakenError: another store has the domain.
        """
        row = {
            "store_id": store.store_id,
            "domain": store.domain,
            "email": store.email,
            **_subscription_columns(store.subscription),
            "publishable_key": store.publishable_key,
            **_secret_key_columns(store.secrets),
            "origins": json.dumps(sorted(store.origins)),
            "settings": json.dumps(
                {name: getattr(store.settings, name) for name in store.chosen}
            ),
            "created_at": store.created_at,
        }
        try:
            self._connection.execute(stores.insert().values(row))
        except sa.exc.IntegrityError as error:
            message = f"{store.domain} is already registered; `store show` shows it"
            raise DomainTakenError(message) from error
        add_head(self._connection, store.store_id)
        self._increment_version()

    def set_secrets(self, store_id: StoreId, secrets: SecretKeyHashes) -> None:
        """Replace the secret keys; processes reject others once they see the version."""
        self._update(store_id, **_secret_key_columns(secrets))

    def set_origins(self, store_id: StoreId, origins: frozenset[str]) -> None:
        """Replace the origin allowlist."""
        self._update(store_id, origins=json.dumps(sorted(origins)))

    def set_subscription(self, store_id: StoreId, subscription: Subscription) -> None:
        """Replace the plan, its end and the suspension."""
        self._update(store_id, **_subscription_columns(subscription))

    def merge_settings(
        self, store_id: StoreId, changes: Mapping[str, SettingValue | None]
    ) -> Store:
        """Return the store with `changes` stored; None returns a setting to its default.

        Raises:
            StoreDeletedError: when it was deleted.
        """
        store = self.lock(store_id)
        stored = {name: getattr(store.settings, name) for name in store.chosen}
        merged = {**stored, **changes}
        chosen = {name: value for name, value in merged.items() if value is not None}
        if chosen != stored:
            self._update(store_id, settings=json.dumps(chosen))
        return replace(store, settings=resolve_settings(chosen), chosen=tuple(chosen))

    def remove_with_all_rows(self, store_id: StoreId) -> None:
        """Delete the store and all its rows in every table."""
        # Every change of the store locks its row first: this prevents deadlocks.
        is_existing = sa.select(stores.c.store_id).where(stores.c.store_id == store_id)
        self._connection.execute(is_existing.with_for_update()).all()
        for table in metadata.sorted_tables:
            if "store_id" in table.c:
                self._connection.execute(table.delete().where(table.c.store_id == store_id))
        self._increment_version()

    def _update(self, store_id: StoreId, **values: object) -> None:
        query = stores.update().where(stores.c.store_id == store_id).values(**values)
        self._connection.execute(query)
        self._increment_version()

    def _increment_version(self) -> None:
        increment = counters.update().where(counters.c.name == _ACCOUNTS)
        updated = self._connection.execute(increment.values(value=counters.c.value + 1))
        if updated.rowcount == 0:
            self._connection.execute(counters.insert().values(name=_ACCOUNTS, value=1))


def _subscription_columns(subscription: Subscription) -> dict[str, object]:
    return {
        "plan": subscription.plan,
        "plan_ends_at": subscription.ends_at,
        "suspended_at": subscription.suspended_at,
    }


def _secret_key_columns(secrets: SecretKeyHashes) -> dict[str, object]:
    return {
        "secret_hash": secrets.secret_hash,
        "secret_end": secrets.end,
        "secret_made_at": secrets.made_at,
        "old_secret_hash": secrets.old_hash,
        "old_secret_end": secrets.old_end,
        "old_secret_made_at": secrets.old_made_at,
        "old_secret_expires_at": secrets.old_expires_at,
    }


def _store_from_row(row: sa.RowMapping) -> Store:
    chosen = json.loads(row["settings"])
    return Store(
        store_id=StoreId(row["store_id"]),
        domain=row["domain"],
        email=row["email"],
        subscription=Subscription(
            plan=row["plan"],
            ends_at=row["plan_ends_at"],
            suspended_at=row["suspended_at"],
        ),
        publishable_key=row["publishable_key"],
        secrets=SecretKeyHashes(
            row["secret_hash"],
            row["secret_end"],
            row["secret_made_at"],
            row["old_secret_hash"],
            row["old_secret_end"],
            row["old_secret_made_at"],
            row["old_secret_expires_at"],
        ),
        origins=frozenset(json.loads(row["origins"])),
        settings=resolve_settings(chosen),
        chosen=tuple(chosen),
        created_at=row["created_at"],
    )


def accounts_version(reader: RawReader) -> int:
    """Return the number that grows with every change of an account."""
    rows = reader.all("SELECT value FROM counters WHERE name = 'accounts'", ())
    return int(rows[0][0]) if rows else 0
