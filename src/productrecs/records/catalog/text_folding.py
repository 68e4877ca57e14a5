"""Text folding: removes case and accents for comparisons."""

import re
import unicodedata
from typing import Final

_WORD: Final = re.compile(r"\w+")


def fold_text(text: str) -> str:
    """Return a text without case, accents and surrounding spaces."""
    if text.isascii():
        return text.strip().lower()
    decomposed = unicodedata.normalize("NFKD", text.strip().casefold())
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


def folded_words(text: str) -> frozenset[str]:
    """Return the folded words of a text; empty without any."""
    return frozenset(_WORD.findall(fold_text(text)))
