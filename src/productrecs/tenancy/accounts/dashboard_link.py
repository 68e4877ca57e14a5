"""Single sign-on: a link into the dashboard that a store's plugin asks for.

The plugin proves the store with its secret key. The link works once, within a minute, and
a login that has a second factor is still asked for its code.
"""

from typing import Final

from productrecs.core.clock import MINUTE_MS
from productrecs.storage.database import Database
from productrecs.tenancy.accounts.login.dashboard_user import DashboardUser, Role
from productrecs.tenancy.accounts.login.passwords_and_tokens import (
    hash_token,
    new_token,
    store_of,
)
from productrecs.tenancy.accounts.login.repository import FactorRepository, UserRepository

LINK_MS: Final = MINUTE_MS


def find_login(users: UserRepository, email: str | None) -> DashboardUser | None:
    """Return the store's login with an address, or without one its first owner.

    An address is compared without regard to case. None when the store has no such login.
    """
    if email is not None:
        wanted = email.strip().lower()
        return next((one for one in users.all() if one.email == wanted), None)
    return next((one for one in users.all() if one.role is Role.OWNER), None)


def new_link_token(factors: FactorRepository, user: DashboardUser, now_ms: int) -> str:
    """Return a token that begins one session of a user."""
    token = new_token(user.store_id)
    factors.purge_challenges(now_ms)
    factors.add_challenge(_hash(token), user.user_id, now_ms + LINK_MS)
    return token


def use_link_token(database: Database, token: str, now_ms: int) -> DashboardUser | None:
    """Use up a token and return its user; None when it is unknown, used or expired."""
    store_id = store_of(token)
    if store_id is None:
        return None
    with database.transaction() as transaction:
        waiting = FactorRepository(transaction, store_id)
        user = waiting.find_challenge(_hash(token), now_ms)
        return user if waiting.remove_challenge(_hash(token)) else None


def _hash(token: str) -> str:
    """Return what is stored: another hash than of a login that waits for its code."""
    return hash_token(f"link {token}")
