"""Served index: a store's published index in one process, with its semantic spaces."""

import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from productrecs.core.ids import StoreId
from productrecs.engines.array_types_and_sorting import Bools, Ints
from productrecs.engines.text.analysed_query import (
    AnalysedQuery,
)
from productrecs.engines.text.index_schema import FORMAT, BrokenIndexError
from productrecs.engines.text.language_detection_and_stemming import (
    LanguageAnalyzer,
)
from productrecs.engines.text.product_word_translations import product_words
from productrecs.engines.text.query_interpreter import (
    NO_SYNONYMS,
    QueryTerm,
    Synonyms,
)
from productrecs.engines.text.query_suggestions import Mask, QuerySuggestions
from productrecs.engines.text.search_index import IndexHits, IndexQuery, SearchIndex
from productrecs.engines.text.semantic_space import RankedSimilarProducts
from productrecs.storage.files.search_index_files import (
    DamagedIndexError,
    IndexCopy,
    IndexFolder,
    IndexManifest,
)
from productrecs.training.search.store_semantic_spaces import (
    NO_PRODUCTS,
    StoreSemanticSpaces,
)

_log = logging.getLogger(__name__)


def index_folder(root: Path, store_id: StoreId) -> IndexFolder:
    """Return the folder of one store's indexes below `root`."""
    return IndexFolder(root / store_id)


_NO_LANGUAGE: Final = LanguageAnalyzer("")
_NO_HITS: Final = IndexHits([], [])


class ServedIndex:
    """One store's index in one process; one thread refreshes it, any number search it."""

    def __init__(
        self, folder: IndexFolder, meaning: StoreSemanticSpaces | None = None
    ) -> None:
        """Start without an index; `refresh` opens it. `meaning` adds similar products."""
        self._folder = folder
        self._meaning = meaning
        self._index: SearchIndex | None = None
        self._generation, self._path = "", Path()
        self._copy = IndexCopy(folder)
        self._stamp: tuple[int, int, int] | None = None
        self._version = object()

    def with_index_in(self, folder: IndexFolder) -> "ServedIndex":
        """Return the index in another folder, with the same products of similar meaning."""
        other = ServedIndex(folder, self._meaning)
        other.refresh()
        return other

    @property
    def version(self) -> object:
        """An object that is replaced after every change."""
        return self._version

    @property
    def language(self) -> LanguageAnalyzer:
        """The language of the stemmer; none without an index."""
        return self._index.language if self._index else _NO_LANGUAGE

    def memory_bytes(self) -> int:
        """Return the approximate memory of this index; its files are memory-mapped."""
        words = self._index.memory_bytes() if self._index is not None else 0
        return words + (self._meaning.memory_bytes() if self._meaning is not None else 0)

    def refresh(self) -> None:
        """Open the latest commit if there is a new one; an unreadable one is skipped."""
        stamp = self._folder.stamp()
        if self._meaning is not None and self._meaning.refresh():
            self._version = object()
        if stamp is None or stamp == self._stamp:
            return
        manifest = self._folder.serving_manifest()
        if manifest is None or manifest.format != FORMAT:
            return  # of another release; a new one is being built
        try:
            self._open_or_reload_copy(manifest)
        except (BrokenIndexError, DamagedIndexError):
            self._folder.mark_damaged(manifest.generation)
            _log.exception("search index rejected")
        self._stamp, self._version = stamp, object()

    def analyse(self, text: str) -> AnalysedQuery:
        """Return the analysis of a query in the language of the serving index."""
        return AnalysedQuery.of(text, self.language)

    def find(self, query: IndexQuery) -> IndexHits:
        """Return hits by word, plus similar products if few; none without an index.

        Raises:
            BrokenIndexError: when the files are damaged; a rebuild is started.
        """
        with self._use_index() as index:
            hits = _NO_HITS if index is None else index.find(query)
        if self._meaning is None or index is None:
            return hits
        return self._meaning.add_similar_if_few(query, hits)

    def similar_to(self, text: str, visible: Bools, limit: int) -> RankedSimilarProducts:
        """Return the visible products that mean what a text says; none without a model."""
        if self._meaning is None:
            return NO_PRODUCTS
        return self._meaning.similar_to(text, visible, limit)

    def items_with_phrase_in_title(self, phrases: frozenset[str]) -> Ints:
        """Return the numbers of the products whose title has one of the phrases.

        Raises:
            BrokenIndexError: when the files are damaged; a rebuild is started.
        """
        with self._use_index() as index:
            return (
                np.zeros(0, np.int64)
                if index is None
                else index.items_with_phrase_in_title(phrases)
            )

    def has_code(self, text: str) -> bool:
        """Return whether a text is the id, SKU or GTIN of a product."""
        return self._index is not None and self._index.has_code(text)

    def interpret(
        self, query: AnalysedQuery, synonyms: Synonyms = NO_SYNONYMS
    ) -> list[QueryTerm]:
        """Return the analysed `query`, see `SearchIndex.interpret`.

        Raises:
            BrokenIndexError: when the files are damaged; a rebuild is started.
        """
        with self._use_index() as index:
            return index.interpret(query, synonyms) if index is not None else []

    def suggest(
        self,
        query: AnalysedQuery,
        limit: int,
        visible: Mask,
        synonyms: Synonyms = NO_SYNONYMS,
    ) -> QuerySuggestions:
        """Return suggestions for `query`, see `SearchIndex.suggest`.

        Raises:
            BrokenIndexError: when the files are damaged; a rebuild is started.
        """
        with self._use_index() as index:
            if index is None:
                return QuerySuggestions([], None)
            return index.suggest(query, limit, visible, synonyms)

    @contextlib.contextmanager
    def _use_index(self) -> Iterator[SearchIndex | None]:
        index, generation = self._index, self._generation
        try:
            yield index
        except BrokenIndexError:
            self._folder.mark_damaged(generation)
            raise

    def _open_or_reload_copy(self, manifest: IndexManifest) -> None:
        try:
            path = self._copy.copy_new_files(manifest)
        except OSError:
            _log.exception("search index copy failed")
            path = self._copy.verify_and_link_files(manifest)
        if self._index is not None and path == self._path:
            self._index.reload()
            return
        product_words()  # takes a tenth of a second the first time
        self._index = SearchIndex(path, manifest.language)
        self._generation, self._path = manifest.generation, path
        self._copy.remove_copies_except(path)
