"""Document frequency: how many products hold a word, by field, cached per index state."""

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

_HOLDING_BYTES: Final = 300
_CODE_BYTES: Final = 120


class DocumentCounts(NamedTuple):
    """How many products hold a stem in each of their texts."""

    title: int
    categories: int
    description: int
    head: int


class DocumentFrequencies:
    """The words of products in one state of an index; any number of threads may ask."""

    def __init__(self, searcher: tantivy.Searcher) -> None:
        """Count in `searcher`, which stays as it is."""
        self._count = searcher.doc_freq
        self._words: BoundedCache[str, int] = BoundedCache(
            Cache.TERM_FREQUENCIES, _CODE_BYTES
        )
        self._stems: BoundedCache[str, DocumentCounts] = BoundedCache(
            Cache.TERM_FREQUENCIES, _HOLDING_BYTES
        )
        self._codes: BoundedCache[str, int] = BoundedCache(
            Cache.TERM_FREQUENCIES, _CODE_BYTES
        )

    def holding(self, stem: str) -> DocumentCounts:
        """Return in how many titles, categories, descriptions and heads a stem is."""
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
        """Return how many products have a word in their id or sku."""
        cached = self._codes.get(word)
        if cached is None:
            cached = self._codes.put(word, self._count(CODES, word))
        return cached

    def frequency(self, word: str, stem: str) -> int:
        """Return about how many products hold a word in any of its forms."""
        cached = self._words.get(word)
        if cached is None:
            cached = self._words.put(word, self._frequency(word, stem))
        return cached

    def _frequency(self, word: str, stem: str) -> int:
        held = self.holding(stem)
        return max(held.title, held.categories, held.description, self.codes(word))

    def memory_bytes(self) -> int:
        """Return about how much is remembered."""
        cached = (self._stems, self._codes, self._words)
        return sum(memory.memory_bytes() for memory in cached)
