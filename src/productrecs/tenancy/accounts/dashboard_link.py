"""Single sign-on: a link into the dashboard that a store's plugin requests.

The plugin authenticates with the store's secret key. The link works once, within a minute,
and starts a session with at most the role of an editor. A login with a second factor still
requires its code.
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
    """Return the store's login with an address, or its first owner without an address.

    Addresses are compared case-insensitively. None when the store has no such login.
    """
    if email is not None:
        normalised = email.strip().lower()
        return next((one for one in users.all() if one.email == normalised), None)
    return next((one for one in users.all() if one.role is Role.OWNER), None)


def new_link_token(factors: FactorRepository, user: DashboardUser, now_ms: int) -> str:
    """Return a token that starts one session of a user."""
    token = new_token(user.store_id)
    factors.purge_challenges(now_ms)
    factors.add_challenge(_hash(token), user.from_shop(), now_ms + LINK_MS)
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
    """Return the stored hash; it differs from that of a login that waits for its code."""
    return hash_token(f"link {token}")
