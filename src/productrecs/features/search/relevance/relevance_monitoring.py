"""Relevance monitoring: measures a store's search, stores it, and finds what got worse.

An alarm compares like with like: the results of the measure before are scored again with
the present judgements. So new judgements alone raise none, nor does a product that left
the catalog.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from productrecs.core.clock import DAY_MS
from productrecs.core.ids import StoreId
from productrecs.engines.text.language_detection_and_stemming import LanguageAnalyzer
from productrecs.features.search.insights.search_insights import search_insights
from productrecs.features.search.product_search import SearchableStore
from productrecs.features.search.relevance.click_judgements import (
    SearchClick,
    judge_clicks,
)
from productrecs.features.search.relevance.configuration_changes import (
    configuration_changes_since,
    search_configuration_versions,
    search_settings,
)
from productrecs.features.search.relevance.query_set import (
    LOG_DAYS,
    first_log_day,
    refresh_query_set,
)
from productrecs.features.search.relevance.relevance_measure import (
    MIN_JUDGED,
    JudgedQuery,
    RelevanceMeasure,
    measure_relevance,
    restrict_to_commonly_judged_queries,
    score_earlier_results,
)
from productrecs.features.search.relevance.repository import (
    HAND,
    REMOVED,
    MeasuredAndPresentVersions,
    QuerySetEntry,
    RelevanceRepository,
    StoredMeasure,
    measured_and_present_versions,
    to_judged_queries,
)
from productrecs.records.search_counts.search_counter import search_intent
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.store import Store, is_nightly_run_due

ALARM_LOSS: Final = 0.03
"""The relative loss of NDCG that raises an alarm."""

ALARM_DAYS: Final = 7
"""How long an alarm is shown, unless the NDCG recovers."""

RETENTION_DAYS: Final = 400
_MIN_QUERIES: Final = 20  # with fewer from the log, the set is taken again each night
_CLICK_DAYS: Final = 30


def judge_clicks_and_store_measure(
    database: Database, store: Store, searchable: SearchableStore, now_ms: int
) -> StoredMeasure:
    """Judge the clicks, measure the live search, and add the measure to the history.

    Raises:
        BrokenIndexError: when the index is damaged.
        StoreDeletedError: when the store was deleted.
    """
    versions = search_configuration_versions(database, store)
    queries = _load_or_refresh_queries(database, store, now_ms)
    update_click_judgements(database, store, now_ms)
    with database.reading() as connection:
        repository = RelevanceRepository(connection, store.store_id)
        judged = to_judged_queries(queries, repository.judgements())
        last = repository.last_measure()
    changes = (
        ()
        if last is None
        else tuple(configuration_changes_since(database, store, last, versions))
    )
    measure = measure_relevance(searchable, judged, now_ms)
    before = _score_last_results(searchable, queries, judged, now_ms)
    comparable, before = restrict_to_commonly_judged_queries(measure, before)
    stored = StoredMeasure(
        measured_at=now_ms,
        ndcg=measure.ndcg,
        no_results=measure.no_results,
        click_through=_recent_click_through(database, store, now_ms),
        queries=len(measure.scores),
        judged_queries=len(measure.judged),
        ndcg_before=before.ndcg,
        ndcg_same=comparable.ndcg,
        is_alarm=_is_alarm(comparable, before.ndcg),
        changes=changes,
        versions=versions,
    )
    with database.transaction() as transaction:
        repository = RelevanceRepository(transaction, store.store_id)
        repository.delete_measures(now_ms - RETENTION_DAYS * DAY_MS)
        repository.store_scores(measure.scores)
        repository.add_measure(stored)
    return stored


def _load_or_refresh_queries(
    database: Database, store: Store, now_ms: int
) -> list[QuerySetEntry]:
    """Return the set without removed queries; a small one is taken from the log again."""
    for is_refreshed in (False, True):
        with database.reading() as connection:
            queries = RelevanceRepository(connection, store.store_id).queries()
        if sum(query.origin not in {HAND, REMOVED} for query in queries) >= _MIN_QUERIES:
            break
        if not is_refreshed:
            refresh_query_set(database, store, now_ms)
    return [query for query in queries if query.origin != REMOVED]


def update_click_judgements(database: Database, store: Store, now_ms: int) -> None:
    """Replace the judgements from clicks; delete those of products that are gone."""
    with database.reading() as connection:
        repository = RelevanceRepository(connection, store.store_id)
        intents = {
            query.intent for query in repository.queries() if query.origin != REMOVED
        }
        judgements = list(
            judge_clicks(_clicks_of_intents(repository, store, intents, now_ms))
        )
    with database.transaction() as transaction:
        repository = RelevanceRepository(transaction, store.store_id)
        repository.replace_click_judgements(judgements, now_ms)
        repository.delete_judgements_of_removed_items()


def _clicks_of_intents(
    repository: RelevanceRepository, store: Store, intents: set[str], now_ms: int
) -> Iterator[SearchClick]:
    analyzer = LanguageAnalyzer(store.settings.language)
    weights = repository.outcome_weights_by_click_seq(first_log_day(store, now_ms))
    intent_by_text: dict[str, str] = {}  # the intent of each text
    for page in repository.pages_of_clicks(now_ms - LOG_DAYS * DAY_MS):
        for click in page:
            intent = intent_by_text.get(click.term)
            if intent is None:
                intent = intent_by_text[click.term] = search_intent(click.term, analyzer)
            if intent in intents:
                weight = weights.get(click.seq, 1.0)
                yield SearchClick(intent, click.item, click.shopper, click.position, weight)


def _score_last_results(
    searchable: SearchableStore,
    queries: Sequence[QuerySetEntry],
    judged: Sequence[JudgedQuery],
    now_ms: int,
) -> RelevanceMeasure:
    results = {
        query.intent: query.results for query in queries if query.results is not None
    }
    return score_earlier_results(searchable, judged, results, now_ms)


def _is_alarm(now: RelevanceMeasure, ndcg_before: float | None) -> bool:
    if ndcg_before is None or now.ndcg is None or len(now.judged) < MIN_JUDGED:
        return False
    return now.ndcg < (1.0 - ALARM_LOSS) * ndcg_before


def _recent_click_through(database: Database, store: Store, now_ms: int) -> float | None:
    zone = store.settings.zone
    last, first = (
        datetime.fromtimestamp((now_ms - days * DAY_MS) / 1000, UTC)
        .astimezone(zone)
        .date()
        .isoformat()
        for days in (0, _CLICK_DAYS - 1)
    )
    return search_insights(database, store, (first, last), limit=1).total.click_through


def stores_to_measure_relevance(
    database: Database, stores: Iterable[Store], now_ms: int
) -> list[StoreId]:
    """Return the stores whose nightly window began, or whose search was changed.

    A new store waits for its first night.
    """
    with database.reading() as connection:
        versions = measured_and_present_versions(connection)
    return [
        store.store_id
        for store in stores
        if store.store_id in versions
        and _is_measure_due(store, versions[store.store_id], now_ms)
    ]


def _is_measure_due(
    store: Store, versions: MeasuredAndPresentVersions, now_ms: int
) -> bool:
    since_ms = versions.measured_at or store.created_at
    if is_nightly_run_due(store.settings.zone, since_ms, now_ms):
        return True
    present: dict[str, Any] = {
        "search": versions.search_seq,
        "rules": versions.rules_seq,
        "settings": search_settings(store),
    }
    return bool(versions.measured_at) and any(
        versions.measured.get(name) != version for name, version in present.items()
    )


def newest_unresolved_alarm(
    measures: Sequence[StoredMeasure], now_ms: int
) -> StoredMeasure | None:
    """Return the newest alarm of the last days that search has not recovered from.

    `measures` are the oldest first.
    """
    alarms = [
        measure
        for measure in measures
        if measure.is_alarm and measure.measured_at >= now_ms - ALARM_DAYS * DAY_MS
    ]
    if not alarms:
        return None
    alarm, newest = alarms[-1], measures[-1]
    needed = (1.0 - ALARM_LOSS) * (alarm.ndcg_before or 0.0)
    has_recovered = newest is not alarm and (newest.ndcg or 0.0) >= needed
    return None if has_recovered else alarm


def read_measures(
    database: Database, store_id: StoreId, since_ms: int = 0
) -> list[StoredMeasure]:
    """Return a store's measures since a time, the oldest first."""
    with database.reading() as connection:
        return RelevanceRepository(connection, store_id).measures(since_ms)


def loss_text(alarm: StoredMeasure) -> str:
    """Return the loss of an alarm in a sentence."""
    before, now = alarm.ndcg_before or 1.0, alarm.ndcg_same or 0.0
    return (
        f"Search relevance (NDCG@10) fell from {before:.2f} to {now:.2f}, by "
        f"{1 - now / before:.0%}."
    )


def alarm_text(alarm: StoredMeasure) -> str:
    """Return an alarm in sentences: the loss, and what changed before it."""
    changes = "; ".join(change.text for change in alarm.changes)
    what = f"Since the measure before: {changes}." if changes else "No change is known."
    return f"{loss_text(alarm)} {what}"
