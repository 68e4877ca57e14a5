"""Served meaning: one store's semantic space in one process, and query embeddings."""

import logging
from pathlib import Path
from typing import Final, NamedTuple

from productrecs.core.caches import BoundedCache, Cache
from productrecs.engines.arrays import Bools
from productrecs.engines.text.search_run import IndexHits, IndexQuery
from productrecs.engines.text.semantic_fusion import (
    FUSED_BELOW,
    MOST_SIMILAR,
    fuse_by_meaning,
)
from productrecs.engines.text.semantic_space import SemanticSpace, SimilarProducts, Vectors
from productrecs.engines.text.tokenizer import is_code
from productrecs.records.pictures.onnx_model_file import ModelFileError
from productrecs.training.search.meaning_files import read_space, space_stamp
from productrecs.training.search.text_embedder import TextEmbedder

_log = logging.getLogger(__name__)

_LEAST_LETTERS: Final = 3  # of a word that means something
_NOTHING: Final = SimilarProducts([], [])


class EmbeddedQuery(NamedTuple):
    """A query as a vector, and whether the model knows its words."""

    vector: Vectors
    is_known: bool


class QueryEmbedder:
    """Embeddings of queries, cached; one in a process, safe to use from any thread."""

    def __init__(self, embedder: TextEmbedder) -> None:
        """Remember nothing yet."""
        self.embedder = embedder
        self._queries: BoundedCache[str, EmbeddedQuery] = BoundedCache(Cache.QUERY_VECTORS)

    def embed(self, text: str) -> "EmbeddedQuery":
        """Return the vector of a query: 3 ms the first time.

        Raises:
            ModelFileError: when the model cannot be run.
        """
        found = self._queries.get(text)
        if found is None:
            vector, is_known = self.embedder.embed([text])[0], self.embedder.knows(text)
            found = self._queries.put(text, EmbeddedQuery(vector, is_known))
        return found


class ServedMeaning:
    """One store's products by meaning; one thread refreshes, any number search."""

    def __init__(self, folder: Path, queries: QueryEmbedder) -> None:
        """Begin without a space; `refresh` reads it."""
        self._folder = folder
        self._queries = queries
        self._space: SemanticSpace | None = None
        self._stamp: tuple[int, int] | None = None

    def refresh(self) -> bool:
        """Read the space if it is another; return whether it was."""
        stamp = space_stamp(self._folder)
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        stored = read_space(self._folder)
        is_ours = stored is not None and stored.model == self._queries.embedder.model.name
        self._space = stored.space if stored is not None and is_ours else None
        return True

    def add_similar(self, wanted: IndexQuery, found: IndexHits) -> IndexHits:
        """Return the hits with similar products, where few hold every word of the query.

        A query that names a product by its id or sku, and one of codes alone, means
        nothing else.
        """
        enough = wanted.limit if wanted.enough is None else wanted.enough
        if (
            not wanted.by_meaning
            or found.exact
            or found.complete >= min(FUSED_BELOW, enough)
        ):
            return found
        limit = min(wanted.limit, MOST_SIMILAR)
        similar = self.similar_to(found.read_as, wanted.visible, limit)
        return fuse_by_meaning(found, similar.items, wanted.limit)

    def similar_to(self, text: str, visible: Bools, limit: int) -> SimilarProducts:
        """Return the visible products whose texts are similar to a text in meaning."""
        space = self._space
        if space is None or not any(map(_means_something, text.split())):
            return _NOTHING
        try:
            query = self._queries.embed(text)
            return space.nearest(query.vector, visible, limit, is_known=query.is_known)
        except ModelFileError:
            _log.exception("text model unavailable")
            self._space = None
            return _NOTHING

    def memory_bytes(self) -> int:
        """Return how much memory the vectors take."""
        return 0 if self._space is None else self._space.memory_bytes()


def _means_something(word: str) -> bool:
    return len(word) >= _LEAST_LETTERS and not is_code(word)
