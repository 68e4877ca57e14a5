"""Team members: invites, admits, promotes and removes the users of a store."""

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from productrecs.core.clock import DAY_MS
from productrecs.core.errors import ProductRecsError
from productrecs.core.ids import StoreId, random_text
from productrecs.storage.database import Database
from productrecs.tenancy.accounts.repository import AccountRepository
from productrecs.tenancy.users.dashboard_user import (
    DashboardUser,
    Role,
    hash_password,
    hash_token,
    new_token,
    normalise_email,
    store_of,
)
from productrecs.tenancy.users.repository import (
    NEW_STORE,
    OVER,
    STARTUP,
    FactorRepository,
    Invitation,
    InvitationError,
    InvitationRepository,
    UserRepository,
)

INVITATION_MS: Final = 7 * DAY_MS
MAX_MEMBERS: Final = 100  # users and invitations of one store
_ID_LENGTH: Final = 12


class MemberError(ProductRecsError):
    """This change of the team is not possible."""


class UnknownMemberError(ProductRecsError):
    """The store has no such user or invitation."""


def invite(
    database: Database, maker: DashboardUser, email: str, role: Role, now_ms: int
) -> str:
    """Return the token of an invitation, which works once within seven days.

    It ends early when its maker is removed or is no owner any more.

    Raises:
        EmailError: the address is invalid.
        MemberError: the address is in the team, the team is full, or the maker is no
            owner any more.
        StoreDeletedError: the store was deleted.
    """
    store_id = maker.store_id
    address, token = normalise_email(email), new_token(store_id)
    with database.transaction() as transaction:
        AccountRepository(transaction).lock(store_id)
        users = UserRepository(transaction, store_id).all()
        invitations = InvitationRepository(transaction, store_id)
        invitations.purge(now_ms)
        waiting = invitations.all(now_ms)
        owners = {one.user_id for one in users if one.role is Role.OWNER}
        if maker.user_id not in owners:
            message = "only an owner can invite somebody"
            raise MemberError(message)
        if any(user.email == address for user in users):
            message = f"{address} is in your team already"
            raise MemberError(message)
        for one in waiting:
            if one.email == address:  # the new link replaces the old one
                invitations.remove(one.token_hash)
        if len(users) + len(waiting) >= MAX_MEMBERS:
            message = f"a team has at most {MAX_MEMBERS} members; remove somebody first"
            raise MemberError(message)
        draft = _drafted(store_id, token, address, role, now_ms)
        invitations.add(replace(draft, maker=maker.user_id))
    return token


def invite_to_register(database: Database, email: str | None, now_ms: int) -> str:
    """Return the token of an operator's invitation to register a store.

    Raises:
        EmailError: the address is invalid.
    """
    address = None if email is None else normalise_email(email)
    token = new_token(NEW_STORE)
    with database.transaction() as transaction:
        invitations = InvitationRepository(transaction, NEW_STORE)
        invitations.purge(now_ms)
        invitations.add(_drafted(NEW_STORE, token, address, Role.OWNER, now_ms))
    return token


def invite_first(
    database: Database, now_ms: int, besides: Collection[str] = ()
) -> str | None:
    """Return the token that registers an installation's first store, once.

    It takes the place of the one of an earlier start. None if there is a store `besides`
    those domains: then somebody has used it, or an operator made a store.
    """
    with database.transaction() as transaction:
        invitations = InvitationRepository(transaction, NEW_STORE)
        invitations.purge(now_ms)
        invitations.remove_of(STARTUP)
        stores = AccountRepository(transaction).all()
        if any(store.domain not in besides for store in stores):
            return None
        token = new_token(NEW_STORE)
        draft = _drafted(NEW_STORE, token, None, Role.OWNER, now_ms)
        invitations.add(replace(draft, maker=STARTUP))
    return token


def find_invitation(database: Database, token: str, now_ms: int) -> Invitation | None:
    """Return the invitation of a token, if it is valid."""
    store_id = store_of(token)
    if store_id is None:
        return None
    with database.reading() as connection:
        return InvitationRepository(connection, store_id).find(hash_token(token), now_ms)


def accept(database: Database, token: str, password: str, now_ms: int) -> DashboardUser:
    """Use up an invitation and return its new user.

    Raises:
        InvitationError: it is no longer valid.
        WeakPasswordError: the password is too short; the invitation stays valid.
    """
    store_id = store_of(token)
    if store_id in {None, NEW_STORE} or find_invitation(database, token, now_ms) is None:
        raise InvitationError(OVER)
    password_hash = hash_password(password)
    with database.transaction() as transaction:
        invitations = InvitationRepository(transaction, store_id)
        found = invitations.use(hash_token(token), now_ms)
        user = DashboardUser(
            store_id, random_text(_ID_LENGTH), found.email, found.role, password_hash
        )
        UserRepository(transaction, store_id).add(user, now_ms)
    return user


def withdraw(database: Database, store_id: StoreId, token_hash: str) -> None:
    """Delete an invitation.

    Raises:
        UnknownMemberError: the store has no such invitation.
    """
    with database.transaction() as transaction:
        if not InvitationRepository(transaction, store_id).remove(token_hash):
            raise UnknownMemberError(_UNKNOWN)


def change_role(
    database: Database, store_id: StoreId, user_id: str, role: Role
) -> DashboardUser:
    """Change a user's role; return the user before the change.

    Raises:
        UnknownMemberError: the store has no such user.
        MemberError: it is the last owner.
        StoreDeletedError: the store was deleted.
    """
    with database.transaction() as transaction:
        AccountRepository(transaction).lock(store_id)
        users = UserRepository(transaction, store_id)
        user = _member(users, user_id, keeps_owner=role is Role.OWNER)
        users.set_role(user_id, role)
        if role is not Role.OWNER:
            InvitationRepository(transaction, store_id).remove_of(user_id)
    return user


def remove_member(database: Database, store_id: StoreId, user_id: str) -> DashboardUser:
    """Delete a user with all sessions and links; return the deleted user.

    Raises:
        UnknownMemberError: the store has no such user.
        MemberError: it is the last owner.
        StoreDeletedError: the store was deleted.
    """
    with database.transaction() as transaction:
        AccountRepository(transaction).lock(store_id)
        users = UserRepository(transaction, store_id)
        user = _member(users, user_id, keeps_owner=False)
        users.end_sessions(user_id)
        FactorRepository(transaction, store_id).remove(user_id)
        InvitationRepository(transaction, store_id).remove_of(user_id)
        users.remove(user_id)
    return user


_UNKNOWN: Final = "your team has nobody like this; open the page again"


def _member(users: UserRepository, user_id: str, *, keeps_owner: bool) -> DashboardUser:
    found = users.all()
    user = next((one for one in found if one.user_id == user_id), None)
    if user is None:
        raise UnknownMemberError(_UNKNOWN)
    owners = [one for one in found if one.role is Role.OWNER]
    if user.role is Role.OWNER and len(owners) == 1 and not keeps_owner:
        message = "a store needs an owner; make somebody else an owner first"
        raise MemberError(message)
    return user


def _drafted(
    store_id: StoreId, token: str, email: str | None, role: Role, now_ms: int
) -> Invitation:
    expires_at = now_ms + INVITATION_MS
    return Invitation(store_id, hash_token(token), email, role, now_ms, expires_at)
