"""Vocabulary: fuzzy and prefix lookup of the catalog's words.

Edit distance counts a transposition as one edit. The maximum depends on the length of the
indexed word: none up to 4 letters, one from 5 to 8, two from 9. Beside a known word, it is
two from 6. Codes and numbers are never corrected.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

import tantivy

from productrecs.core.cache_registry import BoundedCache, Cache
from productrecs.engines.text.index_schema import COUNT, REVERSED, WORD
from productrecs.engines.text.tokenizer import is_code

ONE_EDIT_FROM: Final = 5
TWO_EDITS_FROM: Final = 9
SECOND_EDIT_FROM: Final = 6
_SECOND: Final = 3  # cache key beside the distances 1 and 2
_MAX_FOUND: Final = 64
_MIN_START: Final = 3
_ENTRY_BYTES: Final = 600


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
    allowed = 0 if len(word) < ONE_EDIT_FROM else 1 if len(word) < TWO_EDITS_FROM else 2
    return abs(len(typed) - len(word)) <= allowed and edit_distance(typed, word) <= allowed


def edit_distance(one: str, other: str) -> int:
    """Return the edit distance; a transposition of neighbours is one edit."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        last, before, row = before, row, [i]
        for j, b in enumerate(other, 1):
            edit_cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                edit_cost = min(edit_cost, last[j - 2] + 1)
            row.append(edit_cost)
    return row[-1]


class Vocabulary:
    """The words of one index, in their original spelling; thread-safe."""

    def __init__(self, searcher: tantivy.Searcher, schema: tantivy.Schema) -> None:
        """Look words up in the vocabulary index, which must not change."""
        self.size: int = searcher.num_docs
        self._searcher = searcher
        self._schema = schema
        self._cache: BoundedCache[tuple[str, int], list[FuzzyMatch]] = BoundedCache(
            Cache.SPELLINGS, _ENTRY_BYTES
        )

    def read_on(self, searcher: tantivy.Searcher) -> "Vocabulary":
        """Return the vocabulary of `searcher`: this one, if no word was added.

        Words are never deleted from an index, so an equal count means equal words.
        """
        if searcher.num_docs == self.size:
            return self
        return Vocabulary(searcher, self._schema)

    def has(self, word: str) -> bool:
        """Return whether the index has ever contained exactly this word."""
        return bool(word) and self._searcher.doc_freq(WORD, word) > 0

    def splits(self, word: str, cuts: Iterable[int]) -> list[tuple[str, str]]:
        """Return the parts of a word at each of `cuts` where both are catalog words."""
        valid_starts = [at for at in cuts if self.has(word[:at])]
        return [(word[:at], word[at:]) for at in valid_starts if self.has(word[at:])]

    def near(self, word: str, distance: int) -> list[FuzzyMatch]:
        """Return corrections of `word` within an edit distance of 1 or 2."""
        found = self._cache.get((word, distance))
        if found is None:
            found = self._cache.put((word, distance), self._nearest(word, distance))
        return found

    def second_edit_corrections(self, word: str) -> list[FuzzyMatch]:
        """Return words of 6 to 8 letters two edits from `word` with the same beginning."""
        if is_code(word) or not SECOND_EDIT_FROM <= len(word) <= TWO_EDITS_FROM:
            return []
        found = self._cache.get((word, _SECOND))
        if found is None:
            candidates = self._found(self._query(word, 2, prefix=False), _MAX_FOUND)
            found = [
                FuzzyMatch(one, 2, same_start=True)
                for one in candidates
                if SECOND_EDIT_FROM <= len(one) < TWO_EDITS_FROM
                and one[0] == word[0]
                and not is_code(one)
            ]
            self._cache.put((word, _SECOND), found)
        return found

    def completions(self, start: str, limit: int) -> list[str]:
        """Return the most frequent words that begin with `start`, without itself."""
        if not start:
            return []
        found = self._found(self._query(start, 0, prefix=True), limit + 1)
        return [one for one in found if one != start][:limit]

    def words_ending_with(self, end: str, limit: int) -> list[str]:
        """Return the most frequent words that end with `end`, without itself."""
        query = tantivy.Query.fuzzy_term_query(
            self._schema, REVERSED, end[::-1], distance=0, prefix=True
        )
        return [one for one in self._found(query, limit + 1) if one != end][:limit]

    def mistyped_completions(self, start: str, limit: int) -> list[str]:
        """Return the most frequent words whose beginning is one edit from `start`."""
        if is_code(start) or len(start) < ONE_EDIT_FROM - 1:
            return []
        query = self._query(start, 1, prefix=True)
        return [
            one
            for one in self._found(query, limit)
            if len(one) >= ONE_EDIT_FROM and one[0] == start[0] and not is_code(one)
        ]

    def _nearest(self, word: str, distance: int) -> list[FuzzyMatch]:
        min_length = ONE_EDIT_FROM if distance == 1 else TWO_EDITS_FROM
        if is_code(word) or len(word) < min_length - distance:
            return []
        one_edit_words = {word}
        if distance > 1:
            one_edit_words.update(one.word for one in self.near(word, distance - 1))
        found = self._found(self._query(word, distance, prefix=False), _MAX_FOUND)
        return [
            FuzzyMatch(one, distance, one[0] == word[0])
            for one in found
            if len(one) >= min_length and one not in one_edit_words and not is_code(one)
        ]

    def _query(self, word: str, distance: int, *, prefix: bool) -> tantivy.Query:
        return tantivy.Query.fuzzy_term_query(
            self._schema, WORD, word, distance=distance, prefix=prefix
        )

    def _found(self, query: tantivy.Query, limit: int) -> list[str]:
        searcher = self._searcher
        hits = searcher.search(query, limit, count=False, order_by_field=COUNT).hits
        return [searcher.doc(address)[WORD][0] for _, address in hits]

    def memory_bytes(self) -> int:
        """Return the approximate size of the cache."""
        return self._cache.memory_bytes()
