"""Visitor hash: a session or shopper id as a 64-bit number, the same in every process."""

import hashlib


def visitor_hash(name: str) -> int:
    """Return a signed 64-bit code of a session or shopper id, the same everywhere.

    Two names share a code by chance once in 2**64; a visit that is taken for another's
    then merely does not answer it.
    """
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)
