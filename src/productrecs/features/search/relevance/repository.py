"""Relevance repository: SQL of the query set, its judgements, measures, and clicks."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.engines.click_boosts import CART, PURCHASE
from productrecs.features.search.relevance.click_judgements import ClickJudgement
from productrecs.features.search.relevance.relevance_measure import (
    JudgedQuery,
    QueryResults,
    QueryScore,
    RelevanceGrade,
)
from productrecs.records.catalog.repository import items_of_store
from productrecs.records.events.event import EventKind
from productrecs.records.events.event_log.repository import EventLogRepository
from productrecs.storage.sql.store_counters_and_versions import heads_of_all_stores
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import (
    relevance_judgements,
    relevance_measures,
    relevance_queries,
    search_counts,
)

TOP, TAIL, HAND, REMOVED = "top", "tail", "hand", "removed"
"""Where a query of the set comes from; a removed one is not added again."""

_OUTCOMES_SQL: Final = (
    "SELECT search, kind FROM outcomes "
    "WHERE store_id = ? AND day >= ? AND search IS NOT NULL"
)
_WEIGHTS: Final = {int(EventKind.ADD_TO_CART): CART, int(EventKind.BUY): PURCHASE}


class SearchClickRow(NamedTuple):
    """A click on a search result, as stored."""

    seq: int
    term: str
    item: int
    shopper: str
    position: int | None


@dataclass(frozen=True, slots=True)
class QuerySetEntry:
    """A query of the set, and its results at the last measure."""

    intent: str
    text: str
    origin: str
    searches: int
    weight: float
    results: QueryResults | None = None  # None: not measured yet
    ndcg: float | None = None


@dataclass(frozen=True, slots=True)
class StoredJudgement:
    """A grade of a product for a query."""

    intent: str
    item: int
    grade: RelevanceGrade
    by_hand: bool
    shoppers: int = 0  # who clicked; 0 by hand


class ConfigurationChange(NamedTuple):
    """A change that may explain a measure: its text, and where it was made."""

    text: str
    kind: str = ""  # search, rules, settings, catalog or model; "" of an old measure
    entry_id: str = ""  # its line of the audit log, if it has one


@dataclass(frozen=True, slots=True)
class StoredMeasure:
    """A measure of the history."""

    measured_at: int
    ndcg: float | None
    no_results: float | None
    click_through: float | None
    queries: int
    judged_queries: int
    # Of the queries that this measure and the one before have in common, by these
    # judgements: the results before, and these.
    ndcg_before: float | None = None
    ndcg_same: float | None = None
    is_alarm: bool = False
    changes: tuple[ConfigurationChange, ...] = ()
    versions: Mapping[str, Any] = field(default_factory=dict)


class RelevanceRepository(StoreScopedRepository):
    """One store's query set, judgements and measures; never commits."""

    def queries(self) -> list[QuerySetEntry]:
        """Return every query, also removed ones; those that weigh most first."""
        columns = relevance_queries.c
        query = sa.select(relevance_queries).where(columns.store_id == self._store_id)
        rows = self._connection.execute(
            query.order_by(columns.weight.desc(), columns.intent)
        )
        return [_to_query_set_entry(row) for row in rows]

    def put_queries(self, queries: Iterable[QuerySetEntry], now_ms: int) -> None:
        """Add queries, or replace the origin, text and weight of known ones."""
        for query in queries:
            self._put_row(
                relevance_queries,
                kept_columns=("added_at",),
                intent=query.intent,
                text=query.text,
                origin=query.origin,
                searches=query.searches,
                weight=query.weight,
                added_at=now_ms,
            )

    def delete_queries(self, intents: Iterable[str]) -> None:
        """Delete queries; their judgements stay until they are judged again."""
        for intent in intents:
            self._delete_rows(relevance_queries, intent=intent)

    def store_scores(self, scores: Iterable[QueryScore]) -> None:
        """Store each query's results and NDCG."""
        for score in scores:
            self._update_rows(
                relevance_queries,
                relevance_queries.c.intent == score.query.intent,
                results=json.dumps([score.results.address, *score.results.items]),
                ndcg=score.ndcg,
            )

    def judgements(self, intent: str | None = None) -> list[StoredJudgement]:
        """Return the judgements of one query, or of all."""
        columns = relevance_judgements.c
        query = sa.select(
            columns.intent, columns.item, columns.grade, columns.by_hand, columns.shoppers
        ).where(columns.store_id == self._store_id)
        if intent is not None:
            query = query.where(columns.intent == intent)
        rows = self._connection.execute(query)
        return [
            StoredJudgement(
                row[0], int(row[1]), RelevanceGrade(row[2]), bool(row[3]), int(row[4])
            )
            for row in rows
        ]

    def store_or_delete_hand_judgement(
        self, intent: str, item: int, grade: RelevanceGrade | None, now_ms: int
    ) -> None:
        """Store a judgement by hand; None deletes it."""
        if grade is None:
            self._delete_rows(
                relevance_judgements,
                relevance_judgements.c.by_hand.is_(True),
                intent=intent,
                item=item,
            )
            return
        self._put_row(
            relevance_judgements,
            intent=intent,
            item=item,
            by_hand=True,
            grade=int(grade),
            shoppers=0,
            judged_at=now_ms,
        )

    def replace_click_judgements(
        self, judgements: Iterable[ClickJudgement], now_ms: int
    ) -> None:
        """Replace all judgements from clicks."""
        columns = relevance_judgements.c
        self._delete_rows(relevance_judgements, columns.by_hand.is_(False))
        rows = [
            {
                "store_id": self._store_id,
                "intent": judgement.intent,
                "item": judgement.item,
                "by_hand": False,
                "grade": int(judgement.grade),
                "shoppers": judgement.shoppers,
                "judged_at": now_ms,
            }
            for judgement in judgements
        ]
        if rows:
            self._connection.execute(relevance_judgements.insert(), rows)

    def delete_judgements_of_removed_items(self) -> None:
        """Delete the judgements of products that left the catalog."""
        item = items_of_store("present", store_id=self._store_id)
        removed = sa.select(item.c.number).where(item.c.present.is_(False))
        self._delete_rows(relevance_judgements, relevance_judgements.c.item.in_(removed))

    def changed_item_count_and_titles(
        self, after_seq: int, limit: int
    ) -> tuple[int, list[str]]:
        """Return how many products changed after a version of the catalog, and titles.

        The titles are of the last products that changed; a removed one's is its last.
        """
        item = items_of_store(
            "title", "item_id", "number", "change_seq", store_id=self._store_id
        ).c
        query = sa.select(item.title, item.item_id, sa.func.count().over())
        query = query.where(item.change_seq > after_seq)
        query = query.order_by(item.change_seq.desc(), item.number).limit(limit)
        rows = list(self._connection.execute(query))
        return int(rows[0][2]) if rows else 0, [row[0] or row[1] for row in rows]

    def pages_of_clicks(self, since_ms: int) -> Iterator[list[SearchClickRow]]:
        """Yield the clicks on search results since a time, in pages in log order."""
        log = EventLogRepository(self._connection, self._store_id)
        for page in log.search_result_clicks(since_ms):
            yield [SearchClickRow._make(row) for row in page]

    def outcome_weights_by_click_seq(self, since_day: str) -> dict[int, float]:
        """Return the weight of the strongest outcome of each click, by the click's seq."""
        weights: dict[int, float] = {}
        reader = self._raw
        for seq, kind in reader.all(_OUTCOMES_SQL, (self._store_id, since_day)):
            weight = _WEIGHTS.get(int(kind), 0.0)
            weights[int(seq)] = max(weights.get(int(seq), 0.0), weight)
        return weights

    def add_measure(self, measure: StoredMeasure) -> None:
        """Add a measure to the history; one of the same moment is replaced."""
        self._put_row(
            relevance_measures,
            measured_at=measure.measured_at,
            ndcg=measure.ndcg,
            no_results=measure.no_results,
            click_through=measure.click_through,
            queries=measure.queries,
            judged_queries=measure.judged_queries,
            ndcg_before=measure.ndcg_before,
            ndcg_same=measure.ndcg_same,
            is_alarm=measure.is_alarm,
            changes=json.dumps(measure.changes, ensure_ascii=False),
            versions=json.dumps(measure.versions),
        )

    def measures(self, since_ms: int = 0) -> list[StoredMeasure]:
        """Return the measures since a time, the oldest first."""
        columns = relevance_measures.c
        query = sa.select(relevance_measures).where(
            columns.store_id == self._store_id, columns.measured_at >= since_ms
        )
        rows = self._connection.execute(query.order_by(columns.measured_at))
        return [_to_stored_measure(row) for row in rows]

    def last_measure(self) -> StoredMeasure | None:
        """Return the newest measure; None if there is none."""
        columns = relevance_measures.c
        query = sa.select(relevance_measures).where(columns.store_id == self._store_id)
        query = query.order_by(columns.measured_at.desc()).limit(1)
        row = self._connection.execute(query).first()
        return None if row is None else _to_stored_measure(row)

    def delete_measures(self, before_ms: int) -> None:
        """Delete the measures before a time."""
        columns = relevance_measures.c
        self._delete_rows(relevance_measures, columns.measured_at < before_ms)


class MeasuredAndPresentVersions(NamedTuple):
    """The versions of the last measure of search, and those that the store has now."""

    measured_at: int  # 0: never
    measured: Mapping[str, Any]  # those of the last measure
    search_seq: int
    rules_seq: int


def measured_and_present_versions(
    connection: sa.Connection,
) -> dict[StoreId, MeasuredAndPresentVersions]:
    """Return the versions of every store that has a search log or a query set."""
    measures = relevance_measures.c
    heads = heads_of_all_stores("search_seq", "rules_seq")
    newest = (
        sa.select(measures.store_id, sa.func.max(measures.measured_at).label("at"))
        .group_by(measures.store_id)
        .subquery()
    )
    last = sa.and_(
        measures.store_id == newest.c.store_id, measures.measured_at == newest.c.at
    )
    query = sa.select(measures.store_id, measures.measured_at, measures.versions)
    rows = connection.execute(query.join(newest, last))
    measured = {row[0]: (int(row[1]), json.loads(row[2])) for row in rows}
    has_queries = (
        sa.exists().where(owner == heads.c.store_id)
        for owner in (search_counts.c.store_id, relevance_queries.c.store_id)
    )
    query = sa.select(heads)
    return {
        StoreId(row[0]): MeasuredAndPresentVersions(
            *measured.get(row[0], (0, {})), int(row[1]), int(row[2])
        )
        for row in connection.execute(query.where(sa.or_(*has_queries)))
    }


def to_judged_queries(
    queries: Sequence[QuerySetEntry], judgements: Iterable[StoredJudgement]
) -> list[JudgedQuery]:
    """Return the queries with their grades; a grade by hand replaces that of clicks."""
    grades: dict[str, dict[int, RelevanceGrade]] = {}
    for judgement in sorted(judgements, key=lambda judgement: judgement.by_hand):
        grades.setdefault(judgement.intent, {})[judgement.item] = judgement.grade
    return [
        JudgedQuery(query.intent, query.text, query.weight, grades.get(query.intent, {}))
        for query in queries
        if query.origin != REMOVED
    ]


def _to_query_set_entry(row: Any) -> QuerySetEntry:
    results = None
    if row.results is not None:
        address, *numbers = json.loads(row.results)
        results = QueryResults(tuple(numbers), address)
    return QuerySetEntry(
        row.intent, row.text, row.origin, row.searches, row.weight, results, row.ndcg
    )


def _to_stored_measure(row: Any) -> StoredMeasure:
    return StoredMeasure(
        row.measured_at,
        row.ndcg,
        row.no_results,
        row.click_through,
        row.queries,
        row.judged_queries,
        row.ndcg_before,
        row.ndcg_same,
        bool(row.is_alarm),
        tuple(map(_to_configuration_change, json.loads(row.changes))),
        json.loads(row.versions),
    )


def _to_configuration_change(stored: str | list[str]) -> ConfigurationChange:
    """Return a change; older measures have its text alone."""
    return ConfigurationChange(*([stored] if isinstance(stored, str) else stored))
