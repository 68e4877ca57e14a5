"""Price phrases: the prices that a query names, such as "under 80".

Phrases of ten languages are known. A number with a unit ("80 cm") is none.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_letters
from types import MappingProxyType
from typing import Final, NamedTuple

from productrecs.core.cache_registry import RegisteredCache, memoized
from productrecs.engines.text.highlight import TextSpan
from productrecs.engines.text.measurement_units import UNITS
from productrecs.engines.text.tokenizer import fold_text, query_words


@dataclass(frozen=True, slots=True)
class PricePhrase:
    """Prices from `low` to `high`, both included; None means no limit."""

    low: float | None
    high: float | None
    span: TextSpan


_BELOW: Final = {
    "en": "under|below|up to|less than|cheaper than|at most|no more than|not more than|"
    "not over|not above|no higher than|no more expensive than|lower than|beneath|"
    "at the most|not exceeding|"
    "within|upto|maximum of|max of|maximum|max",
    "de": "unter|bis zu|bis|hochstens|maximal|weniger als|gunstiger als|billiger als|"
    "nicht mehr als|nicht uber|nicht teurer als|niedriger als|unterhalb von|max",
    "fr": "a moins de|moins de|moins cher que|sous|en dessous de|jusqu'a|jusqu a|"
    "inferieur a|pas plus de|pas plus cher que|pas au-dessus de|pas au dessus de|"
    "en-dessous de|ne depassant pas|au maximum|maximum|max",
    "es": "por menos de|menos de|bajo|hasta|por debajo de|inferior a|menor a|menor de|"
    "no mas de|mas barato que|no mas caro que|menos que|menor que|como mucho|"
    "como maximo|maximo de|maximo|max",
    "it": "a meno di|meno di|sotto i|sotto gli|sotto|fino a|inferiore a|non piu di|"
    "non oltre|non superiore a|al di sotto di|al massimo|massimo di|massimo|max",
    "nl": "onder de|onder|tot en met|tot|minder dan|goedkoper dan|niet meer dan|"
    "niet boven|niet duurder dan|lager dan|beneden|ten hoogste|hoogstens|maximaal|max",
    "pl": "ponizej|do|mniej niz|tansze niz|taniej niz|nie wiecej niz|"
    "nie powyzej|nie drozej niz|nie drozsze niz|co najwyzej|najwyzej|maksymalnie|"
    "maks|max",
    "pt": "por menos de|abaixo de|menos de|ate|inferior a|nao mais de|mais barato que|"
    "nao acima de|menos que|menor que|maximo de|no maximo|maximo|max",
    "sv": "under|upp till|hogst|mindre an|billigare an|inte mer an|inte over|"
    "inte dyrare an|lagre an|som mest|max",
    "da": "under|op til|hojst|mindre end|billigere end|ikke over|ikke mere end|"
    "ikke dyrere end|lavere end|maksimalt|maks|max",
}
_ABOVE: Final = {
    "en": "over|above|more than|at least|starting at|from|minimum|min",
    "de": "uber|mehr als|teurer als|mindestens|ab|min",
    "fr": "plus de|au-dessus de|au dessus de|a partir de|superieur a|plus cher que|"
    "au moins|des|minimum",
    "es": "mas de|por encima de|a partir de|superior a|mayor a|al menos|desde|minimo",
    "it": "sopra i|sopra|oltre|piu di|a partire da|superiore a|almeno|da|minimo",
    "nl": "boven de|boven|meer dan|minstens|minimaal|ten minste|vanaf",
    "pl": "powyzej|ponad|wiecej niz|drozsze niz|co najmniej|od|minimum",
    "pt": "acima de|mais de|a partir de|superior a|no minimo|pelo menos|desde|minimo",
    "sv": "over|mer an|dyrare an|minst|fran",
    "da": "over|mere end|dyrere end|mindst|fra",
}
_NOT_BELOW: Final = {
    "en": "not under|not below|not less than|no less than",
    "de": "nicht unter|nicht weniger als|nicht billiger als|nicht gunstiger als",
    "fr": "pas moins de|pas en dessous de",
    "es": "no menos de|no por debajo de",
    "it": "non meno di|non sotto",
    "nl": "niet minder dan|niet onder",
    "pl": "nie mniej niz|nie ponizej",
    "pt": "nao menos de|nao abaixo de",
    "sv": "inte mindre an|inte under",
    "da": "ikke mindre end|ikke under",
}
_BETWEEN: Final = {
    "en": "between|from", "de": "zwischen|von", "fr": "entre|de", "es": "entre|de|desde",
    "it": "tra|fra|da", "nl": "tussen de|tussen|van", "pl": "pomiedzy|miedzy|od",
    "pt": "entre|de", "sv": "mellan|fran", "da": "mellem|fra",
}  # fmt: skip
_TO: Final = {
    "en": "and|to|until", "de": "und|bis", "fr": "et|a", "es": "y|a|hasta", "it": "e|a",
    "nl": "en|tot", "pl": "a|i|do", "pt": "e|a|ate", "sv": "och|till", "da": "og|til",
}  # fmt: skip
_OR_LESS: Final = {
    "en": "or less|or under|or below|or cheaper|and under|and below|max",
    "de": "oder weniger|oder gunstiger|oder darunter|und weniger|und darunter|"
    "hochstens|maximal|max",
    "fr": "ou moins|au plus|au maximum|maximum|max",
    "es": "o menos|como maximo|maximo",
    "it": "o meno|al massimo|massimo",
    "nl": "of minder|of goedkoper|of lager|maximaal|max",
    "pl": "lub mniej|albo mniej|i mniej|maksymalnie",
    "pt": "ou menos|no maximo",
    "sv": "eller mindre|eller billigare|som mest|max",
    "da": "eller mindre|eller billigere|eller derunder|maks|max",
}
_OR_MORE: Final = {
    "en": "or more|and up|or over|and above|and over",
    "de": "oder mehr|und mehr|aufwarts|und daruber|oder daruber",
    "fr": "ou plus|et plus|au moins|minimum",
    "es": "o mas|como minimo|en adelante",
    "it": "o piu|in su",
    "nl": "of meer|of hoger|en meer|en hoger",
    "pl": "lub wiecej|albo wiecej|i wiecej",
    "pt": "ou mais|no minimo|para cima",
    "sv": "eller mer|eller mera|och uppat",
    "da": "eller mere|eller derover|og opefter",
}
_TABLES: Final = (_BELOW, _NOT_BELOW, _ABOVE, _BETWEEN, _OR_LESS, _OR_MORE)
# These words mean much else: as a price they need a currency.
_AMBIGUOUS: Final = (
    "max maximum maximo massimo maks min minimum minimo from ab da od des desde vanaf "
    "fran fra within"
)
_NEEDS_CURRENCY: Final = frozenset(_AMBIGUOUS.split())
_PRICE_NOUNS: Final = (
    "price|priced|prices|costing|preis|preise|prix|precio|precios|prezzo|prijs|cena|"
    "cenie|preco|pris|for|fur|pour|por|per|voor|za|till|til"
)
_CROWNS: Final = "SEK NOK DKK ISK"
_DOLLARS: Final = "USD CAD AUD NZD SGD HKD MXN CLP COP ARS"
_CURRENCIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "EUR": "€ euro euros",
        "GBP": "£ pound pounds quid libras sterline livres",
        "PLN": "zl zloty zlotych zlote zlotow",
        "CHF": "franken francs franchi sfr",
        "BRL": "r$ reais real",
        "CZK": "kc korun",
        "JPY": "¥ yen",
        "INR": "₹ rs rupees",
        "HUF": "forint",
        "RON": "lei ron",
        "TRY": "₺ tl lira",
        "UAH": "₴",
        "RUB": "₽",
        **dict.fromkeys(_CROWNS.split(), "kr kr. kronor kronen kroner krona krone"),
        **dict.fromkeys(
            _DOLLARS.split(),
            "$ us$ dollar dollars dolares dollari dolarow dolar bucks",
        ),
    }
)
_TIMES_AND_PEOPLE: Final = (
    "year years yr yrs yo month months week weeks day days hour hours minute minutes min "
    "person persons people players player pax seater pieces inch jahr jahre jahren monat "
    "monate monaten tag tage stunden personen spieler stuck ans an mois jours heures "
    "personnes pieces anos ano meses dias horas personas piezas anni anno mesi giorni ore "
    "persone pezzi jaar jaren maand maanden dagen uur lat rok lata miesiecy dni godzin "
    "osob sztuk pessoas dias ar manader dagar timmar personer maneder dage timer dpi px "
    "pixel degrees grad grader percent prozent procent stc c f db ohm va bar nm mph kmh "
    "denier den gsm teeth"
)
# Units that are also prepositions: units only at the end of a text.
PREPOSITIONS: Final = frozenset({"in", "w", "v", "a", "i"})
_NUMBER: Final = (
    r"(?:\d{1,3}(?:[.,']\d{3})+(?:[.,]\d{1,2})?|\d{1,7}(?:[.,]\d{1,2})?)(?:[.,]-)?"
)
_SPACE: Final = r"\s*"


class _PriceGrammar(NamedTuple):
    """The patterns of prices in one currency, and the words that need no currency."""

    patterns: tuple[tuple[str, re.Pattern[str]], ...]
    currency: re.Pattern[str]
    plain_words: frozenset[str]


_SIGNS: Final = frozenset("<>" + "".join(_CURRENCIES.values())) - {*ascii_letters, *" ."}
_PRICE_HINTS: Final = frozenset(
    query_words(phrase)[0]
    for table in _TABLES
    for texts in table.values()
    for phrase in texts.split("|")
) | frozenset(
    word
    for code, words in _CURRENCIES.items()
    for word in (code.lower(), *words.split())
    if word.isalpha()
)
_NUMBERS: Final = "0123456789.,-"


def may_name_price(text: str, words: Sequence[str]) -> bool:
    """Return whether a query, `text` with these words, may name a price.

    Quicker than `price_phrases_in`.
    """
    if not any(map(str.isdigit, text)):
        return False
    if not _SIGNS.isdisjoint(text) or not _PRICE_HINTS.isdisjoint(words):
        return True
    return any(word.strip(_NUMBERS) in _PRICE_HINTS for word in words)


def price_phrases_in(text: str, currency: str, language: str) -> list[PricePhrase]:
    """Return the prices that a text limits, in order; they do not overlap.

    Words of English and of `language` ("under 80") need no currency, those of other
    languages do ("unter 80 euro"). A price in another currency than `currency`, a code of
    ISO 4217, is none.
    """
    folded, positions = fold_with_positions(text)
    grammar = _price_grammar(currency.upper(), language)
    phrases: list[PricePhrase] = []
    for kind, pattern in grammar.patterns:
        for match in pattern.finditer(folded):
            word = match["word"]
            is_plain = word in grammar.plain_words and (
                kind == "between" or word not in _NEEDS_CURRENCY
            )
            if not is_plain and grammar.currency.search(match.group()) is None:
                continue
            span = TextSpan(positions[match.start()], positions[match.end() - 1] + 1)
            if any(span.overlaps(phrase.span) for phrase in phrases):
                continue
            low, high = _price_limits(kind, match)
            phrases.append(PricePhrase(low, high, span))
    return sorted(phrases, key=lambda phrase: phrase.span)


def _price_limits(kind: str, match: re.Match[str]) -> tuple[float | None, float | None]:
    first = _parse_amount(match["first"])
    if kind == "below":
        return None, first
    if kind == "above":
        return first, None
    second = _parse_amount(match["second"])
    return min(first, second), max(first, second)


def _parse_amount(text: str) -> float:
    """Return the amount of "19.99", "19,99", "1.000", "1,000.50" or "80,-"."""
    text = text.rstrip("-").rstrip(".,")
    whole, mark, cents = text, "", ""
    if len(text) > 2 and not text[-3:].isdecimal():  # noqa: PLR2004 - cents
        at = max(text.rfind("."), text.rfind(","))
        whole, mark, cents = text[:at], ".", text[at + 1 :]
    return float(re.sub(r"[.,']", "", whole) + mark + cents)


@memoized(RegisteredCache.LANGUAGES)
def _price_grammar(currency: str, language: str) -> _PriceGrammar:
    own = {*_CURRENCIES.get(currency, "").split(), currency.lower()}
    others = {
        word
        for code, words in _CURRENCIES.items()
        for word in (*words.split(), code.lower())
    }
    money = rf"(?:{any_of(own)})"
    units = {*UNITS, *_TIMES_AND_PEOPLE.split(), *others} - own - PREPOSITIONS - {'"', "'"}
    no_unit = (
        rf"(?![\w.,/-]*\w|\s*(?:{any_of(units)})(?!\w)|\s*[\"'%\u00b0\u00d7+]"
        rf"|\s*(?:{any_of(PREPOSITIONS)})\s*$|\s*x\s*\d)"
    )
    after = rf"{_NUMBER})(?:\s*{money}(?!\w))?{no_unit}"
    first = rf"(?:{money}\s*)?(?P<first>{_NUMBER})(?:\s*{money})?"
    begin, noun = r"(?<![\w.,/-])", rf"(?:(?:{_PRICE_NOUNS})\s+)?"

    def word(table: Mapping[str, str]) -> str:
        return rf"(?P<word>{any_of(_words(table))})"

    to = rf"(?:\s+(?:{any_of(_words(_TO))})\s+|\s*[-\u2013]\s*)"
    price = rf"(?:{money}\s*)?(?P<first>{after}"
    second_price = rf"(?:{money}\s*)?(?P<second>{after}"
    return _PriceGrammar(
        tuple(
            (kind, re.compile(pattern))
            for kind, pattern in (
                ("between", rf"{begin}{noun}{word(_BETWEEN)}\s+{first}{to}{second_price}"),
                ("between", rf"{begin}{noun}(?P<word>){first}{to}{second_price}"),
                ("below", rf"{begin}{noun}(?P<word><=?)\s*{price}"),
                ("above", rf"{begin}{noun}(?P<word>>=?)\s*{price}"),
                ("above", rf"{begin}{noun}{word(_NOT_BELOW)}\s*{price}"),
                ("below", rf"{begin}{noun}{word(_BELOW)}\.?\s*{price}"),
                ("above", rf"{begin}{noun}{word(_ABOVE)}\.?\s*{price}"),
                ("below", rf"{begin}{noun}{first}\s*{word(_OR_LESS)}(?!\w)"),
                ("above", rf"{begin}{noun}{first}\s*{word(_OR_MORE)}(?!\w)"),
            )
        ),
        re.compile(rf"(?<![^\W\d]){money}(?![^\W\d])"),
        _words_needing_no_currency(language),
    )


def _words_needing_no_currency(language: str) -> frozenset[str]:
    """Return the words of English and a language that need no currency beside them."""
    texts = [table.get(code, "") for table in _TABLES for code in ("en", language)]
    words = {word for text in texts for word in text.split("|")}
    return frozenset(words | {"<", "<=", ">", ">="}) - {""}


def _words(table: Mapping[str, str]) -> Iterator[str]:
    return (word for words in table.values() for word in words.split("|"))


def any_of(words: Iterable[str]) -> str:
    """Return a pattern of any of the words, the longest first."""
    ordered = sorted(set(words), key=lambda word: (-len(word), word))
    return "|".join(re.escape(word) for word in ordered)


def fold_with_positions(text: str) -> tuple[str, list[int] | range]:
    """Return a text without case and accents, and the place in `text` of each character."""
    if text.isascii():
        return text.lower(), range(len(text))
    parts = [
        character if character.isspace() else fold_text(character) for character in text
    ]
    positions = [at for at, part in enumerate(parts) for _ in part]
    return "".join(parts), positions
