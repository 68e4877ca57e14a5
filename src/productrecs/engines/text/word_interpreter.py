"""Word interpreter: forms, corrections, compounds and expansions of one query word.

Results are cached for each word and state of an index.
"""

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import tantivy
from tantivy import Occur

from productrecs.core.cache_registry import BoundedCache, RegisteredCache
from productrecs.engines.text.index_schema import CATEGORIES, TITLE
from productrecs.engines.text.language_detection_and_stemming import LanguageAnalyzer
from productrecs.engines.text.product_word_translations import product_words
from productrecs.engines.text.search_hyperparameters import LIMITS, WEIGHTS
from productrecs.engines.text.spelling_likelihood import typo_log_likelihood
from productrecs.engines.text.tokenizer import is_code
from productrecs.engines.text.vocabulary import COMPOUNDING_LANGUAGES as COMPOUNDING
from productrecs.engines.text.vocabulary import (
    DocumentFrequencies,
    FuzzyMatch,
    Vocabulary,
    compounds_ending_with,
    possible_compounds,
    split_compound,
)

_CODE_PART: Final = re.compile(r"\d+|[^\W\d_]+")
_MIN_PART_LETTERS: Final = 3  # minimum letters of each part of a split word
_MEANING_BYTES: Final = 1_200
_COMPOUNDS_BYTES: Final = 400


class WordReading(NamedTuple):
    """One reading of a word: adjacent stems, usually one."""

    words: tuple[str, ...]  # in the catalog's spelling
    stems: tuple[str, ...]
    weight: float


def without_completions(
    typed: str, readings: tuple[WordReading, ...]
) -> tuple[WordReading, ...]:
    """Return the readings without longer words that begin with the typed one, if any."""
    own = tuple(
        reading
        for reading in readings
        if len(reading.words) > 1
        or reading.words[0] == typed
        or not reading.words[0].startswith(typed)
    )
    return own or readings


class WordReadings(NamedTuple):
    """The readings of a word without the merchant's synonyms, most literal first."""

    stem: str
    product_count: int  # approximate number of products with the word itself
    readings: tuple[WordReading, ...]
    # None is weighted above the word itself.
    distinct_readings: tuple[WordReading, ...]
    is_compound_part: bool = False  # of compounds in the catalog


class WordInterpreter:
    """Interprets single words against one index state; thread-safe."""

    def __init__(
        self,
        searcher: tantivy.Searcher,
        schema: tantivy.Schema,
        vocabulary: Vocabulary,
        language: LanguageAnalyzer,
    ) -> None:
        """Start with an empty cache."""
        self.searcher = searcher
        self.schema = schema
        self.vocabulary = vocabulary
        self.language = language
        self.terms = DocumentFrequencies(searcher)
        self.products: int = searcher.num_docs
        self._meanings: BoundedCache[tuple[str, bool], WordReadings] = BoundedCache(
            RegisteredCache.WORD_MEANINGS, _MEANING_BYTES
        )
        self._compounds: BoundedCache[tuple[str, str], list[WordReading]] = BoundedCache(
            RegisteredCache.WORD_MEANINGS, _COMPOUNDS_BYTES
        )

    def readings_of(self, word: str, *, is_typing: bool) -> WordReadings:
        """Return the readings of a word; with `is_typing` it may be unfinished."""
        cached = self._meanings.get((word, is_typing))
        if cached is None:
            meaning = self._find_readings(word, is_typing=is_typing)
            cached = self._meanings.put((word, is_typing), meaning)
        return cached

    def stem(self, word: str) -> str:
        """Return the stem of one word."""
        return self.language.stems([word])[0]

    def has_any_form(self, word: str) -> bool:
        """Return whether the catalog has a word in any form."""
        if self.vocabulary.has(word):
            return True
        return word.isalpha() and self.terms.frequency(word, self.stem(word)) > 0

    def is_in_titles_categories_or_codes(self, word: str) -> bool:
        """Return whether titles, categories or codes have a word, in any form."""
        return bool(self._title_or_category_count(word) or self.terms.code_count(word))

    def is_own_name(self, word: str) -> bool:
        """Return whether products are named by a word, not only by another form of it.

        A "veste" is a jacket, although its English stem is that of "vest".
        """
        if not self.is_in_titles_categories_or_codes(word):
            return False
        return self.vocabulary.has(word) or not product_words().is_foreign_name(
            (word,), self.language.code
        )

    def is_misspelled_name(self, word: str) -> bool:
        """Return whether a common name of products is nearer than that of a translation.

        "Cande" has the stem of the Spanish "candado", but is one edit from "candle".
        """
        distance = product_words().edits_to_name_with_its_stem(word)
        return distance > 1 and any(
            self._title_or_category_count(correction.word)
            > LIMITS.common_share * self.products
            for correction in self.vocabulary.corrections(word, 1)
        )

    def is_sold(self, name: tuple[str, ...]) -> bool:
        """Return whether products have a name, or a compound of it."""
        return bool(self.translated_readings((name,)))

    def translated_readings(
        self, names: Sequence[tuple[str, ...]]
    ) -> tuple[WordReading, ...]:
        """Return the readings of the names of a product that products have."""
        readings: list[WordReading] = []
        for name in names:
            reading = self.reading(name, WEIGHTS.translation)
            if len(name) > 1:
                readings += (
                    [reading] if self._are_adjacent_in_a_title(reading.stems) else []
                )
                continue
            is_name = self.is_in_titles_categories_or_codes(name[0])
            readings += [reading] if is_name else []
            if self.language.code in COMPOUNDING:
                compounds = compounds_ending_with(
                    name[0], self.vocabulary, LIMITS.readings, is_word_known=is_name
                )
                weight = WEIGHTS.translation * WEIGHTS.compound
                readings += [self.reading((word,), weight) for word in compounds]
        return self.cap_and_deduplicate_readings(readings, 0)

    def described_readings(self, name: Sequence[str]) -> tuple[WordReading, ...]:
        """Return the reading of a name of the catalog's language that only texts have.

        "Earbuds" are earphones, and a headset whose description says so.
        """
        (word, *more), stems = name, self.language.stems(name)
        if more or not self.terms.frequency(word, stems[0]):
            return ()
        is_own = product_words().has_name((word,), self.language.code)
        return (self.reading((word,), 1.0),) if is_own else ()

    def distant_readings(
        self, word: str, neighbours: Sequence[str]
    ) -> tuple[WordReading, ...]:
        """Return what a word too far from the catalog's may mean, the likeliest first.

        Beside known `neighbours`, a reading occurs in products with one of them, and weighs
        more the more often it does. A word alone has readings if the likeliest explains its
        letters far better than a word that the catalog lacks.
        """
        if self._is_spelled_right(word):
            return ()
        ranked = sorted(
            (
                (self._likelihood(word, candidate, neighbours), candidate)
                for candidate in self.vocabulary.distant_corrections(word)
            ),
            key=lambda pair: (-pair[0], pair[1].word),
        )
        highest = ranked[0][0] if ranked else 0.0
        if not highest or not (neighbours or self._is_likely_alone(word, highest)):
            return ()
        return tuple(
            self.reading(
                (correction.word,),
                _edit_weight(correction) * math.sqrt(likelihood / highest),
            )
            for likelihood, correction in ranked[: LIMITS.readings]
            if likelihood >= LIMITS.likely_share * highest
        )

    def _is_likely_alone(self, word: str, likelihood: float) -> bool:
        """Return whether the likeliest candidate of a lone word is likelier than none."""
        by_chance = math.exp(self.vocabulary.letter_log_likelihood(word))
        products = self.products + LIMITS.assumed_products
        return likelihood > LIMITS.misspelled_odds * products * by_chance

    def _likelihood(
        self, word: str, candidate: FuzzyMatch, neighbours: Sequence[str]
    ) -> float:
        """Return the products with a candidate, beside a neighbour, by its typo."""
        count = self._title_or_category_count(candidate.word)
        if neighbours and count:
            count = max(
                self._count_together(candidate.word, neighbour) for neighbour in neighbours
            )
        return count * math.exp(typo_log_likelihood(word, candidate.word))

    def occurs_beside(
        self, readings: Sequence[WordReading], neighbours: Sequence[str]
    ) -> bool:
        """Return whether a product has one of the readings and one of the words."""
        return any(
            len(reading.words) > 1 or self._occur_together(reading.words[0], other)
            for reading in readings
            for other in neighbours
        )

    def _count_together(self, *words: str) -> int:
        """Return how many products have all the words in titles or categories."""
        # The library's stubs lack `count`.
        result: Any = self.searcher.search(self._all_words_query(words), 1, count=True)
        return int(result.count or 0)

    def _occur_together(self, *words: str) -> bool:
        """Return whether one product's titles or categories have all the words."""
        return bool(self.searcher.search(self._all_words_query(words), 1, count=False).hits)

    def _all_words_query(self, words: Sequence[str]) -> tantivy.Query:
        return tantivy.Query.boolean_query(
            [(Occur.Must, self._title_or_category_query(word)) for word in words]
        )

    def compound_parts(self, word: str) -> tuple[str, ...]:
        """Return the parts of a compound that the catalog lacks."""
        if len(word) < LIMITS.split_from or not word.isalpha():
            return (word,)
        if self.vocabulary.has(word) or self.terms.frequency(word, self.stem(word)):
            return (word,)
        return split_compound(word, self.vocabulary) or (word,)

    def compound_readings(self, first: str, second: str) -> list[WordReading]:
        """Return the catalog's compounds of two words, in any form and either order.

        Example: "Schuhe Damen" gives "Damenschuhe".
        """
        cached = self._compounds.get((first, second))
        if cached is None:
            readings_by_stem = {
                reading.stems[0]: reading
                for word in possible_compounds(first, second)
                for reading in (self.reading((word,), WEIGHTS.joined),)
                if self._title_or_category_count(word)
            }
            cached = self._compounds.put((first, second), list(readings_by_stem.values()))
        return cached

    def joined_corrections(self, word: str) -> tuple[WordReading, ...]:
        """Return the corrections of two words as one that titles have."""
        stem = self.stem(word)
        return tuple(
            reading._replace(weight=WEIGHTS.joined_pair * weight)
            for distance in (1, 2)
            for weight, count, reading in self._corrections_at_distance(
                word, stem, 0, distance
            )
            if count >= LIMITS.rare
        )[: LIMITS.readings]

    def split_word(self, word: str) -> tuple[str, ...]:
        """Return the two frequent words that an unknown word splits into, or none.

        "tanktop" splits into "tank top" if products have both, even if no title has the
        phrase. A code is split between letters and digits: "dcd771c2" into "dcd771" and
        "c2".
        """
        if is_code(word):
            parts = self._split_code(word)
            return parts if parts and self._occur_together(*parts) else ()
        scored_halves = [
            (
                min(
                    self._title_or_category_count(first),
                    self._title_or_category_count(second),
                ),
                first,
                second,
            )
            for first, second in _possible_halves(word)
        ]
        title_count, *halves = max(scored_halves, default=(0, word))
        if title_count < LIMITS.rare or any(
            self.language.are_stop_words([half]) for half in halves
        ):
            return ()
        return tuple(halves) if self._occur_together(*halves) else ()

    def _split_code(self, code: str) -> tuple[str, ...]:
        """Return the longest catalog words that make up a code, or none."""
        ends = [match.end() for match in _CODE_PART.finditer(code)]
        parts: list[str] = []
        start = 0
        while start < len(code):
            possible_ends = (end for end in reversed(ends) if end > start)
            end = next(
                (
                    end
                    for end in possible_ends
                    if self._title_or_category_count(code[start:end])
                ),
                0,
            )
            if not end:
                return ()
            parts.append(code[start:end])
            start = end
        return tuple(parts)

    def title_spelling(self, word: str) -> WordReading:
        """Return the spelling of a word in most titles: itself, or two adjacent words.

        Titles with "sleeping-bag" contain all three; shoppers type the two.
        """
        joined_word = self.reading((word,), 1.0)
        joined_count = max(self.terms.counts(joined_word.stems[0]).title, 1)
        for split_reading in self._split_readings(word):
            phrase = tantivy.Query.phrase_query(
                self.schema, TITLE, list(split_reading.stems)
            )
            phrase_hits = self.searcher.search(phrase, joined_count, count=False).hits
            if len(phrase_hits) >= joined_count:
                return split_reading
        return joined_word

    def memory_bytes(self) -> int:
        """Return the approximate size of the cache."""
        words = self.vocabulary.memory_bytes() + self.terms.memory_bytes()
        caches = (self._meanings, self._compounds)
        return words + sum(memory.memory_bytes() for memory in caches)

    def _title_or_category_count(self, word: str) -> int:
        """Return the number of titles or categories with a word."""
        counts = self.terms.counts(self.stem(word))
        return max(counts.title, counts.categories)

    def _title_or_category_query(self, word: str) -> tantivy.Query:
        stem, schema = self.stem(word), self.schema
        return tantivy.Query.boolean_query(
            [
                (Occur.Should, tantivy.Query.term_query(schema, name, stem))
                for name in (TITLE, CATEGORIES)
            ]
        )

    def reading(self, words: tuple[str, ...], weight: float) -> WordReading:
        """Return the reading of adjacent words."""
        # Phrase words are scored each: together they count as one word.
        share = weight / len(words) if len(words) > 1 else weight
        return WordReading(words, tuple(self.language.stems(words)), share)

    def _find_readings(self, word: str, *, is_typing: bool) -> WordReadings:
        stem = self.stem(word)
        product_count = self.terms.frequency(word, stem)
        readings = [WordReading((word,), (stem,), 1.0)] if product_count else []
        readings += self._corrections(word, stem, product_count)
        if is_typing and product_count < LIMITS.rare:
            readings += self._completion_readings(word, has_readings=bool(readings))
        readings += self._split_readings(word)
        is_compound_part = False
        if self.language.code in COMPOUNDING:
            compounds = compounds_ending_with(
                word, self.vocabulary, LIMITS.readings, is_word_known=product_count > 0
            )
            readings += [
                self.reading((compound,), WEIGHTS.compound) for compound in compounds
            ]
            is_compound_part = bool(compounds)
        distinct_readings = self.cap_and_deduplicate_readings(readings, product_count)
        return WordReadings(
            stem, product_count, tuple(readings), distinct_readings, is_compound_part
        )

    def cap_and_deduplicate_readings(
        self, readings: Sequence[WordReading], product_count: int
    ) -> tuple[WordReading, ...]:
        """Return distinct readings; none is weighted above a word that the catalog has."""
        if len(readings) < 2:  # noqa: PLR2004 - most words have one reading
            return tuple(readings)
        distinct: dict[tuple[str, ...], WordReading] = {}
        for reading in readings:
            distinct.setdefault(reading.stems, reading)
        distinct_list = list(distinct.values())
        if product_count:
            max_rarity = self._rarity(distinct_list[0])
            distinct_list[1:] = [
                self._with_capped_weight(reading, max_rarity)
                for reading in distinct_list[1:]
            ]
        return tuple(distinct_list)

    def _with_capped_weight(self, reading: WordReading, max_rarity: float) -> WordReading:
        """Return a reading with a weight of at most the word's own, however rare it is."""
        share = max_rarity / self._rarity(reading)
        return reading if share >= 1.0 else reading._replace(weight=reading.weight * share)

    def _rarity(self, reading: WordReading) -> float:
        pairs = zip(reading.words, reading.stems, strict=True)
        min_count = min([self.terms.frequency(word, stem) for word, stem in pairs])
        return math.log1p((self.products - min_count + 0.5) / (min_count + 0.5))

    def _corrections(self, word: str, stem: str, product_count: int) -> list[WordReading]:
        """Return the corrections of a word, likeliest first."""
        if not product_count and self._is_spelled_right(word):
            return []
        is_rare = product_count < LIMITS.rare
        if not is_rare and product_count * LIMITS.correction_factor > self.products:
            return []  # no word can be this much more frequent
        ranked = self._corrections_at_distance(word, stem, product_count, 1)
        if is_rare and not any(count >= LIMITS.rare for _, count, _ in ranked):
            ranked += self._corrections_at_distance(word, stem, product_count, 2)
        ranked.sort(key=lambda weighted: (-weighted[0], -weighted[1], weighted[2].words))
        return [reading for _, _, reading in ranked[: LIMITS.readings]]

    def _is_spelled_right(self, word: str) -> bool:
        """Return whether a word names a product in the catalog's language.

        "Trainers" are shoes also where no product has the word, and no "strainer".
        """
        return product_words().has_name((word,), self.language.code)

    def _corrections_at_distance(
        self, word: str, stem: str, product_count: int, distance: int
    ) -> list[tuple[float, int, WordReading]]:
        """Return words at an edit distance, with their weights and product counts."""
        weighted: list[tuple[float, int, WordReading]] = []
        corrections = self.vocabulary.corrections(word, distance)
        if not corrections:
            return weighted
        stems = self.language.stems([correction.word for correction in corrections])
        for correction, correction_stem in zip(corrections, stems, strict=True):
            count = self.terms.frequency(correction.word, correction_stem)
            if (
                correction_stem == stem
                or count == 0
                or not _is_likely_correction(correction, product_count, count)
            ):
                continue
            weight = _edit_weight(correction)
            weighted.append(
                (weight, count, WordReading((correction.word,), (correction_stem,), weight))
            )
        return weighted

    def _completion_readings(self, start: str, *, has_readings: bool) -> list[WordReading]:
        """Return the completions of an unfinished word."""
        words = self.vocabulary.completions(start, LIMITS.readings)
        weight = WEIGHTS.unfinished
        if not words and not has_readings and len(start) >= LIMITS.unfinished_mistyped_from:
            words = [
                word
                for word in self.vocabulary.mistyped_completions(start, LIMITS.readings)
                if self._title_or_category_count(word)
            ]
            weight = WEIGHTS.unfinished_mistyped
        stems = self.language.stems(words)
        return [
            WordReading((word,), (stem,), weight)
            for word, stem in zip(words, stems, strict=True)
        ]

    def _split_readings(self, word: str) -> list[WordReading]:
        """Return the readings of a word as two adjacent words of a title."""
        if len(word) < LIMITS.split_from or not word.isalpha():
            return []
        cuts = range(_MIN_PART_LETTERS, len(word) - _MIN_PART_LETTERS + 1)
        return [
            WordReading((first, second), stems, WEIGHTS.split)
            for first, second in self.vocabulary.splits_into_known_words(word, cuts)
            if self._are_adjacent_in_a_title(stems := (self.stem(first), self.stem(second)))
        ]

    def _are_adjacent_in_a_title(self, stems: tuple[str, ...]) -> bool:
        if not all(self.terms.counts(stem).title for stem in stems):
            return False
        phrase = tantivy.Query.phrase_query(self.schema, TITLE, list(stems))
        return bool(self.searcher.search(phrase, 1, count=False).hits)


def _is_likely_correction(correction: FuzzyMatch, product_count: int, count: int) -> bool:
    """Return whether a known word also gets this correction."""
    if product_count < LIMITS.rare:
        return True
    if correction.distance > 1 or not correction.same_start:
        return False
    return count >= LIMITS.correction_factor * product_count


def _edit_weight(correction: FuzzyMatch) -> float:
    weight = WEIGHTS.one_edit if correction.distance == 1 else WEIGHTS.two_edits
    return weight if correction.same_start else weight * WEIGHTS.different_start


def _possible_halves(word: str) -> Iterator[tuple[str, str]]:
    if len(word) >= LIMITS.split_from and word.isalpha():
        for cut in range(_MIN_PART_LETTERS, len(word) - _MIN_PART_LETTERS + 1):
            yield word[:cut], word[cut:]
