"""Which products do words find? One store's index on disk, as readers and as the writer."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import tantivy

from productrecs.engines.text.failures import translated
from productrecs.engines.text.gist import read
from productrecs.engines.text.interpret import (
    NO_SYNONYMS,
    Interpreter,
    Slot,
    Synonyms,
    is_misread,
)
from productrecs.engines.text.kin import LEAST_LETTERS
from productrecs.engines.text.language import Language
from productrecs.engines.text.likeness import KEPT, REACH, with_likeness
from productrecs.engines.text.matching import (
    every_word,
    exact_query,
    holding_query,
    some_words,
)
from productrecs.engines.text.reading import Related, WordReader
from productrecs.engines.text.schema import (
    BACKWARDS,
    COUNT,
    EXACT,
    GIST,
    NUMBER,
    WORD,
    ProductText,
    document,
    exact_key,
    products_schema,
    register,
    words_schema,
)
from productrecs.engines.text.suggestions import Mask, Suggested, suggested
from productrecs.engines.text.vocabulary import Vocabulary

PRODUCTS, WORDS = "products", "words"
"""The two folders of an index."""

_LEAST_HEAP: Final = 15_000_000
_WORDS_HEAP: Final = 80_000_000
"""What is not written yet may take so much: an index of few parts is fast."""
_PAGES: Final = (1, 4, 30, 1000)


class Relaxed(StrEnum):
    """What had to be given up to find enough."""

    NOTHING = "none"
    SPELLING = "spelling"  # a word that nothing holds was read as another
    WORDS = "words"  # some products hold only some of the words


@dataclass(frozen=True, slots=True)
class Found:
    """Item numbers and falling scores, and what was given up for them."""

    items: list[int]
    scores: list[float]
    relaxed: Relaxed = Relaxed.NOTHING
    exact: int = 0  # so many of the first were named by id or sku
    whole: int = 0  # so many of the first were named or hold every word


class SearchIndex:
    """One index, read; any number of threads may."""

    def __init__(self, folder: Path, language: str, related: Related | None = None) -> None:
        """Open the index below `folder`; `related` is asked for words that it lacks.

        Raises:
            BrokenIndexError: when it cannot be read.
        """
        self._related = related
        with translated(f"the index {folder.name} cannot be opened"):
            self._products = register(tantivy.Index.open(str(folder / PRODUCTS)))
            self._words = tantivy.Index.open(str(folder / WORDS))
            self._products.config_reader("manual")
            self._words.config_reader("manual")
            self._words.reload()
            self._products.reload()
            words = self._words.searcher()
            self.language = Language(language)
            self._reader = self._state(Vocabulary(words, self._words.schema))

    def __len__(self) -> int:
        """Return how many products can be found."""
        return self._reader.products

    def reload(self) -> None:
        """Read on to what was last committed.

        Raises:
            BrokenIndexError: when it cannot be read; what was read before still serves.
        """
        with translated("the index cannot be read on"):
            self._words.reload()
            self._products.reload()
            words = self._words.searcher()
            self._reader = self._state(self._reader.vocabulary.read_on(words))

    def find(
        self,
        query: str,
        limit: int,
        visible: Mask,
        synonyms: Synonyms = NO_SYNONYMS,
        *,
        enough: int | None = None,
        by_likeness: bool = True,
    ) -> Found:
        """Return up to `limit` visible products, best first.

        `visible` is by item number. Products named by id or sku come first, then those
        that hold every word, then, where those are fewer than `enough` (`limit` when not
        given), those that hold some. A query of which no word means anything here finds
        nothing. Below the first 36, what is like the best comes first in its tier, unless
        `by_likeness` is false.

        Raises:
            BrokenIndexError: when the files turn out to be damaged.
        """
        wanted = (limit, limit if enough is None else enough)
        with translated("the index cannot be searched"):
            search = _Search(self._interpreter(synonyms), visible)
            return search.run(query, *wanted, is_deep=by_likeness and limit > KEPT)

    def understand(self, query: str, synonyms: Synonyms = NO_SYNONYMS) -> list[Slot]:
        """Return the words of a query that say something, with what each may mean here.

        Raises:
            BrokenIndexError: when the files turn out to be damaged.
        """
        with translated("the index cannot be searched"):
            interpreter = self._interpreter(synonyms)
            return interpreter.slots(query, is_typing=not query.endswith(" "))

    def suggest(
        self, query: str, limit: int, visible: Mask, synonyms: Synonyms = NO_SYNONYMS
    ) -> Suggested:
        """Return what the query may become, and what it was meant to be.

        Raises:
            BrokenIndexError: when the files turn out to be damaged.
        """
        with translated("the index cannot be searched"):
            return suggested(self._interpreter(synonyms), query, limit, visible)

    def memory_bytes(self) -> int:
        """Return about how much is remembered of what words mean."""
        return self._reader.memory_bytes()

    @property
    def vocabulary_size(self) -> int:
        """How many words the texts of products ever held."""
        return self._reader.vocabulary.size

    def frequent_words(self, limit: int) -> list[str]:
        """Return the most frequent words that titles or categories hold, no codes.

        Raises:
            BrokenIndexError: when the files turn out to be damaged.
        """
        with translated("the index cannot be searched"):
            words = self._reader.vocabulary.frequent(2 * limit)
            stems = self.language.stems(words)
            held = map(self._reader.terms.holding, stems)
            shown = [
                word
                for word, one in zip(words, held, strict=True)
                if (one.title or one.categories) and word.isalpha()
                if len(word) >= LEAST_LETTERS
            ]
            return shown[:limit]

    def holders(self, word: str, limit: int) -> frozenset[int]:
        """Return the numbers of the first products whose texts hold a word.

        Raises:
            BrokenIndexError: when the files turn out to be damaged.
        """
        with translated("the index cannot be searched"):
            query = holding_query(self._products.schema, self._reader.stem(word))
            hits = self._reader.searcher.search(query, limit, count=False).hits
            addresses = [address for _, address in hits]
            if not addresses:
                return frozenset()
            numbers = self._reader.searcher.fast_field_values(NUMBER, addresses)
            return frozenset(int(number or 0) for number in numbers)

    def _interpreter(self, synonyms: Synonyms) -> Interpreter:
        return Interpreter(self._reader, synonyms)

    def _state(self, vocabulary: Vocabulary) -> WordReader:
        schema = self._products.schema
        searcher = self._products.searcher()
        return WordReader(searcher, schema, vocabulary, self.language, self._related)


class _Search:
    """One search in one state of an index."""

    def __init__(self, interpreter: Interpreter, visible: Mask) -> None:
        self._interpreter = interpreter
        self._visible = visible
        self._items: list[int] = []
        self._scores: list[float] = []
        self._addresses: list[tantivy.DocAddress] = []
        self._seen: set[int] = set()
        self._whole = 0

    def run(self, query: str, limit: int, enough: int, *, is_deep: bool) -> Found:
        """Return what is found."""
        key = exact_key(query)
        if key and self._interpreter.searcher.doc_freq(EXACT, key):
            self._take(exact_query(self._interpreter.schema, key), limit)
        exact = len(self._items)
        is_typing = not query.endswith(" ")
        slots = self._interpreter.slots(query, is_typing=is_typing)
        relaxed = self._by_words(slots, max(limit, REACH) if is_deep else limit, enough)
        if relaxed is Relaxed.NOTHING and is_misread(slots, is_typing=is_typing):
            relaxed = Relaxed.SPELLING
        if is_deep:
            self._sort_deep(exact)
        self._put_exact_first(exact)
        items, scores = self._items[:limit], self._scores[:limit]
        return Found(items, scores, relaxed, exact, min(self._whole, limit))

    def _by_words(self, slots: Sequence[Slot], limit: int, enough: int) -> Relaxed:
        meant = [slot for slot in slots if slot.readings]
        self._whole = len(self._items)
        if not meant:
            return Relaxed.NOTHING
        relaxed = Relaxed.NOTHING
        if len(meant) < len(slots):
            relaxed = Relaxed.WORDS
        self._take(every_word(self._interpreter, meant), limit)
        self._whole = len(self._items)
        if self._whole < enough:
            for query in some_words(self._interpreter, meant):
                before = len(self._items)
                self._take(query, limit)
                self._let_fall(before)
                if len(self._items) >= enough:
                    break
            relaxed = Relaxed.WORDS if len(self._items) > self._whole else relaxed
        return relaxed

    def _take(self, query: tantivy.Query, limit: int) -> None:
        """Add the visible products of a query that are not there yet, up to `limit`."""
        searcher, known = self._interpreter.searcher, len(self._items)
        for page in _PAGES:
            size = limit * page + known  # what is there already is found again
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
        """Let what is like the best come first, far down; each tier stays by itself."""
        end = min(len(self._items), REACH)
        if end - exact <= KEPT:
            return
        doc = self._interpreter.searcher.doc
        gists = [read(doc(one)[GIST][0]) for one in self._addresses[exact:end]]
        reader = self._interpreter.reader
        scores = self._scores[exact:end]
        merits = with_likeness(gists, scores, reader.terms, reader.products)
        first = exact + KEPT
        for begin, until in (
            (first, min(self._whole, end)),
            (max(first, self._whole), end),
        ):
            places = sorted(range(begin, until), key=lambda n: -merits[n - exact])
            self._items[begin:until] = [self._items[n] for n in places]

    def _let_fall(self, before: int) -> None:
        """Let the scores from `before` on begin below those that stand before them."""
        if 0 < before < len(self._scores):
            ceiling, top = 0.9 * self._scores[before - 1], self._scores[before]
            share = min(1.0, ceiling / top) if top > 0 else 1.0
            self._scores[before:] = [score * share for score in self._scores[before:]]

    def _put_exact_first(self, exact: int) -> None:
        if exact:
            top = max(self._scores) + 1.0
            self._scores[:exact] = [top + exact - place for place in range(exact)]


class IndexWriter:
    """The one writer of an index; what it adds is found after `commit`."""

    def __init__(self, folder: Path, language: str, heap: int = _LEAST_HEAP) -> None:
        """Open the index below `folder`, or make an empty one there.

        Raises:
            BrokenIndexError: when it cannot be read, or somebody else writes it.
        """
        self._language = Language(language)
        with translated(f"the index {folder.name} cannot be written"):
            for name in (PRODUCTS, WORDS):
                (folder / name).mkdir(parents=True, exist_ok=True)
            products = tantivy.Index(products_schema(), str(folder / PRODUCTS))
            self._words_index = tantivy.Index(words_schema(), str(folder / WORDS))
            self._products = register(products).writer(heap, 1)
            self._words = self._words_index.writer(_WORDS_HEAP, 1)
            self._words_index.config_reader("manual")
        self._fresh: dict[str, int] = {}

    def put(self, products: Iterable[ProductText], *, are_new: bool = False) -> None:
        """Add products, in place of what was known of their numbers."""
        with translated("the index cannot be written"):
            for product in products:
                if not are_new:
                    self._products.delete_documents_by_term(NUMBER, product.number)
                kept, words = document(product, self._language)
                self._products.add_document(kept)
                for word in dict.fromkeys(words):
                    self._fresh[word] = self._fresh.get(word, 0) + 1

    def remove(self, numbers: Iterable[int]) -> None:
        """Take products out."""
        with translated("the index cannot be written"):
            for number in numbers:
                self._products.delete_documents_by_term(NUMBER, number)

    def commit(self, *, with_words: bool = True) -> None:
        """Let readers find what was put and no longer find what was removed.

        Without its words, they wait for the next commit with words: until then mistyped and
        unfinished ones find none of what was put.
        """
        with translated("the index cannot be written"):
            if with_words:
                self._add_words()
                self._words.commit()
            self._products.commit()

    def close(self) -> None:
        """Wait for what the library still tidies up, and let the index go."""
        with translated("the index cannot be written"):
            self._words.wait_merging_threads()
            self._products.wait_merging_threads()

    def __enter__(self) -> Self:
        """Write."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let go."""
        self.close()

    def _add_words(self) -> None:
        """Add the words that the index of words does not hold yet."""
        self._words_index.reload()
        known = self._words_index.searcher()
        for word, count in self._fresh.items():
            if known.doc_freq(WORD, word) == 0:
                one = tantivy.Document()
                one.add_text(WORD, word)
                one.add_text(BACKWARDS, word[::-1])
                one.add_integer(COUNT, count)
                self._words.add_document(one)
        self._fresh.clear()
