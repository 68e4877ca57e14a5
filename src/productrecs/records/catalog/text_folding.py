"""Text folding: compares words without case and accents."""

import re
import unicodedata
from typing import Final

_WORD: Final = re.compile(r"\w+")


def fold_text(text: str) -> str:
    """Return a text as it is compared: no case, no accents, blanks around taken off."""
    if text.isascii():
        return text.strip().lower()
    apart = unicodedata.normalize("NFKD", text.strip().casefold())
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


def folded_words(text: str) -> frozenset[str]:
    """Return the words of a text as they are compared; none for one without any."""
    return frozenset(_WORD.findall(fold_text(text)))
