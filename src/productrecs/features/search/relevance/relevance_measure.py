"""Relevance measure: NDCG@10 and empty results of a query set, by the code that serves.

NDCG@10 compares the first ten results with the best possible order of the judged products.
A good product has the gain 3, a fair one 1, a bad or unjudged one 0 (2^grade - 1), divided
by log2(position + 1). A query counts by the searches that it stands for.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Final

from productrecs.features.search.product_search import (
    SearchableStore,
    SearchRequest,
    find_products,
)
from productrecs.records.catalog.catalog_view import Mask

DEPTH: Final = 10
"""How many results of a query are measured."""

_GAINS: Final = (0.0, 1.0, 3.0)
_SAME: Final = 1e-9


class Grade(IntEnum):
    """How well a product fits a query; the numbers are stored."""

    BAD = 0
    FAIR = 1
    GOOD = 2


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """A query of the set, with the grades of its judged products by item number."""

    intent: str
    text: str
    weight: float  # the searches that it stands for
    grades: Mapping[int, Grade]


@dataclass(frozen=True, slots=True)
class QueryResults:
    """The first results of a query, as item numbers."""

    items: tuple[int, ...]
    address: str | None = None  # of a redirect: shoppers see no results


@dataclass(frozen=True, slots=True)
class QueryScore:
    """One query with its results and their NDCG; None without a judged product."""

    query: JudgedQuery
    results: QueryResults
    ndcg: float | None


@dataclass(frozen=True)
class RelevanceMeasure:
    """The scores of all queries, and their means by traffic."""

    scores: tuple[QueryScore, ...]

    @cached_property
    def judged(self) -> list[QueryScore]:
        """The queries with an NDCG."""
        return [one for one in self.scores if one.ndcg is not None]

    @cached_property
    def ndcg(self) -> float | None:
        """The mean NDCG@10 by traffic; None if no query has a judged product."""
        weight = sum(one.query.weight for one in self.judged)
        if not weight:
            return None
        return sum(one.query.weight * (one.ndcg or 0) for one in self.judged) / weight

    @cached_property
    def no_results(self) -> float | None:
        """The share of searches without results; None without a query."""
        weight = sum(one.query.weight for one in self.scores)
        empty = sum(one.query.weight for one in self.scores if is_empty(one.results))
        return empty / weight if weight else None


def is_empty(results: QueryResults) -> bool:
    """Return whether a shopper finds nothing; a redirect leads somewhere."""
    return not results.items and results.address is None


def of_common_queries(
    first: RelevanceMeasure, second: RelevanceMeasure
) -> tuple[RelevanceMeasure, RelevanceMeasure]:
    """Return both measures of the queries that have an NDCG in both."""
    common = {one.query.intent for one in first.judged}
    common &= {one.query.intent for one in second.judged}
    left, right = (
        RelevanceMeasure(tuple(one for one in both.scores if one.query.intent in common))
        for both in (first, second)
    )
    return left, right


def measure_relevance(
    searchable: SearchableStore,
    queries: Iterable[JudgedQuery],
    now_ms: int,
    sellable: Mask | None = None,
) -> RelevanceMeasure:
    """Search for each query as a shopper would, and return the scores.

    The best possible order has the judged products in `sellable`, by default those that
    the shop could show.

    Raises:
        BrokenIndexError: when the index is damaged.
    """
    visible = _sellable(searchable, now_ms) if sellable is None else sellable
    return RelevanceMeasure(
        tuple(
            _score(query, _results(searchable, query.text, now_ms), visible)
            for query in queries
        )
    )


def score_earlier_results(
    searchable: SearchableStore,
    queries: Iterable[JudgedQuery],
    results: Mapping[str, QueryResults],
    now_ms: int,
) -> RelevanceMeasure:
    """Return the scores of earlier results, by intent, with the present judgements.

    Products that left the catalog since are left out: search does not answer for them.
    """
    visible = _sellable(searchable, now_ms)
    return RelevanceMeasure(
        tuple(
            _score(query, _without_gone(results[query.intent], visible), visible)
            for query in queries
            if query.intent in results
        )
    )


def _sellable(searchable: SearchableStore, now_ms: int) -> Mask:
    """Return the items that search could show; rules do not count, as they are measured."""
    return searchable.catalog.visible(now_ms, hide_sold_out=searchable.sold_out == "hidden")


def _results(searchable: SearchableStore, text: str, now_ms: int) -> QueryResults:
    found = find_products(searchable, SearchRequest(f"{text} ", DEPTH), now_ms)
    return QueryResults(tuple(hit.item for hit in found.hits), found.address)


def _without_gone(results: QueryResults, visible: Mask) -> QueryResults:
    items = tuple(one for one in results.items if one < len(visible) and visible[one])
    return QueryResults(items, results.address)


def _score(query: JudgedQuery, results: QueryResults, visible: Mask) -> QueryScore:
    return QueryScore(query, results, _ndcg(query.grades, results, visible))


def _ndcg(
    grades: Mapping[int, Grade], results: QueryResults, visible: Mask
) -> float | None:
    gains = (
        _GAINS[grade]
        for item, grade in grades.items()
        if item < len(visible) and visible[item]
    )
    ideal = _discounted(sorted(gains, reverse=True)[:DEPTH])
    if not ideal or results.address is not None:
        return None
    found = [_GAINS[grades.get(item, Grade.BAD)] for item in results.items[:DEPTH]]
    return _discounted(found) / ideal


def _discounted(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(place + 2) for place, gain in enumerate(gains))


@dataclass(frozen=True, slots=True)
class QueryResultChange:
    """A query whose first results differ between two configurations."""

    before: QueryScore
    after: QueryScore

    @property
    def change(self) -> float | None:
        """The change of NDCG; None if either is unknown."""
        if self.before.ndcg is None or self.after.ndcg is None:
            return None
        return self.after.ndcg - self.before.ndcg


@dataclass(frozen=True)
class RelevanceEffect:
    """What a change of the configuration does to the query set."""

    before: RelevanceMeasure
    after: RelevanceMeasure

    @cached_property
    def moved(self) -> list[QueryResultChange]:
        """The queries whose results change, those that weigh most first."""
        moves = [
            QueryResultChange(old, new)
            for old, new in zip(self.before.scores, self.after.scores, strict=True)
            if old.results != new.results
        ]
        return sorted(moves, key=_moved_weight, reverse=True)

    @property
    def ndcg(self) -> tuple[float | None, float | None]:
        """The mean NDCG before and after, of the queries that have one in both."""
        before, after = of_common_queries(self.before, self.after)
        return before.ndcg, after.ndcg

    @property
    def wins(self) -> list[QueryResultChange]:
        """The moved queries that improve."""
        return [one for one in self.moved if (one.change or 0.0) > _SAME]

    @property
    def losses(self) -> list[QueryResultChange]:
        """The moved queries that get worse."""
        return [one for one in self.moved if (one.change or 0.0) < -_SAME]


def _moved_weight(move: QueryResultChange) -> tuple[float, float]:
    weight = move.before.query.weight
    return abs(move.change or 0.0) * weight, weight


def compare_configurations(
    now: SearchableStore,
    changed: SearchableStore,
    queries: Sequence[JudgedQuery],
    now_ms: int,
) -> RelevanceEffect:
    """Return the effect of a changed configuration on the query set; nothing is saved.

    Raises:
        BrokenIndexError: when the index is damaged.
    """
    sellable = _sellable(now, now_ms)  # of both: what a change hides is a loss
    before, after = (
        measure_relevance(configuration, queries, now_ms, sellable)
        for configuration in (now, changed)
    )
    return RelevanceEffect(before, after)
