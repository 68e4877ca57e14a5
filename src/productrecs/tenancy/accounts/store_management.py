"""Store management: registers, changes and deletes stores; sandboxes and plan usage."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from productrecs.core.clock import DAY_MS, Clock, system_ms
from productrecs.core.errors import ProductRecsError
from productrecs.core.ids import StoreId, new_store_id
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.api_keys import (
    SecretKey,
    SecretKeyHashes,
    first_secret,
    new_publishable_key,
    new_secret_key,
)
from productrecs.tenancy.accounts.domains_and_origins import (
    normalise_domain,
    normalise_origin,
    validate_new_domain,
)
from productrecs.tenancy.accounts.key_misuse.repository import (
    KeyMisuseRepository,
    MisuseKind,
)
from productrecs.tenancy.accounts.repository import AccountRepository, DomainTakenError
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_settings import parse_setting, resolve_settings
from productrecs.tenancy.billing.call_meter import QuotaNotice, month_at, quota_notice
from productrecs.tenancy.billing.metered_calls.repository import MeteredCallRepository
from productrecs.tenancy.billing.plans_and_subscriptions import (
    UNLIMITED,
    Plan,
    Plans,
    Subscription,
    first_subscription,
)
from productrecs.tenancy.users.dashboard_user import DashboardUser, Role, normalise_email
from productrecs.tenancy.users.invitations.repository import (
    NEW_STORE,
    STARTUP,
    InvitationRepository,
)
from productrecs.tenancy.users.logins.repository import CrossStoreLoginRepository
from productrecs.tenancy.users.passwords import validate_and_hash_password
from productrecs.tenancy.users.random_tokens import hash_token
from productrecs.tenancy.users.repository import UserRepository

OWNER_ID: Final = "owner"
"""The user who registered the store."""


MAX_OVERLAP_MS: Final = DAY_MS
"""The maximum time for which a replaced secret key is accepted next to the new one."""


class KeyOverlapError(ProductRecsError):
    """The overlap of a replaced key is too long."""


class UnknownStoreError(ProductRecsError):
    """No store has the domain."""


@dataclass(frozen=True, slots=True)
class Registration:
    """A merchant's input for a new store; settings as text, by name.

    Its owner is a new login with `password`, or `owner`, who has other stores already.
    """

    domain: str
    email: str | None = None
    password: str | None = None
    plan: Plan = UNLIMITED
    settings: Mapping[str, str] | None = None
    owner: DashboardUser | None = None


def register_store(
    database: Database,
    registration: Registration,
    clock: Clock,
    invitation: str | None = None,
) -> tuple[Store, SecretKey]:
    """Create a store; return it with its secret key, which is never shown again.

    An `invitation`'s token is used up, and the one printed at the start ends.

    Raises:
        DomainError: the domain is invalid.
        DomainTakenError: a store has the domain.
        SettingError: a setting cannot have that value.
        UnsuitablePasswordError: a password under eight characters.
        InvalidEmailError: the e-mail address, given with a password, is invalid.
        EmailTakenError: the e-mail address, given with a password, has a login.
        InvitationError: the invitation is no longer valid.
    """
    secret = new_secret_key()
    store = _new_store_from_registration(registration, secret, clock)
    owner, login = _first_owner(store.store_id, registration), registration.owner
    with database.transaction() as transaction:
        invitations = InvitationRepository(transaction, NEW_STORE)
        if invitation is not None:
            invitations.use(hash_token(invitation), system_ms())
        invitations.remove_made_by(STARTUP)
        if owner is not None and login is None:
            CrossStoreLoginRepository(transaction).lock_and_check_email_free(owner.email)
        AccountRepository(transaction).add(store)
        if owner is not None and login is not None:
            CrossStoreLoginRepository(transaction).add_store_to_login(
                login, owner, store.created_at
            )
        elif owner is not None:
            UserRepository(transaction, store.store_id).add(owner, store.created_at)
    return store, secret


def _new_store_from_registration(
    registration: Registration, secret: SecretKey, clock: Clock
) -> Store:
    chosen = {
        name: parse_setting(name, text)
        for name, text in (registration.settings or {}).items()
    }
    now_ms = clock()
    return Store(
        store_id=new_store_id(),
        domain=validate_new_domain(registration.domain),
        email=registration.email,
        subscription=first_subscription(registration.plan, now_ms),
        publishable_key=new_publishable_key(),
        secrets=first_secret(secret, now_ms),
        origins=frozenset(),
        settings=resolve_settings(chosen),
        chosen=tuple(chosen),
        created_at=now_ms,
    )


def _first_owner(store_id: StoreId, registration: Registration) -> DashboardUser | None:
    """Return the owner of a new store; a login with a password needs no address."""
    if registration.owner is not None:
        return DashboardUser(store_id, OWNER_ID, None, Role.OWNER, None)
    if registration.password is None:
        return None
    email = None if registration.email is None else normalise_email(registration.email)
    password_hash = validate_and_hash_password(registration.password)
    return DashboardUser(store_id, OWNER_ID, email, Role.OWNER, password_hash)


def find_or_create_owner(
    database: Database, store: Store, email: str | None = None
) -> DashboardUser:
    """Return the first owner's login; create it, without a password, if none is there.

    Raises:
        InvalidEmailError: when `email` is invalid, which a new login, or one without an
            address, gets.
        EmailTakenError: another login has that address.
    """
    registration = None if email is None else normalise_email(email)
    with database.transaction() as transaction:
        users = UserRepository(transaction, store.store_id)
        AccountRepository(transaction).lock(store.store_id)
        owners = [user for user in users.all() if user.role is Role.OWNER]
        owners.sort(key=lambda user: user.user_id != OWNER_ID)
        found = owners[0] if owners else None
        if found is None:
            address = registration or (store.email.strip().lower() if store.email else None)
            CrossStoreLoginRepository(transaction).lock_and_check_email_free(address)
            found = DashboardUser(store.store_id, OWNER_ID, address, Role.OWNER, None)
            users.add(found, store.created_at)
        elif found.email is None and registration is not None:
            CrossStoreLoginRepository(transaction).lock_and_check_email_free(registration)
            CrossStoreLoginRepository(transaction).set_email(found, registration)
            found = replace(found, email=registration)
    return found


def find_store(database: Database, domain: str) -> Store:
    """Return the store of `domain`.

    Raises:
        UnknownStoreError: when there is no such store.
    """
    with database.reading() as connection:
        store = AccountRepository(connection).find(normalise_domain(domain))
    if store is None:
        message = f"no store has the domain {domain}; `store list` lists all"
        raise UnknownStoreError(message)
    return store


def all_stores(database: Database) -> list[Store]:
    """Return every store, ordered by domain."""
    with database.reading() as connection:
        return AccountRepository(connection).all()


def rotate_secret(
    database: Database, store: Store, now_ms: int | None = None, *, overlap_ms: int = 0
) -> SecretKey:
    """Return a new secret key.

    The current key works for `overlap_ms` more; without an overlap it is rejected
    everywhere within seconds. A key from an earlier overlap is rejected at once.

    Raises:
        KeyOverlapError: when the overlap is not within 24 hours.
        StoreDeletedError: when the store was deleted.
    """
    if not 0 <= overlap_ms <= MAX_OVERLAP_MS:
        message = "the old key can work for 0 to 24 hours more"
        raise KeyOverlapError(message)
    secret = new_secret_key(for_tests=store.is_sandbox)
    now = system_ms() if now_ms is None else now_ms
    with database.transaction() as transaction:
        accounts = AccountRepository(transaction)
        secrets = accounts.lock(store.store_id).secrets
        replaced = secrets.replaced_by(secret, now, overlap_ms)
        accounts.set_secrets(store.store_id, replaced)
        KeyMisuseRepository(transaction, store.store_id).delete(MisuseKind.LEAKED_SECRET)
    return secret


def revoke_secret_keys(
    database: Database, store: Store, *, only_replaced: bool = False
) -> None:
    """Reject the secret keys everywhere within seconds; or only the replaced one.

    Raises:
        StoreDeletedError: when the store was deleted.
    """
    with database.transaction() as transaction:
        accounts = AccountRepository(transaction)
        secrets = accounts.lock(store.store_id).secrets
        without_old = SecretKeyHashes(secrets.secret_hash, secrets.end, secrets.made_at)
        accounts.set_secrets(
            store.store_id, without_old if only_replaced else SecretKeyHashes()
        )


def change_origins(
    database: Database, store: Store, *, add: Iterable[str] = (), remove: Iterable[str] = ()
) -> frozenset[str]:
    """Return the origin allowlist after the change; an empty one accepts any origin.

    Raises:
        OriginError: when a text is not a full origin.
        StoreDeletedError: when the store was deleted.
    """
    added = {normalise_origin(text) for text in add}
    removed = {normalise_origin(text) for text in remove}
    with database.transaction() as transaction:
        repository = AccountRepository(transaction)
        origins = (repository.lock(store.store_id).origins | added) - removed
        repository.set_origins(store.store_id, origins)
    return origins


def change_settings(database: Database, store: Store, changes: Mapping[str, str]) -> Store:
    """Return the store with `changes` (texts by setting name) stored, all or none.

    Raises:
        SettingError: an unknown name or impossible value; nothing is changed.
        StoreDeletedError: when the store was deleted.
    """
    parsed = {name: parse_setting(name, text) for name, text in changes.items()}
    with database.transaction() as transaction:
        return AccountRepository(transaction).merge_settings(store.store_id, parsed)


def change_subscription(
    database: Database, store: Store, change: Callable[[Subscription], Subscription]
) -> Subscription:
    """Apply `change` to the store's plan, end and suspension; store and return them.

    Raises:
        StoreDeletedError: when the store was deleted.
    """
    with database.transaction() as transaction:
        repository = AccountRepository(transaction)
        current = repository.lock(store.store_id).subscription
        changed = change(current)
        if changed != current:
            repository.set_subscription(store.store_id, changed)
    return changed


def delete_store(database: Database, store: Store) -> None:
    """Delete the store with all its data."""
    with database.transaction() as transaction:
        AccountRepository(transaction).remove_with_all_rows(store.store_id)


_BEFORE: Final = "test."


class WrongStoreKindError(ProductRecsError):
    """A test store was given for a real one, or a real one for a test store."""


def find_sandbox(database: Database, store: Store) -> Store | None:
    """Return the test store of a store, or None.

    Raises:
        WrongStoreKindError: the store is a test store itself.
        DomainTakenError: a real store has the test store's domain.
    """
    with database.reading() as connection:
        found = AccountRepository(connection).find(_sandbox_domain(store))
    if found is not None and not found.is_sandbox:
        message = (
            f"{found.domain} is a registered store, so {store.domain} cannot have a test "
            "store"
        )
        raise DomainTakenError(message)
    return found


def store_and_sandbox(database: Database, store: Store) -> tuple[Store, ...]:
    """Return a store and its test store, if it has one."""
    if store.is_sandbox:
        return (store,)
    with database.reading() as connection:
        found = AccountRepository(connection).find(_sandbox_domain(store))
    return (store, found) if found is not None and found.is_sandbox else (store,)


def make_sandbox(
    database: Database, store: Store, plan: Plan, clock: Clock
) -> tuple[Store, SecretKey]:
    """Create the test store of a store, empty; return it with its secret key.

    It has the store's current settings, an allowlist that accepts any origin, and `plan`.

    Raises:
        WrongStoreKindError: the store is a test store itself.
        DomainError: the store's domain is too long for the test store's prefix.
        DomainTakenError: a store has the test store's domain.
    """
    secret = new_secret_key(for_tests=True)
    now_ms = clock()
    sandbox = replace(
        store,
        store_id=new_store_id(),
        domain=_sandbox_domain(store),
        subscription=first_subscription(plan, now_ms),
        publishable_key=new_publishable_key(for_tests=True),
        secrets=first_secret(secret, now_ms),
        origins=frozenset(),
        created_at=now_ms,
    )
    with database.transaction() as transaction:
        AccountRepository(transaction).add(sandbox)
    return sandbox, secret


def reset_sandbox(database: Database, sandbox: Store, clock: Clock) -> Store:
    """Replace the test store by an empty one with the same keys and settings; return it.

    Raises:
        WrongStoreKindError: the store is a real one.
    """
    if not sandbox.is_sandbox:
        message = f"{sandbox.domain} is not a test store; nothing was changed"
        raise WrongStoreKindError(message)
    new_sandbox = replace(sandbox, store_id=new_store_id(), created_at=clock())
    with database.transaction() as transaction:
        repository = AccountRepository(transaction)
        repository.remove_with_all_rows(sandbox.store_id)
        repository.add(new_sandbox)
    return new_sandbox


def _sandbox_domain(store: Store) -> str:
    if store.is_sandbox:
        message = f"{store.domain} is a test store; only its store can have one"
        raise WrongStoreKindError(message)
    return normalise_domain(_BEFORE + store.domain)


@dataclass(frozen=True, slots=True)
class PlanUsage:
    """A store's plan and its stored usage of this month."""

    plan: Plan | None  # None: the configuration has no such plan, nothing is limited
    month: str  # of UTC, such as 2026-11
    calls: int
    notice: QuotaNotice | None


def catalog_limit(
    accounts: AccountRepository, store_id: StoreId, plans: Plans
) -> int | None:
    """Return the item limit of the store's catalog by its stored plan.

    None means no limit.

    Raises:
        StoreDeletedError: when the store was deleted.
    """
    plan = plans.get(accounts.subscription(store_id).plan)
    return None if plan is None else plan.catalog_items


def read_plan_usage(
    database: Database, store: Store, plans: Plans, now_ms: int
) -> PlanUsage:
    """Return the store's plan usage at a time."""
    month = month_at(now_ms).name
    with database.reading() as connection:
        calls = MeteredCallRepository(connection, store.store_id).calls(month)
    plan = plans.get(store.subscription.plan)
    limit = None if plan is None else plan.monthly_calls
    is_active = store.subscription.is_active(now_ms)
    return PlanUsage(plan, month, calls, quota_notice(calls, limit, is_active=is_active))
