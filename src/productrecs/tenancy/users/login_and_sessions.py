"""Login and sessions: a random token in the browser, its hash and times in the database.

A session ends when it is idle for too long, too old, or ended by its user or by another
session of that user.

Single sign-on: a store's plugin requests a link into the dashboard.

The plugin authenticates with the store's secret key. The link works once, within a minute,
and starts a session with at most the role of an editor, after a page that names the store
and asks. A login with a second factor still requires its code.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from productrecs.core.clock import DAY_MS, HOUR_MS, MINUTE_MS
from productrecs.core.errors import ProductRecsError
from productrecs.core.ids import StoreId
from productrecs.storage.sql.database import Database
from productrecs.tenancy.users.dashboard_user import DashboardUser, Role
from productrecs.tenancy.users.logins.repository import CrossStoreLoginRepository
from productrecs.tenancy.users.passwords import (
    is_correct_password,
    rehash_if_outdated,
    validate_and_hash_password,
)
from productrecs.tenancy.users.random_tokens import hash_token, new_token, store_id_of_token
from productrecs.tenancy.users.repository import (
    SessionBrowser,
    StoredSession,
    UserRepository,
)
from productrecs.tenancy.users.second_factors.repository import SecondFactorRepository

IDLE_MS: Final = 12 * HOUR_MS
ABSOLUTE_MS: Final = 7 * DAY_MS
RESET_MS: Final = 30 * MINUTE_MS
CONFIRM_MS: Final = 7 * DAY_MS
_UPDATE_INTERVAL_MS: Final = 5 * MINUTE_MS  # minimum time between updates of the last use
_VERIFIED: Final = 4  # password hashes that each login costs; others log in by domain


class ResetLinkError(ProductRecsError):
    """The reset link is unknown, used or expired."""


class WrongPasswordError(ProductRecsError):
    """The given password is not the user's."""


@dataclass(frozen=True, slots=True)
class Session:
    """A logged-in user."""

    user: DashboardUser
    token: str


def find_logins_or_owners(
    database: Database, email: str | None, store_id: StoreId | None
) -> list[DashboardUser]:
    """Return the logins of an address, or the owners of a store; oldest first, a few.

    A login with several stores is returned in the one that was entered last.
    """
    with database.reading() as connection:
        if store_id is not None:
            logins = UserRepository(connection, store_id).all()
            logins = [login for login in logins if login.role is Role.OWNER]
        else:
            logins = (
                CrossStoreLoginRepository(connection).find_by_email(email) if email else []
            )
    last: dict[str, DashboardUser] = {}
    for login in logins:
        other = last.setdefault(login.login_key, login)
        if login.entered_at > other.entered_at:
            last[login.login_key] = login
    return list(last.values())[:_VERIFIED]


def logins_opened_by_password(
    logins: Sequence[DashboardUser], password: str
) -> list[DashboardUser]:
    """Return the logins of `find_logins_or_owners` that the password opens.

    The same number of hashes is verified for every name, so that the time says nothing
    about how many logins it has.
    """
    hashes = [login.password_hash for login in logins]
    hashes += [None] * (_VERIFIED - len(logins))
    is_right = [is_correct_password(password_hash, password) for password_hash in hashes]
    return [login for login, right in zip(logins, is_right, strict=False) if right]


def begin_session(
    database: Database,
    user: DashboardUser,
    now_ms: int,
    password: str | None = None,
    browser: SessionBrowser | None = None,
) -> Session:
    """Return a new session; rehash a correct `password` if its parameters are outdated."""
    token = new_token(user.store_id)
    new_password_hash = None
    if password is not None and user.password_hash is not None:
        new_password_hash = rehash_if_outdated(user.password_hash, password)
    with database.transaction() as transaction:
        if new_password_hash is not None:
            CrossStoreLoginRepository(transaction).set_password(user, new_password_hash)
        users = UserRepository(transaction, user.store_id)
        users.set_entered(user.user_id, now_ms)
        users.end_old_sessions(now_ms - ABSOLUTE_MS, now_ms - IDLE_MS)
        users.add_session(hash_token(token), user, now_ms, browser or SessionBrowser())
    return Session(user, token)


def resume_session(database: Database, token: str, now_ms: int) -> Session | None:
    """Return the session of a token; None when it is unknown, idle or too old."""
    store_id = store_id_of_token(token)
    if store_id is None:
        return None
    with database.reading() as connection:
        found = UserRepository(connection, store_id).find_user_and_session_times(
            hash_token(token)
        )
    if found is None:
        return None
    user, began, seen = found
    if now_ms - began > ABSOLUTE_MS or now_ms - seen > IDLE_MS:
        return None
    if now_ms - seen > _UPDATE_INTERVAL_MS:
        with database.transaction(synced=False) as transaction:
            UserRepository(transaction, store_id).touch_session(hash_token(token), now_ms)
    return Session(user, token)


def end_session(database: Database, session: Session) -> None:
    """End one session: its token becomes invalid."""
    with database.transaction() as transaction:
        users = UserRepository(transaction, session.user.store_id)
        users.end_session(hash_token(session.token))


def active_sessions(
    database: Database, session: Session, now_ms: int
) -> list[StoredSession]:
    """Return the login's active sessions in all its stores, last used first."""
    with database.reading() as connection:
        found = CrossStoreLoginRepository(connection).sessions(session.user)
    return [
        open_session
        for open_session in found
        if now_ms - open_session.began <= ABSOLUTE_MS
        and now_ms - open_session.seen <= IDLE_MS
    ]


def end_other_sessions(
    database: Database, session: Session, token_hash: str | None = None
) -> bool:
    """End one other session of the login, or all others; return whether one ended."""
    own_hash = hash_token(session.token)
    with database.transaction() as transaction:
        found = CrossStoreLoginRepository(transaction).sessions(session.user)
        chosen = [
            open_session
            for open_session in found
            if open_session.token_hash != own_hash
            and token_hash in {None, open_session.token_hash}
        ]
        for open_session in chosen:
            UserRepository(transaction, open_session.store_id).end_session(
                open_session.token_hash
            )
    return bool(chosen)


def change_password_and_end_sessions(
    database: Database, session: Session, old: str, new: str
) -> None:
    """Set a new password in all stores; end the login's other sessions and reset links.

    Raises:
        WrongPasswordError: `old` is not the password.
        UnsuitablePasswordError: the new one is too short.
    """
    user = session.user
    if not is_correct_password(user.password_hash, old):
        message = "this is not your password"
        raise WrongPasswordError(message)
    password_hash = validate_and_hash_password(new)
    with database.transaction() as transaction:
        logins = CrossStoreLoginRepository(transaction)
        logins.set_password(user, password_hash)
        logins.end_sessions_and_reset_links(user, except_token=hash_token(session.token))


def create_reset_token(
    database: Database, user: DashboardUser, now_ms: int, *, mailed: bool = False
) -> str:
    """Return a token for setting a new password once, within 30 minutes.

    `mailed` says that the token goes to the user's address, and nowhere else.
    """
    token = new_token(user.store_id)
    with database.transaction() as transaction:
        users = UserRepository(transaction, user.store_id)
        users.replace_reset_link(
            hash_token(token), user.user_id, now_ms + RESET_MS, mailed=mailed
        )
    return token


def create_email_confirmation_token(
    database: Database, user: DashboardUser, now_ms: int
) -> str:
    """Return a token to mail to a user's address, which confirms it within seven days."""
    token = new_token(user.store_id)
    with database.transaction() as transaction:
        users = UserRepository(transaction, user.store_id)
        users.replace_reset_link(_confirm_hash(token), user.user_id, now_ms + CONFIRM_MS)
    return token


def find_user_to_confirm(
    database: Database, token: str, now_ms: int
) -> DashboardUser | None:
    """Return the user whose address a token confirms; None when it is not valid."""
    store_id = store_id_of_token(token)
    if store_id is None:
        return None
    with database.reading() as connection:
        users = UserRepository(connection, store_id)
        found = users.find_reset_user_and_is_mailed(_confirm_hash(token), now_ms)
    return None if found is None else found[0]


def confirm_email(database: Database, token: str, now_ms: int) -> DashboardUser | None:
    """Use a token up and confirm its user's address; None when it is not valid."""
    store_id = store_id_of_token(token)
    if store_id is None:
        return None
    with database.transaction() as transaction:
        users = UserRepository(transaction, store_id)
        found = users.find_reset_user_and_is_mailed(_confirm_hash(token), now_ms)
        if found is None or not users.remove_reset(_confirm_hash(token)):
            return None
        CrossStoreLoginRepository(transaction).set_confirmed(found[0], now_ms)
    return found[0]


def _confirm_hash(token: str) -> str:
    """Return the stored hash; it differs from that of a link that sets a password."""
    return hash_token(f"confirm {token}")


def is_valid_reset_token(database: Database, token: str, now_ms: int) -> bool:
    """Return whether a reset token is currently valid."""
    store_id = store_id_of_token(token)
    if store_id is None:
        return False
    with database.reading() as connection:
        users = UserRepository(connection, store_id)
        return users.find_reset_user_and_is_mailed(hash_token(token), now_ms) is not None


def reset_password_and_join_logins(
    database: Database, token: str, password: str, now_ms: int
) -> DashboardUser:
    """Set a new password; end all the user's sessions and links. Return the user.

    A mailed token confirms the address, and makes the other logins that have it (and no
    second factor) part of this one. An invalid token costs no hash of a password.

    Raises:
        ResetLinkError: when the token is unknown, used or expired.
        UnsuitablePasswordError: the password is too short; the token stays valid.
    """
    store_id = store_id_of_token(token)
    message = "this link was used already or is over 30 minutes old; ask for another"
    if store_id is None or not is_valid_reset_token(database, token, now_ms):
        raise ResetLinkError(message)
    password_hash = validate_and_hash_password(password)
    with database.transaction() as transaction:
        users = UserRepository(transaction, store_id)
        found = users.find_reset_user_and_is_mailed(hash_token(token), now_ms)
        if found is None:
            raise ResetLinkError(message)
        (user, is_mailed), logins = found, CrossStoreLoginRepository(transaction)
        if is_mailed:
            logins.set_confirmed(user, now_ms)
            user = logins.join_logins(user, logins.find_joinable_logins(user))
        logins.set_password(user, password_hash)
        logins.end_sessions_and_reset_links(user)
    return replace(user, password_hash=password_hash)


def join_logins(database: Database, logins: Sequence[DashboardUser]) -> list[DashboardUser]:
    """Make one login of those that one e-mail and password opened; return what is left.

    A login with a second factor has to be proved by its code, so at most one stays as it
    is and takes in the others.
    """
    if len(logins) < 2:  # noqa: PLR2004 - one is not joined
        return list(logins)
    with database.transaction() as transaction:
        repository = CrossStoreLoginRepository(transaction)
        locked = [login for login in logins if repository.has_factor(login)]
        if len(locked) > 1:
            return list(logins)
        kept = locked[0] if locked else logins[0]
        return [
            repository.join_logins(kept, [login for login in logins if login is not kept])
        ]


def login_in_each_store(database: Database, user: DashboardUser) -> list[DashboardUser]:
    """Return the user's login in each store that the session may switch to.

    A session from a store's plugin proves that store alone, so it gets no other.
    """
    if user.is_from_shop or user.login_id is None:
        return [user]
    with database.reading() as connection:
        return CrossStoreLoginRepository(connection).find(user)


def login_in_store(
    database: Database, user: DashboardUser, store_id: StoreId
) -> DashboardUser | None:
    """Return the user's login in a store that the session may switch to, or None."""
    found = login_in_each_store(database, user)
    return next((user for user in found if user.store_id == store_id), None)


LINK_MS: Final = MINUTE_MS


def find_login_or_first_owner(
    users: UserRepository, email: str | None
) -> DashboardUser | None:
    """Return the store's login with an address, or its first owner without an address.

    Addresses are compared case-insensitively. None when the store has no such login.
    """
    if email is not None:
        normalised = email.strip().lower()
        return next((user for user in users.all() if user.email == normalised), None)
    return next((user for user in users.all() if user.role is Role.OWNER), None)


def create_sign_in_token(
    factors: SecondFactorRepository, user: DashboardUser, now_ms: int
) -> str:
    """Return a token that starts one session of a user."""
    token = new_token(user.store_id)
    factors.purge_challenges(now_ms)
    factors.add_challenge(
        _link_hash(token), user.limited_to_shop_session(), now_ms + LINK_MS
    )
    return token


def user_of_sign_in_token(
    database: Database, token: str, now_ms: int
) -> DashboardUser | None:
    """Return the user of a token, which stays valid; None when it is not."""
    store_id = store_id_of_token(token)
    if store_id is None:
        return None
    with database.reading() as connection:
        return SecondFactorRepository(connection, store_id).find_challenge(
            _link_hash(token), now_ms
        )


def use_sign_in_token(database: Database, token: str, now_ms: int) -> DashboardUser | None:
    """Use up a token and return its user; None when it is unknown, used or expired."""
    store_id = store_id_of_token(token)
    if store_id is None:
        return None
    with database.transaction() as transaction:
        waiting = SecondFactorRepository(transaction, store_id)
        user = waiting.find_challenge(_link_hash(token), now_ms)
        return user if waiting.remove_challenge(_link_hash(token)) else None


def _link_hash(token: str) -> str:
    """Return the stored hash; it differs from that of a login that waits for its code."""
    return hash_token(f"link {token}")
