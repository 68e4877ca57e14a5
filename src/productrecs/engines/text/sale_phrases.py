"""Sale phrases: the words of a query that ask for reduced products, such as "on sale"."""

import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from productrecs.engines.text.highlight import TextSpan
from productrecs.engines.text.tokenizer import fold_text

_PHRASES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "en": "on sale|sale|reduced|discounted|clearance|special offer|special offers",
        "de": "im sale|sale|reduziert|reduzierte|reduzierter|reduziertes|im angebot|"
        "angebot|angebote|sonderangebot|sonderangebote",
        "fr": "en solde|soldes|en promo|en promotion|promotion|promotions",
        "es": "en oferta|oferta|ofertas|rebajas|rebajado|rebajada|rebajados|rebajadas",
        "it": "in offerta|offerta|offerte|saldi|in saldo|scontato|scontata|scontati|"
        "scontate",
        "nl": "in de aanbieding|aanbieding|aanbiedingen|in de uitverkoop|uitverkoop|"
        "afgeprijsd|afgeprijsde",
        "pl": "na promocji|w promocji|promocja|promocje|na wyprzedazy|wyprzedaz|"
        "przecenione",
        "pt": "em promocao|promocao|promocoes|em saldo|saldos|com desconto",
        "sv": "pa rea|rea|nedsatt|nedsatta|extrapris",
        "da": "pa tilbud|tilbud|pa udsalg|udsalg|nedsat|nedsatte",
    }
)
_LANGUAGES_WITH_SALE: Final = frozenset({"en", "de", "nl", "sv", "da"})
_LAST_WORDS: Final = frozenset(
    phrase.split()[-1] for phrases in _PHRASES.values() for phrase in phrases.split("|")
)
_WORD: Final = re.compile(r"[^\s.,;:!?()\[\]\"]+")


def may_ask_for_sale(words: Iterable[str]) -> bool:
    """Return whether a query of these words may have a sale phrase; quick."""
    return not _LAST_WORDS.isdisjoint(words)


def sale_phrases_in(text: str, language: str) -> Iterator[tuple[str, TextSpan]]:
    """Yield the phrases in English or the catalog's language, folded, the longest first.

    In French and other languages "sale" is another word.
    """
    known = set(_PHRASES["en"].split("|")) | set(_PHRASES.get(language, "").split("|"))
    if language not in _LANGUAGES_WITH_SALE:
        known.discard("sale")
    words = [
        (fold_text(match.group()).strip(), match.span()) for match in _WORD.finditer(text)
    ]
    for size in (3, 2, 1):
        for first in range(len(words) - size + 1):
            taken = words[first : first + size]
            phrase = " ".join(word for word, _ in taken)
            if phrase in known:
                yield phrase, TextSpan(taken[0][1][0], taken[-1][1][1])
