"""Query suggestions: completions and corrections with results, spelt as in titles."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from productrecs.engines.text.analysed_query import (
    AnalysedQuery,
)
from productrecs.engines.text.index_queries import all_words_query
from productrecs.engines.text.index_schema import NUMBER
from productrecs.engines.text.query_interpreter import (
    QueryInterpreter,
    QueryTerm,
    has_correction,
)
from productrecs.engines.text.tokenizer import fold_text, is_cjk, is_code
from productrecs.engines.text.word_interpreter import WordReading

Mask = npt.NDArray[np.bool_]

_CHECKED_HITS: Final = 30  # hits that are checked for visibility
_CANDIDATES_PER_SUGGESTION: Final = 3  # candidates per wanted suggestion


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


def suggest_queries(
    interpreter: QueryInterpreter, query: AnalysedQuery, limit: int, visible: Mask
) -> QuerySuggestions:
    """Return up to `limit` suggestions and, for a misspelled word, the correction.

    Each has at least one `visible` product (by item number) with all its words. Words
    without a match are left out of both.
    """
    is_typing = query.is_typing
    query_terms = [
        query_term
        for query_term in interpreter.terms_without_opening_phrase(query)
        if query_term.readings
    ]
    if not query_terms:
        return QuerySuggestions([], None)
    finder = _SuggestionFinder(interpreter, visible, query.words)
    suggestions: dict[tuple[str, ...], Suggestion] = {}
    for candidate in finder.candidate_queries(query_terms, limit, is_typing=is_typing):
        if len(suggestions) == limit:
            break
        suggestion = finder.suggestion_with_visible_product(candidate)
        if suggestion is not None:
            stems = interpreter.language.stems(suggestion.words)
            suggestions.setdefault(tuple(stems), suggestion)
    meant = None
    if has_correction(query_terms, is_typing=is_typing):
        meant = finder.suggestion_with_visible_product(
            [_with_first_reading(query_term) for query_term in query_terms]
        )
    return QuerySuggestions(list(suggestions.values()), meant)


@dataclass(frozen=True, slots=True)
class _SuggestionFinder:
    """Finds suggestions in one index state."""

    interpreter: QueryInterpreter
    visible: Mask
    typed: Sequence[str]

    def candidate_queries(
        self, query_terms: Sequence[QueryTerm], limit: int, *, is_typing: bool
    ) -> Iterator[list[QueryTerm]]:
        """Yield the query with its last word as typed, corrected, and completed."""
        first_terms = [_with_first_reading(query_term) for query_term in query_terms[:-1]]
        last = query_terms[-1]
        for reading in self._completions_and_readings(last, limit, is_typing=is_typing):
            if not self._is_in_titles_or_categories(reading):
                continue
            yield [*first_terms, last._replace(readings=(reading,))]

    def suggestion_with_visible_product(
        self, query_terms: Sequence[QueryTerm]
    ) -> Suggestion | None:
        """Return these words in their first reading; None if no product has all."""
        searcher = self.interpreter.searcher
        terms_as_read = [
            query_term._replace(typed="".join(query_term.readings[0].words))
            for query_term in query_terms
        ]
        query = all_words_query(self.interpreter, terms_as_read)
        hits = searcher.search(query, _CHECKED_HITS, count=False).hits
        if not hits:
            return None
        addresses = [address for _, address in hits]
        for number in searcher.fast_field_values(NUMBER, addresses):
            item = int(number or 0)
            if item < len(self.visible) and self.visible[item]:
                return Suggestion(
                    tuple(dict.fromkeys(self._corrected_words(query_terms))), item
                )
        return None

    def _corrected_words(self, query_terms: Sequence[QueryTerm]) -> list[str]:
        """Return the words of terms in query order, with stop words."""
        corrections = {
            query_term.typed: query_term.readings[0].words for query_term in query_terms
        }
        if not corrections.keys() <= set(self.typed):  # joined or split
            return [word for words in corrections.values() for word in words]
        places = [n for n, word in enumerate(self.typed) if word in corrections]
        content_words = set(self.interpreter.language.without_stop_words(self.typed))
        return [
            corrected
            for word in self.typed[places[0] : places[-1] + 1]
            for corrected in corrections.get(word, () if word in content_words else (word,))
        ]

    def _completions_and_readings(
        self, last_term: QueryTerm, limit: int, *, is_typing: bool
    ) -> Iterator[WordReading]:
        reader = self.interpreter.reader
        if is_typing:
            for word in reader.vocabulary.completions(
                last_term.typed, _CANDIDATES_PER_SUGGESTION * limit
            ):
                yield reader.title_spelling(word)
        for reading in last_term.readings:
            yield (
                reader.title_spelling(reading.words[0])
                if len(reading.words) == 1
                else reading
            )

    def _is_in_titles_or_categories(self, reading: WordReading) -> bool:
        """Return whether a title or a category has the words: codes are not suggested."""
        counts = map(self.interpreter.terms.counts, reading.stems)
        return all(count.title or count.categories for count in counts)


def _with_first_reading(query_term: QueryTerm) -> QueryTerm:
    return query_term._replace(readings=query_term.readings[:1])


_RUN: Final = re.compile(r"[^\W_]+(?:['\u2019./-][^\W_]+)*")
_BREAK: Final = re.compile(r"[^\w]|_")


def spell_as_title(words: Sequence[str], title: str, typed: str = "") -> str | None:
    """Return folded words in the spelling of `title`, in lower case, joined by blanks.

    Joined words ("tshirt") get their hyphen back ("t-shirt"), as do split ones. Bigrams of
    a text without blanks form one run again. None if a word is a size or code that neither
    the title nor `typed` spells ("750ml" for "0,75 l").
    """
    folded = fold_text(typed)
    spellings: dict[str, str] = {}
    linked_spellings: dict[tuple[str, ...], str] = {}
    runs = _RUN.findall(title)
    for run in runs:
        spellings.setdefault(fold_text(run), run.lower())
        parts = _BREAK.split(run)
        for part in parts:
            spellings.setdefault(fold_text(part), part.lower())
        folded_parts = tuple(map(fold_text, parts))
        spellings.setdefault("".join(folded_parts), run.lower())
        linked_spellings.setdefault(folded_parts, run.lower())
    for first, second in pairwise(runs):
        spellings.setdefault(fold_text(first + second), f"{first} {second}".lower())
    texts: list[str] = []
    remaining = _join_bigrams(words)
    while remaining:
        consumed = 2 if tuple(remaining[:2]) in linked_spellings else 1
        spelling = linked_spellings.get(tuple(remaining[:consumed])) or spellings.get(
            remaining[0]
        )
        spelling = spelling or _matching_part_of_title(remaining[0], title)
        if spelling is None and is_code(remaining[0]) and remaining[0] not in folded:
            return None
        texts.append(spelling or remaining[0])
        remaining = remaining[consumed:]
    return " ".join(texts)


def _matching_part_of_title(word: str, title: str) -> str | None:
    """Return the part of a title that matches a run without blanks."""
    if not is_cjk(word):
        return None
    folded_parts = [fold_text(character) for character in title]
    start = "".join(folded_parts).find(word)
    if start < 0:
        return None
    # maps each folded character to its position in the title
    positions = [at for at, folded in enumerate(folded_parts) for _ in folded]
    return title[positions[start] : positions[start + len(word) - 1] + 1]


def _join_bigrams(words: Sequence[str]) -> list[str]:
    """Return words with the bigrams of a text without blanks merged into runs."""
    joined: list[str] = []
    for word in words:
        last = joined[-1] if joined else ""
        if is_cjk(word) and is_cjk(last) and last[-1] == word[0]:
            joined[-1] = last + word[1:]
        else:
            joined.append(word)
    return joined
