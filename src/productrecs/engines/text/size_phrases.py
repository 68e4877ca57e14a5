"""Size phrases: the sizes that a query or a catalog's value names: "EU 42", "XL", "age 8".

The words of ten languages are known. A number with another unit ("80 kg") is no size.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from productrecs.core.cache_registry import RegisteredCache, memoized
from productrecs.engines.text.clothing_sizes import (
    HEIGHT,
    LENGTH,
    MONTHS,
    WAIST,
    YEARS,
)
from productrecs.engines.text.highlight import TextSpan
from productrecs.engines.text.measurement_units import UNITS
from productrecs.engines.text.price_phrases import (
    PREPOSITIONS,
    any_of,
    fold_with_positions,
)
from productrecs.engines.text.tokenizer import fold_text


@dataclass(frozen=True, slots=True)
class SizePhrase:
    """A size such as 42, 8.5 or XL, in the system that the query names, if any."""

    value: str
    system: str | None
    is_marked: bool  # whether a word such as "size" or a system says that it is a size
    span: TextSpan
    needs_clothes: bool = False  # whether it is a size only beside the name of clothes


_SIZE_WORDS: Final = (
    "sizes|size|sz|schuhgrosse|konfektionsgrosse|grosse|groesse|gr|tailles|taille|pointure|"
    "tallas|talla|taglie|taglia|misura|schoenmaat|maat|rozmiarze|rozmiaru|rozmiar|rozm|"
    "tamanho|tam|storlek|strl|stl|storrelse|str"
)
_SYSTEMS: Final = MappingProxyType(
    {
        "eu": "eu", "eur": "eu", "uk": "uk", "gb": "uk", "us": "us", "usa": "us",
        "fr": "fr", "fra": "fr", "es": "es", "esp": "es", "it": "it", "ita": "it",
    }
)  # fmt: skip
_SYSTEM: Final = rf"(?:{any_of(_SYSTEMS)})"
# "Large" alone means much else: a size only after "size", or beside the name of clothes.
_PLAIN_LETTERS: Final = MappingProxyType({"small": "s", "medium": "m", "large": "l"})
_CLEAR_NAMES: Final = MappingProxyType(
    {
        "extra extra large": "xxl", "extra large": "xl", "x-large": "xl", "xx-large": "xxl",
        "xlarge": "xl", "xxlarge": "xxl", "extra small": "xs", "x-small": "xs",
        "xsmall": "xs", "xx-small": "xxs",
    }
)  # fmt: skip
_SMALL: Final = "klein petit petite pequena pequeno chica piccola piccolo kleine maly mala"
_MEDIUM: Final = (
    "mittel moyen moyenne mediana mediano media medio middel sredni srednia medel mellem"
)
_LARGE: Final = "gross grand grande groot duzy duza stor"
_SIZE_LETTERS: Final = MappingProxyType(
    {
        **_CLEAR_NAMES, **_PLAIN_LETTERS,
        **dict.fromkeys(_SMALL.split(), "s"), **dict.fromkeys(_MEDIUM.split(), "m"),
        **dict.fromkeys(_LARGE.split(), "l"),
    }
)  # fmt: skip
_CLEAR_LETTERS: Final = r"xs|xl|[2-6]xl|[23]xs|xx+[sl]"
_SIZE_NUMBER: Final = r"\d{1,3}(?:[.,]5|\s?1/2)?"
_SIZE_UNITS: Final = {*UNITS} - PREPOSITIONS - {'"', "'", "s", "m", "l"}
_SIZE_END: Final = (
    rf"(?![\w/]|[.,-]\w|\s*(?:{any_of(_SIZE_UNITS)})"
    rf"(?!\w)|\s*[\"'%\u00b0\u00d7]|\s*x\s*\d)"
)
_BARE_NUMBER: Final = (
    r"[1-6]\d(?:[.,]5|\s?1/2)?|1(?:04|10|16|22|28|34|40|46|52|58|64|70|76)"
)
_SIZE_VALUE: Final = rf"{_SIZE_NUMBER}|{any_of(_SIZE_LETTERS)}|{_CLEAR_LETTERS}|[sml]"
_MARKED: Final = (
    rf"(?:{_SIZE_WORDS})[.:]?\s*(?P<system>{_SYSTEM}\s*)?"
    rf"(?P<value>{_SIZE_VALUE})(?P<after>\s*{_SYSTEM}(?!\w))?"
)
_SIZE_LINK: Final = r"(?:(?:in|en|w|i|em|der|die|de|nella|della|av|af|z|ze)\s+)*"
# Of children's clothes: "age 8", "7-8 years", "8-year-old", "18 Monate", "128 cm".
_CHILD_UNITS: Final = MappingProxyType(
    {
        YEARS: "years|year|yrs|yr|jahre|jahren|jahrige|jahriger|jahriges|jahrigen|ans|an|"
        "anos|ano|anni|anno|jaar|jarige|lat|ar|aringar",
        MONTHS: "months|month|mths|mos|mo|monate|monaten|mois|meses|mesi|maanden|miesiecy|"
        "manader|maneder",
        HEIGHT: "cm",
    }
)
_AGE_WORDS: Final = "age|aged|ages|alter|edad|eta|leeftijd|wiek|idade|alder|im alter von|ab"
_CHILD_UNIT_OF: Final = MappingProxyType(
    {word: unit for unit, words in _CHILD_UNITS.items() for word in words.split("|")}
)
_MOST_BETWEEN: Final = MappingProxyType({YEARS: 1, MONTHS: 6, HEIGHT: 6})
_CHILD_NUMBERS: Final = (
    r"(?:(?P<first>\d{1,3})\s*(?:-|\u2013|/|to|bis|a|tot|do|till|til)\s*)?"
    r"(?P<value>\d{1,3})"
)
_AGE: Final = rf"(?:{any_of(set(_AGE_WORDS.split('|')) - {'ab'})})"
_CHILD_UNIT: Final = rf"(?P<unit>y|\s*-?\s*(?:{any_of(_CHILD_UNIT_OF)}))(?:\s*-?\s*olds?)?"
_CHILD_PATTERNS: Final = tuple(
    re.compile(rf"(?<![\w.,/-]){pattern}(?!\w)")
    for pattern in (
        rf"(?:(?:{_AGE}|ab|{_SIZE_WORDS})[.:]?\s*)?{_CHILD_NUMBERS}{_CHILD_UNIT}",
        rf"{_AGE}\s*{_CHILD_NUMBERS}(?P<unit>)",
    )
)
# Of jeans, in inches: "W32 L34", "W32/L34", "32W x 34L".
_JEANS_INCHES: Final = MappingProxyType(
    {
        WAIST: re.compile(r"(?<![\w.,-])(?:w([2-4]\d)|([2-4]\d)\s?w)(?!\w)"),
        LENGTH: re.compile(r"(?<![\w.,-])(?:l([23]\d)|([23]\d)\s?l)(?!\w)"),
    }
)
_SIZE_HINTS: Final = frozenset(
    {"xxs", "xs", "xl", "xxl", "xxxl", "extra", "x", "xx", *"sml", *_SYSTEMS}
    | {"xlarge", "xxlarge", "xsmall", *_CHILD_UNIT_OF, *_AGE_WORDS.split("|")}
    | {word for text in (_SIZE_WORDS, "|".join(_SIZE_LETTERS)) for word in text.split("|")}
)
_SIZE_LIKE: Final = re.compile(
    rf"[1-6]\d(?:\.5)?|1[0-7]\d|{_SYSTEM}\d{{1,3}}(?:\.5)?|\d{{1,3}}(?:\.5)?{_SYSTEM}"
    r"|[2-6]x[sl]|\d{1,3}(?:y|yr|cm)|w[2-4]\d|[2-4]\dw"
)


_SIZE_LETTER: Final = re.compile(rf"{_SIZE_WORDS}|{_CLEAR_LETTERS}|[sml]")


def is_size_letter_or_size_word(word: str) -> bool:
    """Return whether a word is the size of clothes in letters, or a word for "size"."""
    return _SIZE_LETTER.fullmatch(word) is not None


def may_name_size(words: Iterable[str]) -> bool:
    """Return whether a query's words may name a size; quicker than `size_phrases_in`."""
    return any(
        word in _SIZE_HINTS or _SIZE_LIKE.fullmatch(word) is not None for word in words
    )


def size_phrases_in(text: str) -> list[SizePhrase]:
    """Return the sizes that a text may name, in order; they do not overlap."""
    folded, positions = fold_with_positions(text)
    phrases: list[SizePhrase] = []
    taken: list[TextSpan] = []
    for read_size, pattern in _SIZE_READERS:
        for match in pattern.finditer(folded):
            span = TextSpan(positions[match.start()], positions[match.end() - 1] + 1)
            if any(span.overlaps(other) for other in taken):
                continue
            taken.append(span)
            if (size := read_size(match, span)) is not None:
                phrases.append(size)
    return sorted(phrases, key=lambda phrase: phrase.span)


def _waist_size(match: re.Match[str], span: TextSpan) -> SizePhrase:
    return SizePhrase(match[1] or match[2], WAIST, is_marked=True, span=span)


def _length_size(match: re.Match[str], span: TextSpan) -> SizePhrase:
    return SizePhrase(match[1] or match[2], LENGTH, is_marked=True, span=span)


def _child_size(match: re.Match[str], span: TextSpan) -> SizePhrase | None:
    """Return the upper of two ages or heights; none if more than one size is between."""
    system = _CHILD_UNIT_OF.get(match["unit"].strip(" -"), YEARS)
    value, first = int(match["value"]), int(match["first"] or match["value"])
    if value - first > _MOST_BETWEEN[system] or value < first:
        return None
    return SizePhrase(str(value), system, is_marked=True, span=span, needs_clothes=True)


def _marked_size(match: re.Match[str], span: TextSpan) -> SizePhrase:
    system = (match["system"] or match["after"] or "").strip()
    value = size_key(match["value"])
    return SizePhrase(value, _SYSTEMS.get(system), is_marked=True, span=span)


def _plain_size(match: re.Match[str], span: TextSpan) -> SizePhrase:
    value = match["value"]
    return SizePhrase(
        size_key(value),
        None,
        is_marked=False,
        span=span,
        needs_clothes=value in _PLAIN_LETTERS,
    )


def _size_pattern(text: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.,/-]){_SIZE_LINK}{text}{_SIZE_END}")


_SIZE_READERS: Final = (
    (_waist_size, _JEANS_INCHES[WAIST]),
    (_length_size, _JEANS_INCHES[LENGTH]),
    *((_child_size, pattern) for pattern in _CHILD_PATTERNS),
    (_marked_size, _size_pattern(_MARKED)),
    (
        _marked_size,
        _size_pattern(rf"(?P<system>{_SYSTEM})\s*(?P<value>{_SIZE_NUMBER})(?P<after>)"),
    ),
    (
        _marked_size,
        _size_pattern(rf"(?P<system>)(?P<value>{_SIZE_NUMBER})\s*(?P<after>{_SYSTEM})"),
    ),
    (
        _plain_size,
        _size_pattern(
            rf"(?P<value>{any_of((*_CLEAR_NAMES, *_PLAIN_LETTERS))}|{_CLEAR_LETTERS}"
            r"|[sml](?=\s*$))"
        ),
    ),
    (_plain_size, _size_pattern(rf"(?<!x )(?<!\d )(?P<value>{_BARE_NUMBER})")),
)


_COUNTED_LETTERS: Final = re.compile(r"(?<!\w)([2-6])\s?x([sl])(?!\w)")
_CATALOG_SIZE: Final = re.compile(
    rf"(?:{any_of(_SIZE_LETTERS)})(?!\w)|(?:[2-6]\s?x[sl](?!\w))|\d+(?:[.,]\d+|\s?1/2)?|[^\W\d_]+"
)
_AGE_FIRST: Final = re.compile(
    rf"(?:{any_of(_AGE_WORDS.split('|'))})\s*(\d{{1,2}}(?:\s*[-/\u2013]\s*\d{{1,2}})?)(?!\s*\w)"
)
_MOST_MONTHS: Final = 36
_CATALOG_SYSTEMS: Final = MappingProxyType({**_SYSTEMS, WAIST: WAIST, LENGTH: LENGTH})
_SIZE_NOUNS: Final = frozenset(_SIZE_WORDS.split("|"))


def size_key(text: str) -> str:
    """Return a size in comparable form: 8½ and 8,5 are 8.5, 2XL and XXL are xxl."""
    key = _COUNTED_LETTERS.sub(lambda match: "x" * int(match[1]) + match[2], text.strip())
    key = re.sub(r"\s?1/2$", ".5", key).replace(",", ".")
    return _SIZE_LETTERS.get(key, key)


@memoized(RegisteredCache.CATALOG_SIZES)
def sizes_with_systems(value: str) -> Mapping[str, str | None]:
    """Return the sizes that a catalog's value names, each with its system, if any.

    "EU 42 / UK 8" is 42 in the system eu and 8 in uk; "42" is of no system.
    """
    systems_by_size: dict[str, str | None] = {}
    system, last = None, ""
    for word in _CATALOG_SIZE.findall(_with_units_as_words(fold_text(value))):
        unit = _child_unit(word, last)
        if unit is not None and last and systems_by_size[last] is None:
            systems_by_size[last], last = unit, ""
        elif word in _CATALOG_SYSTEMS:
            is_after = bool(last) and systems_by_size[last] is None
            if is_after:
                systems_by_size[last] = _CATALOG_SYSTEMS[word]
            system, last = None if is_after else _CATALOG_SYSTEMS[word], ""
        elif word not in _SIZE_NOUNS:
            last = size_key(word)
            systems_by_size.setdefault(last, system)
            system = None
    return systems_by_size


def _with_units_as_words(folded: str) -> str:
    """Return a catalog's size with its age before "years", and inches after their name."""
    text = _AGE_FIRST.sub(r"\1 years", folded)
    if _JEANS_INCHES[WAIST].search(text):
        for system, pattern in _JEANS_INCHES.items():
            text = pattern.sub(rf" {system} \1\2 ", text)
        text = re.sub(r"\s[x/-]\s", " ", text)
    return text


def _child_unit(word: str, number: str) -> str | None:
    """Return the unit of a child's size that a word after a number is; "18M" is months."""
    if not number.isdecimal():
        return None
    if word == "m" and int(number) <= _MOST_MONTHS:
        return MONTHS
    return YEARS if word == "y" else _CHILD_UNIT_OF.get(word)
