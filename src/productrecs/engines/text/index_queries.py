"""Index queries: what the index is asked for the terms of a query, and how words count."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import tantivy
from tantivy import Occur, Query

from productrecs.engines.text.colour_and_material_words import words_that_may_mean_colours
from productrecs.engines.text.head_nouns import (
    titles_end_with_head_noun,
    trailing_colour_words,
)
from productrecs.engines.text.index_schema import (
    CATEGORIES,
    CODES,
    DESCRIPTION,
    EXACT,
    HEAD,
    TITLE,
)
from productrecs.engines.text.query_interpreter import QueryInterpreter, QueryTerm
from productrecs.engines.text.search_hyperparameters import (
    WEIGHTS,
)
from productrecs.engines.text.size_phrases import is_size_letter_or_size_word
from productrecs.engines.text.vocabulary import COMPOUNDING_LANGUAGES as COMPOUNDING
from productrecs.engines.text.word_interpreter import (
    WordReading,
    without_completions,
)

_TWO: Final = 2

_FIELDS: Final = (
    (TITLE, WEIGHTS.title),
    (CATEGORIES, WEIGHTS.categories),
    (DESCRIPTION, WEIGHTS.description),
)  # order of ProductCountsByField
_SHORT_FIELDS: Final = _FIELDS[:2]
Fields = Sequence[tuple[str, float]]
_SLOP: Final = 1

WORD_SCORE: Final = 256.0
"""Score of a word of a partial match; more than all other scores of a product together."""


def all_words_query(interpreter: QueryInterpreter, terms: Sequence[QueryTerm]) -> Query:
    """Return the query for products with every word; there is at least one term."""
    build = _IndexQueryBuilder(interpreter)
    word_queries = [build.term_query(term) for term in terms]
    heads = build.head_noun_queries(terms)
    if len(terms) == 1:
        return _with_optional_clauses(word_queries[0], heads)
    required = [
        (Occur.Must, query)
        for query in _required_queries(word_queries, build.compound_queries(terms))
    ]
    optional = [
        build.all_in_title_query(terms),
        *build.adjacent_words_queries(terms),
        *heads,
    ]
    return _with_optional_clauses(Query.boolean_query(required), optional)


def same_head_noun_query(
    interpreter: QueryInterpreter, terms: Sequence[QueryTerm]
) -> Query | None:
    """Return the query for products with the head noun of the terms; None without any."""
    build = _IndexQueryBuilder(interpreter)
    head_noun = build.head_noun_query(terms[_head_noun_index(interpreter, terms)])
    if head_noun is None:
        return None
    words = [build.term_query(term, _SHORT_FIELDS) for term in terms if term.readings]
    return _with_optional_clauses(head_noun, words)


def some_words_queries(
    interpreter: QueryInterpreter,
    terms: Sequence[QueryTerm],
    *,
    with_attributes_alone: bool = False,
) -> Iterator[Query]:
    """Yield the queries for products with some of several words, strict ones first.

    A colour or size alone is no match, except `with_attributes_alone`: of "red trainers",
    other shoes are better than red lentils.

    First those with a match in titles, categories or codes, then in any text. Descriptions
    cost the most time and add little to a score. Each word in a title, category or code
    adds `WORD_SCORE`, so products with more words come first, however rare another word is.
    """
    if len(terms) == 1:
        return
    build = _IndexQueryBuilder(interpreter)
    compounds = build.compound_queries(terms)
    compound_queries = [compound for compound in compounds if compound is not None]
    # Without every other word, a "hot" that products have does not mean a hotel.
    terms = [
        term._replace(readings=without_completions(term.typed, term.readings))
        if term.is_known
        else term
        for term in terms
    ]
    short_queries = [build.term_query(term, _SHORT_FIELDS) for term in terms]
    optional = _word_score_queries(short_queries, compounds)
    if len(terms) > 2:  # noqa: PLR2004 - two of two words were searched before
        optional += build.adjacent_words_queries(terms)
    optional += build.head_noun_queries(terms, WEIGHTS.partial_heads)
    names = (
        range(len(terms))
        if with_attributes_alone
        else _indexes_without_colours_and_sizes(interpreter, terms)
    )
    for fields in (_SHORT_FIELDS, _FIELDS):
        names_queries = [
            short_queries[index]
            if fields is _SHORT_FIELDS
            else build.term_query(terms[index])
            for index in names
        ]
        some = [(Occur.Should, query) for query in (*names_queries, *compound_queries)]
        yield _with_optional_clauses(Query.boolean_query(some), optional)


def _word_score_queries(
    word_queries: Sequence[Query], compound_queries: Sequence[Query | None]
) -> list[Query]:
    """Return the queries that add `WORD_SCORE` for each word; a compound is two words."""
    scoring_queries: list[Query] = []
    index = 0
    while index < len(word_queries):
        compound = compound_queries[index] if index < len(compound_queries) else None
        pair = word_queries[index : index + (1 if compound is None else 2)]
        words = [Query.const_score_query(part, WORD_SCORE) for part in pair]
        index += len(pair)
        if compound is None:
            scoring_queries += words
        else:
            both_words = Query.boolean_query([(Occur.Should, word) for word in words])
            joined = Query.const_score_query(compound, _TWO * WORD_SCORE)
            scoring_queries.append(Query.disjunction_max_query([both_words, joined]))
    return scoring_queries


def exact_query(schema: tantivy.Schema, key: str) -> Query:
    """Return the query for the products whose id or sku is `key`."""
    return Query.term_query(schema, EXACT, key, index_option="basic")


def title_phrase_query(schema: tantivy.Schema, stems: Sequence[str]) -> Query:
    """Return the query for the products whose title has the stems side by side."""
    if len(stems) == 1:
        return Query.term_query(schema, TITLE, stems[0], index_option="basic")
    return Query.phrase_query(schema, TITLE, list(stems))


def _required_queries(
    word_queries: Sequence[Query], compound_queries: Sequence[Query | None]
) -> list[Query]:
    """Return the query of each word, or of two words that match as one."""
    required: list[Query] = []
    index = 0
    while index < len(word_queries):
        compound = compound_queries[index] if index < len(compound_queries) else None
        if compound is None:
            required.append(word_queries[index])
            index += 1
            continue
        pair = [(Occur.Must, part) for part in word_queries[index : index + 2]]
        required.append(Query.disjunction_max_query([Query.boolean_query(pair), compound]))
        index += 2
    return required


@dataclass(frozen=True, slots=True)
class _IndexQueryBuilder:
    """Combines queries against one index state."""

    interpreter: QueryInterpreter

    def term_query(self, term: QueryTerm, fields: Fields = _FIELDS) -> Query:
        """Return the query of a word: a disjunction of its readings, scored by the best."""
        return _disjunction(
            [self.reading_query(reading, fields) for reading in term.readings]
        )

    def compound_queries(self, terms: Sequence[QueryTerm]) -> list[Query | None]:
        """Return for each pair of neighbours the query of their joint meaning, if any."""
        readings_of_pairs = [
            self.interpreter.joined_or_corrected_readings(*pair) for pair in pairwise(terms)
        ]
        return [
            _disjunction([self.reading_query(reading) for reading in readings])
            if readings
            else None
            for readings in readings_of_pairs
        ]

    def reading_query(self, reading: WordReading, fields: Fields = _FIELDS) -> Query:
        """Return the query of one reading in `fields` and codes, with summed scores.

        Fields without the word are left out.
        """
        schema, weight = self.interpreter.schema, reading.weight
        if len(reading.stems) > 1:
            phrase = Query.phrase_query(schema, TITLE, list(reading.stems))
            return Query.boost_query(phrase, WEIGHTS.title * weight)
        (word,), (stem,) = reading.words, reading.stems
        stem_counts = self.interpreter.terms.counts(stem)
        terms = [
            (name, stem, share)
            for (name, share), count in zip(fields, stem_counts, strict=False)
            if count
        ]
        if self.interpreter.terms.code_count(word):
            terms.append((CODES, word, WEIGHTS.codes))
        parts = [
            (Occur.Should, Query.boost_query(_term(schema, name, term), share * weight))
            for name, term, share in terms
        ]
        return parts[0][1] if len(parts) == 1 else Query.boolean_query(parts)

    def all_in_title_query(self, terms: Sequence[QueryTerm]) -> Query:
        """Return the bonus query for a title with all words."""
        in_title = [(Occur.Must, self._boosted_title_query(term)) for term in terms]
        return Query.boolean_query(in_title)

    def adjacent_words_queries(self, terms: Sequence[QueryTerm]) -> list[Query]:
        """Return the bonus queries for neighbours that are adjacent in a title."""
        bonus_queries = []
        for first, second in pairwise(terms):
            stems = [*first.readings[0].stems, *second.readings[0].stems]
            phrase = Query.phrase_query(
                self.interpreter.schema, TITLE, [*stems], slop=_SLOP
            )
            bonus_queries.append(Query.boost_query(phrase, WEIGHTS.side_by_side))
        return bonus_queries

    def head_noun_queries(
        self, terms: Sequence[QueryTerm], weight_share: float = 1.0
    ) -> list[Query]:
        """Return the bonus queries for head nouns; the last word has the highest bonus.

        The compound of two words is the head where the second would be; languages that
        form compounds freely rank those by `joined` alone.
        """
        last = _head_noun_index(self.interpreter, terms)
        bonus_queries = []
        for index, term in enumerate(terms):
            weight = WEIGHTS.head + (WEIGHTS.last_head if index == last else 0.0)
            readings = term.readings
            if index and self.interpreter.language.code not in COMPOUNDING:
                readings += self.interpreter.joined_readings(terms[index - 1], term)
            heads = [
                self._head_noun_query(reading, weight_share * weight)
                for reading in readings
            ]
            known_queries = [query for query in heads if query is not None]
            if known_queries:
                bonus_queries.append(_disjunction(known_queries))
        return bonus_queries

    def head_noun_query(self, term: QueryTerm) -> Query | None:
        """Return the query of the products whose head noun is a word; None without any."""
        heads = [self._head_noun_query(reading, 1.0) for reading in term.readings]
        known_queries = [query for query in heads if query is not None]
        return _disjunction(known_queries) if known_queries else None

    def _head_noun_query(self, reading: WordReading, weight: float) -> Query | None:
        stem = reading.stems[-1]
        if not self.interpreter.terms.counts(stem).head:
            return None
        term = Query.term_query(self.interpreter.schema, HEAD, stem, index_option="basic")
        return Query.boost_query(term, weight * reading.weight)

    def _boosted_title_query(self, term: QueryTerm) -> Query:
        schema = self.interpreter.schema
        share = WEIGHTS.title * WEIGHTS.all_in_title
        queries = [
            Query.boost_query(
                _term(schema, TITLE, reading.stems[0])
                if len(reading.stems) == 1
                else Query.phrase_query(schema, TITLE, list(reading.stems)),
                share * reading.weight,
            )
            for reading in term.readings
        ]
        return _disjunction(queries)


def _head_noun_index(interpreter: QueryInterpreter, terms: Sequence[QueryTerm]) -> int:
    """Return the index of the head noun: the last word that is not a colour."""
    colours = trailing_colour_words(interpreter.language.code)
    candidates = [index for index, term in enumerate(terms) if term.typed not in colours]
    return candidates[-1] if candidates else len(terms) - 1


def _indexes_without_colours_and_sizes(
    interpreter: QueryInterpreter, terms: Sequence[QueryTerm]
) -> Sequence[int]:
    """Return the indexes of the words that are no colour or size; all if there are none.

    The head noun is neither: the last word of "blood orange" is a fruit.
    """
    code = interpreter.language.code
    head = _head_noun_index(interpreter, terms) if titles_end_with_head_noun(code) else None
    colours = words_that_may_mean_colours(code)
    names = [
        index
        for index, term in enumerate(terms)
        if not (
            is_size_letter_or_size_word(term.typed)
            or (term.typed in colours and index != head)
        )
    ]
    return names or range(len(terms))


def _term(schema: tantivy.Schema, name: str, term: str) -> Query:
    return Query.term_query(schema, name, term, index_option="freq")


def _with_optional_clauses(required: Query, optional: Sequence[Query]) -> Query:
    """Return a query with one required and several optional clauses."""
    if not optional:
        return required
    return Query.boolean_query(
        [(Occur.Must, required), *((Occur.Should, query) for query in optional)]
    )


def _disjunction(queries: list[Query]) -> Query:
    return queries[0] if len(queries) == 1 else Query.disjunction_max_query(queries)
