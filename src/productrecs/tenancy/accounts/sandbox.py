"""Sandbox: the test store beside a merchant's store, which can be emptied."""

from dataclasses import replace
from typing import Final

from productrecs.core.clock import Clock
from productrecs.core.errors import ProductRecsError
from productrecs.core.ids import new_store_id
from productrecs.storage.database import Database
from productrecs.tenancy.accounts.api_keys import (
    SecretKey,
    first_secret,
    new_publishable_key,
    new_secret_key,
)
from productrecs.tenancy.accounts.domains_and_origins import normalise_domain
from productrecs.tenancy.accounts.repository import AccountRepository, DomainTakenError
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.billing.plans import Plan
from productrecs.tenancy.billing.subscription import first_subscription

_BEFORE: Final = "test."


class NoSandboxError(ProductRecsError):
    """The store has no test store, or is one itself."""


def sandbox_of(database: Database, store: Store) -> Store | None:
    """Return the test store beside a store, None before there is one.

    Raises:
        NoSandboxError: the store is a test store itself.
        DomainTakenError: the address of its test store is that of a real one.
    """
    with database.reading() as connection:
        found = AccountRepository(connection).find(_domain_of(store))
    if found is not None and not found.is_sandbox:
        message = (
            f"{found.domain} is a registered store, so {store.domain} cannot have a test "
            "store"
        )
        raise DomainTakenError(message)
    return found


def with_sandbox(database: Database, store: Store) -> tuple[Store, ...]:
    """Return a store and its test store, if it has one."""
    if store.is_sandbox:
        return (store,)
    with database.reading() as connection:
        found = AccountRepository(connection).find(_domain_of(store))
    return (store, found) if found is not None and found.is_sandbox else (store,)


def make_sandbox(
    database: Database, store: Store, plan: Plan, clock: Clock
) -> tuple[Store, SecretKey]:
    """Create the test store of a store, empty; return it with its secret key.

    It has the store's current settings, an allowlist that accepts any origin, and `plan`.

    Raises:
        NoSandboxError: the store is a test store itself.
        DomainError: the store's domain is too long for another one before it.
        DomainTakenError: there is a store at its address already.
    """
    secret = new_secret_key(for_tests=True)
    now_ms = clock()
    made = replace(
        store,
        store_id=new_store_id(),
        domain=_domain_of(store),
        subscription=first_subscription(plan, now_ms),
        publishable_key=new_publishable_key(for_tests=True),
        secrets=first_secret(secret, now_ms),
        origins=frozenset(),
        created_at=now_ms,
    )
    with database.transaction() as transaction:
        AccountRepository(transaction).add(made)
    return made, secret


def reset_sandbox(database: Database, sandbox: Store, clock: Clock) -> Store:
    """Return the test store, emptied: another store, but by its keys and its settings.

    Raises:
        NoSandboxError: the store is a real one.
    """
    if not sandbox.is_sandbox:
        message = f"{sandbox.domain} is not a test store; nothing was changed"
        raise NoSandboxError(message)
    emptied = replace(sandbox, store_id=new_store_id(), created_at=clock())
    with database.transaction() as transaction:
        repository = AccountRepository(transaction)
        repository.remove(sandbox.store_id)
        repository.add(emptied)
    return emptied


def _domain_of(store: Store) -> str:
    if store.is_sandbox:
        message = f"{store.domain} is a test store; only its store can have one"
        raise NoSandboxError(message)
    return normalise_domain(_BEFORE + store.domain)
