"""Passwords and tokens: Argon2id as OWASP recommends, and hashed random secrets."""

import hashlib
from typing import Final

import argon2

from productrecs.core.cache_registry import Cache, memoized
from productrecs.core.errors import ProductRecsError
from productrecs.core.ids import StoreId, random_text

MIN_PASSWORD_LENGTH: Final = 8
MAX_PASSWORD_LENGTH: Final = 200
_HASHER: Final = argon2.PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)


class WeakPasswordError(ProductRecsError):
    """The password is too short to protect an account, or too long to hash."""


def hash_password(password: str) -> str:
    """Return the hash of a password. Takes about 20 ms and 19 MiB.

    Raises:
        WeakPasswordError: under eight characters, or over two hundred.
    """
    if len(password) < MIN_PASSWORD_LENGTH:
        message = f"a password needs at least {MIN_PASSWORD_LENGTH} characters"
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


@memoized(Cache.CONSTANTS)
def _dummy_hash() -> str:
    return _HASHER.hash(random_text(32))


_RANDOM_LENGTH: Final = 43  # 256 bits


def new_token(store_id: StoreId) -> str:
    """Return a fresh token of a store."""
    return f"{store_id}.{random_text(_RANDOM_LENGTH)}"


def hash_token(token: str) -> str:
    """Return the stored form of a token: SHA-256 in hex."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def store_of(token: str) -> StoreId | None:
    """Return the store that a token names, or None."""
    store_id, dot, _ = token.partition(".")
    return StoreId(store_id) if dot and store_id else None
