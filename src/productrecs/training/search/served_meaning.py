"""Served semantic space: one store's space in one process, and query embeddings."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from productrecs.core.cache_registry import BoundedCache, Cache
from productrecs.engines.arrays import Bools
from productrecs.engines.text.query_interpreter import ReadWord
from productrecs.engines.text.search_run import IndexHits, IndexQuery
from productrecs.engines.text.semantic_fusion import (
    FUSED_BELOW,
    MAX_SIMILAR,
    fuse_by_meaning,
)
from productrecs.engines.text.semantic_space import SemanticSpace, SimilarProducts, Vectors
from productrecs.engines.text.tokenizer import is_code
from productrecs.records.pictures.onnx_model_file import ModelFileError
from productrecs.training.search.meaning_files import read_space, space_stamp
from productrecs.training.search.text_embedder import TextEmbedder

_log = logging.getLogger(__name__)

_MIN_LETTERS: Final = 3  # minimum length of a meaningful word
_NO_PRODUCTS: Final = SimilarProducts([], [])


class EmbeddedQuery(NamedTuple):
    """A query as a vector, and whether the model knows its words."""

    vector: Vectors
    is_known: bool


class QueryEmbedder:
    """Embeddings of queries, cached; one in a process, safe to use from any thread."""

    def __init__(self, embedder: TextEmbedder) -> None:
        """Start with an empty cache."""
        self.embedder = embedder
        self._queries: BoundedCache[str, EmbeddedQuery] = BoundedCache(Cache.QUERY_VECTORS)

    def embed(self, text: str) -> "EmbeddedQuery":
        """Return the vector of a query; takes 1.3 ms if it is not cached.

        Raises:
            ModelFileError: when the model cannot be run.
        """
        found = self._queries.get(text)
        if found is None:
            vector, is_known = (
                self.embedder.embed([text])[0],
                self.embedder.knows_word(text),
            )
            found = self._queries.put(text, EmbeddedQuery(vector, is_known))
        return found


class ServedMeaning:
    """One store's semantic space; one thread refreshes it, any number search it."""

    def __init__(self, folder: Path, queries: QueryEmbedder) -> None:
        """Start without a space; `refresh` reads it."""
        self._folder = folder
        self._queries = queries
        self._space: SemanticSpace | None = None
        self._stamp: tuple[int, int] | None = None

    def refresh(self) -> bool:
        """Read the space if it changed; return whether it did."""
        stamp = space_stamp(self._folder)
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        stored = read_space(self._folder)
        is_same_model = (
            stored is not None and stored.model == self._queries.embedder.model.name
        )
        self._space = stored.space if stored is not None and is_same_model else None
        return True

    def add_similar(self, query: IndexQuery, found: IndexHits) -> IndexHits:
        """Return the hits plus similar products, if few hits contain every query word.

        A query by product id or sku, or of codes only, adds no similar products.
        """
        if self._space is None or not query.by_meaning or found.exact:
            return found
        has_meaningful_word = any(map(self._is_meaningful, found.words))
        if has_meaningful_word:
            found = replace(found, complete=found.exact)
        min_complete = query.limit if query.min_complete is None else query.min_complete
        if found.complete >= min(FUSED_BELOW, min_complete):
            return found
        limit = min(query.limit, MAX_SIMILAR)
        similar = self._similar(
            found.words, query.visible, limit, is_typed=has_meaningful_word
        )
        return fuse_by_meaning(
            found, similar.items, query.limit, is_meant=has_meaningful_word
        )

    def _similar(
        self, words: Sequence[ReadWord], visible: Bools, limit: int, *, is_typed: bool
    ) -> SimilarProducts:
        """Return products similar to the query as typed, or as corrected if closer."""
        typed = " ".join(one.typed if one.is_corrected else one.read for one in words)
        read = " ".join(one.read for one in words)
        if typed == read or is_typed:
            return self.similar_to(typed, visible, limit)
        as_typed = self.similar_to(typed, visible, limit)
        as_read = self.similar_to(read, visible, limit)
        return max(as_read, as_typed, key=lambda one: max(one.similarities, default=-1.0))

    def similar_to(self, text: str, visible: Bools, limit: int) -> SimilarProducts:
        """Return the visible products whose texts are similar to a text in meaning."""
        space = self._space
        if space is None or not any(map(_is_content_word, text.split())):
            return _NO_PRODUCTS
        try:
            query = self._queries.embed(text)
            return space.nearest(query.vector, visible, limit, is_known=query.is_known)
        except ModelFileError:
            self._discard()
            return _NO_PRODUCTS

    def _is_meaningful(self, word: ReadWord) -> bool:
        """Return whether a word was corrected although the model knows it as typed.

        Example: a store without couches corrects "couches" to "pouches".
        """
        if not word.is_corrected or self._space is None:
            return False
        try:
            return self._queries.embedder.knows_word(word.typed)
        except ModelFileError:
            self._discard()
            return False

    def _discard(self) -> None:
        _log.exception("text model unavailable")
        self._space = None

    def memory_bytes(self) -> int:
        """Return the memory of the vectors."""
        return 0 if self._space is None else self._space.memory_bytes()


def _is_content_word(word: str) -> bool:
    return len(word) >= _MIN_LETTERS and not is_code(word)
