"""Dashboard user: a login in one store, with its role and e-mail address."""

import re
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final, Self

from productrecs.core.errors import ProductRecsError
from productrecs.core.ids import StoreId

_EMAIL: Final = re.compile(r"[^@\s\x00-\x1f]{1,64}@[^@\s\x00-\x1f]{1,253}")


class InvalidEmailError(ProductRecsError):
    """The text is not an e-mail address."""


class Role(IntEnum):
    """A user's role; each role includes the permissions of the lower ones."""

    VIEWER = 1
    EDITOR = 2
    OWNER = 3

    @property
    def label(self) -> str:
        """The role's name, as stored and shown."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class DashboardUser:
    """A login in one store; in each of its stores it has a role and an id."""

    store_id: StoreId
    user_id: str
    email: str | None
    role: Role
    password_hash: str | None
    is_from_shop: bool = False  # let in by the plugin's secret key, without a password
    login_id: str | None = None  # equal in each store of the login; None: only this store
    confirmed_at: int | None = None  # when a mailed link proved the e-mail
    entered_at: int = 0  # when the last session in this store began

    @property
    def login_key(self) -> str:
        """The login's name among all logins, for counts of its failures."""
        return self.login_id or f"{self.store_id} {self.user_id}"

    def limited_to_shop_session(self) -> Self:
        """Return the user with the permissions of a session from the store's plugin.

        The secret key proves the store, not the person: such a session has at most the
        role of an editor, and cannot change its own login.
        """
        return replace(self, role=min(self.role, Role.EDITOR), is_from_shop=True)

    def is_same_login(self, other: "DashboardUser") -> bool:
        """Return whether both are one login, whatever their stores and sessions."""
        return self.login_key == other.login_key


def normalise_email(text: str) -> str:
    """Return an address as it is stored and compared.

    Raises:
        InvalidEmailError: when it is not a valid address.
    """
    email = text.strip().lower()
    if not _EMAIL.fullmatch(email):
        message = f"{text[:80]!r} is not an e-mail address; write it like anna@example.com"
        raise InvalidEmailError(message)
    return email
