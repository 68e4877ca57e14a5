"""Tokenizer: folds product texts and queries, and splits them into words.

Measurement units are normalised: "10 mm", "10mm" and "10 millimetres" become one word.
"""

import html
import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from productrecs.engines.text.measurement_units import (
    JOINED_ONLY,
    LENGTHS,
    TIMES,
    UNIT_PREFIXES,
    UNITS,
    equivalent_quantities,
    normalize_number,
)

_TAG: Final = re.compile(r"<[/!a-zA-Z][^<>]{0,2000}>")
# Letters without a decomposition, and variants of the signs for feet, inches, apostrophes,
# times and fractions.
_LETTERS: Final = (
    "\u00df:ss \u00e6:ae \u0153:oe \u00f8:o \u0111:d \u00f0:d \u0142:l \u0131:i \u00fe:th"
)
_APOSTROPHES: Final = "\u2019\u2018\u2032`\u00b4\u02bc"
_QUOTES: Final = "\u201d\u201c\u2033\u201e\u00a8"
_FRACTIONS: Final = frozenset("\u00bd\u00bc\u00be\u2153\u2154\u215b\u215c\u215d\u215e")
_FOLDED: Final = str.maketrans(
    dict(pair.split(":") for pair in _LETTERS.split())
    | dict.fromkeys(_APOSTROPHES, "'")
    | dict.fromkeys(_QUOTES, '"')
    | {"\u00d7": " x ", "\u2044": "/"}
    | {"\u0640": ""}  # tatweel: only stretches an Arabic word
    | {
        chr(code): chr(code - 0x60) for code in range(0x30A1, 0x30F7)
    }  # katakana to hiragana
)


def fold_text(text: str) -> str:
    """Return `text` without markup, case and accents, with plain quotes."""
    text = strip_markup(text).lower()
    if text.isascii():
        return text.replace("''", '"')
    # Separates vulgar fractions: 1½ is one and a half.
    text = "".join(
        f" {character}" if character in _FRACTIONS else character for character in text
    )
    text = unicodedata.normalize("NFKD", text.translate(_FOLDED)).translate(_FOLDED)
    base_text = "".join(
        character for character in text if not unicodedata.combining(character)
    )
    return base_text.lower().replace(
        "''", '"'
    )  # mathematical bold letters are folded by now


def strip_markup(text: str) -> str:
    """Return `text` as displayed: entities decoded, tags removed."""
    if "&" in text:
        text = html.unescape(text)
    return _TAG.sub(" ", text) if "<" in text else text


MAX_WORD_LENGTH: Final = 64
"""Longer words are cut: nobody types them, and they would bloat the index."""

_CJK: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_TOKEN: Final = re.compile(
    rf"(?P<number>(?:\d+/\d+|\d+(?:[.,]\d+)*))"
    rf"|(?P<cjk>[{_CJK}]+)"
    rf"|(?P<letters>[^\W\d_{_CJK}]+(?:'[^\W\d_{_CJK}]+)*)"
    rf"|(?P<mark>[\"'])"
    rf"|(?P<link>[-./_+&]+)"
    rf"|(?P<gap>\s+)"
)
_RUN_OF_CJK: Final = re.compile(f"[{_CJK}]+")
_SEPARATOR_MARKS: Final = frozenset("-./_+&.,;:!?()[]{}*|")
_FIRST_CJK: Final = "\u3040"
_PUNCTUATION: Final = ".,;:!?()[]{}*|"
_CODE: Final = frozenset({"letters", "number"})
_MAX_PARTS: Final = 5  # maximum parts of a code that are indexed separately
_METRIC_THREAD: Final = "m"
_CHOICES: Final = frozenset("/&+")
_SHORT_LINK: Final = 24


class _Token:
    """A run of letters or digits, and its preceding separator."""

    __slots__ = ("before", "kind", "text")

    def __init__(self, kind: str, text: str, before: str) -> None:
        self.kind = kind
        self.text = text
        self.before = before  # "", "link", "choice" (a slash, an and) or "gap"


def query_words(text: str) -> list[str]:
    """Return the words of a query, in order: folded, numbers joined with their units."""
    parts = text.split()
    if text.isascii() and "".join(parts).isalpha():
        return [part[:MAX_WORD_LENGTH] for part in text.lower().split()]
    return [word for word, _ in _words_with_spellings(text)]


def indexed_words(text: str) -> list[str]:
    """Return the words of a product's text, with alternative spellings.

    "10mm" is also 10 and 1cm, "wr-44526" also wr44526, "pro8200" also pro and 8200, and "2
    in. x 4 in." is 2x4. Text without blanks is indexed by bigrams and single characters.
    """
    spellings: list[str] = []
    for word, alternatives in _words_with_spellings(text):
        spellings.append(word)
        if alternatives:
            spellings.extend(alternatives)
    return spellings


def is_code(word: str) -> bool:
    """Return whether a word has a digit: such words are never corrected."""
    return not word.isalpha() and any(map(str.isdigit, word))


def is_cjk(word: str) -> bool:
    """Return whether a word is of a script without blanks."""
    return _RUN_OF_CJK.fullmatch(word) is not None


def _words_with_spellings(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each word with its alternative spellings.

    Fast path for letters between blanks, most of a text. Other words need the neighbouring
    characters, since a unit may follow a number.
    """
    unusual: list[str] = []
    may_continue = False
    text = fold_text(text)
    has_no_cjk = text.isascii() or max(text) < _FIRST_CJK
    for part in text.split():
        if part.isalpha():
            word, is_simple = part, has_no_cjk or max(part) < _FIRST_CJK
        else:
            word = part.strip(_PUNCTUATION)
            if not word or _SEPARATOR_MARKS.issuperset(part):
                continue  # a separator
            is_simple = word.isalpha() and (has_no_cjk or max(word) < _FIRST_CJK)
        if not is_simple:
            unusual.append(part)
            may_continue = True
        elif unusual and _may_continue(unusual[-1], word, may_continue=may_continue):
            unusual.append(part)
            may_continue = word in UNIT_PREFIXES
        else:
            if unusual:
                yield from _words_by_all_rules(" ".join(unusual))
                unusual.clear()
                may_continue = False
            yield word[:MAX_WORD_LENGTH], ()
    if unusual:
        yield from _words_by_all_rules(" ".join(unusual))


def _may_continue(last: str, word: str, *, may_continue: bool) -> bool:
    """Return whether a plain word may continue what precedes it: a size, or a unit."""
    if word in TIMES:
        return True
    return may_continue and (
        last[-1].isdigit() or last.strip(_PUNCTUATION) in UNIT_PREFIXES
    )


def _words_by_all_rules(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each word of a folded text, by all rules."""
    tokens = _tokenize(text)
    may_have_size = any(token.text in TIMES for token in tokens)
    index = 0
    while index < len(tokens):
        sides = _size_sides_at(tokens, index) if may_have_size else []
        if sides:
            index = sides[-1].end
            yield from _size_words(sides)
            continue
        word = _word_at(tokens, index)
        index += word.token_count
        if word.text:
            yield word.text[:MAX_WORD_LENGTH], word.spellings


class _NumberWithUnit(NamedTuple):
    """A number with its unit, if any, and the index of the token after it."""

    number: str
    unit: str
    end: int


class _Word(NamedTuple):
    """A word, the number of its tokens, and its alternative spellings; "" for a mark."""

    token_count: int
    text: str
    spellings: tuple[str, ...] = ()


def _size_sides_at(tokens: list[_Token], index: int) -> list[_NumberWithUnit]:
    """Return the sides of a size that begins at `index`; none without a size."""
    if tokens[index].before in {"link", "choice"}:
        return []  # part of a code: wr-44526x2
    side = _size_side_at(tokens, index)
    sides = [side] if side else []
    while side:
        times = _token_at(tokens, side.end)
        side = (
            _size_side_at(tokens, side.end + 1) if times and times.text in TIMES else None
        )
        if side:
            sides.append(side)
    if len(sides) < 2:  # noqa: PLR2004 - a size has two sides or more
        return []
    after = _token_at(tokens, sides[-1].end)
    is_followed_by_code = after is not None and not after.before and after.kind in _CODE
    return [] if is_followed_by_code else sides  # 4x4wd is a code


def _size_side_at(tokens: list[_Token], index: int) -> _NumberWithUnit | None:
    """Return one side of a size: a number and its unit, or a metric thread such as m8."""
    token, after = _token_at(tokens, index), _token_at(tokens, index + 1)
    if token is None:
        return None
    if token.kind == "number":
        return _amount_at(tokens, index)
    if token.text != _METRIC_THREAD or after is None or not _is_joined(after):
        return None
    if after.kind != "number":
        return None
    return _NumberWithUnit(_METRIC_THREAD + normalize_number(after.text), "", index + 2)


def _size_words(sides: list[_NumberWithUnit]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield a size as one word (2x4), then each side with its own unit.

    Two neighbouring sides of three are also a word, and so is a side with the size's final
    unit.
    """
    numbers = [side.number for side in sides]
    pairs: list[str] = []
    if len(sides) > 2:  # noqa: PLR2004 - the pair of two sides is the size itself
        pairs = [f"{first}x{second}" for first, second in pairwise(numbers)]
    last_unit = sides[-1].unit
    with_unit = [
        side.number + last_unit for side in sides if last_unit in LENGTHS and not side.unit
    ]
    yield "x".join(numbers)[:MAX_WORD_LENGTH], (*pairs, *numbers, *with_unit)
    for side in sides:
        if side.unit:
            yield side.number + side.unit, ()


def _word_at(tokens: list[_Token], index: int) -> _Word:
    token = tokens[index]
    if token.kind == "mark":
        return _Word(1, "")
    if token.kind == "cjk":
        after = _token_at(tokens, index + 1)
        is_last = after is None or after.kind != "cjk" or after.text[0] != token.text[-1]
        return _Word(1, token.text, tuple(token.text if is_last else token.text[:1]))
    if token.kind == "number":
        return _quantity_at(tokens, index)
    return _code_at(tokens, index)


def _quantity_at(tokens: list[_Token], index: int) -> _Word:
    """Return a number joined with the following unit."""
    number, unit, end = _amount_at(tokens, index)
    if unit:
        spellings = (number, *equivalent_quantities(number, unit))
        return _Word(end - index, number + unit, spellings)
    if end - index > 1:
        return _Word(end - index, number)
    tokens[index].text = number
    return _code_at(tokens, index)


def _amount_at(tokens: list[_Token], index: int) -> _NumberWithUnit:
    """Return the number at `index` (possibly mixed: 1 1/2) and its unit."""
    number, end = normalize_number(tokens[index].text), index + 1
    after = _token_at(tokens, end)
    if after is not None and after.before and "/" in after.text and number.isdecimal():
        part = normalize_number(after.text)  # 1 1/2 is 1.5
        if part.startswith("0."):
            number, end = number + part[1:], end + 1
    unit, end = _unit_and_end_at(tokens, end)
    return _NumberWithUnit(number, unit, end)


def _unit_and_end_at(tokens: list[_Token], index: int) -> tuple[str, int]:
    """Return the canonical unit at `index`, or "", and the index after it."""
    token, then = _token_at(tokens, index), _token_at(tokens, index + 1)
    if token is None:
        return "", index
    if token.text in UNIT_PREFIXES and then is not None:
        unit = UNIT_PREFIXES[token.text] + UNITS.get(then.text, "?")
        return (unit, index + 2) if unit in UNITS else ("", index)
    if token.text == "m" and then is not None and then.text in {"2", "3"}:
        after = _token_at(tokens, index + 2)
        if _is_joined(then) and not _is_joined(after):
            return token.text + then.text, index + 2  # 20 m²
    return (UNITS[token.text], index + 1) if _is_unit(token, then) else ("", index)


def _is_unit(token: _Token, then: _Token | None) -> bool:
    if token.text not in UNITS:
        return False
    if token.kind == "mark":
        return not token.before
    if then is not None and then.kind == "number":
        if _is_joined(then) or token.text == "x":
            return False  # 12v5 is a code
        if token.text == "in" and then.text == "1":
            return False  # 5 in 1 is no length
    return not (token.before and token.text in JOINED_ONLY)


def _is_joined(token: _Token | None) -> bool:
    return token is not None and not token.before


def _token_at(tokens: list[_Token], index: int) -> _Token | None:
    return tokens[index] if index < len(tokens) else None


def _code_at(tokens: list[_Token], index: int) -> _Word:
    """Return a word, or adjacent letters and digits as one code."""
    end = index + 1
    while end < len(tokens) and not tokens[end].before and tokens[end].kind in _CODE:
        end += 1
    parts = [token.text for token in tokens[index:end]]
    if len(parts) == 1:
        spellings = _joined_spellings(tokens, index, parts[0])
        return _Word(1, _without_apostrophes(parts[0]), spellings)
    code = "".join(parts)
    spellings = (*_code_parts(parts), *_joined_spellings(tokens, index, code))
    return _Word(end - index, code, spellings)


def _code_parts(parts: list[str]) -> Iterator[str]:
    """Yield the parts under which a code is indexed: dcd771c2 as dcd771, c2, 771 ..."""
    for part in parts:
        if len(part) > 1 or part.isdecimal():
            yield part
    if 2 < len(parts) <= _MAX_PARTS:  # noqa: PLR2004 - two parts have no inner ones
        for size in range(2, len(parts)):
            for first in range(len(parts) - size + 1):
                yield "".join(parts[first : first + size])


def _joined_spellings(tokens: list[_Token], index: int, word: str) -> tuple[str, ...]:
    """Return the joined spellings of hyphenated words: t-shirt is also tshirt.

    Words with a slash are separate: "tops/tees". A part may belong to a code, and a longer
    code is also joined as a whole: dcd-771-c2 is dcd771c2.
    """
    joined, spellings, first = word, list[str](), index
    while first > 0 and _is_linked(tokens[first - 1], tokens[first]):
        first -= 1
        joined = tokens[first].text + joined
        if len(joined) > _SHORT_LINK:
            break
        if tokens[first].before:
            spellings.append(joined)
    joined_codes = [code for code in spellings[1:][-1:] if is_code(code)]
    return (*spellings[:1], *joined_codes)


def _is_linked(last: _Token, token: _Token) -> bool:
    if token.before == "gap" or last.kind not in _CODE or token.kind not in _CODE:
        return False
    is_choice = token.before == "choice"
    return not (is_choice and token.text.isalpha() and last.text.isalpha())


def _without_apostrophes(word: str) -> str:
    """Return a word without genitive and apostrophes: women's is women."""
    if "'" not in word:
        return word
    return word.removesuffix("'s").replace("'", "")


def _tokenize(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    end, before = 0, "gap"
    for match in _TOKEN.finditer(text):
        kind = str(match.lastgroup)
        if match.start() > end:
            before = "gap"  # a character that belongs to no word
        end = match.end()
        if kind in {"link", "gap"}:
            if kind == "link" and not _CHOICES.isdisjoint(match.group()):
                kind = "choice"
            before = kind if kind == "gap" or not before else before
            continue
        if kind == "cjk":
            tokens.extend(_Token("cjk", pair, "gap") for pair in _bigrams(match.group()))
            before = "gap"
            continue
        tokens.append(_Token(kind, match.group(), before))
        before = ""
    return tokens


def _bigrams(run: str) -> list[str]:
    """Return the bigrams of a text without blanks: no dictionary is needed."""
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]
