"""Head nouns: the words of a title that name the kind of product.

"Laptop battery for Lenovo" has the head "battery".
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from productrecs.engines.text.tokenizer import fold_text

# Prepositions: the words after them name an accessory's counterpart.
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
# Trailing colours are skipped. English puts colours first, where skipping did not help.
_COLOURS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "de": "schwarz wei\u00df rot blau gr\u00fcn grau braun rosa gelb orange lila beige "
        "silber gold t\u00fcrkis bunt anthrazit marine",
        "nl": "zwart wit rood blauw groen grijs bruin roze geel oranje paars beige zilver "
        "goud antraciet",
        "sv": "svart vit r\u00f6d bl\u00e5 gr\u00f6n gr\u00e5 brun rosa gul orange lila "
        "beige silver guld",
        "da": "sort hvid r\u00f8d bl\u00e5 gr\u00f8n gr\u00e5 brun lyser\u00f8d gul "
        "orange lilla beige s\u00f8lv guld",
        "no": "svart hvit r\u00f8d bl\u00e5 gr\u00f8nn gr\u00e5 brun rosa gul oransje "
        "lilla beige s\u00f8lv gull",
    }
)
_SEGMENT: Final = re.compile(r"\s-+\s|\s[\u2013\u2014]\s|[,;:|()\[\]*]|\s/\s")
_WORD: Final = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_MAX_WORDS: Final = 3


def head_nouns(title: str, language: str) -> list[str]:
    """Return the head nouns of a title: the last word of each of its parts.

    Words after a "for" or "with" are skipped. Only languages with the head at the end of a
    compound have head nouns; for others the list is empty.
    """
    links = _LINK_WORDS.get(language)
    if links is None:
        return []
    heads: list[str] = []
    colours = _COLOUR_WORDS.get(language, _NO_WORDS)
    for segment in _SEGMENT.split(title):
        head = _head_noun(segment, links, colours)
        if head is not None:
            heads.append(head)
        if len(heads) == _MAX_WORDS:
            break
    return heads


def titles_end_with_head_noun(language: str) -> bool:
    """Return whether titles of a language end with their head noun."""
    return language in _LINKS


def trailing_colour_words(language: str) -> frozenset[str]:
    """Return the colour words of a language, in folded letters."""
    return _PLAIN_COLOURS.get(language, _NO_WORDS)


def _head_noun(segment: str, links: frozenset[str], colours: frozenset[str]) -> str | None:
    head = None
    for part in segment.split():
        if part.lower().strip(".") in links and head is not None:
            return head
        word = _WORD.fullmatch(part.strip("\"'.!?"))
        if word is None or len(part) == 1:
            continue
        if head is None or word.group().lower() not in colours:
            head = word.group()
    return head


_NO_WORDS: Final[frozenset[str]] = frozenset()
_COLOUR_WORDS: Final = {code: frozenset(words.split()) for code, words in _COLOURS.items()}
_LINK_WORDS: Final = {code: frozenset(words.split()) for code, words in _LINKS.items()}
_PLAIN_COLOURS: Final = {
    code: frozenset(map(fold_text, words)) for code, words in _COLOUR_WORDS.items()
}
