"""Team members: invites, admits, promotes and removes the users of a store."""

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from productrecs.core.clock import DAY_MS
from productrecs.core.errors import ProductRecsError
from productrecs.core.ids import StoreId, random_text
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.repository import AccountRepository
from productrecs.tenancy.users.dashboard_user import DashboardUser, Role, normalise_email
from productrecs.tenancy.users.invitations.repository import (
    NEW_STORE,
    OVER,
    STARTUP,
    Invitation,
    InvitationError,
    InvitationRepository,
)
from productrecs.tenancy.users.logins.repository import CrossStoreLoginRepository
from productrecs.tenancy.users.passwords import validate_and_hash_password
from productrecs.tenancy.users.random_tokens import hash_token, new_token, store_id_of_token
from productrecs.tenancy.users.repository import UserRepository
from productrecs.tenancy.users.second_factors.repository import SecondFactorRepository

INVITATION_MS: Final = 7 * DAY_MS
MAX_MEMBERS: Final = 100  # users and invitations of one store
_ID_LENGTH: Final = 12


class TeamChangeError(ProductRecsError):
    """This change of the team is not possible."""


class UnknownMemberOrInvitationError(ProductRecsError):
    """The store has no such user or invitation."""


def create_member_invitation(
    database: Database, inviter: DashboardUser, email: str, role: Role, now_ms: int
) -> str:
    """Return the token of an invitation, which works once within seven days.

    It ends early when the inviter is removed or is no owner any more.

    Raises:
        InvalidEmailError: the address is invalid.
        TeamChangeError: the address is in the team, the team is full, or the inviter is no
            owner any more.
        StoreDeletedError: the store was deleted.
    """
    with database.transaction() as transaction:
        AccountRepository(transaction).lock(inviter.store_id)
        users = UserRepository(transaction, inviter.store_id)
        current = users.find(inviter.user_id)
        if current is None or current.role is not Role.OWNER:
            message = "only an owner can invite somebody"
            raise TeamChangeError(message)
        invitations = InvitationRepository(transaction, inviter.store_id)
        return _store_invitation(users, invitations, email, role, now_ms, inviter.user_id)


def create_owner_invitation(
    database: Database, store_id: StoreId, email: str, now_ms: int
) -> str:
    """Return the token of an operator's invitation to own a store.

    Raises:
        InvalidEmailError: the address is invalid.
        TeamChangeError: the address is in the team, or the team is full.
        StoreDeletedError: the store was deleted.
    """
    with database.transaction() as transaction:
        AccountRepository(transaction).lock(store_id)
        users = UserRepository(transaction, store_id)
        invitations = InvitationRepository(transaction, store_id)
        return _store_invitation(users, invitations, email, Role.OWNER, now_ms, None)


def _store_invitation(
    users: UserRepository,
    invitations: InvitationRepository,
    email: str,
    role: Role,
    now_ms: int,
    maker: str | None,
) -> str:
    address, token = normalise_email(email), new_token(users.store_id)
    members = users.all()
    invitations.purge(now_ms)
    waiting = invitations.all(now_ms)
    if any(user.email == address for user in members):
        message = f"{address} is in your team already"
        raise TeamChangeError(message)
    for invitation in waiting:
        if invitation.email == address:  # the new link replaces the old one
            invitations.remove(invitation.token_hash)
    if len(members) + len(waiting) >= MAX_MEMBERS:
        message = f"a team has at most {MAX_MEMBERS} members; remove somebody first"
        raise TeamChangeError(message)
    draft = _draft_invitation(users.store_id, token, address, role, now_ms)
    invitations.add(replace(draft, maker=maker))
    return token


def create_registration_invitation(
    database: Database, email: str | None, now_ms: int
) -> str:
    """Return the token of an operator's invitation to register a store.

    Raises:
        InvalidEmailError: the address is invalid.
    """
    address = None if email is None else normalise_email(email)
    token = new_token(NEW_STORE)
    with database.transaction() as transaction:
        invitations = InvitationRepository(transaction, NEW_STORE)
        invitations.purge(now_ms)
        invitations.add(_draft_invitation(NEW_STORE, token, address, Role.OWNER, now_ms))
    return token


def create_first_store_invitation(
    database: Database, now_ms: int, other_domains: Collection[str] = ()
) -> str | None:
    """Return the token that registers an installation's first store, once.

    It takes the place of the one of an earlier start. None if there is a store
    besides those of `other_domains`: then somebody has used it, or an operator made one.
    """
    with database.reading() as connection:
        stores = AccountRepository(connection).all()
    if any(store.domain not in other_domains for store in stores):
        return None
    token = new_token(NEW_STORE)
    with database.transaction() as transaction:
        invitations = InvitationRepository(transaction, NEW_STORE)
        invitations.purge(now_ms)
        invitations.remove_made_by(STARTUP)
        draft = _draft_invitation(NEW_STORE, token, None, Role.OWNER, now_ms)
        invitations.add(replace(draft, maker=STARTUP))
    return token


def find_invitation(database: Database, token: str, now_ms: int) -> Invitation | None:
    """Return the invitation of a token, if it is valid."""
    store_id = store_id_of_token(token)
    if store_id is None:
        return None
    with database.reading() as connection:
        return InvitationRepository(connection, store_id).find(hash_token(token), now_ms)


def mark_invitation_mailed(database: Database, token: str) -> None:
    """Record that an invitation's token went to the invited address, and nowhere else."""
    store_id = store_id_of_token(token)
    if store_id is None:
        return
    with database.transaction() as transaction:
        InvitationRepository(transaction, store_id).set_mailed(hash_token(token))


def accept_invitation(
    database: Database, token: str, password: str, now_ms: int
) -> DashboardUser:
    """Use up an invitation and return its new user, whose e-mail had no login.

    Raises:
        InvitationError: it is no longer valid.
        EmailTakenError: the e-mail has a login: see `accept_invitation_with_login`.
        UnsuitablePasswordError: the password is too short; the invitation stays valid.
    """
    store_id = _store_id_of_valid_invitation(database, token, now_ms)
    password_hash = validate_and_hash_password(password)
    with database.transaction() as transaction:
        invitations = InvitationRepository(transaction, store_id)
        found = invitations.use(hash_token(token), now_ms)
        CrossStoreLoginRepository(transaction).lock_and_check_email_free(found.email)
        user = DashboardUser(
            store_id,
            random_text(_ID_LENGTH),
            found.email,
            found.role,
            password_hash,
            confirmed_at=now_ms if found.is_mailed else None,
        )
        UserRepository(transaction, store_id).add(user, now_ms)
    return user


def accept_invitation_with_login(
    database: Database, token: str, login: DashboardUser, now_ms: int
) -> DashboardUser:
    """Use up an invitation: the login, which has its e-mail, opens this store too.

    The caller has checked the login's password or session.

    Raises:
        InvitationError: it is no longer valid, is for another e-mail, or the login has
            the store already.
        LoginRemovedError: the login was removed meanwhile.
    """
    store_id = _store_id_of_valid_invitation(database, token, now_ms)
    with database.transaction() as transaction:
        AccountRepository(transaction).lock(store_id)
        found = InvitationRepository(transaction, store_id).use(hash_token(token), now_ms)
        users = UserRepository(transaction, store_id).all()
        is_member = any(user.email == found.email for user in users)
        if found.email != login.email or login.is_from_shop or is_member:
            raise InvitationError(OVER)
        newcomer = DashboardUser(
            store_id, random_text(_ID_LENGTH), found.email, found.role, None
        )
        return CrossStoreLoginRepository(transaction).add_store_to_login(
            login, newcomer, now_ms
        )


def _store_id_of_valid_invitation(database: Database, token: str, now_ms: int) -> StoreId:
    store_id = store_id_of_token(token)
    found = find_invitation(database, token, now_ms)
    if store_id is None or store_id == NEW_STORE or found is None:
        raise InvitationError(OVER)
    return store_id


def delete_invitation(database: Database, store_id: StoreId, token_hash: str) -> None:
    """Delete an invitation.

    Raises:
        UnknownMemberOrInvitationError: the store has no such invitation.
    """
    with database.transaction() as transaction:
        if not InvitationRepository(transaction, store_id).remove(token_hash):
            raise UnknownMemberOrInvitationError(_UNKNOWN)


def change_role_and_return_old_user(
    database: Database, store_id: StoreId, user_id: str, role: Role
) -> DashboardUser:
    """Change a user's role; return the user before the change.

    Raises:
        UnknownMemberOrInvitationError: the store has no such user.
        TeamChangeError: it is the last owner.
        StoreDeletedError: the store was deleted.
    """
    with database.transaction() as transaction:
        AccountRepository(transaction).lock(store_id)
        users = UserRepository(transaction, store_id)
        user = _find_member_unless_last_owner(
            users, user_id, keeps_owner=role is Role.OWNER
        )
        users.set_role(user_id, role)
        if role is not Role.OWNER:
            InvitationRepository(transaction, store_id).remove_made_by(user_id)
    return user


def remove_member(database: Database, store_id: StoreId, user_id: str) -> DashboardUser:
    """Delete a user with all sessions and links; return the deleted user.

    Raises:
        UnknownMemberOrInvitationError: the store has no such user.
        TeamChangeError: it is the last owner.
        StoreDeletedError: the store was deleted.
    """
    with database.transaction() as transaction:
        AccountRepository(transaction).lock(store_id)
        users = UserRepository(transaction, store_id)
        user = _find_member_unless_last_owner(users, user_id, keeps_owner=False)
        users.end_sessions_and_reset_links(user_id)
        SecondFactorRepository(transaction, store_id).remove(user_id)
        InvitationRepository(transaction, store_id).remove_made_by(user_id)
        users.remove(user_id)
    return user


_UNKNOWN: Final = "your team has nobody like this; open the page again"


def _find_member_unless_last_owner(
    users: UserRepository, user_id: str, *, keeps_owner: bool
) -> DashboardUser:
    found = users.all()
    user = next((member for member in found if member.user_id == user_id), None)
    if user is None:
        raise UnknownMemberOrInvitationError(_UNKNOWN)
    owners = [member for member in found if member.role is Role.OWNER]
    if user.role is Role.OWNER and len(owners) == 1 and not keeps_owner:
        message = "a store needs an owner; make somebody else an owner first"
        raise TeamChangeError(message)
    return user


def _draft_invitation(
    store_id: StoreId, token: str, email: str | None, role: Role, now_ms: int
) -> Invitation:
    expires_at = now_ms + INVITATION_MS
    return Invitation(store_id, hash_token(token), email, role, now_ms, expires_at)
