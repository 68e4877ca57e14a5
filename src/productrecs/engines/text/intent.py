"""When are two queries about the same? When their words are, in any form and order."""

from productrecs.engines.text.language import Language
from productrecs.engines.text.words import words_of


def intent_of(query: str, language: Language) -> str:
    """Return what spellings of one query share: its stems in one order, blanks between.

    Empty for a query without words.
    """
    words = language.without_fillers(words_of(query))
    return " ".join(sorted(set(language.stems(words))))
