"""Relevance effect: what an unsaved change of search does to the store's query set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from productrecs.dashboard.page import Visit
from productrecs.dashboard.product_table import titles_of
from productrecs.features.search.product_search import SearchableStore
from productrecs.features.search.relevance.relevance_measure import (
    DEPTH,
    QueryResultChange,
    QueryResults,
    compare_configurations,
    is_enough_judged,
)
from productrecs.features.search.relevance.repository import (
    RelevanceRepository,
    to_judged_queries,
)

_MOST_MOVED: Final = 20
_SHOWN: Final = 5  # products of a list; all if these are equal


@dataclass(frozen=True, slots=True)
class QueryWithChangedResults:
    """A query whose first results change."""

    text: str
    share: float  # of the searches that the set stands for
    before: float | None  # NDCG@10
    after: float | None
    change: float | None
    is_found_now: bool  # it found nothing before
    is_lost_now: bool
    lists: tuple[tuple[str, ...], tuple[str, ...]]  # titles before and after


@dataclass(frozen=True, slots=True)
class EffectOnQuerySet:
    """The effect of a change on the query set."""

    queries: int
    judged: int
    is_enough_judged: bool  # to say something about the whole set
    ndcg: tuple[float | None, float | None]  # before and after
    no_results: tuple[float | None, float | None]
    wins: int
    losses: int
    found_now: int  # of the wins: found nothing before
    lost_now: int
    moved: int
    shown: tuple[QueryWithChangedResults, ...]  # the moved queries that weigh most


def measure_effect_on_query_set(
    visit: Visit, current: SearchableStore, changed: SearchableStore
) -> EffectOnQuerySet:
    """Search for every query of the set with both configurations; nothing is saved."""
    with visit.database.reading() as connection:
        repository = RelevanceRepository(connection, visit.store.store_id)
        queries = to_judged_queries(repository.queries(), repository.judgements())
    effect = compare_configurations(current, changed, queries, visit.now_ms)
    weight = sum(query.weight for query in queries) or 1.0
    shown_moves = effect.changed_queries[:_MOST_MOVED]
    titles = _titles_of_results(visit, current, shown_moves)
    return EffectOnQuerySet(
        queries=len(queries),
        judged=len(effect.before.judged),
        is_enough_judged=is_enough_judged(len(effect.before.judged), len(queries)),
        ndcg=effect.ndcg,
        no_results=(effect.before.no_results, effect.after.no_results),
        wins=len(effect.wins),
        losses=len(effect.losses),
        found_now=sum(query.is_found_now for query in effect.changed_queries),
        lost_now=sum(query.is_lost_now for query in effect.changed_queries),
        moved=len(effect.changed_queries),
        shown=tuple(
            QueryWithChangedResults(
                text=query.before.query.text,
                share=query.before.query.weight / weight,
                before=query.before.ndcg,
                after=query.after.ndcg,
                change=query.change,
                is_found_now=query.is_found_now,
                is_lost_now=query.is_lost_now,
                lists=_titles_before_and_after(query, titles),
            )
            for query in shown_moves
        ),
    )


def _titles_of_results(
    visit: Visit, searchable: SearchableStore, moved: Sequence[QueryResultChange]
) -> dict[int, str]:
    numbers = {
        item
        for change in moved
        for results in (change.before.results, change.after.results)
        for item in results.items
    }
    ids = {number: searchable.catalog.ids[number] or "" for number in sorted(numbers)}
    titles = titles_of(visit, list(ids.values()))
    return {number: titles.get(item_id, item_id) for number, item_id in ids.items()}


def _titles_before_and_after(
    move: QueryResultChange, titles: Mapping[int, str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the titles of both lists; more of them if the first products are equal."""
    both = (move.before.results, move.after.results)
    heads = {(results.items[:_SHOWN], results.address) for results in both}
    count = DEPTH if len(heads) == 1 else _SHOWN
    before, after = (_result_titles(results, titles, count) for results in both)
    return before, after


def _result_titles(
    results: QueryResults, titles: Mapping[int, str], count: int
) -> tuple[str, ...]:
    if results.address is not None:
        return (f"Redirect to {results.address}",)
    return tuple(titles[item] for item in results.items[:count]) or ("Nothing is found",)
