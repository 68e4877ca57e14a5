"""Query set: the queries by which a store's search is measured, from its search log.

The most frequent queries count by their searches. A random sample of the others stands for
all of them: its weights are scaled up to the searches of all. A merchant adds and removes
queries; a refresh keeps both.
"""

import random
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from productrecs.core.errors import ProductRecsError
from productrecs.engines.text.language_detection_and_stemming import LanguageAnalyzer
from productrecs.features.search.insights.repository import (
    QuerySearchCount,
    SearchFigureRepository,
)
from productrecs.features.search.product_search import truncate_query
from productrecs.features.search.relevance.relevance_measure import RelevanceGrade
from productrecs.features.search.relevance.repository import (
    HAND,
    REMOVED,
    TAIL,
    TOP,
    QuerySetEntry,
    RelevanceRepository,
)
from productrecs.records.search_counts.repository import OTHER_INTENTS, PHOTO_SEARCHES
from productrecs.records.search_counts.search_counter import search_intent
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.store import Store

LOG_DAYS: Final = 90
"""The days of the search log and of clicks that count."""

MAX_TOP: Final = 100
MAX_TAIL: Final = 50
MAX_BY_HAND: Final = 200
MIN_SEARCHERS: Final = 2
"""A query that one shopper typed may name that shopper: it is not sampled."""


class RefusedQuerySetChangeError(ProductRecsError):
    """A query or a judgement cannot be added; the message says why."""


def first_log_day(store: Store, now_ms: int) -> str:
    """Return the first day of the log that counts, in the store's time zone."""
    now = datetime.fromtimestamp(now_ms / 1000, UTC).astimezone(store.settings.zone)
    return (now.date() - timedelta(days=LOG_DAYS - 1)).isoformat()


def intent_of(store: Store, text: str) -> str:
    """Return the intent of a query, by which the search log counts it."""
    return search_intent(text, LanguageAnalyzer(store.settings.language))


def refresh_query_set(database: Database, store: Store, now_ms: int) -> list[QuerySetEntry]:
    """Take the set from the present search log; return the queries of the log.

    The same log gives the same sample on the same day.
    """
    days = (first_log_day(store, now_ms), "9999-12-31")
    # Read before the transaction: a long log would let events wait.
    with database.reading() as connection:
        figures = SearchFigureRepository(connection, store.store_id, days)
        counts = figures.search_counts_by_intent()
        stored = RelevanceRepository(connection, store.store_id).queries()
        present = {query.intent: query for query in stored}
        sampled = _top_and_sampled_tail_queries(
            counts, present, f"{store.store_id} {days[0]}"
        )
    with database.transaction() as transaction:
        repository = RelevanceRepository(transaction, store.store_id)
        present = {query.intent: query for query in repository.queries()}
        fixed = {
            intent for intent, query in present.items() if query.origin in {HAND, REMOVED}
        }
        # A search that was erased since has no text any more.
        figures = SearchFigureRepository(transaction, store.store_id, days)
        texts = figures.searched_texts({query: counts[query].last_day for query in sampled})
        chosen = [
            replace(query, text=texts[intent] or intent)
            for intent, query in sampled.items()
            if intent in texts and intent not in fixed
        ]
        by_hand = [
            replace(query, searches=count, weight=float(max(count, 1)))
            for query in present.values()
            if query.origin == HAND
            for count in [_search_count(counts, query.intent)]
        ]
        repository.delete_queries(
            present.keys() - {query.intent for query in chosen} - fixed
        )
        repository.put_queries([*chosen, *by_hand], now_ms)
    return chosen


def _search_count(counts: Mapping[str, QuerySearchCount], intent: str) -> int:
    return counts[intent].searches if intent in counts else 0


def _top_and_sampled_tail_queries(
    counts: Mapping[str, QuerySearchCount], present: Mapping[str, QuerySetEntry], seed: str
) -> dict[str, QuerySetEntry]:
    """Return the most frequent queries and a sample of the others, without texts."""
    fixed = {intent for intent, query in present.items() if query.origin in {HAND, REMOVED}}
    ranked = sorted(
        (
            (-count.searches, intent)
            for intent, count in counts.items()
            if intent not in {OTHER_INTENTS, PHOTO_SEARCHES}
            and intent not in fixed
            and count.searchers >= MIN_SEARCHERS
        )
    )
    top, others = ranked[:MAX_TOP], ranked[MAX_TOP:]
    shuffled = random.Random(seed)  # noqa: S311 - a sample, not a secret
    tail = shuffled.sample(others, min(MAX_TAIL, len(others)))
    share = sum(query[0] for query in others) / (sum(query[0] for query in tail) or 1)
    rows = [
        *((intent, TOP, -searches, 1.0) for searches, intent in top),
        *((intent, TAIL, -searches, share) for searches, intent in sorted(tail)),
    ]
    return {
        intent: QuerySetEntry(intent, intent, origin, searches, searches * factor)
        for intent, origin, searches, factor in rows
    }


def add_query_by_hand(
    database: Database, store: Store, query_text: str, now_ms: int
) -> QuerySetEntry:
    """Add a query by hand; return it. A removed one comes back.

    Raises:
        RefusedQuerySetChangeError: when it has no words, or above the limit.
    """
    query = " ".join(truncate_query(query_text).split())
    intent = intent_of(store, query)
    if not intent:
        message = "type the words that a shopper would search for"
        raise RefusedQuerySetChangeError(message)
    days = (first_log_day(store, now_ms), "9999-12-31")
    with database.reading() as connection:
        counts = SearchFigureRepository(
            connection, store.store_id, days
        ).search_counts_by_intent()
    with database.transaction() as transaction:
        repository = RelevanceRepository(transaction, store.store_id)
        present = {set_query.intent: set_query for set_query in repository.queries()}
        known = present.get(intent)
        if known is not None and known.origin != REMOVED:
            return known
        if sum(set_query.origin == HAND for set_query in present.values()) >= MAX_BY_HAND:
            message = f"a store may add {MAX_BY_HAND} queries; remove some first"
            raise RefusedQuerySetChangeError(message)
        searches = _search_count(counts, intent)
        added = QuerySetEntry(intent, query, HAND, searches, float(max(searches, 1)))
        repository.put_queries([added], now_ms)
    return added


def find_query(
    store: Store, queries: Iterable[QuerySetEntry], query_text: str
) -> QuerySetEntry | None:
    """Return the query of the set with this text or another form of it."""
    present = [query for query in queries if query.origin != REMOVED]
    intent = intent_of(store, query_text)
    by_text = (query for query in present if query.text == query_text)
    by_intent = (query for query in present if query.intent == intent)
    return next(by_text, None) or next(by_intent, None)


def remove_query(database: Database, store: Store, query_text: str, now_ms: int) -> bool:
    """Remove a query from the set for good; return whether it was there."""
    with database.transaction() as transaction:
        repository = RelevanceRepository(transaction, store.store_id)
        known = find_query(store, repository.queries(), query_text)
        if known is None:
            return False
        if known.origin == HAND:
            repository.delete_queries([known.intent])
        else:
            repository.put_queries([replace(known, origin=REMOVED)], now_ms)
    return True


def store_or_delete_hand_judgement(
    database: Database,
    store: Store,
    query_text: str,
    item: int,
    grade: RelevanceGrade | None,
    now_ms: int,
) -> None:
    """Store the grade of an item for the query `query_text`; None deletes it.

    Raises:
        RefusedQuerySetChangeError: when the query is not in the set.
    """
    with database.transaction() as transaction:
        repository = RelevanceRepository(transaction, store.store_id)
        known = find_query(store, repository.queries(), query_text)
        if known is None:
            message = "this query is not in the set; add it first"
            raise RefusedQuerySetChangeError(message)
        repository.store_or_delete_hand_judgement(known.intent, item, grade, now_ms)
