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
    GIST,
    NUMBER,
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

    `visible` is by item number. If fewer than `enough` (default `limit`) products have
    every word, partial matches are added. With `by_likeness`, relevance feedback reranks
    each tier below the first 36. With `by_meaning`, products of similar meaning may follow
    those with every word.
    """

    query: AnalysedQuery
    limit: int
    visible: Mask
    synonyms: Synonyms = NO_SYNONYMS
    enough: int | None = None
    by_likeness: bool = True
    by_meaning: bool = True

    @property
    def is_deep(self) -> bool:
        """Whether it is deep enough for relevance feedback."""
        return self.by_likeness and self.limit > FEEDBACK_DEPTH


@dataclass(frozen=True, slots=True)
class IndexHits:
    """Item numbers with falling scores, and how the query was relaxed."""

    items: list[int]
    scores: list[float]
    relaxed: Relaxed = Relaxed.NOTHING
    exact: int = 0  # number of leading hits by id or sku
    whole: int = 0  # number of leading hits by id or sku, or with every word
    complete: int = 0  # ... with every word, if all of them are known
    words: tuple[ReadWord, ...] = ()  # of the query


class SearchRun:
    """One search in one index state."""

    def __init__(self, interpreter: QueryInterpreter, wanted: IndexQuery) -> None:
        """Start without hits."""
        self._interpreter = interpreter
        self._wanted = wanted
        self._visible, self._limit = wanted.visible, wanted.limit
        self._enough = wanted.limit if wanted.enough is None else wanted.enough
        self._items: list[int] = []
        self._scores: list[float] = []
        self._addresses: list[tantivy.DocAddress] = []
        self._seen: set[int] = set()
        self._whole = 0

    def run(self) -> IndexHits:
        """Return the hits."""
        slots, meant, exact = self._begin()
        is_deep = self._wanted.is_deep
        reach = max(self._limit, RERANK_DEPTH) if is_deep else self._limit
        relaxed = self._by_words(slots, meant, reach)
        return self._found(slots, exact, relaxed, is_deep=is_deep)

    def _begin(self) -> tuple[list[QueryTerm], list[QueryTerm], int]:
        """Return the words, the known ones, and the number of exact hits."""
        query = self._wanted.query
        key = exact_key(query.text)
        if key and self._interpreter.searcher.doc_freq(EXACT, key):
            self._take(exact_query(self._interpreter.schema, key), self._limit)
        exact = self._whole = len(self._items)
        slots = self._interpreter.slots(query)
        return slots, [slot for slot in slots if slot.readings], exact

    def _found(
        self, slots: Sequence[QueryTerm], exact: int, relaxed: Relaxed, *, is_deep: bool
    ) -> IndexHits:
        limit = self._limit
        is_typing = self._wanted.query.is_typing
        if relaxed is Relaxed.NOTHING and has_correction(slots, is_typing=is_typing):
            relaxed = Relaxed.SPELLING
        if is_deep:
            self._sort_deep(exact)
        self._put_exact_first(exact)
        items, scores = self._items[:limit], self._scores[:limit]
        whole = min(self._whole, limit)
        complete = whole if all(slot.readings for slot in slots) else exact
        words = words_as_read(slots)
        return IndexHits(items, scores, relaxed, exact, whole, complete, words)

    def _by_words(
        self, slots: Sequence[QueryTerm], meant: Sequence[QueryTerm], limit: int
    ) -> Relaxed:
        self._whole = len(self._items)
        if not meant:
            return Relaxed.NOTHING
        relaxed = Relaxed.NOTHING
        if len(meant) < len(slots):
            relaxed = Relaxed.WORDS
        self._take(all_words_query(self._interpreter, meant), limit)
        self._whole = len(self._items)
        if self._whole < self._enough:
            for query in some_words_queries(self._interpreter, meant):
                before = len(self._items)
                self._take(query, limit)
                self._let_fall(before)
                if len(self._items) >= self._enough:
                    break
            relaxed = Relaxed.WORDS if len(self._items) > self._whole else relaxed
        return relaxed

    def _take(self, query: tantivy.Query, limit: int) -> None:
        """Add the new visible products of a query, up to `limit`."""
        searcher, known = self._interpreter.searcher, len(self._items)
        for page in _PAGES:
            size = limit * page + known  # known products are found again
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
        seen, room = self._seen, limit - len(self._items)
        places = [
            place for place in shown.nonzero()[0].tolist() if numbers[place] not in seen
        ]
        for place in places[:room]:
            item = int(numbers[place] or 0)
            seen.add(item)
            self._items.append(item)
            self._scores.append(hits[place][0])
            self._addresses.append(addresses[place])

    def _sort_deep(self, exact: int) -> None:
        """Rerank deep results by their similarity to the best, within each tier."""
        end = min(len(self._items), RERANK_DEPTH)
        if end - exact <= FEEDBACK_DEPTH:
            return
        doc = self._interpreter.searcher.doc
        gists = [decode_profile(doc(one)[GIST][0]) for one in self._addresses[exact:end]]
        reader = self._interpreter.reader
        scores = self._scores[exact:end]
        merits = rerank_by_feedback(gists, scores, reader.terms, reader.products)
        first = exact + FEEDBACK_DEPTH
        for begin, until in (
            (first, min(self._whole, end)),
            (max(first, self._whole), end),
        ):
            places = sorted(range(begin, until), key=lambda n: -merits[n - exact])
            self._items[begin:until] = [self._items[n] for n in places]

    def _let_fall(self, before: int) -> None:
        """Scale the scores from `before` on below those of the previous tier."""
        if 0 < before < len(self._scores):
            ceiling, top = 0.9 * self._scores[before - 1], self._scores[before]
            share = min(1.0, ceiling / top) if top > 0 else 1.0
            self._scores[before:] = [score * share for score in self._scores[before:]]

    def _put_exact_first(self, exact: int) -> None:
        if exact:
            top = max(self._scores) + 1.0
            self._scores[:exact] = [top + exact - place for place in range(exact)]
