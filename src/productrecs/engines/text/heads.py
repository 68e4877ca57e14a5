"""What is a product, by its title? "Laptop battery for Lenovo" is a battery."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

# What follows one of these says what a product goes with, not what it is.
_LINKS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "en": "for with w/ w by from of in on without to featuring includes including",
        "de": "f\u00fcr fur mit von aus in zum zur ohne inkl inklusive",
        "nl": "voor met van uit in zonder incl",
        "sv": "f\u00f6r for med av fr\u00e5n fran i till utan",
        "da": "til med af fra i uden",
        "no": "til med av fra i uten",
    }
)
_SEGMENT: Final = re.compile(r"\s-+\s|\s[\u2013\u2014]\s|[,;:|()\[\]*]|\s/\s")
_WORD: Final = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_MOST: Final = 3


def heads_of(title: str, language: str) -> list[str]:
    """Return the words that say what a product is: the last of each part of its title.

    What stands behind a "for" or "with" is left out. Only languages whose compounds end
    with what they are have them; elsewhere the list is empty.
    """
    links = _LINK_WORDS.get(language)
    if links is None:
        return []
    heads: list[str] = []
    for segment in _SEGMENT.split(title):
        head = _head(segment, links)
        if head is not None:
            heads.append(head)
        if len(heads) == _MOST:
            break
    return heads


def _head(segment: str, links: frozenset[str]) -> str | None:
    head = None
    for part in segment.split():
        if part.lower().strip(".") in links and head is not None:
            return head
        word = _WORD.fullmatch(part.strip("\"'.!?"))
        if word is not None and len(part) > 1:
            head = word.group()
    return head


_LINK_WORDS: Final = {code: frozenset(words.split()) for code, words in _LINKS.items()}
