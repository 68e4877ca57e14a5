"""Query builder: turns interpreted words into the search library's queries."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import tantivy
from tantivy import Occur, Query

from productrecs.engines.text.head_noun import colour_words
from productrecs.engines.text.index_schema import (
    CATEGORIES,
    CODES,
    DESCRIPTION,
    EXACT,
    HEAD,
    TITLE,
)
from productrecs.engines.text.query_interpreter import QueryInterpreter, QueryTerm
from productrecs.engines.text.search_options import WEIGHTS
from productrecs.engines.text.word_interpreter import WordReading

_FIELDS: Final = (
    (TITLE, WEIGHTS.title),
    (CATEGORIES, WEIGHTS.categories),
    (DESCRIPTION, WEIGHTS.description),
)  # order of DocumentCounts
_SHOWN: Final = _FIELDS[:2]
Fields = Sequence[tuple[str, float]]
_SLOP: Final = 1


def all_words_query(interpreter: QueryInterpreter, slots: Sequence[QueryTerm]) -> Query:
    """Return the query for products with every word; there is at least one slot."""
    build = _Builder(interpreter)
    parts = [build.slot(slot) for slot in slots]
    heads = build.heads(slots, 1.0)
    if len(slots) == 1:
        return _preferring(parts[0], heads)
    every = [
        (Occur.Must, query) for query in _all_required(parts, build.compound_queries(slots))
    ]
    preferred = [build.all_in_title(slots), *build.side_by_side(slots), *heads]
    return _preferring(Query.boolean_query(every), preferred)


def some_words_queries(
    interpreter: QueryInterpreter, slots: Sequence[QueryTerm]
) -> Iterator[Query]:
    """Yield the queries for products with some of several words, strict ones first.

    First those with a match in titles, categories or codes, then in any text. Descriptions
    cost the most time and add little to a score.
    """
    if len(slots) == 1:
        return
    build = _Builder(interpreter)
    compound_queries = [one for one in build.compound_queries(slots) if one is not None]
    preferred = build.heads(slots, WEIGHTS.head_of_some)
    if len(slots) > 2:  # noqa: PLR2004 - two of two words were searched before
        preferred += build.side_by_side(slots)
    for fields in (_SHOWN, _FIELDS):
        parts = [build.slot(slot, fields) for slot in slots]
        some = [(Occur.Should, query) for query in (*parts, *compound_queries)]
        yield _preferring(Query.boolean_query(some), preferred)


def exact_query(schema: tantivy.Schema, key: str) -> Query:
    """Return the query for the products whose id or sku is `key`."""
    return Query.term_query(schema, EXACT, key, index_option="basic")


def _all_required(
    parts: Sequence[Query], compound_queries: Sequence[Query | None]
) -> list[Query]:
    """Return the query of each word, or of two words that match as one."""
    needed: list[Query] = []
    index = 0
    while index < len(parts):
        compound = compound_queries[index] if index < len(compound_queries) else None
        if compound is None:
            needed.append(parts[index])
            index += 1
            continue
        pair = [(Occur.Must, part) for part in parts[index : index + 2]]
        needed.append(Query.disjunction_max_query([Query.boolean_query(pair), compound]))
        index += 2
    return needed


@dataclass(frozen=True, slots=True)
class _Builder:
    """Combines queries against one index state."""

    interpreter: QueryInterpreter

    def slot(self, slot: QueryTerm, fields: Fields = _FIELDS) -> Query:
        """Return the query of a word: a disjunction of its readings, scored by the best."""
        return _best([self.reading(one, fields) for one in slot.readings])

    def compound_queries(self, slots: Sequence[QueryTerm]) -> list[Query | None]:
        """Return for each pair of neighbours the query of their joint meaning, if any."""
        joins = [self.interpreter.joined_readings(*pair) for pair in pairwise(slots)]
        return [
            _best([self.reading(one) for one in some]) if some else None for some in joins
        ]

    def reading(self, reading: WordReading, fields: Fields = _FIELDS) -> Query:
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
        if self.interpreter.terms.codes(word):
            terms.append((CODES, word, WEIGHTS.codes))
        parts = [
            (Occur.Should, Query.boost_query(_term(schema, name, term), share * weight))
            for name, term, share in terms
        ]
        return parts[0][1] if len(parts) == 1 else Query.boolean_query(parts)

    def all_in_title(self, slots: Sequence[QueryTerm]) -> Query:
        """Return the bonus query for a title with all words."""
        in_title = [(Occur.Must, self._in_title(slot)) for slot in slots]
        return Query.boolean_query(in_title)

    def side_by_side(self, slots: Sequence[QueryTerm]) -> list[Query]:
        """Return the bonus queries for neighbours that are adjacent in a title."""
        found = []
        for one, other in pairwise(slots):
            stems = [*one.readings[0].stems, *other.readings[0].stems]
            phrase = Query.phrase_query(
                self.interpreter.schema, TITLE, [*stems], slop=_SLOP
            )
            found.append(Query.boost_query(phrase, WEIGHTS.side_by_side))
        return found

    def heads(self, slots: Sequence[QueryTerm], share: float) -> list[Query]:
        """Return the bonus queries for head nouns; the last word has the highest bonus."""
        last = _head_slot(self.interpreter, slots)
        found = []
        for index, slot in enumerate(slots):
            weight = WEIGHTS.head + (WEIGHTS.last_head if index == last else 0.0)
            readings = [self._head(one, weight * share) for one in slot.readings]
            known_queries = [query for query in readings if query is not None]
            if known_queries:
                found.append(_best(known_queries))
        return found

    def _head(self, reading: WordReading, weight: float) -> Query | None:
        stem = reading.stems[-1]
        if not self.interpreter.terms.counts(stem).head:
            return None
        term = Query.term_query(self.interpreter.schema, HEAD, stem, index_option="basic")
        return Query.boost_query(term, weight * reading.weight)

    def _in_title(self, slot: QueryTerm) -> Query:
        schema = self.interpreter.schema
        share = WEIGHTS.title * WEIGHTS.all_in_title
        readings = [
            Query.boost_query(
                _term(schema, TITLE, one.stems[0])
                if len(one.stems) == 1
                else Query.phrase_query(schema, TITLE, list(one.stems)),
                share * one.weight,
            )
            for one in slot.readings
        ]
        return _best(readings)


def _head_slot(interpreter: QueryInterpreter, slots: Sequence[QueryTerm]) -> int:
    """Return the index of the head noun: the last word that is not a colour."""
    colours = colour_words(interpreter.language.code)
    candidates = [index for index, slot in enumerate(slots) if slot.typed not in colours]
    return candidates[-1] if candidates else len(slots) - 1


def _term(schema: tantivy.Schema, name: str, term: str) -> Query:
    return Query.term_query(schema, name, term, index_option="freq")


def _preferring(needed: Query, preferred: Sequence[Query]) -> Query:
    """Return a query with one required and several optional clauses."""
    if not preferred:
        return needed
    return Query.boolean_query(
        [(Occur.Must, needed), *((Occur.Should, query) for query in preferred)]
    )


def _best(queries: list[Query]) -> Query:
    return queries[0] if len(queries) == 1 else Query.disjunction_max_query(queries)
