"""Dashboard user: role and permissions, password hash and random tokens.

Passwords are hashed with Argon2id as OWASP recommends; of tokens, only hashes are stored.
"""

import hashlib
import re
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final, Self

import argon2

from productrecs.core.cache_registry import RegisteredCache, memoized
from productrecs.core.errors import ProductRecsError
from productrecs.core.ids import StoreId, random_text

_EMAIL: Final = re.compile(r"[^@\s\x00-\x1f]{1,64}@[^@\s\x00-\x1f]{1,253}")


class EmailError(ProductRecsError):
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
        EmailError: when it is not a valid address.
    """
    email = text.strip().lower()
    if not _EMAIL.fullmatch(email):
        message = f"{text[:80]!r} is not an e-mail address; write it like anna@example.com"
        raise EmailError(message)
    return email


MIN_PASSWORD_LENGTH: Final = 8
_FEWEST_DIFFERENT: Final = 4
_TRIED_FIRST: Final = frozenset(
    (
        *("12345678", "123456789", "1234567890", "87654321", "01234567", "1q2w3e4r"),
        *("password", "passwort", "password1", "passw0rd", "password123", "motdepasse"),
        *("contrasena", "qwertyui", "qwertyuiop", "qwertzui", "qwerty123", "1qaz2wsx"),
        *("iloveyou", "sunshine", "princess", "football", "baseball", "superman"),
        *("trustno1", "letmein1", "welcome1", "admin123", "administrator", "abcd1234"),
        *("abcdefgh", "productrecs"),
    )
)
MAX_PASSWORD_LENGTH: Final = 200
_HASHER: Final = argon2.PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)


class WeakPasswordError(ProductRecsError):
    """The password is too short to protect an account, or too long to hash."""


def validate_and_hash_password(password: str) -> str:
    """Return the hash of a password. Takes about 20 ms and 19 MiB.

    Raises:
        WeakPasswordError: under eight characters, over two hundred, or one of those that
            are tried first.
    """
    if len(password) < MIN_PASSWORD_LENGTH:
        message = f"a password needs at least {MIN_PASSWORD_LENGTH} characters"
        raise WeakPasswordError(message)
    if password.casefold() in _TRIED_FIRST or len(set(password)) < _FEWEST_DIFFERENT:
        message = "this password is one of the first that attackers try; choose another"
        raise WeakPasswordError(message)
    if len(password) > MAX_PASSWORD_LENGTH:
        message = f"a password has at most {MAX_PASSWORD_LENGTH} characters"
        raise WeakPasswordError(message)
    return _HASHER.hash(password)


def is_password(password_hash: str | None, password: str) -> bool:
    """Return whether the password is right; takes equally long without a hash."""
    try:
        _HASHER.verify(password_hash or _dummy_hash(), password[: MAX_PASSWORD_LENGTH + 1])
    except (argon2.exceptions.VerificationError, argon2.exceptions.InvalidHashError):
        return False
    return password_hash is not None


def rehashed(password_hash: str, password: str) -> str | None:
    """Return a new hash of a correct password if the stored one has old parameters."""
    return _HASHER.hash(password) if _HASHER.check_needs_rehash(password_hash) else None


@memoized(RegisteredCache.CONSTANTS)
def _dummy_hash() -> str:
    return _HASHER.hash(random_text(32))


_RANDOM_LENGTH: Final = 43  # 256 bits


def new_token(store_id: StoreId) -> str:
    """Return a fresh token of a store."""
    return f"{store_id}.{random_text(_RANDOM_LENGTH)}"


def hash_token(token: str) -> str:
    """Return the stored form of a token: SHA-256 in hex."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def store_id_of_token(token: str) -> StoreId | None:
    """Return the store that a token names, or None."""
    store_id, dot, _ = token.partition(".")
    return StoreId(store_id) if dot and store_id else None
