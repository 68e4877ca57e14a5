"""Vocabulary: fuzzy and prefix lookup of the catalog's words, and their frequencies.

Edit distance counts a transposition as one edit. The maximum depends on the length of the
indexed word: none up to 4 letters, one from 5 to 8, two from 9. One more is allowed where a
known word beside it, or its letters (`spelling_likelihood.py`), tell which word is meant.
Codes and numbers are never corrected.

Compound words are split and joined by the same words, without a dictionary:

"Jacke" finds "Winterjacke", and "Winterjacke" finds "Winter Jacke".
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Final, NamedTuple

import tantivy

from productrecs.core.cache_registry import BoundedCache, RegisteredCache
from productrecs.engines.text.index_schema import (
    CATEGORIES,
    CODES,
    DESCRIPTION,
    HEAD,
    TITLE,
    read_new_words,
)
from productrecs.engines.text.packed_words import SHORT_WORD, NearWord, PackedWords
from productrecs.engines.text.tokenizer import is_code

ONE_EDIT_FROM: Final = 5
TWO_EDITS_FROM: Final = 9
_MAX_NEAR: Final = 64
_MIN_START: Final = 3
_ENTRY_BYTES: Final = 600
_NEWER_SHARE: Final = 8  # of all words; more of them are packed with the others


class FuzzyMatch(NamedTuple):
    """A catalog word, its edit distance, and whether the first letters are equal."""

    word: str
    distance: int
    same_start: bool


def may_be_correction(typed: str, word: str, *, is_typing: bool) -> bool:
    """Return whether `word` may correct or, with `is_typing`, complete `typed`."""
    if is_typing and len(typed) >= _MIN_START and word.startswith(typed):
        return True
    if is_code(typed) or is_code(word) or typed[:1] != word[:1]:
        return False
    max_edits = 0 if len(word) < ONE_EDIT_FROM else 1 if len(word) < TWO_EDITS_FROM else 2
    return (
        abs(len(typed) - len(word)) <= max_edits and edit_distance(typed, word) <= max_edits
    )


def edit_distance(first: str, second: str) -> int:
    """Return the edit distance; a transposition of neighbours is one edit."""
    previous_row: list[int] = []
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        row_before_previous, previous_row, row = previous_row, row, [i]
        for j, b in enumerate(second, 1):
            edit_cost = min(
                previous_row[j] + 1, row[j - 1] + 1, previous_row[j - 1] + (a != b)
            )
            if i > 1 and j > 1 and a == second[j - 2] and first[i - 2] == b:
                edit_cost = min(edit_cost, row_before_previous[j - 2] + 1)
            row.append(edit_cost)
    return row[-1]


class Vocabulary:
    """The words of one index, in their original spelling; thread-safe."""

    def __init__(self, parts: Sequence[PackedWords] = (), commits: int = 0) -> None:
        """Look words up in `parts`, which have the words of the first `commits`."""
        self._parts = parts
        self._commits = commits
        self._cache: BoundedCache[tuple[str, int], list[FuzzyMatch]] = BoundedCache(
            RegisteredCache.SPELLINGS, _ENTRY_BYTES
        )

    def with_new_words(self, searcher: tantivy.Searcher) -> "Vocabulary":
        """Return the vocabulary of `searcher`: this one, if no word was added.

        Words are never deleted. New ones are packed apart from the others until they are
        many, since packing takes as long as there are words.

        Raises:
            ValueError: when words are missing in the index.
        """
        if searcher.num_docs == self._commits:
            return self
        added = read_new_words(searcher, self._commits)
        older, newer = self._parts[:1], self._parts[1:]
        for part in newer:
            added = part.product_counts_by_word() | added
        if not older or len(added) * _NEWER_SHARE > len(older[0]):
            for part in older:
                added = part.product_counts_by_word() | added
            older = ()
        return Vocabulary((*older, PackedWords(added)), searcher.num_docs)

    def has(self, word: str) -> bool:
        """Return whether the index has ever contained exactly this word."""
        for part in self._parts:  # noqa: SIM110 - a generator takes as long as the look-up
            if word in part:
                return True
        return False

    def splits_into_known_words(
        self, word: str, cuts: Iterable[int]
    ) -> list[tuple[str, str]]:
        """Return the parts of a word at each of `cuts` where both are catalog words."""
        valid_starts = [at for at in cuts if self.has(word[:at])]
        return [(word[:at], word[at:]) for at in valid_starts if self.has(word[at:])]

    def corrections(self, word: str, distance: int) -> list[FuzzyMatch]:
        """Return corrections of `word` at an edit distance of 1 or 2."""
        min_length = ONE_EDIT_FROM if distance == 1 else TWO_EDITS_FROM
        return [
            match
            for match in self._words_near(word, distance)
            if match.distance == distance and len(match.word) >= min_length
        ]

    def distant_corrections(self, word: str) -> list[FuzzyMatch]:
        """Return words that are too far from `word` to be corrections by themselves.

        Words of 5 to 8 letters two edits away, and of 4 letters one edit away: many words
        have some, so only context or likelihood tells which is meant.
        """
        if not SHORT_WORD - 1 <= len(word) <= TWO_EDITS_FROM + 1:
            return []
        return [
            match
            for match in self._words_near(word, 2)
            if match.distance == 1 + (len(match.word) > SHORT_WORD)
            and len(match.word) < TWO_EDITS_FROM
        ]

    def letter_log_likelihood(self, word: str) -> float:
        """Return the logarithm of the probability of letters, by those of the words."""
        return self._parts[0].letter_model.log_likelihood(word) if self._parts else 0.0

    def completions(self, start: str, limit: int) -> list[str]:
        """Return the most frequent words that begin with `start`, without itself."""
        words = self._most_frequent(PackedWords.words_with_start, start, limit + 1)
        return [word for word in words if word != start][:limit]

    def words_ending_with(self, end: str, limit: int) -> list[str]:
        """Return the most frequent words that end with `end`, without itself."""
        words = self._most_frequent(PackedWords.words_with_end, end, limit + 1)
        return [word for word in words if word != end][:limit]

    def mistyped_completions(self, start: str, limit: int) -> list[str]:
        """Return the most frequent words whose beginning is one edit from `start`."""
        if is_code(start) or len(start) < ONE_EDIT_FROM - 1:
            return []
        return self._most_frequent(PackedWords.words_with_near_start, start, limit)

    def memory_bytes(self) -> int:
        """Return the approximate size of the words and the cache."""
        words = sum(part.memory_bytes() for part in self._parts)
        return words + self._cache.memory_bytes()

    def _words_near(self, word: str, max_distance: int) -> list[FuzzyMatch]:
        """Return the most frequent words near a word; a code has none."""
        matches = self._cache.get((word, max_distance))
        if matches is None:
            parts = () if is_code(word) else self._parts
            near = [part.words_near(word, max_distance, _MAX_NEAR) for part in parts]
            matches = [
                FuzzyMatch(other.word, other.distance, other.word[0] == word[0])
                for other in _merge_most_frequent(near, _MAX_NEAR * max_distance)
            ]
            self._cache.put((word, max_distance), matches)
        return matches

    def _most_frequent(
        self, find: Callable[[PackedWords, str, int], list[NearWord]], text: str, limit: int
    ) -> list[str]:
        by_part = [find(part, text, limit) for part in self._parts]
        return [match.word for match in _merge_most_frequent(by_part, limit)]


def _merge_most_frequent(by_part: Sequence[list[NearWord]], limit: int) -> list[NearWord]:
    """Return the most frequent words of several parts."""
    if len(by_part) == 1:
        return by_part[0]
    return sorted(chain.from_iterable(by_part), key=lambda match: -match.products)[:limit]


_COUNTS_BYTES: Final = 300
_CODE_BYTES: Final = 120


class ProductCountsByField(NamedTuple):
    """The number of products with a stem, by field."""

    title: int
    categories: int
    description: int
    head: int


class DocumentFrequencies:
    """Document frequencies of one index state; thread-safe."""

    def __init__(self, searcher: tantivy.Searcher) -> None:
        """Count in `searcher`, which must not change."""
        self._count = searcher.doc_freq
        self._words: BoundedCache[str, int] = BoundedCache(
            RegisteredCache.TERM_FREQUENCIES, _CODE_BYTES
        )
        self._stems: BoundedCache[str, ProductCountsByField] = BoundedCache(
            RegisteredCache.TERM_FREQUENCIES, _COUNTS_BYTES
        )
        self._codes: BoundedCache[str, int] = BoundedCache(
            RegisteredCache.TERM_FREQUENCIES, _CODE_BYTES
        )

    def counts(self, stem: str) -> ProductCountsByField:
        """Return the number of titles, categories, descriptions and heads with a stem."""
        cached = self._stems.get(stem)
        if cached is None:
            count = self._count
            cached = ProductCountsByField(
                count(TITLE, stem),
                count(CATEGORIES, stem),
                count(DESCRIPTION, stem),
                count(HEAD, stem),
            )
            self._stems.put(stem, cached)
        return cached

    def code_count(self, word: str) -> int:
        """Return the number of products with a word in their id or sku."""
        cached = self._codes.get(word)
        if cached is None:
            cached = self._codes.put(word, self._count(CODES, word))
        return cached

    def frequency(self, word: str, stem: str) -> int:
        """Return the approximate number of products with any form of a word."""
        cached = self._words.get(word)
        if cached is None:
            cached = self._words.put(word, self._frequency(word, stem))
        return cached

    def _frequency(self, word: str, stem: str) -> int:
        stem_counts = self.counts(stem)
        return max(
            stem_counts.title,
            stem_counts.categories,
            stem_counts.description,
            self.code_count(word),
        )

    def memory_bytes(self) -> int:
        """Return the approximate size of the cache."""
        cached = (self._stems, self._codes, self._words)
        return sum(memory.memory_bytes() for memory in cached)


COMPOUNDING_LANGUAGES: Final = frozenset({"de", "nl", "sv", "da", "no", "nb", "nn", "fi"})
"""Languages that write compounds as one word, with the head at the end."""

_MIN_HEAD: Final = 4
_MIN_FIRST: Final = 3
_MIN_UNKNOWN: Final = 4
_LONG_HEAD: Final = 5
_LINKING_LETTERS: Final = ("", "s", "n", "en", "es", "er", "e", "t")
_FORMS: Final = ("", "n", "en", "e", "er", "s", "r", "t")
# Swedish plurals: jacka, jackor; stol, stolar.
_SWEDISH_PLURALS: Final = (("or", "a"), ("a", "or"), ("ar", ""), ("", "ar"))
_MAX_CANDIDATES: Final = 24


def compounds_ending_with(
    word: str, vocabulary: Vocabulary, limit: int, *, is_word_known: bool = True
) -> list[str]:
    """Return the catalog's most frequent compounds that end with a form of `word`.

    The first part must be a word of the catalog, or begin several of its words: a "Motor"
    is no "Tor". If no product has `word`, and it is long or ends several words, any first
    part is valid: the only "Brille" of a shop may be a "Sonnenbrille".
    """
    compounds: dict[str, None] = {}
    other_compounds: dict[str, None] = {}
    for head in _inflected_forms(word):
        for compound in vocabulary.words_ending_with(head, _MAX_CANDIDATES):
            first = compound[: len(compound) - len(head)]
            if _is_first_part(first, vocabulary):
                compounds.setdefault(compound)
            elif len(first) >= _MIN_UNKNOWN and first.isalpha():
                other_compounds.setdefault(compound)
    if not is_word_known and (
        len(word) >= _LONG_HEAD or len(compounds) + len(other_compounds) > 1
    ):
        compounds |= other_compounds
    return list(compounds)[:limit]


def split_compound(word: str, vocabulary: Vocabulary) -> tuple[str, str] | None:
    """Return the two catalog words of a compound that the catalog lacks, if any.

    Of several splits, the one with the longest last part is used.
    """
    for cut in range(_MIN_FIRST, len(word) - _MIN_HEAD + 1):
        head = word[cut:]
        if not vocabulary.has(head) and len(vocabulary.words_ending_with(head, 2)) < 2:  # noqa: PLR2004
            continue  # neither a word nor the end of several
        first = _known_form_of_compound_start(word[:cut], vocabulary)
        if first is not None:
            return first, head
    return None


def possible_compounds(word: str, other: str) -> list[str]:
    """Return the compounds that two words may form, in either order."""
    if not (word.isalpha() and other.isalpha()):
        return []
    return [
        first + link + head
        for first, head in ((word, other), (other, word))
        if len(first) >= _MIN_FIRST and len(head) >= _MIN_HEAD
        for link in _LINKING_LETTERS
    ]


def _inflected_forms(word: str) -> list[str]:
    """Return a word with and without inflectional endings."""
    if len(word) < _MIN_HEAD or not word.isalpha():
        return []
    without_ending = [
        word.removesuffix(end) for end in _FORMS if end and word.endswith(end)
    ]
    stems = [stem for stem in (word, *without_ending) if len(stem) >= _MIN_HEAD - 1]
    swedish_plurals = [
        word.removesuffix(end) + other
        for end, other in _SWEDISH_PLURALS
        if word.endswith(end) and len(word) - len(end) >= _MIN_HEAD
    ]
    forms = [stem + end for stem in stems[:2] for end in _FORMS]
    return list(dict.fromkeys([*forms, *swedish_plurals]))


def _is_first_part(first: str, vocabulary: Vocabulary) -> bool:
    if len(first) < _MIN_FIRST or not first.isalpha():
        return False
    if _known_form_of_compound_start(first, vocabulary) is not None:
        return True
    return len(vocabulary.completions(first, 2)) > 1


def _known_form_of_compound_start(first: str, vocabulary: Vocabulary) -> str | None:
    """Return the word of a first part, without linking letters."""
    for link in _LINKING_LETTERS:
        word = first.removesuffix(link) if link else first
        if (link and word == first) or len(word) < _MIN_FIRST:
            continue
        if vocabulary.has(word):
            return word
    return None
