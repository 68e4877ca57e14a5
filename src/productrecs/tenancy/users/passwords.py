"""Passwords: checks and hashes them, with Argon2id as OWASP recommends."""

from typing import Final

import argon2

from productrecs.core.cache_registry import RegisteredCache, memoized
from productrecs.core.errors import ProductRecsError
from productrecs.core.ids import random_text

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


class UnsuitablePasswordError(ProductRecsError):
    """The password is too short, too long, or one of those that attackers try first."""


def validate_and_hash_password(password: str) -> str:
    """Return the hash of a password. Takes about 20 ms and 19 MiB.

    Raises:
        UnsuitablePasswordError: under eight characters, over two hundred, or one of those
            that are tried first.
    """
    if len(password) < MIN_PASSWORD_LENGTH:
        message = f"a password needs at least {MIN_PASSWORD_LENGTH} characters"
        raise UnsuitablePasswordError(message)
    if password.casefold() in _TRIED_FIRST or len(set(password)) < _FEWEST_DIFFERENT:
        message = "this password is one of the first that attackers try; choose another"
        raise UnsuitablePasswordError(message)
    if len(password) > MAX_PASSWORD_LENGTH:
        message = f"a password has at most {MAX_PASSWORD_LENGTH} characters"
        raise UnsuitablePasswordError(message)
    return _HASHER.hash(password)


def is_correct_password(password_hash: str | None, password: str) -> bool:
    """Return whether the password is right; takes equally long without a hash."""
    try:
        _HASHER.verify(password_hash or _dummy_hash(), password[: MAX_PASSWORD_LENGTH + 1])
    except (argon2.exceptions.VerificationError, argon2.exceptions.InvalidHashError):
        return False
    return password_hash is not None


def rehash_if_outdated(password_hash: str, password: str) -> str | None:
    """Return a new hash of a correct password if the stored one has old parameters."""
    return _HASHER.hash(password) if _HASHER.check_needs_rehash(password_hash) else None


@memoized(RegisteredCache.CONSTANTS)
def _dummy_hash() -> str:
    return _HASHER.hash(random_text(32))
