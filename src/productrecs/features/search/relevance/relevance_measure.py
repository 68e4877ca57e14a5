"""Relevance measure: NDCG@10 and empty results of a query set, by the code that serves.

NDCG@10 compares the first ten results with the best possible order of the judged products.
A good product has the gain 3, a fair one 1, a bad or unjudged one 0 (2^grade - 1), divided
by log2(position + 1). A query counts by the searches that it stands for. Where variants of
a product are one result, they count once.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property
from typing import Final, Self

import numpy as np

from productrecs.features.search.product_search import (
    SearchableStore,
    SearchRequest,
    find_products,
)
from productrecs.records.catalog.catalog_view import Mask
from productrecs.records.catalog.variant_groups import CatalogVariantGroups

DEPTH: Final = 10
"""How many results of a query are measured."""

_GAINS: Final = (0.0, 1.0, 3.0)
_SAME: Final = 1e-9

MIN_JUDGED: Final = 10
"""How many judged queries a figure of the whole set needs, unless half are judged."""


class RelevanceGrade(IntEnum):
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
    grades: Mapping[int, RelevanceGrade]


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
        return [score for score in self.scores if score.ndcg is not None]

    @cached_property
    def ndcg(self) -> float | None:
        """The mean NDCG@10 by traffic; None if no query has a judged product."""
        weight = sum(score.query.weight for score in self.judged)
        if not weight:
            return None
        gains = (score.query.weight * (score.ndcg or 0) for score in self.judged)
        return sum(gains) / weight

    @cached_property
    def no_results(self) -> float | None:
        """The share of searches without results; None without a query."""
        weight = sum(score.query.weight for score in self.scores)
        empty = sum(score.query.weight for score in self.scores if is_empty(score.results))
        return empty / weight if weight else None


def is_enough_judged(judged: int, queries: int) -> bool:
    """Return whether the NDCG of `judged` queries says something about all `queries`."""
    return judged > 0 and (judged >= MIN_JUDGED or 2 * judged >= queries)


def is_empty(results: QueryResults) -> bool:
    """Return whether a shopper finds nothing; a redirect leads somewhere."""
    return not results.items and results.address is None


def restrict_to_commonly_judged_queries(
    first: RelevanceMeasure, second: RelevanceMeasure
) -> tuple[RelevanceMeasure, RelevanceMeasure]:
    """Return both measures of the queries that have an NDCG in both."""
    common = {score.query.intent for score in first.judged}
    common &= {score.query.intent for score in second.judged}

    def restrict(measure: RelevanceMeasure) -> RelevanceMeasure:
        scores = (score for score in measure.scores if score.query.intent in common)
        return RelevanceMeasure(tuple(scores))

    return restrict(first), restrict(second)


@dataclass(frozen=True, slots=True)
class _NdcgCalculator:
    """Computes the NDCG of lists, of both sides of a comparison alike."""

    sellable: Mask  # the products of the best possible order
    groups: CatalogVariantGroups  # the variants that count once

    @classmethod
    def of_searchable(cls, searchable: SearchableStore, now_ms: int) -> Self:
        """Return the calculator of a configuration."""
        # Rules do not count: they are what is measured.
        hides_sold_out = searchable.sold_out == "hidden"
        sellable = searchable.catalog.visible(now_ms, hide_sold_out=hides_sold_out)
        return cls(sellable, searchable.groups_for(_request("", collapse=True)))

    def ndcg(
        self, grades: Mapping[int, RelevanceGrade], results: QueryResults
    ) -> float | None:
        """Return the NDCG of a list; None without a judged product, or for a redirect."""
        best_grades: dict[int, RelevanceGrade] = {}
        for product, (item, grade) in zip(
            self._product_numbers(list(grades)), grades.items(), strict=True
        ):
            if self._is_sellable(item):
                best_grades[product] = max(
                    grade, best_grades.get(product, RelevanceGrade.BAD)
                )
        gains = sorted((_GAINS[grade] for grade in best_grades.values()), reverse=True)
        ideal = _discounted_gain(gains[:DEPTH])
        if not ideal or results.address is not None:
            return None
        gains, counted = [], set[int]()
        items = results.items[:DEPTH]
        for product, item in zip(self._product_numbers(items), items, strict=True):
            grade = grades.get(item, best_grades.get(product, RelevanceGrade.BAD))
            gains.append(0.0 if product in counted else _GAINS[grade])
            counted.add(product)
        return _discounted_gain(gains) / ideal

    def without_removed_products(self, results: QueryResults) -> QueryResults:
        """Return the results without products that left the catalog."""
        items = tuple(item for item in results.items if self._is_sellable(item))
        return QueryResults(items, results.address)

    def _product_numbers(self, items: Sequence[int]) -> list[int]:
        """Return a number for each item, the same one for variants of a product."""
        groups = self.groups.groups_of(np.array(items, np.int64)).tolist()
        return [
            -group if group else item for item, group in zip(items, groups, strict=True)
        ]

    def _is_sellable(self, item: int) -> bool:
        return item < len(self.sellable) and bool(self.sellable[item])


def measure_relevance(
    searchable: SearchableStore, queries: Iterable[JudgedQuery], now_ms: int
) -> RelevanceMeasure:
    """Search for each query as the search widget does, and return the scores.

    Raises:
        BrokenIndexError: when the index is damaged.
    """
    return _measure_queries(
        searchable,
        queries,
        now_ms,
        _NdcgCalculator.of_searchable(searchable, now_ms),
        collapse=True,
    )


def _measure_queries(
    searchable: SearchableStore,
    queries: Iterable[JudgedQuery],
    now_ms: int,
    ndcg_calculator: _NdcgCalculator,
    *,
    collapse: bool | None,
) -> RelevanceMeasure:
    scores = []
    for query in queries:
        request = _request(query.text, collapse=collapse)
        answer = find_products(searchable, request, now_ms)
        results = QueryResults(tuple(hit.item for hit in answer.hits), answer.address)
        scores.append(
            QueryScore(query, results, ndcg_calculator.ndcg(query.grades, results))
        )
    return RelevanceMeasure(tuple(scores))


def _request(text: str, *, collapse: bool | None) -> SearchRequest:
    return SearchRequest(f"{text} ", DEPTH, collapse=collapse)


def score_earlier_results(
    searchable: SearchableStore,
    queries: Iterable[JudgedQuery],
    results: Mapping[str, QueryResults],
    now_ms: int,
) -> RelevanceMeasure:
    """Return the scores of earlier results, by intent, with the present judgements.

    Products that left the catalog since are left out: search does not answer for them.
    """
    ndcg_calculator = _NdcgCalculator.of_searchable(searchable, now_ms)
    scores = []
    for query in queries:
        if query.intent in results:
            earlier = ndcg_calculator.without_removed_products(results[query.intent])
            ndcg = ndcg_calculator.ndcg(query.grades, earlier)
            scores.append(QueryScore(query, earlier, ndcg))
    return RelevanceMeasure(tuple(scores))


def _discounted_gain(gains: Sequence[float]) -> float:
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

    @property
    def is_found_now(self) -> bool:
        """Whether the query finds something, and found nothing before."""
        return is_empty(self.before.results) and not is_empty(self.after.results)

    @property
    def is_lost_now(self) -> bool:
        """Whether the query finds nothing, and found something before."""
        return is_empty(self.after.results) and not is_empty(self.before.results)


@dataclass(frozen=True)
class RelevanceEffect:
    """What a change of the configuration does to the query set."""

    before: RelevanceMeasure
    after: RelevanceMeasure

    @cached_property
    def changed_queries(self) -> list[QueryResultChange]:
        """The queries whose results change, those that weigh most first."""
        changes = [
            QueryResultChange(old, new)
            for old, new in zip(self.before.scores, self.after.scores, strict=True)
            if old.results != new.results
        ]
        return sorted(changes, key=_change_and_weight, reverse=True)

    @property
    def ndcg(self) -> tuple[float | None, float | None]:
        """The mean NDCG before and after, of the queries that have one in both."""
        before, after = restrict_to_commonly_judged_queries(self.before, self.after)
        return before.ndcg, after.ndcg

    @property
    def wins(self) -> list[QueryResultChange]:
        """The changed queries that improve: better judged, or no longer without results."""
        return [
            query
            for query in self.changed_queries
            if (query.change or 0.0) > _SAME or query.is_found_now
        ]

    @property
    def losses(self) -> list[QueryResultChange]:
        """The changed queries that get worse: worse judged, or without results."""
        return [
            query
            for query in self.changed_queries
            if (query.change or 0.0) < -_SAME or query.is_lost_now
        ]


def _change_and_weight(changed: QueryResultChange) -> tuple[float, float]:
    weight = changed.before.query.weight
    return abs(changed.change or 0.0) * weight, weight


def compare_configurations(
    now: SearchableStore,
    changed: SearchableStore,
    queries: Sequence[JudgedQuery],
    now_ms: int,
) -> RelevanceEffect:
    """Return the effect of a changed configuration on the query set; nothing is saved.

    Both ask as the search widget does. Between `collapse` on request and always, where the
    widget sees no difference, both ask as a page that does not say what it wants.

    Raises:
        BrokenIndexError: when the index is damaged.
    """
    ndcg_calculator = _NdcgCalculator.of_searchable(
        now, now_ms
    )  # of both: what a change hides is a loss
    if ndcg_calculator.groups.is_empty:
        ndcg_calculator = replace(
            ndcg_calculator, groups=_NdcgCalculator.of_searchable(changed, now_ms).groups
        )
    is_unseen_by_widget = {now.collapse, changed.collapse} == {"request", "always"}
    before, after = (
        _measure_queries(
            configuration,
            queries,
            now_ms,
            ndcg_calculator,
            collapse=None if is_unseen_by_widget else True,
        )
        for configuration in (now, changed)
    )
    return RelevanceEffect(before, after)
