"""Search run: exact codes first, then products with every word, then with some of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import tantivy

from productrecs.engines.text.analysed_query import AnalysedQuery
from productrecs.engines.text.feedback_reranking import (
    FEEDBACK_DEPTH,
    RERANK_DEPTH,
    rerank_by_feedback,
)
from productrecs.engines.text.index_schema import (
    EXACT,
    NUMBER,
    PROFILE,
    decode_profile,
    exact_key,
)
from productrecs.engines.text.query_builder import (
    all_words_query,
    exact_query,
    some_words_queries,
)
from productrecs.engines.text.query_interpreter import (
    NO_SYNONYMS,
    QueryInterpreter,
    QueryTerm,
    ReadWord,
    Synonyms,
    has_correction,
    words_as_read,
)

Mask = npt.NDArray[np.bool_]

_PAGES: Final = (1, 4, 30, 1000)


class Relaxed(StrEnum):
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
    relaxed: Relaxed = Relaxed.NOTHING
    exact: int = 0  # number of leading hits by id or sku
    with_every_word: int = 0  # number of leading hits by id or sku, or with every word
    complete: int = 0  # ... with every word, if all of them are known
    words: tuple[ReadWord, ...] = ()  # of the query


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
        self._with_every_word = 0

    def run(self) -> IndexHits:
        """Return the hits."""
        slots, known_words, exact = self._begin()
        is_deep = self._query.is_deep
        depth = max(self._limit, RERANK_DEPTH) if is_deep else self._limit
        relaxed = self._by_words(slots, known_words, depth)
        return self._found(slots, exact, relaxed, is_deep=is_deep)

    def _begin(self) -> tuple[list[QueryTerm], list[QueryTerm], int]:
        """Return the words, the known ones, and the number of exact hits."""
        query = self._query.query
        key = exact_key(query.text)
        if key and self._interpreter.searcher.doc_freq(EXACT, key):
            self._add_hits_of(exact_query(self._interpreter.schema, key), self._limit)
        exact = self._with_every_word = len(self._items)
        slots = self._interpreter.slots(query)
        return slots, [slot for slot in slots if slot.readings], exact

    def _found(
        self, slots: Sequence[QueryTerm], exact: int, relaxed: Relaxed, *, is_deep: bool
    ) -> IndexHits:
        limit = self._limit
        is_typing = self._query.query.is_typing
        if relaxed is Relaxed.NOTHING and has_correction(slots, is_typing=is_typing):
            relaxed = Relaxed.SPELLING
        if is_deep:
            self._rerank_deep(exact)
        self._put_exact_first(exact)
        items, scores = self._items[:limit], self._scores[:limit]
        with_every_word = min(self._with_every_word, limit)
        complete = with_every_word if all(slot.readings for slot in slots) else exact
        words = words_as_read(slots)
        return IndexHits(items, scores, relaxed, exact, with_every_word, complete, words)

    def _by_words(
        self, slots: Sequence[QueryTerm], known_words: Sequence[QueryTerm], limit: int
    ) -> Relaxed:
        self._with_every_word = len(self._items)
        if not known_words:
            return Relaxed.NOTHING
        relaxed = Relaxed.NOTHING
        if len(known_words) < len(slots):
            relaxed = Relaxed.WORDS
        self._add_hits_of(all_words_query(self._interpreter, known_words), limit)
        self._with_every_word = len(self._items)
        if self._with_every_word < self._min_complete:
            for query in some_words_queries(self._interpreter, known_words):
                before = len(self._items)
                self._add_hits_of(query, limit)
                self._scale_below(before)
                if len(self._items) >= self._min_complete:
                    break
            relaxed = Relaxed.WORDS if len(self._items) > self._with_every_word else relaxed
        return relaxed

    def _add_hits_of(self, query: tantivy.Query, limit: int) -> None:
        """Add the new visible products of a query, up to `limit`."""
        searcher, hit_count = self._interpreter.searcher, len(self._items)
        for page in _PAGES:
            size = limit * page + hit_count  # known products are found again
            hits = searcher.search(query, size, count=False).hits
            self._add(hits, limit)
            if len(self._items) >= limit or len(hits) < size:
                return

    def _add(self, hits: list[tuple[Any, tantivy.DocAddress]], limit: int) -> None:
        if not hits or not len(self._visible):
            return
        addresses = [address for _, address in hits]
        numbers = self._interpreter.searcher.fast_field_values(NUMBER, addresses)
        items = np.array(numbers, dtype=np.int64)
        shown = self._visible.take(items, mode="clip") & (items < len(self._visible))
        found_items, free = self._found_items, limit - len(self._items)
        places = [
            place
            for place in shown.nonzero()[0].tolist()
            if numbers[place] not in found_items
        ]
        for place in places[:free]:
            item = int(numbers[place] or 0)
            found_items.add(item)
            self._items.append(item)
            self._scores.append(hits[place][0])
            self._addresses.append(addresses[place])

    def _rerank_deep(self, exact: int) -> None:
        """Rerank deep results by their similarity to the best, within each tier."""
        end = min(len(self._items), RERANK_DEPTH)
        if end - exact <= FEEDBACK_DEPTH:
            return
        doc = self._interpreter.searcher.doc
        profiles = [
            decode_profile(doc(one)[PROFILE][0]) for one in self._addresses[exact:end]
        ]
        reader = self._interpreter.reader
        scores = self._scores[exact:end]
        feedback_scores = rerank_by_feedback(
            profiles, scores, reader.terms, reader.products
        )
        first = exact + FEEDBACK_DEPTH
        for begin, until in (
            (first, min(self._with_every_word, end)),
            (max(first, self._with_every_word), end),
        ):
            places = sorted(range(begin, until), key=lambda n: -feedback_scores[n - exact])
            self._items[begin:until] = [self._items[n] for n in places]

    def _scale_below(self, before: int) -> None:
        """Scale the scores from `before` on below those of the previous tier."""
        if 0 < before < len(self._scores):
            ceiling, top = 0.9 * self._scores[before - 1], self._scores[before]
            share = min(1.0, ceiling / top) if top > 0 else 1.0
            self._scores[before:] = [score * share for score in self._scores[before:]]

    def _put_exact_first(self, exact: int) -> None:
        if exact:
            top = max(self._scores) + 1.0
            self._scores[:exact] = [top + exact - place for place in range(exact)]
