"""Term profile: the stems of a product's title and lead text, stored for similarity."""

from collections.abc import Iterable
from typing import Final, NamedTuple

_BREAK: Final = "\n"


class TermProfile(NamedTuple):
    """The stems of a product's title, and of how its description begins."""

    title: frozenset[str]
    lead: frozenset[str]


def encode_profile(title: Iterable[str], lead: Iterable[str]) -> bytes:
    """Return stems in their stored form."""
    return (" ".join(title) + _BREAK + " ".join(dict.fromkeys(lead))).encode()


def decode_profile(text: bytes) -> TermProfile:
    """Return what `encode_profile` wrote."""
    title, _, lead = text.decode().partition(_BREAK)
    return TermProfile(frozenset(title.split()), frozenset(lead.split()))
