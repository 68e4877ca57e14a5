"""Tokenizer: cuts product texts and queries into words."""

import re
from collections.abc import Iterator
from typing import Final

from productrecs.engines.text.measurement_units import JOINED_ONLY, UNITS, normalized_number
from productrecs.engines.text.text_folding import fold_text

MAX_WORD_LENGTH: Final = 64
"""Longer words are cut: they are not typed, and would fill the index."""

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
_MARKS: Final = frozenset("-./_+&.,;:!?()[]{}*|")
_FIRST_CJK: Final = "\u3040"
_AROUND: Final = ".,;:!?()[]{}*|"
_CODE: Final = frozenset({"letters", "number"})
_ALSO_WORDS: Final = frozenset({"in", "x"})
_CHOICES: Final = frozenset("/&+")
_SHORT_LINK: Final = 24


class _Piece:
    """A run of letters or digits, and what stood before it."""

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
    return [word for word, _ in _words(text)]


def indexed_words(text: str) -> list[str]:
    """Return the words of a product's text, with other spellings beside them.

    "10mm" is also 10, "wr-44526" also wr44526, "pro8200" also pro and 8200. Of a text
    without blanks each two neighbours are a word, and each character.
    """
    found: list[str] = []
    for word, others in _words(text):
        found.append(word)
        if others:
            found.extend(others)
    return found


def is_code(word: str) -> bool:
    """Return whether a word holds a digit: then no other one is meant by it."""
    return not word.isalpha() and any(map(str.isdigit, word))


def is_cjk(word: str) -> bool:
    """Return whether a word is of a script that is written without blanks."""
    return _RUN_OF_CJK.fullmatch(word) is not None


def _words(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Give each word with its other spellings.

    Most of a text are letters between blanks, which need no care; the rest is read with
    the neighbouring characters, since a unit may follow a number.
    """
    careful: list[str] = []
    takes_more = False
    text = fold_text(text)
    has_no_cjk = text.isascii() or max(text) < _FIRST_CJK
    for part in text.split():
        if part.isalpha():
            plain, is_plain = part, has_no_cjk or max(part) < _FIRST_CJK
        else:
            plain = part.strip(_AROUND)
            if not plain or _MARKS.issuperset(part):
                continue  # stands between words and belongs to none
            is_plain = plain.isalpha() and (has_no_cjk or max(plain) < _FIRST_CJK)
        if not is_plain:
            careful.append(part)
            takes_more = True
        elif takes_more and careful[-1][-1].isdigit():
            careful.append(part)
            takes_more = False
        else:
            if careful:
                yield from _careful_words(" ".join(careful))
                careful.clear()
                takes_more = False
            yield plain[:MAX_WORD_LENGTH], ()
    if careful:
        yield from _careful_words(" ".join(careful))


def _careful_words(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Give each word of a folded text, by all the rules."""
    pieces = _pieces(text)
    index = 0
    while index < len(pieces):
        taken, word, others = _one(pieces, index)
        index += taken
        if word:
            yield word[:MAX_WORD_LENGTH], others


def _one(pieces: list[_Piece], index: int) -> tuple[int, str, tuple[str, ...]]:
    """Return how many pieces the word at `index` takes, the word, and other spellings."""
    piece = pieces[index]
    if piece.kind == "mark":
        return 1, "", ()
    if piece.kind == "cjk":
        after = _at(pieces, index + 1)
        is_last = after is None or after.kind != "cjk" or after.text[0] != piece.text[-1]
        return 1, piece.text, tuple(piece.text if is_last else piece.text[:1])
    if piece.kind == "number":
        return _quantity(pieces, index)
    return _code(pieces, index)


def _quantity(pieces: list[_Piece], index: int) -> tuple[int, str, tuple[str, ...]]:
    """Return a number, with the unit that follows it."""
    plain, taken = normalized_number(pieces[index].text), 1
    after = _at(pieces, index + 1)
    if after is not None and after.before and "/" in after.text and plain.isdecimal():
        part = normalized_number(after.text)  # 1 1/2 is 1.5
        if part.startswith("0."):
            plain, taken = plain + part[1:], 2
    unit = _unit(pieces, index + taken)
    if unit:
        return taken + 1, plain + unit, (plain,)
    if taken > 1:
        return taken, plain, ()
    pieces[index].text = plain
    return _code(pieces, index)


def _unit(pieces: list[_Piece], index: int) -> str | None:
    """Return the normalised unit at `index`; None without a unit."""
    piece, then = _at(pieces, index), _at(pieces, index + 1)
    if piece is None or piece.text not in UNITS:
        return None
    if piece.kind == "mark":
        return None if piece.before else UNITS[piece.text]
    is_before_number = then is not None and then.kind == "number"
    if is_before_number and (_is_joined(then) or piece.text in _ALSO_WORDS):
        return None  # 12v5 is a code, and 5 in 1 no length
    if piece.before and piece.text in JOINED_ONLY:
        return None
    return UNITS[piece.text]


def _is_joined(piece: _Piece | None) -> bool:
    return piece is not None and not piece.before


def _at(pieces: list[_Piece], index: int) -> _Piece | None:
    return pieces[index] if index < len(pieces) else None


def _code(pieces: list[_Piece], index: int) -> tuple[int, str, tuple[str, ...]]:
    """Return a word, or letters and digits that are written together as one code."""
    end = index + 1
    while end < len(pieces) and not pieces[end].before and pieces[end].kind in _CODE:
        end += 1
    parts = [piece.text for piece in pieces[index:end]]
    if len(parts) == 1:
        return 1, _bare(parts[0]), _linked(pieces, index)
    others = (part for part in parts if len(part) > 1 or part.isdecimal())
    return end - index, "".join(parts), tuple(others)


def _linked(pieces: list[_Piece], index: int) -> tuple[str, ...]:
    """Return the joined spelling of what a hyphen ends here: t-shirt is also tshirt.

    Words with a slash between them are two: "tops/tees". Of a code it may be a part.
    """
    piece, last = pieces[index], pieces[max(index - 1, 0)]
    if piece.before not in {"link", "choice"} or index == 0 or last.kind not in _CODE:
        return ()
    if piece.before == "choice" and piece.text.isalpha() and last.text.isalpha():
        return ()
    joined = last.text + piece.text
    return (joined,) if len(joined) <= _SHORT_LINK else ()


def _bare(word: str) -> str:
    """Return a word without a genitive and apostrophes: women's is women."""
    if "'" not in word:
        return word
    return word.removesuffix("'s").replace("'", "")


def _pieces(text: str) -> list[_Piece]:
    pieces: list[_Piece] = []
    end, before = 0, "gap"
    for match in _TOKEN.finditer(text):
        kind = str(match.lastgroup)
        if match.start() > end:
            before = "gap"  # something that belongs to no word
        end = match.end()
        if kind in {"link", "gap"}:
            if kind == "link" and not _CHOICES.isdisjoint(match.group()):
                kind = "choice"
            before = kind if kind == "gap" or not before else before
            continue
        if kind == "cjk":
            pieces.extend(_Piece("cjk", two, "gap") for two in _pairs(match.group()))
            before = "gap"
            continue
        pieces.append(_Piece(kind, match.group(), before))
        before = ""
    return pieces


def _pairs(run: str) -> list[str]:
    """Return each two neighbours of a text without blanks: no dictionary is needed."""
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]
