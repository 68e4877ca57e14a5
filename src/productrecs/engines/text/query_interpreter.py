"""Query interpreter: the readings of each query word, with synonyms and joined words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple

import tantivy

from productrecs.engines.text.analysed_query import (
    AnalysedQuery,
)
from productrecs.engines.text.language_detection_and_stemming import (
    LanguageAnalyzer,
)
from productrecs.engines.text.opening_and_gift_phrases import (
    activities_of_gift_recipients,
    without_opening_phrase,
)
from productrecs.engines.text.product_word_translations import (
    ProductWordTranslation,
    product_words,
)
from productrecs.engines.text.search_hyperparameters import (
    LIMITS,
    WEIGHTS,
)
from productrecs.engines.text.vocabulary import COMPOUNDING_LANGUAGES as COMPOUNDING
from productrecs.engines.text.vocabulary import (
    DocumentFrequencies,
    may_be_correction,
)
from productrecs.engines.text.word_interpreter import (
    WordInterpreter,
    WordReading,
)

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
    is_translated: bool = False  # by a name of another language, or another name

    @property
    def may_be_unfinished(self) -> bool:
        """Whether a last word may be a prefix instead of a misspelling."""
        return any(reading.words[0].startswith(self.typed) for reading in self.readings)


def has_correction(terms: Sequence[QueryTerm], *, is_typing: bool) -> bool:
    """Return whether a word was corrected; with `is_typing` the last may be a prefix."""
    finished = terms[:-1] if is_typing and terms and terms[-1].may_be_unfinished else terms
    return any(term.readings and not term.is_known for term in finished)


class InterpretedWord(NamedTuple):
    """A query word: as typed, and its most likely reading."""

    typed: str
    read: str
    is_corrected: bool  # whether the catalog's vocabulary suggests a misspelling
    is_known: bool  # whether the catalog has the word as typed, or a compound of it


def interpreted_words(terms: Sequence[QueryTerm]) -> tuple[InterpretedWord, ...]:
    """Return a query's words; misspelled and unfinished ones in their likeliest reading."""
    return tuple(map(_interpreted_word, terms))


def _interpreted_word(term: QueryTerm) -> InterpretedWord:
    if term.is_translated:
        read = " ".join(term.readings[0].words)
        return InterpretedWord(term.typed, read, is_corrected=False, is_known=True)
    if term.is_known or not term.readings:
        return InterpretedWord(
            term.typed,
            term.typed,
            is_corrected=False,
            is_known=term.is_known,
        )
    read = " ".join(term.readings[0].words)
    is_corrected = not read.startswith(term.typed)
    return InterpretedWord(term.typed, read, is_corrected, is_known=False)


@dataclass(frozen=True, slots=True)
class QueryInterpreter:
    """Interprets queries against one index state."""

    reader: WordInterpreter
    synonyms: Synonyms
    _joined_cache: dict[tuple[str, str], tuple[WordReading, ...]] = field(
        default_factory=dict
    )
    _corrected_cache: dict[str, tuple[WordReading, ...]] = field(default_factory=dict)

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
    def language(self) -> LanguageAnalyzer:
        """The language of the stemmer."""
        return self.reader.language

    def terms_without_opening_phrase(self, query: AnalysedQuery) -> list[QueryTerm]:
        """Return the distinct keywords of a query with their readings, in order.

        An opening such as "I am looking for" is left out, and so is "gift" beside others;
        but what names products ("gift" may) counts if the catalog knows no other word.
        """
        wanted = without_opening_phrase(query.words)
        if len(wanted) == len(query.words) or self.language.are_stop_words(wanted):
            return self._read_terms(query)
        end = "" if query.is_typing else " "
        terms = self._read_terms(AnalysedQuery.of(" ".join(wanted) + end, query.language))
        activities = activities_of_gift_recipients(query.words, wanted)
        terms = [
            term
            if term.is_known
            else self._term_of_activity(term, activities.get(term.typed, ()))
            for term in terms
        ]
        if any(term.is_known for term in terms):
            return terms
        opening = set(query.in_language(self.language).keywords).difference(wanted)
        return (
            self._read_terms(query)
            if any(map(self.reader.is_in_titles_categories_or_codes, opening))
            else terms
        )

    def _term_of_activity(self, term: QueryTerm, activities: Sequence[str]) -> QueryTerm:
        """Return a person's term by the first activity that products are named by."""
        for activity in filter(self.reader.is_in_titles_categories_or_codes, activities):
            readings = (self.reader.reading((activity,), 1.0),)
            return QueryTerm(term.typed, readings, is_known=True, is_translated=True)
        return term

    def _read_terms(self, query: AnalysedQuery) -> list[QueryTerm]:
        is_typing = query.is_typing
        translated = self._translated_terms(query)
        if translated:
            return translated
        words: Sequence[str] = query.in_language(self.language).keywords
        if self.language.code in COMPOUNDING:
            words = [part for word in words for part in self.reader.compound_parts(word)]
        words = list(dict.fromkeys(words))[: LIMITS.words]
        last = len(words) - 1
        terms = [
            term
            for index, word in enumerate(words)
            for term in self._term_or_halves(word, is_typing=is_typing and index == last)
        ]
        merged = list(self._merge_joined_words(terms, is_typing=is_typing))
        return self._with_distant_readings(merged)

    def _translated_terms(self, query: AnalysedQuery) -> list[QueryTerm]:
        """Return the terms of a query with other names than the catalog's, if it has some.

        That is a query with a word that names no product, but does so in the table.
        Beside words that name products it may be misspelled: a correction that fits them
        comes before a translation.
        """
        own_words = query.in_language(self.language).keywords[: LIMITS.words]
        known_words = tuple(filter(self.reader.is_own_name, own_words))
        if len(known_words) == len(own_words):
            return []
        translations = product_words().translate(
            query.words[: LIMITS.words], self.language.code, self.reader.is_sold
        )
        parts = [
            part
            for part in translations
            if part.names
            and not self._is_in_catalog_language(part, known_words, len(own_words))
        ]
        if not parts:
            return []
        covered = {word for part in parts for word in part.typed}
        untranslated = (word for word in own_words if word not in covered)
        return [
            *(self._read_term(word, is_typing=False) for word in untranslated),
            *(
                QueryTerm(
                    " ".join(part.typed),
                    self.reader.translated_readings(part.names)
                    + self.reader.described_readings(part.typed),
                    is_known=True,
                    is_translated=True,
                )
                for part in parts
            ),
        ]

    def _is_in_catalog_language(
        self, part: ProductWordTranslation, known_words: Words, word_count: int
    ) -> bool:
        """Return whether a part of a query is likelier of the catalog's language.

        That is one of two words that products have, a misspelled one, and in a query of
        which most words name products one with a correction that fits them.
        """
        if all(map(self.reader.is_own_name, part.typed)):
            return True
        if len(part.typed) == 1 and (
            self.reader.is_misspelled_name(part.typed[0])
            or self.reader.split_word(part.typed[0])
        ):
            return True
        if part.is_certain and len(known_words) * 2 < word_count:
            return False
        terms = [self._read_term(word, is_typing=False) for word in part.typed]
        return any(
            term.readings and self._has_fitting_reading(term, known_words) for term in terms
        )

    def _with_distant_readings(self, terms: list[QueryTerm]) -> list[QueryTerm]:
        """Return the terms; words without a fitting correction get more distant ones.

        A correction fits if a product has it beside one of the known words.
        """
        known_words = tuple(term.typed for term in terms if term.is_known)
        return [
            term
            if term.is_known or self._has_fitting_reading(term, known_words)
            else term._replace(
                readings=term.readings
                + self.reader.distant_readings(term.typed, known_words)
            )
            for term in terms
        ]

    def _has_fitting_reading(self, term: QueryTerm, known_words: Words) -> bool:
        """Return whether a word has a correction that fits the known words, if any."""
        if not known_words:
            return bool(term.readings)
        return self.reader.occurs_beside(term.readings, known_words)

    def _term_or_halves(self, word: str, *, is_typing: bool) -> list[QueryTerm]:
        """Return a word as one term, or split in two if only the parts match."""
        term = self._read_term(word, is_typing=is_typing)
        split_words = () if term.readings else self.reader.split_word(word)
        if not split_words:
            return [term]
        halves = [self._read_term(part, is_typing=False) for part in split_words]
        return [half._replace(is_known=False) for half in halves]

    def _merge_joined_words(
        self, terms: Sequence[QueryTerm], *, is_typing: bool
    ) -> Iterator[QueryTerm]:
        """Yield the terms; two that are a catalog word only together are joined."""
        index = 0
        while index < len(terms):
            first, pair = terms[index], terms[index : index + 2]
            joint_readings = self.joined_readings(*pair) if len(pair) > 1 else ()
            if len(pair) > 1 and not joint_readings and not pair[1].readings:
                is_unfinished = is_typing and index + 2 == len(terms)
                joint_readings = self._synonym_corrections(*pair, is_typing=is_unfinished)
            if not joint_readings or all(term.is_known for term in pair):
                yield first
                index += 1
            else:
                typed = "".join(term.typed for term in pair)
                readings = tuple(reading._replace(weight=1.0) for reading in joint_readings)
                yield QueryTerm(typed, readings, is_known=True)
                index += 2

    def joined_readings(
        self, first: QueryTerm, second: QueryTerm
    ) -> tuple[WordReading, ...]:
        """Return the joint readings of two neighbouring words: a compound, or synonyms."""
        readings = self._joined_cache.get((first.typed, second.typed))
        if readings is None:
            readings = self._find_joined_readings(first, second)
            self._joined_cache[first.typed, second.typed] = readings
        return readings

    def _find_joined_readings(
        self, first: QueryTerm, second: QueryTerm
    ) -> tuple[WordReading, ...]:
        word = first.typed + second.typed
        readings = []
        if len(word) >= LIMITS.split_from - 1 and self.reader.has_any_form(word):
            readings.append(self.reader.reading((word,), WEIGHTS.joined_pair))
        if self.language.code in COMPOUNDING:
            readings += self.reader.compound_readings(first.typed, second.typed)
        if self.synonyms:
            stems = (self.reader.stem(first.typed), self.reader.stem(second.typed))
            readings += self._readings_of_synonyms(stems, WEIGHTS.joined_pair)
        return tuple(readings)

    def joined_or_corrected_readings(
        self, first: QueryTerm, second: QueryTerm
    ) -> tuple[WordReading, ...]:
        """Return the joint readings, or those of a misspelled pair: "nurti system"."""
        readings = self.joined_readings(first, second)
        if readings or (first.is_known and second.is_known):
            return readings
        word = first.typed + second.typed
        corrected = self._corrected_cache.get(word)
        if corrected is None:
            corrected = self._corrected_cache[word] = self.reader.joined_corrections(word)
        return corrected

    def _synonym_corrections(
        self, first_term: QueryTerm, second_term: QueryTerm, *, is_typing: bool
    ) -> tuple[WordReading, ...]:
        """Return the synonyms of two words whose second is unfinished or misspelled."""
        first_stem, second_stem = self.language.stems([first_term.typed, second_term.typed])
        return tuple(
            reading
            for key in self.synonyms
            if len(key) == _TWO
            if first_stem == key[0]
            or may_be_correction(first_stem, key[0], is_typing=False)
            if may_be_correction(second_term.typed, key[1], is_typing=is_typing)
            or may_be_correction(second_stem, key[1], is_typing=False)
            for reading in self._readings_of_synonyms(key, WEIGHTS.one_edit)
        )

    def _read_term(self, word: str, *, is_typing: bool) -> QueryTerm:
        interpretation = self.reader.readings_of(word, is_typing=is_typing)
        is_known = interpretation.product_count > 0 or interpretation.is_compound_part
        if not self.synonyms:
            return QueryTerm(word, interpretation.distinct_readings, is_known)
        synonyms_of_word = self._synonym_readings(
            word, interpretation.stem, interpretation.readings, is_typing=is_typing
        )
        readings = self.reader.cap_and_deduplicate_readings(
            [*interpretation.readings, *synonyms_of_word], interpretation.product_count
        )
        return QueryTerm(word, readings, is_known or bool(synonyms_of_word))

    def _synonym_readings(
        self, word: str, stem: str, readings: Sequence[WordReading], *, is_typing: bool
    ) -> list[WordReading]:
        """Return the merchant's synonyms of a word or of one of its readings."""
        if not self.synonyms:
            return []
        synonym_readings = self._readings_of_synonyms((stem,), 1.0)
        for reading in readings:
            synonym_readings += self._readings_of_synonyms(reading.stems, reading.weight)
        if synonym_readings or readings:
            return synonym_readings
        # Not in the catalog, but maybe an unfinished or misspelled synonym.
        for key in self.synonyms:
            if len(key) == 1 and may_be_correction(word, key[0], is_typing=is_typing):
                synonym_readings += self._readings_of_synonyms(key, WEIGHTS.one_edit)
        return synonym_readings

    def _readings_of_synonyms(self, stems: Words, weight: float) -> list[WordReading]:
        words = self.synonyms.get(stems, ())
        return [self.reader.reading(synonym, weight * WEIGHTS.synonym) for synonym in words]
