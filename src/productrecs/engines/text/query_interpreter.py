"""Query interpreter: the readings of each query word, with synonyms and joined words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple

import tantivy

from productrecs.engines.text.analysed_query import AnalysedQuery
from productrecs.engines.text.compounds import COMPOUNDING_LANGUAGES as COMPOUNDING
from productrecs.engines.text.document_frequency import DocumentFrequencies
from productrecs.engines.text.search_options import LIMITS, WEIGHTS
from productrecs.engines.text.stemming import LanguageAnalyzer
from productrecs.engines.text.vocabulary import Vocabulary, may_be_correction
from productrecs.engines.text.word_interpreter import WordInterpreter, WordReading

Words = tuple[str, ...]
Synonyms = Mapping[Words, tuple[Words, ...]]
"""Synonyms by the stems of a text: the words of the other texts."""

_TWO: Final = 2

NO_SYNONYMS: Final[Synonyms] = MappingProxyType({})


class QueryTerm(NamedTuple):
    """A query word and its readings, most literal first; none: no product matches."""

    typed: str
    readings: tuple[WordReading, ...]
    is_known: bool  # whether the catalog has the word or a compound of it

    @property
    def may_be_unfinished(self) -> bool:
        """Whether a last word may be a prefix instead of a misspelling."""
        return any(one.words[0].startswith(self.typed) for one in self.readings)


def has_correction(slots: Sequence[QueryTerm], *, is_typing: bool) -> bool:
    """Return whether a word was corrected; with `is_typing` the last may be a prefix."""
    finished = slots[:-1] if is_typing and slots and slots[-1].may_be_unfinished else slots
    return any(slot.readings and not slot.is_known for slot in finished)


class ReadWord(NamedTuple):
    """A query word: as typed, and its most likely reading."""

    typed: str
    read: str
    is_corrected: bool  # whether the catalog's vocabulary suggests a misspelling


def words_as_read(slots: Sequence[QueryTerm]) -> tuple[ReadWord, ...]:
    """Return a query's words; misspelled and unfinished ones in their likeliest reading."""
    return tuple(map(_word_as_read, slots))


def _word_as_read(slot: QueryTerm) -> ReadWord:
    if slot.is_known or not slot.readings:
        return ReadWord(slot.typed, slot.typed, is_corrected=False)
    read = " ".join(slot.readings[0].words)
    return ReadWord(slot.typed, read, is_corrected=not read.startswith(slot.typed))


@dataclass(frozen=True, slots=True)
class QueryInterpreter:
    """Interprets queries against one index state."""

    reader: WordInterpreter
    synonyms: Synonyms
    _joined_cache: dict[tuple[str, str], tuple[WordReading, ...]] = field(
        default_factory=dict
    )

    @property
    def searcher(self) -> tantivy.Searcher:
        """The searcher of products."""
        return self.reader.searcher

    @property
    def schema(self) -> tantivy.Schema:
        """The fields of a product."""
        return self.reader.schema

    @property
    def terms(self) -> DocumentFrequencies:
        """The document frequencies."""
        return self.reader.terms

    @property
    def vocabulary(self) -> Vocabulary:
        """The catalog's words in their original spelling."""
        return self.reader.vocabulary

    @property
    def language(self) -> LanguageAnalyzer:
        """The language of the stemmer."""
        return self.reader.language

    def slots(self, query: AnalysedQuery) -> list[QueryTerm]:
        """Return the distinct keywords of a query with their readings, in order."""
        is_typing = query.is_typing
        words: Sequence[str] = query.in_language(self.language).keywords
        if self.language.code in COMPOUNDING:
            words = [part for word in words for part in self.reader.compound_parts(word)]
        words = list(dict.fromkeys(words))[: LIMITS.words]
        last = len(words) - 1
        slots = [
            slot
            for index, word in enumerate(words)
            for slot in self._slots(word, is_typing=is_typing and index == last)
        ]
        merged = list(self._merged(slots, is_typing=is_typing))
        return self._with_second_edits(merged)

    def _with_second_edits(self, slots: list[QueryTerm]) -> list[QueryTerm]:
        """Return the slots; unmatched words beside a known one get a second edit.

        Without a known word, a word of 6 to 8 letters has too many neighbours two edits
        away.
        """
        known_words = tuple(slot.typed for slot in slots if slot.is_known)
        return [
            slot._replace(readings=self.reader.second_edit(slot.typed, known_words))
            if known_words and not slot.readings
            else slot
            for slot in slots
        ]

    def _slots(self, word: str, *, is_typing: bool) -> list[QueryTerm]:
        """Return a word as one slot, or split in two if only the parts match."""
        slot = self._slot(word, is_typing=is_typing)
        split_words = () if slot.readings else self.reader.split(word)
        if not split_words:
            return [slot]
        halves = [self._slot(one, is_typing=False) for one in split_words]
        return [half._replace(is_known=False) for half in halves]

    def _merged(
        self, slots: Sequence[QueryTerm], *, is_typing: bool
    ) -> Iterator[QueryTerm]:
        """Yield the slots; two that are a catalog word only together are joined."""
        index = 0
        while index < len(slots):
            one, two = slots[index], slots[index : index + 2]
            joined = self.joined_readings(*two) if len(two) > 1 else ()
            if len(two) > 1 and not joined and not two[1].readings:
                is_unfinished = is_typing and index + 2 == len(slots)
                joined = self._synonym_corrections(*two, is_typing=is_unfinished)
            if not joined or all(slot.is_known for slot in two):
                yield one
                index += 1
            else:
                typed = "".join(slot.typed for slot in two)
                readings = tuple(
                    joined_reading._replace(weight=1.0) for joined_reading in joined
                )
                yield QueryTerm(typed, readings, is_known=True)
                index += 2

    def joined_readings(self, one: QueryTerm, other: QueryTerm) -> tuple[WordReading, ...]:
        """Return the joint readings of two neighbouring words: a compound, or synonyms."""
        cached = self._joined_cache.get((one.typed, other.typed))
        if cached is None:
            cached = self._is_one_word(one, other)
            self._joined_cache[one.typed, other.typed] = cached
        return cached

    def _is_one_word(self, one: QueryTerm, other: QueryTerm) -> tuple[WordReading, ...]:
        word = one.typed + other.typed
        readings = []
        if len(word) >= LIMITS.split_from - 1 and self.reader.has(word):
            readings.append(self.reader.reading((word,), WEIGHTS.joined_pair))
        if self.language.code in COMPOUNDING:
            readings += self.reader.compounds(one.typed, other.typed)
        if self.synonyms:
            stems = (self.reader.stem(one.typed), self.reader.stem(other.typed))
            readings += self._synonyms_of(stems, WEIGHTS.joined_pair)
        return tuple(readings)

    def _synonym_corrections(
        self, one: QueryTerm, other: QueryTerm, *, is_typing: bool
    ) -> tuple[WordReading, ...]:
        """Return the synonyms of two words whose second is unfinished or misspelled."""
        first, second = self.language.stems([one.typed, other.typed])
        return tuple(
            reading
            for key in self.synonyms
            if len(key) == _TWO
            if first == key[0] or may_be_correction(first, key[0], is_typing=False)
            if may_be_correction(other.typed, key[1], is_typing=is_typing)
            or may_be_correction(second, key[1], is_typing=False)
            for reading in self._synonyms_of(key, WEIGHTS.one_edit)
        )

    def _slot(self, word: str, *, is_typing: bool) -> QueryTerm:
        interpretation = self.reader.meaning(word, is_typing=is_typing)
        is_known = interpretation.product_count > 0 or interpretation.is_compound_part
        if not self.synonyms:
            return QueryTerm(word, interpretation.counted, is_known)
        synonyms_of_word = self._synonyms(
            word, interpretation.stem, interpretation.readings, is_typing=is_typing
        )
        found = self.reader.counted(
            [*interpretation.readings, *synonyms_of_word], interpretation.product_count
        )
        return QueryTerm(word, found, is_known or bool(synonyms_of_word))

    def _synonyms(
        self, word: str, stem: str, readings: Sequence[WordReading], *, is_typing: bool
    ) -> list[WordReading]:
        """Return the merchant's synonyms of a word or of one of its readings."""
        if not self.synonyms:
            return []
        found = self._synonyms_of((stem,), 1.0)
        for reading in readings:
            found += self._synonyms_of(reading.stems, reading.weight)
        if found or readings:
            return found
        # Not in the catalog, but maybe an unfinished or misspelled synonym.
        for key in self.synonyms:
            if len(key) == 1 and may_be_correction(word, key[0], is_typing=is_typing):
                found += self._synonyms_of(key, WEIGHTS.one_edit)
        return found

    def _synonyms_of(self, stems: Words, weight: float) -> list[WordReading]:
        words = self.synonyms.get(stems, ())
        return [self.reader.reading(one, weight * WEIGHTS.synonym) for one in words]
