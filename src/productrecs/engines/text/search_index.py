"""Search index of one store on disk: thread-safe readers, one writer, and searches.

A search runs exact codes first, then products with every word, then with some of them.
Deep results are reranked by pseudo-relevance feedback, their similarity to the best ones.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import numpy as np
import tantivy
from tantivy import Occur, Query

from productrecs.core.cache_registry import BoundedCache, RegisteredCache
from productrecs.engines.array_types_and_sorting import Ints
from productrecs.engines.text.analysed_query import (
    AnalysedQuery,
)
from productrecs.engines.text.index_queries import (
    WORD_SCORE,
    all_words_query,
    exact_query,
    same_head_noun_query,
    some_words_queries,
    title_phrase_query,
)
from productrecs.engines.text.index_schema import (
    EXACT,
    NUMBER,
    PROFILE,
    ProductText,
    build_document,
    decode_product_stems,
    exact_keys_of_code,
    new_words_document,
    products_schema,
    read_new_words,
    register_tokenizers,
    translate_index_errors,
    words_schema,
)
from productrecs.engines.text.language_detection_and_stemming import (
    LanguageAnalyzer,
)
from productrecs.engines.text.query_interpreter import (
    NO_SYNONYMS,
    InterpretedWord,
    QueryInterpreter,
    QueryTerm,
    Synonyms,
    has_correction,
    interpreted_words,
)
from productrecs.engines.text.query_suggestions import (
    Mask,
    QuerySuggestions,
    suggest_queries,
)
from productrecs.engines.text.relevance_feedback import feedback_scores
from productrecs.engines.text.tokenizer import query_words
from productrecs.engines.text.vocabulary import Vocabulary
from productrecs.engines.text.word_interpreter import WordInterpreter

FEEDBACK_DEPTH: Final = 36
"""The first results keep their order: they mostly fill the first page."""

RERANK_DEPTH: Final = 200
"""Maximum number of results to rerank: shoppers rarely page further."""

_PAIR: Final = 2


_PAGE_FACTORS: Final = (1, 4, 30, 1000)


class QueryRelaxation(StrEnum):
    """How a query was relaxed to find enough."""

    NOTHING = "none"
    SPELLING = "spelling"  # a word without matches was corrected
    WORDS = "words"  # includes partial matches
    MEANING = "meaning"  # no match by word: products of similar meaning


class IndexQuery(NamedTuple):
    """A request for up to `limit` of the `visible` products, best first.

    `visible` is by item number. If fewer than `min_complete` (default `limit`) products
    have every word, partial matches are added. With `with_feedback`, relevance feedback
    reranks each tier below the first 36. With `by_meaning`, products of similar meaning may
    follow those with every word.
    """

    query: AnalysedQuery
    limit: int
    visible: Mask
    synonyms: Synonyms = NO_SYNONYMS
    min_complete: int | None = None
    with_feedback: bool = True
    by_meaning: bool = True

    @property
    def is_deep(self) -> bool:
        """Whether it is deep enough for relevance feedback."""
        return self.with_feedback and self.limit > FEEDBACK_DEPTH


@dataclass(frozen=True, slots=True)
class IndexHits:
    """Item numbers with falling scores, and how the query was relaxed."""

    items: list[int]
    scores: list[float]
    relaxed: QueryRelaxation = QueryRelaxation.NOTHING
    exact: int = 0  # number of leading hits by id, SKU or GTIN
    with_every_word: int = 0  # number of leading hits by id or sku, or with every word
    complete: int = 0  # ... with every word, if all of them are known
    same_head_noun: int = 0  # number of leading hits with the head noun of a word pair
    words: tuple[InterpretedWord, ...] = ()  # of the query
    is_code: bool = False  # whether the query is the code of these products alone


class SearchRun:
    """One search in one index state."""

    def __init__(self, interpreter: QueryInterpreter, query: IndexQuery) -> None:
        """Start without hits."""
        self._interpreter = interpreter
        self._query = query
        self._visible, self._limit = query.visible, query.limit
        self._min_complete = (
            query.limit if query.min_complete is None else query.min_complete
        )
        self._items: list[int] = []
        self._scores: list[float] = []
        self._addresses: list[tantivy.DocAddress] = []
        self._found_items: set[int] = set()
        self._every_word_count = 0
        self._same_head_noun_count = 0

    def run(self) -> IndexHits:
        """Return the hits."""
        exact = self._add_exact_hits()
        query_terms = self._interpreter.terms_without_opening_phrase(self._query.query)
        known_words = [query_term for query_term in query_terms if query_term.readings]
        is_deep = self._query.is_deep
        depth = max(self._limit, RERANK_DEPTH) if is_deep else self._limit
        relaxed = self._add_word_hits(query_terms, known_words, depth)
        return self._rerank_and_collect_hits(query_terms, exact, relaxed, is_deep=is_deep)

    def _add_exact_hits(self) -> int:
        """Add products with this id, SKU or GTIN; return their number."""
        query, searcher = self._query.query, self._interpreter.searcher
        for key in exact_keys_of_code(query.text):
            if searcher.doc_freq(EXACT, key):
                self._add_hits_of(exact_query(self._interpreter.schema, key), self._limit)
        self._every_word_count = len(self._items)
        return self._every_word_count

    def _rerank_and_collect_hits(
        self,
        query_terms: Sequence[QueryTerm],
        exact: int,
        relaxed: QueryRelaxation,
        *,
        is_deep: bool,
    ) -> IndexHits:
        limit = self._limit
        is_typing = self._query.query.is_typing
        if relaxed is QueryRelaxation.NOTHING and has_correction(
            query_terms, is_typing=is_typing
        ):
            relaxed = QueryRelaxation.SPELLING
        if is_deep:
            self._rerank_deep_results(exact)
        self._score_exact_highest(exact)
        items, scores = self._items[:limit], self._scores[:limit]
        with_every_word = min(self._every_word_count, limit)
        complete = (
            with_every_word
            if all(query_term.readings for query_term in query_terms)
            else exact
        )
        words = interpreted_words(query_terms)
        return IndexHits(
            *(items, scores, relaxed, exact, with_every_word, complete),
            same_head_noun=min(self._same_head_noun_count, limit),
            words=words,
        )

    def _add_word_hits(
        self, query_terms: Sequence[QueryTerm], known_words: Sequence[QueryTerm], limit: int
    ) -> QueryRelaxation:
        self._every_word_count = len(self._items)
        if not known_words:
            return QueryRelaxation.NOTHING
        relaxed = QueryRelaxation.NOTHING
        if len(known_words) < len(query_terms):
            relaxed = QueryRelaxation.WORDS
            self._add_products_with_same_head_noun(query_terms, limit)
        self._add_hits_of(all_words_query(self._interpreter, known_words), limit)
        if self._same_head_noun_count:
            self._scale_tiers(self._same_head_noun_count)
        self._every_word_count = len(self._items)
        if not self._items:
            self._add_products_with_same_head_noun(query_terms, limit)
            if self._items:
                relaxed = QueryRelaxation.WORDS
        if self._every_word_count < self._min_complete and self._add_partial_matches(
            known_words, limit
        ):
            relaxed = QueryRelaxation.WORDS
        return relaxed

    def _add_products_with_same_head_noun(
        self, query_terms: Sequence[QueryTerm], limit: int
    ) -> None:
        """Add products with the head noun of two words: a "coffee table" is a table."""
        if self._items or len(query_terms) != _PAIR:
            return
        query = same_head_noun_query(self._interpreter, query_terms)
        if query is not None:
            self._add_hits_of(query, limit)
            self._same_head_noun_count = len(self._items)

    def _add_partial_matches(self, known_words: Sequence[QueryTerm], limit: int) -> bool:
        """Add products with some of the words; return whether there are any.

        Those that have only a colour or size are added where nothing else was found.
        """
        for with_attributes_alone in (False, True):
            for query in some_words_queries(
                self._interpreter,
                known_words,
                with_attributes_alone=with_attributes_alone,
            ):
                hits_before = len(self._items)
                self._add_hits_of(query, limit)
                self._scale_tiers(hits_before)
                if len(self._items) >= self._min_complete:
                    break
            if self._items:
                break
        return len(self._items) > self._every_word_count

    def _add_hits_of(self, query: tantivy.Query, limit: int) -> None:
        """Add the new visible products of a query, up to `limit`."""
        searcher, hit_count = self._interpreter.searcher, len(self._items)
        for page in _PAGE_FACTORS:
            size = limit * page + hit_count  # known products are found again
            hits = searcher.search(query, size, count=False).hits
            self._add_visible_hits(hits, limit)
            if len(self._items) >= limit or len(hits) < size:
                return

    def _add_visible_hits(
        self, hits: list[tuple[Any, tantivy.DocAddress]], limit: int
    ) -> None:
        if not hits or not len(self._visible):
            return
        addresses = [address for _, address in hits]
        numbers = self._interpreter.searcher.fast_field_values(NUMBER, addresses)
        items = np.array(numbers, dtype=np.int64)
        is_visible = self._visible.take(items, mode="clip") & (items < len(self._visible))
        found_items, free_places = self._found_items, limit - len(self._items)
        for (score, address), item, is_shown in zip(
            hits, items.tolist(), is_visible.tolist(), strict=True
        ):
            if not is_shown or item in found_items:
                continue
            if not free_places:
                return
            free_places -= 1
            found_items.add(item)
            self._items.append(item)
            self._scores.append(score)
            self._addresses.append(address)

    def _rerank_deep_results(self, exact: int) -> None:
        """Rerank deep results by their similarity to the best, within each tier."""
        end = min(len(self._items), RERANK_DEPTH)
        if end - exact <= FEEDBACK_DEPTH:
            return
        doc = self._interpreter.searcher.doc
        profiles = [
            decode_product_stems(doc(address)[PROFILE][0])
            for address in self._addresses[exact:end]
        ]
        reader = self._interpreter.reader
        scores = self._scores[exact:end]
        reranked_scores = feedback_scores(profiles, scores, reader.terms, reader.products)
        first = exact + FEEDBACK_DEPTH
        tier_ends = (self._same_head_noun_count, self._every_word_count)
        bounds = sorted({first, end, *(min(max(first, n), end) for n in tier_ends)})
        for begin, until in pairwise(bounds):
            order = sorted(range(begin, until), key=lambda n: -reranked_scores[n - exact])
            self._items[begin:until] = [self._items[n] for n in order]

    def _scale_tiers(self, first: int) -> None:
        """Scale the scores from `first` on, so that each tier is below the previous one.

        Among partial matches, each number of words is a tier.
        """
        tiers = [divmod(score, WORD_SCORE) for score in self._scores[first:]]
        for _, tier in groupby(tiers, key=itemgetter(0)):
            scores = [score for _, score in tier]
            ceiling = 0.9 * self._scores[first - 1] if first else math.inf
            share = min(1.0, ceiling / scores[0]) if scores[0] > 0 else 1.0
            end = first + len(scores)
            self._scores[first:end] = [score * share for score in scores]
            first = end

    def _score_exact_highest(self, exact: int) -> None:
        if exact:
            top = max(self._scores) + 1.0
            self._scores[:exact] = [top + exact - place for place in range(exact)]


__all__ = ["IndexHits", "IndexQuery", "IndexWriter", "QueryRelaxation", "SearchIndex"]

PRODUCTS, WORDS = "products", "words"
"""The folders of an index: products and vocabulary."""

_MIN_HEAP: Final = 15_000_000
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
            self._read_commit(Vocabulary().with_new_words(words))

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
            self._read_commit(self._reader.vocabulary.with_new_words(words))

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

    def items_with_phrase_in_title(self, phrases: frozenset[str]) -> Ints:
        """Return the numbers of the products whose title has one of the phrases.

        Raises:
            BrokenIndexError: when the files are damaged.
        """
        items = self._items_by_title.get(phrases)
        if items is None:
            with translate_index_errors("the index cannot be searched"):
                items = self._items_by_title.put(
                    phrases, self._find_items_by_title_phrases(phrases)
                )
        return items

    def _find_items_by_title_phrases(self, texts: frozenset[str]) -> Ints:
        reader = self._reader
        phrases = {tuple(self.language.stems(query_words(text))) for text in texts}
        queries, limit = [], 0
        for stems in phrases:
            count = min((reader.terms.counts(stem).title for stem in stems), default=0)
            if count:
                limit += count
                queries.append((Occur.Should, title_phrase_query(reader.schema, stems)))
        if not queries:
            return np.zeros(0, np.int64)
        query = Query.const_score_query(Query.boolean_query(queries), 1.0)
        hits = reader.searcher.search(query, limit, count=False).hits
        addresses = [address for _, address in hits]
        return np.array(reader.searcher.fast_field_values(NUMBER, addresses), np.int64)

    def has_code(self, text: str) -> bool:
        """Return whether a text is the id, SKU or GTIN of a product."""
        doc_freq = self._reader.searcher.doc_freq
        return any(doc_freq(EXACT, key) for key in exact_keys_of_code(text))

    def interpret(
        self, query: AnalysedQuery, synonyms: Synonyms = NO_SYNONYMS
    ) -> list[QueryTerm]:
        """Return the keywords of a query, with their readings in this index.

        Raises:
            BrokenIndexError: when the files are damaged.
        """
        with translate_index_errors("the index cannot be searched"):
            return self._interpreter(synonyms).terms_without_opening_phrase(query)

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
            return suggest_queries(self._interpreter(synonyms), query, limit, visible)

    def memory_bytes(self) -> int:
        """Return the approximate memory of caches, without memory-mapped files."""
        return self._reader.memory_bytes()

    def _interpreter(self, synonyms: Synonyms) -> QueryInterpreter:
        return QueryInterpreter(self._reader, synonyms)

    def _read_commit(self, vocabulary: Vocabulary) -> None:
        schema = self._products.schema
        searcher = self._products.searcher()
        self._items_by_title: BoundedCache[frozenset[str], Ints] = BoundedCache(
            RegisteredCache.TITLED_ITEMS
        )
        self._reader = WordInterpreter(searcher, schema, vocabulary, self.language)


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
            self._words = self._words_index.writer(_MIN_HEAP, 1)
            self._words_index.config_reader("manual")
        self._new_words: dict[str, int] = {}
        self._known_words: frozenset[str] | None = None

    def put(self, products: Iterable[ProductText], *, are_new: bool = False) -> None:
        """Add products; replaces documents of the same numbers."""
        with translate_index_errors("the index cannot be written"):
            for product in products:
                if not are_new:
                    self._products.delete_documents_by_term(NUMBER, product.number)
                indexed = build_document(product, self._language)
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
                self._add_new_words()
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

    def _add_new_words(self) -> None:
        """Add the words that the vocabulary index lacks."""
        self._words_index.reload()
        searcher = self._words_index.searcher()
        if self._known_words is None:
            self._known_words = frozenset(read_new_words(searcher, 0))
        new_words = {
            word: count
            for word, count in self._new_words.items()
            if word and word not in self._known_words
        }
        if new_words:
            self._words.add_document(new_words_document(searcher.num_docs, new_words))
            self._known_words |= new_words.keys()
        self._new_words.clear()
