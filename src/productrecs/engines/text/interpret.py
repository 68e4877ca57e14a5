"""What may each word of a query mean here? Itself, its forms, what it was meant to be."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

import tantivy

from productrecs.engines.text.compounds import LANGUAGES as COMPOUNDING
from productrecs.engines.text.compounds import compounds_of, parts_of
from productrecs.engines.text.language import Language
from productrecs.engines.text.options import LIMITS, WEIGHTS
from productrecs.engines.text.schema import CATEGORIES, CODES, DESCRIPTION, TITLE
from productrecs.engines.text.vocabulary import Near, Vocabulary, is_meant
from productrecs.engines.text.words import words_of

Words = tuple[str, ...]
Synonyms = Mapping[Words, tuple[Words, ...]]
"""What else a text means: the stems of its words, and the words of the other texts."""

NO_SYNONYMS: Final[Synonyms] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Reading:
    """One thing that a word may mean: stems that stand side by side, usually one."""

    words: tuple[str, ...]  # as the catalog writes them
    stems: tuple[str, ...]
    weight: float


@dataclass(frozen=True, slots=True)
class Slot:
    """One word of a query, and its readings, the plainest first; none: it means nothing."""

    typed: str
    readings: tuple[Reading, ...]
    is_known: bool  # the catalog has the word itself


@dataclass(frozen=True, slots=True)
class Interpreter:
    """Reads queries against one state of an index."""

    searcher: tantivy.Searcher
    schema: tantivy.Schema
    vocabulary: Vocabulary
    language: Language
    synonyms: Synonyms

    def slots(self, query: str, *, is_typing: bool) -> list[Slot]:
        """Return the words of a query that say something, in order, each once.

        With `is_typing` the last word may be unfinished.
        """
        words = self.language.without_fillers(words_of(query))
        if self.language.code in COMPOUNDING:
            words = [part for word in words for part in self._parts(word)]
        words = list(dict.fromkeys(words))[: LIMITS.words]
        last = len(words) - 1
        slots = [
            self._slot(word, is_typing=is_typing and index == last)
            for index, word in enumerate(words)
        ]
        return list(self._merged(slots))

    def _merged(self, slots: Sequence[Slot]) -> Iterator[Slot]:
        """Give the slots, two as one where only together they are a word of the catalog."""
        index = 0
        while index < len(slots):
            one, two = slots[index], slots[index : index + 2]
            wholes = self.together(*two) if len(two) > 1 else ()
            if not wholes or all(slot.is_known for slot in two):
                yield one
                index += 1
            else:
                typed = "".join(slot.typed for slot in two)
                readings = tuple(replace(whole, weight=1.0) for whole in wholes)
                yield Slot(typed, readings, is_known=True)
                index += 2

    def _parts(self, word: str) -> tuple[str, ...]:
        """Return the words that a compound which the catalog lacks is made of."""
        if len(word) < LIMITS.apart_from or not word.isalpha():
            return (word,)
        if self.vocabulary.has(word) or self.frequency(word, self._stem(word)):
            return (word,)
        return parts_of(word, self.vocabulary) or (word,)

    def together(self, one: Slot, other: Slot) -> tuple[Reading, ...]:
        """Return what two neighbouring words mean together: one word, or their synonyms."""
        word = one.typed + other.typed
        readings = []
        if len(word) >= LIMITS.apart_from - 1 and self.vocabulary.has(word):
            readings.append(self._reading((word,), WEIGHTS.together))
        stems = (self._stem(one.typed), self._stem(other.typed))
        readings += self._synonyms_of(stems, WEIGHTS.together)
        return tuple(readings)

    def frequency(self, word: str, stem: str) -> int:
        """Return about how many products hold a word in any of its forms."""
        count = self.searcher.doc_freq
        return max(
            count(TITLE, stem),
            count(CATEGORIES, stem),
            count(DESCRIPTION, stem),
            count(CODES, word),
        )

    def _slot(self, word: str, *, is_typing: bool) -> Slot:
        stem = self._stem(word)
        known = self.frequency(word, stem)
        readings = [Reading((word,), (stem,), 1.0)] if known else []
        readings += self._corrected(word, stem, known)
        if is_typing and known < LIMITS.rare:
            readings += self._completed(word, is_understood=bool(readings))
        readings += self._apart(word)
        if self.language.code in COMPOUNDING:
            compounds = compounds_of(word, self.vocabulary, LIMITS.readings)
            readings += [self._reading((one,), WEIGHTS.compound) for one in compounds]
        said = self._synonyms(word, stem, readings, is_typing=is_typing)
        readings += said
        best: dict[tuple[str, ...], Reading] = {}
        for one in readings:
            best.setdefault(one.stems, one)
        found = list(best.values())
        if known:
            found[1:] = [self._no_rarer(one, than=found[0]) for one in found[1:]]
        return Slot(word, tuple(found), known > 0 or bool(said and not known))

    def _no_rarer(self, reading: Reading, than: Reading) -> Reading:
        """Return a reading that counts for no more than the word itself, however rare."""
        share = self._rarity(than) / self._rarity(reading)
        return replace(reading, weight=reading.weight * min(1.0, share))

    def _rarity(self, reading: Reading) -> float:
        pairs = zip(reading.words, reading.stems, strict=True)
        least = min(self.frequency(word, stem) for word, stem in pairs)
        return math.log1p((self.searcher.num_docs - least + 0.5) / (least + 0.5))

    def _synonyms(
        self, word: str, stem: str, readings: Sequence[Reading], *, is_typing: bool
    ) -> list[Reading]:
        """Return what the merchant said that a word, or a reading of it, means too."""
        if not self.synonyms:
            return []
        found = self._synonyms_of((stem,), 1.0)
        for reading in readings:
            found += self._synonyms_of(reading.stems, reading.weight)
        if found or readings:
            return found
        # The catalog has no such word, but the merchant's words may: begun or mistyped.
        for key in self.synonyms:
            if len(key) == 1 and is_meant(word, key[0], is_typing=is_typing):
                found += self._synonyms_of(key, WEIGHTS.one_edit)
        return found

    def _synonyms_of(self, stems: Words, weight: float) -> list[Reading]:
        words = self.synonyms.get(stems, ())
        return [self._reading(one, weight * WEIGHTS.synonym) for one in words]

    def _reading(self, words: Words, weight: float) -> Reading:
        # The words of a phrase count each: together no more than one word does.
        share = weight / len(words) if len(words) > 1 else weight
        return Reading(words, tuple(self.language.stems(words)), share)

    def _corrected(self, word: str, stem: str, known: int) -> list[Reading]:
        """Return what a word may be a misspelling of, the likeliest first."""
        ranked: list[tuple[float, int, Reading]] = []
        for near in self.vocabulary.near(word):
            meant = self._stem(near.word)
            count = self.frequency(near.word, meant)
            if meant == stem or count == 0 or not _is_likely(near, known, count):
                continue
            weight = WEIGHTS.one_edit if near.distance == 1 else WEIGHTS.two_edits
            if not near.same_start:
                weight *= WEIGHTS.other_start
            ranked.append((-weight, -count, Reading((near.word,), (meant,), weight)))
        ranked.sort(key=lambda one: (one[0], one[1], one[2].words))
        return [reading for _, _, reading in ranked[: LIMITS.readings]]

    def _completed(self, start: str, *, is_understood: bool) -> list[Reading]:
        """Return the words that an unfinished one may become."""
        words = self.vocabulary.beginning(start, LIMITS.readings)
        weight = WEIGHTS.unfinished
        if (
            not words
            and not is_understood
            and len(start) >= LIMITS.unfinished_mistyped_from
        ):
            words = self.vocabulary.nearly_beginning(start, LIMITS.readings)
            weight = WEIGHTS.unfinished_mistyped
        return [Reading((word,), (self._stem(word),), weight) for word in words]

    def _apart(self, word: str) -> list[Reading]:
        """Return a word read as two that stand side by side in some title."""
        return [
            Reading((one, other), stems, WEIGHTS.apart)
            for one, other in _halves(word)
            if self.vocabulary.has(one) and self.vocabulary.has(other)
            if self._stand_together(stems := (self._stem(one), self._stem(other)))
        ]

    def _stand_together(self, stems: Sequence[str]) -> bool:
        phrase = tantivy.Query.phrase_query(self.schema, TITLE, list(stems))
        return bool(self.searcher.search(phrase, 1, count=False).hits)

    def _stem(self, word: str) -> str:
        return self.language.stems([word])[0]


def _is_likely(near: Near, known: int, count: int) -> bool:
    """Return whether a word that the catalog has is read in another way all the same."""
    if known < LIMITS.rare:
        return True
    if near.distance > 1 or not near.same_start:
        return False
    return count >= LIMITS.far_commoner * known


def _halves(word: str) -> Iterator[tuple[str, str]]:
    if len(word) >= LIMITS.apart_from and word.isalpha():
        for cut in range(3, len(word) - 2):
            yield word[:cut], word[cut:]
