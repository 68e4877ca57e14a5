"""Word interpreter: forms, corrections, compounds and expansions of one query word.

Results are cached for each word and state of an index.
"""

import math
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import tantivy
from tantivy import Occur

from productrecs.core.cache_registry import BoundedCache, Cache
from productrecs.engines.text.compounds import COMPOUNDING_LANGUAGES as COMPOUNDING
from productrecs.engines.text.compounds import (
    compounds_ending_with,
    joined_compounds,
    split_compound,
)
from productrecs.engines.text.document_frequency import DocumentFrequencies
from productrecs.engines.text.index_schema import CATEGORIES, TITLE
from productrecs.engines.text.search_options import LIMITS, WEIGHTS
from productrecs.engines.text.stemming import LanguageAnalyzer
from productrecs.engines.text.tokenizer import is_code
from productrecs.engines.text.vocabulary import FuzzyMatch, Vocabulary

_CODE_PART: Final = re.compile(r"\d+|[^\W\d_]+")
_LEAST_HALF: Final = 3  # minimum letters of each part of a split word
_MEANING_BYTES: Final = 1_200
_COMPOUNDS_BYTES: Final = 400


class WordReading(NamedTuple):
    """One reading of a word: adjacent stems, usually one."""

    words: tuple[str, ...]  # in the catalog's spelling
    stems: tuple[str, ...]
    weight: float


class WordMeaning(NamedTuple):
    """The readings of a word without the merchant's synonyms, most literal first."""

    stem: str
    known: int  # approximate number of products with the word itself
    readings: tuple[WordReading, ...]
    counted: tuple[
        WordReading, ...
    ]  # distinct readings, none weighted above the word itself
    is_part: bool = False  # of compounds in the catalog


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
        self._meanings: BoundedCache[tuple[str, bool], WordMeaning] = BoundedCache(
            Cache.WORD_MEANINGS, _MEANING_BYTES
        )
        self._compounds: BoundedCache[tuple[str, str], list[WordReading]] = BoundedCache(
            Cache.WORD_MEANINGS, _COMPOUNDS_BYTES
        )

    def meaning(self, word: str, *, is_typing: bool) -> WordMeaning:
        """Return the readings of a word; with `is_typing` it may be unfinished."""
        cached = self._meanings.get((word, is_typing))
        if cached is None:
            meaning = self._meaning(word, is_typing=is_typing)
            cached = self._meanings.put((word, is_typing), meaning)
        return cached

    def stem(self, word: str) -> str:
        """Return the stem of one word."""
        return self.language.stems([word])[0]

    def holds(self, word: str) -> bool:
        """Return whether the catalog has a word in any form."""
        if self.vocabulary.has(word):
            return True
        return word.isalpha() and self.terms.frequency(word, self.stem(word)) > 0

    def second_edit(self, word: str, beside: Sequence[str]) -> tuple[WordReading, ...]:
        """Return words of 6 to 8 letters that are two edits away, the likeliest first.

        A match must have the same first letters, be frequent enough, and occur in a product
        with one of the words `beside` it.
        """
        near = self.vocabulary.near_twice(word)
        stems = self.language.stems([one.word for one in near])
        found = sorted(
            (-self.terms.frequency(one.word, stem), one.word, stem)
            for one, stem in zip(near, stems, strict=True)
        )
        return tuple(
            WordReading((one,), (stem,), WEIGHTS.two_edits)
            for count, one, stem in found[: LIMITS.readings]
            if -count >= LIMITS.rare
            if any(self._are_sold_together(one, other) for other in beside)
        )

    def _are_sold_together(self, *words: str) -> bool:
        """Return whether one product's titles or categories have all the words."""
        every = [(Occur.Must, self._in_title_or_categories(word)) for word in words]
        asked = tantivy.Query.boolean_query(every)
        return bool(self.searcher.search(asked, 1, count=False).hits)

    def parts(self, word: str) -> tuple[str, ...]:
        """Return the parts of a compound that the catalog lacks."""
        if len(word) < LIMITS.apart_from or not word.isalpha():
            return (word,)
        if self.vocabulary.has(word) or self.terms.frequency(word, self.stem(word)):
            return (word,)
        return split_compound(word, self.vocabulary) or (word,)

    def compounds(self, one: str, other: str) -> list[WordReading]:
        """Return the catalog's compounds of two words, in any form and either order.

        Example: "Schuhe Damen" gives "Damenschuhe".
        """
        cached = self._compounds.get((one, other))
        if cached is None:
            found = {
                reading.stems[0]: reading
                for word in joined_compounds(one, other)
                for reading in (self.reading((word,), WEIGHTS.joined),)
                if self._shown(word)
            }
            cached = self._compounds.put((one, other), list(found.values()))
        return cached

    def apart(self, word: str) -> tuple[str, ...]:
        """Return the two frequent words that an unknown word splits into, or none.

        "tanktop" splits into "tank top" if products have both, even if no title has the
        phrase. A code is split between letters and digits: "dcd771c2" into "dcd771" and
        "c2".
        """
        if is_code(word):
            parts = self._code_apart(word)
            return parts if parts and self._are_sold_together(*parts) else ()
        cuts = [
            (min(self._shown(one), self._shown(other)), one, other)
            for one, other in _halves(word)
        ]
        least, *halves = max(cuts, default=(0, word))
        if least < LIMITS.rare:
            return ()
        return tuple(halves) if self._are_sold_together(*halves) else ()

    def _code_apart(self, code: str) -> tuple[str, ...]:
        """Return the longest catalog words that make up a code, or none."""
        ends = [match.end() for match in _CODE_PART.finditer(code)]
        parts: list[str] = []
        start = 0
        while start < len(code):
            known = (end for end in reversed(ends) if end > start)
            end = next((end for end in known if self._shown(code[start:end])), 0)
            if not end:
                return ()
            parts.append(code[start:end])
            start = end
        return tuple(parts)

    def as_written_in_titles(self, word: str) -> WordReading:
        """Return the spelling of a word in most titles: itself, or two adjacent words.

        Titles with "sleeping-bag" contain all three; shoppers type the two.
        """
        whole = self.reading((word,), 1.0)
        joined = max(self.terms.holding(whole.stems[0]).title, 1)
        for two in self._apart(word):
            phrase = tantivy.Query.phrase_query(self.schema, TITLE, list(two.stems))
            apart = self.searcher.search(phrase, joined, count=False).hits
            if len(apart) >= joined:
                return two
        return whole

    def swapped(self, word: str) -> WordReading | None:
        """Return the correction of a four-letter word by one transposition, or None.

        It is a suggestion only: such short words are searched as typed.
        """
        if len(word) != LIMITS.swapped or not word.isalpha():
            return None
        others = {
            word[:at] + word[at + 1] + word[at] + word[at + 2 :]
            for at in range(len(word) - 1)
        } - {word}
        shown, best = max((self._shown(one), one) for one in sorted(others) or [word])
        return self.reading((best,), WEIGHTS.one_edit) if shown else None

    def memory_bytes(self) -> int:
        """Return the approximate size of the cache."""
        words = self.vocabulary.memory_bytes() + self.terms.memory_bytes()
        own = (self._meanings, self._compounds)
        return words + sum(memory.memory_bytes() for memory in own)

    def _shown(self, word: str) -> int:
        """Return the number of titles or categories with a word."""
        held = self.terms.holding(self.stem(word))
        return max(held.title, held.categories)

    def _in_title_or_categories(self, word: str) -> tantivy.Query:
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

    def _meaning(self, word: str, *, is_typing: bool) -> WordMeaning:
        stem = self.stem(word)
        known = self.terms.frequency(word, stem)
        readings = [WordReading((word,), (stem,), 1.0)] if known else []
        readings += self._corrections(word, stem, known)
        if is_typing and known < LIMITS.rare:
            readings += self._completions(word, is_understood=bool(readings))
        readings += self._apart(word)
        is_part = False
        if self.language.code in COMPOUNDING:
            compounds = compounds_ending_with(
                word, self.vocabulary, LIMITS.readings, is_known=known > 0
            )
            readings += [self.reading((one,), WEIGHTS.compound) for one in compounds]
            is_part = bool(compounds)
        counted = self.counted(readings, known)
        return WordMeaning(stem, known, tuple(readings), counted, is_part)

    def counted(
        self, readings: Sequence[WordReading], known: int
    ) -> tuple[WordReading, ...]:
        """Return distinct readings; none is weighted above a word that is `known`."""
        if len(readings) < 2:  # noqa: PLR2004 - most words have one reading
            return tuple(readings)
        best: dict[tuple[str, ...], WordReading] = {}
        for one in readings:
            best.setdefault(one.stems, one)
        found = list(best.values())
        if known:
            most = self._rarity(found[0])
            found[1:] = [self._no_rarer(one, most) for one in found[1:]]
        return tuple(found)

    def _no_rarer(self, reading: WordReading, most: float) -> WordReading:
        """Return a reading with a weight of at most the word's own, however rare it is."""
        share = most / self._rarity(reading)
        return reading if share >= 1.0 else reading._replace(weight=reading.weight * share)

    def _rarity(self, reading: WordReading) -> float:
        pairs = zip(reading.words, reading.stems, strict=True)
        least = min([self.terms.frequency(word, stem) for word, stem in pairs])
        return math.log1p((self.products - least + 0.5) / (least + 0.5))

    def _corrections(self, word: str, stem: str, known: int) -> list[WordReading]:
        """Return the corrections of a word, likeliest first."""
        is_rare = known < LIMITS.rare
        if not is_rare and known * LIMITS.far_commoner > self.products:
            return []  # no word can be this much more frequent
        ranked = self._near(word, stem, known, 1)
        if is_rare and not any(count >= LIMITS.rare for _, count, _ in ranked):
            ranked += self._near(word, stem, known, 2)
        ranked.sort(key=lambda one: (-one[0], -one[1], one[2].words))
        return [reading for _, _, reading in ranked[: LIMITS.readings]]

    def _near(
        self, word: str, stem: str, known: int, distance: int
    ) -> list[tuple[float, int, WordReading]]:
        """Return words at an edit distance, with their weights and product counts."""
        found: list[tuple[float, int, WordReading]] = []
        those = self.vocabulary.near(word, distance)
        if not those:
            return found
        stems = self.language.stems([near.word for near in those])
        for near, meant in zip(those, stems, strict=True):
            count = self.terms.frequency(near.word, meant)
            if meant == stem or count == 0 or not _is_likely(near, known, count):
                continue
            weight = WEIGHTS.one_edit if near.distance == 1 else WEIGHTS.two_edits
            if not near.same_start:
                weight *= WEIGHTS.other_start
            found.append((weight, count, WordReading((near.word,), (meant,), weight)))
        return found

    def _completions(self, start: str, *, is_understood: bool) -> list[WordReading]:
        """Return the completions of an unfinished word."""
        words = self.vocabulary.beginning(start, LIMITS.readings)
        weight = WEIGHTS.unfinished
        if (
            not words
            and not is_understood
            and len(start) >= LIMITS.unfinished_mistyped_from
        ):
            words = self.vocabulary.nearly_beginning(start, LIMITS.readings)
            weight = WEIGHTS.unfinished_mistyped
        stems = self.language.stems(words)
        return [
            WordReading((word,), (stem,), weight)
            for word, stem in zip(words, stems, strict=True)
        ]

    def _apart(self, word: str) -> list[WordReading]:
        """Return the readings of a word as two adjacent words of a title."""
        if len(word) < LIMITS.apart_from or not word.isalpha():
            return []
        cuts = range(_LEAST_HALF, len(word) - _LEAST_HALF + 1)
        return [
            WordReading((one, other), stems, WEIGHTS.apart)
            for one, other in self.vocabulary.cut(word, cuts)
            if self._stand_together(stems := (self.stem(one), self.stem(other)))
        ]

    def _stand_together(self, stems: tuple[str, str]) -> bool:
        if not all(self.terms.holding(stem).title for stem in stems):
            return False
        phrase = tantivy.Query.phrase_query(self.schema, TITLE, list(stems))
        return bool(self.searcher.search(phrase, 1, count=False).hits)


def _is_likely(near: FuzzyMatch, known: int, count: int) -> bool:
    """Return whether a known word also gets this correction."""
    if known < LIMITS.rare:
        return True
    if near.distance > 1 or not near.same_start:
        return False
    return count >= LIMITS.far_commoner * known


def _halves(word: str) -> Iterator[tuple[str, str]]:
    if len(word) >= LIMITS.apart_from and word.isalpha():
        for cut in range(_LEAST_HALF, len(word) - _LEAST_HALF + 1):
            yield word[:cut], word[cut:]
