"""Ids: types of identifiers, random text for new ones, and hashes of visitors."""

import hashlib
import re
import secrets
import string
from typing import Final, NewType

StoreId = NewType("StoreId", str)
ItemNumber = NewType("ItemNumber", int)

INSTALLATION: Final = StoreId("*")
"""The store id of jobs and rows that belong to the whole installation."""

CONTROL_CHARACTERS: Final = r"\u0000-\u001f\u007f-\u009f\u2028\u2029"
"""What no id may hold, as the inside of a character class: controls and line ends."""

_CONTROL: Final = re.compile(f"[{CONTROL_CHARACTERS}]")
_ALPHABET = string.ascii_letters + string.digits


def random_text(length: int) -> str:
    """Return `length` random letters and digits (5.95 bits each)."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))


def new_store_id() -> StoreId:
    """Return a fresh store id: `st_` and 16 letters and digits."""
    return StoreId("st_" + random_text(16))


def first_control_code_point(text: str) -> str | None:
    """Return the first control character of an id as U+000D; None if it has none."""
    if text.isprintable():
        return None
    found = _CONTROL.search(text)
    return None if found is None else f"U+{ord(found[0]):04X}"


def visitor_hash(visitor_id: str) -> int:
    """Return a signed 64-bit hash of a session or shopper id, the same in every process.

    Two names collide with probability 2**-64, and nobody can look for a collision with
    an id that they do not know.
    """
    encoded = visitor_id.encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(encoded, digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)
