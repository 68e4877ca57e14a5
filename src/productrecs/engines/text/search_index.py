"""Search index of one store on disk: thread-safe readers and one writer."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final, Self

import tantivy

from productrecs.engines.text.analysed_query import AnalysedQuery
from productrecs.engines.text.index_schema import (
    COUNT,
    NUMBER,
    REVERSED,
    WORD,
    ProductText,
    index_document,
    products_schema,
    register_tokenizers,
    translate_index_errors,
    words_schema,
)
from productrecs.engines.text.query_interpreter import (
    NO_SYNONYMS,
    QueryInterpreter,
    QueryTerm,
    Synonyms,
)
from productrecs.engines.text.query_suggestions import Mask, QuerySuggestions, suggest
from productrecs.engines.text.search_run import (
    IndexHits,
    IndexQuery,
    Relaxed,
    SearchRun,
)
from productrecs.engines.text.stemming import LanguageAnalyzer
from productrecs.engines.text.vocabulary import Vocabulary
from productrecs.engines.text.word_interpreter import WordInterpreter

__all__ = ["IndexHits", "IndexQuery", "IndexWriter", "Relaxed", "SearchIndex"]

PRODUCTS, WORDS = "products", "words"
"""The folders of an index: products and vocabulary."""

_MIN_HEAP: Final = 15_000_000
_WORDS_HEAP: Final = 80_000_000
"""Minimum memory of the writer: large batches give few, fast segments."""


class SearchIndex:
    """An index opened for reading; thread-safe."""

    def __init__(self, folder: Path, language: str) -> None:
        """Open the index below `folder`.

        Raises:
            BrokenIndexError: when it cannot be read.
        """
        with translate_index_errors(f"the index {folder.name} cannot be opened"):
            self._products = register_tokenizers(tantivy.Index.open(str(folder / PRODUCTS)))
            self._words = tantivy.Index.open(str(folder / WORDS))
            self._products.config_reader("manual")
            self._words.config_reader("manual")
            self._words.reload()
            self._products.reload()
            words = self._words.searcher()
            self.language = LanguageAnalyzer(language)
            self._reader = self._state(Vocabulary(words, self._words.schema))

    def __len__(self) -> int:
        """Return the number of indexed products."""
        return self._reader.products

    def reload(self) -> None:
        """Open the last commit.

        Raises:
            BrokenIndexError: when it cannot be read; the previous commit still serves.
        """
        with translate_index_errors("the index cannot be read on"):
            self._words.reload()
            self._products.reload()
            words = self._words.searcher()
            self._reader = self._state(self._reader.vocabulary.read_on(words))

    def analyse(self, text: str) -> AnalysedQuery:
        """Return the analysis of a query in the language of this index."""
        return AnalysedQuery.of(text, self.language)

    def find(self, query: IndexQuery) -> IndexHits:
        """Return the hits.

        Products with this id or sku come first, then those with every word, then, if these
        are too few, those with some. A query without any known word finds nothing.

        Raises:
            BrokenIndexError: when the files are damaged.
        """
        with translate_index_errors("the index cannot be searched"):
            return SearchRun(self._interpreter(query.synonyms), query).run()

    def interpret(
        self, query: AnalysedQuery, synonyms: Synonyms = NO_SYNONYMS
    ) -> list[QueryTerm]:
        """Return the keywords of a query, with their readings in this index.

        Raises:
            BrokenIndexError: when the files are damaged.
        """
        with translate_index_errors("the index cannot be searched"):
            return self._interpreter(synonyms).slots(query)

    def suggest(
        self,
        query: AnalysedQuery,
        limit: int,
        visible: Mask,
        synonyms: Synonyms = NO_SYNONYMS,
    ) -> QuerySuggestions:
        """Return completions and the spelling correction of a query.

        Raises:
            BrokenIndexError: when the files are damaged.
        """
        with translate_index_errors("the index cannot be searched"):
            return suggest(self._interpreter(synonyms), query, limit, visible)

    def memory_bytes(self) -> int:
        """Return the approximate memory of caches, without memory-mapped files."""
        return self._reader.memory_bytes()

    def _interpreter(self, synonyms: Synonyms) -> QueryInterpreter:
        return QueryInterpreter(self._reader, synonyms)

    def _state(self, vocabulary: Vocabulary) -> WordInterpreter:
        schema = self._products.schema
        searcher = self._products.searcher()
        return WordInterpreter(searcher, schema, vocabulary, self.language)


class IndexWriter:
    """The single writer of an index; changes are visible after `commit`."""

    def __init__(self, folder: Path, language: str, heap: int = _MIN_HEAP) -> None:
        """Open the index below `folder`, or create an empty one.

        Raises:
            BrokenIndexError: when it cannot be read, or another process writes it.
        """
        self._language = LanguageAnalyzer(language)
        with translate_index_errors(f"the index {folder.name} cannot be written"):
            for name in (PRODUCTS, WORDS):
                (folder / name).mkdir(parents=True, exist_ok=True)
            products = tantivy.Index(products_schema(), str(folder / PRODUCTS))
            self._words_index = tantivy.Index(words_schema(), str(folder / WORDS))
            self._products = register_tokenizers(products).writer(heap, 1)
            self._words = self._words_index.writer(_WORDS_HEAP, 1)
            self._words_index.config_reader("manual")
        self._new_words: dict[str, int] = {}

    def put(self, products: Iterable[ProductText], *, are_new: bool = False) -> None:
        """Add products; replaces documents of the same numbers."""
        with translate_index_errors("the index cannot be written"):
            for product in products:
                if not are_new:
                    self._products.delete_documents_by_term(NUMBER, product.number)
                indexed = index_document(product, self._language)
                self._products.add_document(indexed.document)
                for word in dict.fromkeys(indexed.words):
                    self._new_words[word] = self._new_words.get(word, 0) + 1

    def remove(self, numbers: Iterable[int]) -> None:
        """Delete products."""
        with translate_index_errors("the index cannot be written"):
            for number in numbers:
                self._products.delete_documents_by_term(NUMBER, number)

    def commit(self, *, with_words: bool = True) -> None:
        """Publish the added and deleted products to readers.

        Without words, their vocabulary waits for the next commit with words: until then,
        misspelled and unfinished words do not match the new products.
        """
        with translate_index_errors("the index cannot be written"):
            if with_words:
                self._add_words()
                self._words.commit()
            self._products.commit()

    def close(self) -> None:
        """Wait for segment merges, and close the index."""
        with translate_index_errors("the index cannot be written"):
            self._words.wait_merging_threads()
            self._products.wait_merging_threads()

    def __enter__(self) -> Self:
        """Write."""
        return self

    def __exit__(self, *_: object) -> None:
        """Release the index."""
        self.close()

    def _add_words(self) -> None:
        """Add the words that the vocabulary index lacks."""
        self._words_index.reload()
        searcher = self._words_index.searcher()
        new = {
            word: count
            for word, count in self._new_words.items()
            if word and searcher.doc_freq(WORD, word) == 0
        }
        for word, count in new.items():
            one = tantivy.Document()
            one.add_text(WORD, word)
            one.add_text(REVERSED, word[::-1])
            one.add_integer(COUNT, count)
            self._words.add_document(one)
        self._new_words.clear()
