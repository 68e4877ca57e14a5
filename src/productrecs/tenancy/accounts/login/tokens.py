"""Login tokens: random texts that name their store; of each only the hash is stored.

A token names its store, so that it is found with that store's rows alone:
`st_abc.random text`. Sessions, reset links and invitations have tokens of this form.
"""

import hashlib
from typing import Final

from productrecs.core.ids import StoreId, random_text

_RANDOM_LENGTH: Final = 43  # 256 bits


def new_token(store_id: StoreId) -> str:
    """Return a fresh token of a store."""
    return f"{store_id}.{random_text(_RANDOM_LENGTH)}"


def hash_token(token: str) -> str:
    """Return what is stored of a token: SHA-256 in hex."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def store_of(token: str) -> StoreId | None:
    """Return the store that a token names; None when it names none."""
    store_id, dot, _ = token.partition(".")
    return StoreId(store_id) if dot and store_id else None
