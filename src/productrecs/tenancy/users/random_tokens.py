"""Random tokens of a store's links and sessions; only their hashes are stored."""

import hashlib
from typing import Final

from productrecs.core.ids import StoreId, random_text

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
