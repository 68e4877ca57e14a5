"""Ids: types of the identifiers that every layer uses, and random text for new ones."""

import secrets
import string
from typing import NewType

StoreId = NewType("StoreId", str)
ItemNumber = NewType("ItemNumber", int)

_ALPHABET = string.ascii_letters + string.digits


def random_text(length: int) -> str:
    """Return `length` random letters and digits (5.95 bits each)."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))


def new_store_id() -> StoreId:
    """Return a fresh store id: `st_` and 16 letters and digits."""
    return StoreId("st_" + random_text(16))
