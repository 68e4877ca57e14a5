"""Query suggestions: completions and spelling corrections with at least one result."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from productrecs.engines.text.analysed_query import AnalysedQuery
from productrecs.engines.text.index_schema import NUMBER
from productrecs.engines.text.query_builder import all_words_query
from productrecs.engines.text.query_interpreter import (
    QueryInterpreter,
    QueryTerm,
    has_correction,
)
from productrecs.engines.text.word_interpreter import WordReading

Mask = npt.NDArray[np.bool_]

_CHECKED_HITS: Final = 30  # hits that are checked for visibility
_TIMES: Final = 3  # candidates per wanted suggestion


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Words of the index, and a visible product with all of them."""

    words: tuple[str, ...]
    item: int


@dataclass(frozen=True, slots=True)
class QuerySuggestions:
    """Query completions, likeliest first, and a spelling correction."""

    next: list[Suggestion]
    meant: Suggestion | None


def suggest(
    interpreter: QueryInterpreter, query: AnalysedQuery, limit: int, visible: Mask
) -> QuerySuggestions:
    """Return up to `limit` suggestions and, for a misspelled word, the correction.

    Each has at least one `visible` product (by item number) with all its words. Words
    without a match are left out of both.
    """
    is_typing = query.is_typing
    typed = interpreter.slots(query)
    search = _Suggesting(interpreter, visible, query.words)
    found: dict[tuple[str, ...], Suggestion] = {}
    known_words = [slot for slot in typed if slot.readings]
    for option in (
        search.options(known_words, limit, is_typing=is_typing) if known_words else ()
    ):
        if len(found) == limit:
            break
        one = search.one_of(option)
        if one is not None:
            stems = interpreter.language.stems(one.words)
            found.setdefault(tuple(stems), one)
    slots = [slot for slot in map(search.with_transposition, typed) if slot.readings]
    if not slots:
        return QuerySuggestions([], None)
    meant = None
    if has_correction(slots, is_typing=is_typing):
        meant = search.one_of([_first(slot) for slot in slots])
    return QuerySuggestions(list(found.values()), meant)


@dataclass(frozen=True, slots=True)
class _Suggesting:
    """Finds suggestions in one index state."""

    interpreter: QueryInterpreter
    visible: Mask
    typed: Sequence[str]

    def options(
        self, slots: Sequence[QueryTerm], limit: int, *, is_typing: bool
    ) -> Iterator[list[QueryTerm]]:
        """Yield the query with its last word as typed, corrected, and completed."""
        head = [_first(slot) for slot in slots[:-1]]
        last = slots[-1]
        for reading in self._readings(last, limit, is_typing=is_typing):
            if not self._is_shown(reading):
                continue
            yield [*head, last._replace(readings=(reading,))]

    def one_of(self, slots: Sequence[QueryTerm]) -> Suggestion | None:
        """Return these words in their first reading; None if no product has all."""
        searcher = self.interpreter.searcher
        read = [slot._replace(typed="".join(slot.readings[0].words)) for slot in slots]
        query = all_words_query(self.interpreter, read)
        hits = searcher.search(query, _CHECKED_HITS, count=False).hits
        if not hits:
            return None
        addresses = [address for _, address in hits]
        for number in searcher.fast_field_values(NUMBER, addresses):
            item = int(number or 0)
            if item < len(self.visible) and self.visible[item]:
                return Suggestion(tuple(dict.fromkeys(self._corrected_words(slots))), item)
        return None

    def _corrected_words(self, slots: Sequence[QueryTerm]) -> list[str]:
        """Return the words of slots in query order, with stop words."""
        corrections = {slot.typed: slot.readings[0].words for slot in slots}
        if not corrections.keys() <= set(self.typed):  # joined or split
            return [word for words in corrections.values() for word in words]
        places = [n for n, word in enumerate(self.typed) if word in corrections]
        content_words = set(self.interpreter.language.without_stop_words(self.typed))
        return [
            one
            for word in self.typed[places[0] : places[-1] + 1]
            for one in corrections.get(word, () if word in content_words else (word,))
        ]

    def with_transposition(self, slot: QueryTerm) -> QueryTerm:
        """Return a slot; one without readings gets the likeliest guess, if any."""
        if slot.readings:
            return slot
        correction = self.interpreter.reader.transposed(slot.typed)
        return slot if correction is None else slot._replace(readings=(correction,))

    def _readings(
        self, last: QueryTerm, limit: int, *, is_typing: bool
    ) -> Iterator[WordReading]:
        reader = self.interpreter.reader
        if is_typing:
            for word in reader.vocabulary.completions(last.typed, _TIMES * limit):
                yield reader.title_spelling(word)
        for one in last.readings:
            yield reader.title_spelling(one.words[0]) if len(one.words) == 1 else one

    def _is_shown(self, reading: WordReading) -> bool:
        """Return whether a title or a category has the words: codes are not suggested."""
        counts = map(self.interpreter.terms.counts, reading.stems)
        return all(one.title or one.categories for one in counts)


def _first(slot: QueryTerm) -> QueryTerm:
    return slot._replace(readings=slot.readings[:1])
