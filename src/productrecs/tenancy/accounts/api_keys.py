"""API keys: generates publishable and secret keys; stores secrets only as hashes."""

import hashlib
from typing import Final, NewType

from productrecs.core.ids import random_text

PublishableKey = NewType("PublishableKey", str)
SecretKey = NewType("SecretKey", str)

PUBLISHABLE_PREFIX: Final = "pk_"
SECRET_PREFIX: Final = "sk_"  # noqa: S105 - the prefix that all secrets share
TEST_KEY_PREFIX: Final = "test_"  # after the prefix of a test store's keys
_LENGTH: Final = 43  # of 62 letters and digits: 256 bits


def new_publishable_key(*, for_tests: bool = False) -> PublishableKey:
    """Return a fresh publishable key (256 bits); public by design."""
    kind = TEST_KEY_PREFIX if for_tests else ""
    return PublishableKey(PUBLISHABLE_PREFIX + kind + random_text(_LENGTH))


def new_secret_key(*, for_tests: bool = False) -> SecretKey:
    """Return a fresh secret key (256 bits); show it once, keep only its hash."""
    kind = TEST_KEY_PREFIX if for_tests else ""
    return SecretKey(SECRET_PREFIX + kind + random_text(_LENGTH))


def hash_secret(secret: str) -> str:
    """Return what is stored of a secret: SHA-256 in hex.

    A random key of 256 bits needs no slow hash; looking it up by its hash also takes
    the same time whatever the guess.
    """
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
