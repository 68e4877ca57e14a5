"""Compound words: splits and joins them with the catalog's own vocabulary, no dictionary.

"Jacke" finds "Winterjacke", and "Winterjacke" finds "Winter Jacke".
"""

from typing import Final

from productrecs.engines.text.vocabulary import Vocabulary

COMPOUNDING_LANGUAGES: Final = frozenset({"de", "nl", "sv", "da", "no", "nb", "nn", "fi"})
"""Languages that write compounds as one word, with the head at the end."""

_MIN_HEAD: Final = 4
_MIN_FIRST: Final = 3
_MIN_UNKNOWN: Final = 4
_LONG_HEAD: Final = 5
_LINKS: Final = ("", "s", "n", "en", "es", "er", "e", "t")
_FORMS: Final = ("", "n", "en", "e", "er", "s", "r", "t")
# Swedish plurals: jacka, jackor; stol, stolar.
_NORTHERN: Final = (("or", "a"), ("a", "or"), ("ar", ""), ("", "ar"))
_MAX_CANDIDATES: Final = 24


def compounds_ending_with(
    word: str, vocabulary: Vocabulary, limit: int, *, is_known: bool = True
) -> list[str]:
    """Return the catalog's most frequent compounds that end with a form of `word`.

    The first part must be a word of the catalog, or begin several of its words: a "Motor"
    is no "Tor". If no product has `word`, and it is long or ends several words, any first
    part is valid: the only "Brille" of a shop may be a "Sonnenbrille".
    """
    found: dict[str, None] = {}
    other_compounds: dict[str, None] = {}
    for head in _forms(word):
        for one in vocabulary.words_ending_with(head, _MAX_CANDIDATES):
            first = one[: len(one) - len(head)]
            if _is_first(first, vocabulary):
                found.setdefault(one)
            elif len(first) >= _MIN_UNKNOWN and first.isalpha():
                other_compounds.setdefault(one)
    if not is_known and (len(word) >= _LONG_HEAD or len(found) + len(other_compounds) > 1):
        found |= other_compounds
    return list(found)[:limit]


def split_compound(word: str, vocabulary: Vocabulary) -> tuple[str, str] | None:
    """Return the two catalog words of a compound that the catalog lacks, if any.

    Of several splits, the one with the longest last part is used.
    """
    for cut in range(_MIN_FIRST, len(word) - _MIN_HEAD + 1):
        head = word[cut:]
        if not vocabulary.has(head) and len(vocabulary.words_ending_with(head, 2)) < 2:  # noqa: PLR2004
            continue  # neither a word nor the end of several
        first = _catalog_form(word[:cut], vocabulary)
        if first is not None:
            return first, head
    return None


def joined_compounds(one: str, other: str) -> list[str]:
    """Return the compounds that two words may form, in either order."""
    if not (one.isalpha() and other.isalpha()):
        return []
    return [
        first + link + head
        for first, head in ((one, other), (other, one))
        if len(first) >= _MIN_FIRST and len(head) >= _MIN_HEAD
        for link in _LINKS
    ]


def _forms(word: str) -> list[str]:
    """Return a word with and without inflectional endings."""
    if len(word) < _MIN_HEAD or not word.isalpha():
        return []
    without_ending = [
        word.removesuffix(end) for end in _FORMS if end and word.endswith(end)
    ]
    stems = [one for one in (word, *without_ending) if len(one) >= _MIN_HEAD - 1]
    northern = [
        word.removesuffix(end) + other
        for end, other in _NORTHERN
        if word.endswith(end) and len(word) - len(end) >= _MIN_HEAD
    ]
    forms = [stem + end for stem in stems[:2] for end in _FORMS]
    return list(dict.fromkeys([*forms, *northern]))


def _is_first(first: str, vocabulary: Vocabulary) -> bool:
    if len(first) < _MIN_FIRST or not first.isalpha():
        return False
    if _catalog_form(first, vocabulary) is not None:
        return True
    return len(vocabulary.completions(first, 2)) > 1


def _catalog_form(first: str, vocabulary: Vocabulary) -> str | None:
    """Return the word of a first part, without linking letters."""
    for link in _LINKS:
        word = first.removesuffix(link) if link else first
        if (link and word == first) or len(word) < _MIN_FIRST:
            continue
        if vocabulary.has(word):
            return word
    return None
