"""Document frequency: the number of products with a word, by field; cached per commit."""

from typing import Final, NamedTuple

import tantivy

from productrecs.core.cache_registry import BoundedCache, Cache
from productrecs.engines.text.index_schema import (
    CATEGORIES,
    CODES,
    DESCRIPTION,
    HEAD,
    TITLE,
)

_COUNTS_BYTES: Final = 300
_CODE_BYTES: Final = 120


class DocumentCounts(NamedTuple):
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
            Cache.TERM_FREQUENCIES, _CODE_BYTES
        )
        self._stems: BoundedCache[str, DocumentCounts] = BoundedCache(
            Cache.TERM_FREQUENCIES, _COUNTS_BYTES
        )
        self._codes: BoundedCache[str, int] = BoundedCache(
            Cache.TERM_FREQUENCIES, _CODE_BYTES
        )

    def counts(self, stem: str) -> DocumentCounts:
        """Return the number of titles, categories, descriptions and heads with a stem."""
        cached = self._stems.get(stem)
        if cached is None:
            count = self._count
            cached = DocumentCounts(
                count(TITLE, stem),
                count(CATEGORIES, stem),
                count(DESCRIPTION, stem),
                count(HEAD, stem),
            )
            self._stems.put(stem, cached)
        return cached

    def codes(self, word: str) -> int:
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
            self.codes(word),
        )

    def memory_bytes(self) -> int:
        """Return the approximate size of the cache."""
        cached = (self._stems, self._codes, self._words)
        return sum(memory.memory_bytes() for memory in cached)
