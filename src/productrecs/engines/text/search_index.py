"""Search index of one store on disk: its readers and its one writer."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final, Self

import tantivy

from productrecs.engines.text.analysed_query import AnalysedQuery
from productrecs.engines.text.index_schema import (
    BACKWARDS,
    COUNT,
    NUMBER,
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
"""The folders of an index: its products, and the words that they hold."""

_LEAST_HEAP: Final = 15_000_000
_WORDS_HEAP: Final = 80_000_000
"""What is not written yet may take so much: an index of few parts is fast."""


class SearchIndex:
    """One index, read; any number of threads may."""

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
        """Return how many products can be found."""
        return self._reader.products

    def reload(self) -> None:
        """Read on to what was last committed.

        Raises:
            BrokenIndexError: when it cannot be read; what was read before still serves.
        """
        with translate_index_errors("the index cannot be read on"):
            self._words.reload()
            self._products.reload()
            words = self._words.searcher()
            self._reader = self._state(self._reader.vocabulary.read_on(words))

    def analyse(self, text: str) -> AnalysedQuery:
        """Return the analysis of a query in the language of this index."""
        return AnalysedQuery.of(text, self.language)

    def find(self, wanted: IndexQuery) -> IndexHits:
        """Return the hits.

        Products named by id or sku come first, then those that hold every word, then, where
        those are too few, those that hold some. A query of which no word means anything
        here finds nothing.

        Raises:
            BrokenIndexError: when the files turn out to be damaged.
        """
        with translate_index_errors("the index cannot be searched"):
            return SearchRun(self._interpreter(wanted.synonyms), wanted).run()

    def understand(
        self, query: AnalysedQuery, synonyms: Synonyms = NO_SYNONYMS
    ) -> list[QueryTerm]:
        """Return the words of a query that say something, with what each may mean here.

        Raises:
            BrokenIndexError: when the files turn out to be damaged.
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
        """Return what the query may become, and what it was meant to be.

        Raises:
            BrokenIndexError: when the files turn out to be damaged.
        """
        with translate_index_errors("the index cannot be searched"):
            return suggest(self._interpreter(synonyms), query, limit, visible)

    def memory_bytes(self) -> int:
        """Return about how much is held and remembered, without mapped files."""
        return self._reader.memory_bytes()

    def _interpreter(self, synonyms: Synonyms) -> QueryInterpreter:
        return QueryInterpreter(self._reader, synonyms)

    def _state(self, vocabulary: Vocabulary) -> WordInterpreter:
        schema = self._products.schema
        searcher = self._products.searcher()
        return WordInterpreter(searcher, schema, vocabulary, self.language)


class IndexWriter:
    """The one writer of an index; what it adds is found after `commit`."""

    def __init__(self, folder: Path, language: str, heap: int = _LEAST_HEAP) -> None:
        """Open the index below `folder`, or make an empty one there.

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
        self._fresh: dict[str, int] = {}

    def put(self, products: Iterable[ProductText], *, are_new: bool = False) -> None:
        """Add products, in place of what was known of their numbers."""
        with translate_index_errors("the index cannot be written"):
            for product in products:
                if not are_new:
                    self._products.delete_documents_by_term(NUMBER, product.number)
                indexed = index_document(product, self._language)
                self._products.add_document(indexed.document)
                for word in dict.fromkeys(indexed.words):
                    self._fresh[word] = self._fresh.get(word, 0) + 1

    def remove(self, numbers: Iterable[int]) -> None:
        """Take products out."""
        with translate_index_errors("the index cannot be written"):
            for number in numbers:
                self._products.delete_documents_by_term(NUMBER, number)

    def commit(self, *, with_words: bool = True) -> None:
        """Let readers find what was put and no longer find what was removed.

        Without its words, they wait for the next commit with words: until then mistyped and
        unfinished ones find none of what was put.
        """
        with translate_index_errors("the index cannot be written"):
            if with_words:
                self._add_words()
                self._words.commit()
            self._products.commit()

    def close(self) -> None:
        """Wait for the library's merges, and close the index."""
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
        """Add the words that the index of words does not hold yet."""
        self._words_index.reload()
        known = self._words_index.searcher()
        new = {
            word: count
            for word, count in self._fresh.items()
            if word and known.doc_freq(WORD, word) == 0
        }
        for word, count in new.items():
            one = tantivy.Document()
            one.add_text(WORD, word)
            one.add_text(BACKWARDS, word[::-1])
            one.add_integer(COUNT, count)
            self._words.add_document(one)
        self._fresh.clear()
