"""What does an index keep of a product's text, to compare it with others' ?"""

from collections.abc import Iterable
from typing import Final, NamedTuple

_BREAK: Final = "\n"


class Gist(NamedTuple):
    """The stems of a product's title, and of how its description begins."""

    title: frozenset[str]
    lead: frozenset[str]


def written(title: Iterable[str], lead: Iterable[str]) -> bytes:
    """Return stems as an index keeps them."""
    return (" ".join(title) + _BREAK + " ".join(dict.fromkeys(lead))).encode()


def read(text: bytes) -> Gist:
    """Return what `written` wrote."""
    title, _, lead = text.decode().partition(_BREAK)
    return Gist(frozenset(title.split()), frozenset(lead.split()))
