"""Text folding: removes case, accents and markup before texts are compared."""

import html
import re
import unicodedata
from typing import Final

_TAG: Final = re.compile(r"<[/!a-zA-Z][^<>]{0,2000}>")
# Letters that no decomposition folds, and the many marks people write for feet, inches,
# apostrophes, times and fractions.
_LETTERS: Final = (
    "\u00df:ss \u00e6:ae \u0153:oe \u00f8:o \u0111:d \u00f0:d \u0142:l \u0131:i \u00fe:th"
)
_APOSTROPHES: Final = "\u2019\u2018\u2032`\u00b4\u02bc"
_QUOTES: Final = "\u201d\u201c\u2033\u201e\u00a8"
_FRACTIONS: Final = frozenset("\u00bd\u00bc\u00be\u2153\u2154\u215b\u215c\u215d\u215e")
_FOLDED: Final = str.maketrans(
    dict(one.split(":") for one in _LETTERS.split())
    | dict.fromkeys(_APOSTROPHES, "'")
    | dict.fromkeys(_QUOTES, '"')
    | {"\u00d7": " x ", "\u2044": "/"}
    | {"\u0640": ""}  # only makes an Arabic word longer
    | {chr(one): chr(one - 0x60) for one in range(0x30A1, 0x30F7)}  # kana are one
)


def fold_text(text: str) -> str:
    """Return `text` without markup, case and accents, its quotes in plain spelling."""
    text = strip_markup(text).lower()
    if text.isascii():
        return text.replace("''", '"')
    # A fraction in one sign is separate: 1½ is one and a half.
    text = "".join(f" {one}" if one in _FRACTIONS else one for one in text)
    text = unicodedata.normalize("NFKD", text.translate(_FOLDED)).translate(_FOLDED)
    plain = "".join(one for one in text if not unicodedata.combining(one))
    return plain.lower().replace("''", '"')  # a bold A is an A only now


def strip_markup(text: str) -> str:
    """Return `text` as a page would show it: its entities read, its tags left out."""
    if "&" in text:
        text = html.unescape(text)
    return _TAG.sub(" ", text) if "<" in text else text
