"""Search count repository: SQL with one row per store, day and intent."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import sqlalchemy as sa

from productrecs.core.ids import StoreId, visitor_hash
from productrecs.engines.hyperloglog import (
    EMPTY_SKETCH,
    intersection_cardinalities,
    merge,
    sketch,
)
from productrecs.storage.sql.dialects import (
    ROWS_PLACEHOLDER,
    RawConnection,
    RawReader,
)
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import (
    question_counts,
    relevance_judgements,
    relevance_queries,
    search_counts,
)

MAX_INTENTS_PER_DAY: Final = 5_000
"""The most distinct intents stored per store and day; bounds the table's size."""

RETENTION_DAYS: Final = 400
"""Retention in days: reports can compare a year with the previous one."""

OTHER_INTENTS: Final = ""
"""The intent of queries above the limit, and of texts without words."""

PHOTO_SEARCHES: Final = " "
"""The intent of searches by photo and of clicks on their results; no query has it."""

_CHUNK: Final = 400
_PAGE: Final = 10_000
# One statement for all rows: separate statements would delay replies.
_ADD: Final = (
    "INSERT INTO search_counts (store_id, day, intent, text, searches, empty, unnamed) "  # noqa: S608 - own words
    "SELECT ?, ?, given.value ->> 0, given.value ->> 1, CAST(given.value ->> 2 AS BIGINT), "
    "CAST(given.value ->> 3 AS BIGINT), CAST(given.value ->> 4 AS BIGINT) "
    f"FROM {ROWS_PLACEHOLDER} WHERE true ON CONFLICT (store_id, day, intent) DO UPDATE SET "
    "text = excluded.text, searches = search_counts.searches + excluded.searches, "
    "empty = search_counts.empty + excluded.empty, "
    "unnamed = search_counts.unnamed + excluded.unnamed"
)
_TOTALS: Final = (
    "SELECT sum(searches), sum(empty) FROM search_counts "
    "WHERE store_id = ? AND day >= ? AND day <= ? AND intent <> ' '"  # PHOTO_SEARCHES
)
_ADD_QUESTIONS: Final = (
    "INSERT INTO question_counts (store_id, day, attribute, offered, answered) "  # noqa: S608 - own words
    "SELECT ?, ?, given.value ->> 0, CAST(given.value ->> 1 AS BIGINT), "
    f"CAST(given.value ->> 2 AS BIGINT) FROM {ROWS_PLACEHOLDER} WHERE true "
    "ON CONFLICT (store_id, day, attribute) DO UPDATE SET "
    "offered = question_counts.offered + excluded.offered, "
    "answered = question_counts.answered + excluded.answered"
)
_QUESTIONS: Final = (
    "SELECT attribute, CAST(sum(offered) AS BIGINT), CAST(sum(answered) AS BIGINT) "
    "FROM question_counts WHERE store_id = ? AND day >= ? AND day <= ? "
    "GROUP BY attribute ORDER BY 2 DESC, 1"
)


class SearchTotals(NamedTuple):
    """How often shoppers searched, and how many of the searches had no results."""

    searches: int
    empty: int


class QuestionCount(NamedTuple):
    """How often search asked for an attribute, and how often shoppers answered."""

    attribute: str  # the kind of filter of an answer
    offered: int
    answered: int


def read_question_counts(
    reader: RawReader | RawConnection, store_id: StoreId, days: tuple[str, str]
) -> list[QuestionCount]:
    """Return the counts from the first to the last of `days`, the most frequent first."""
    return [
        QuestionCount(str(attribute), int(offered), int(answered))
        for attribute, offered, answered in reader.all(_QUESTIONS, (store_id, *days))
    ]


class SearchCount(NamedTuple):
    """An intent's number of searches, and of those without results."""

    text: str  # as last typed by a shopper
    searches: int
    empty: int
    unnamed: int = 0  # searches whose call named no shopper
    shoppers: frozenset[int] = frozenset()  # hashes of the named shoppers

    def plus(self, other: "SearchCount") -> "SearchCount":
        """Return the sum of both, with the newer text."""
        return SearchCount(
            other.text or self.text,
            self.searches + other.searches,
            self.empty + other.empty,
            self.unnamed + other.unnamed,
            self.shoppers | other.shoppers,
        )


class SearchCountRepository(StoreScopedRepository):
    """One store's counts of searches, inside one transaction; never commits."""

    def add(self, day: str, counts: Mapping[str, SearchCount]) -> None:
        """Add counts by intent to a day; intents above the limit count as others."""
        admitted_intents = self._merge_intents_above_limit(day, counts)
        rows = [[intent, *count[:4]] for intent, count in sorted(admitted_intents.items())]
        self._raw.run(_ADD, (self._store_id, day, rows))
        self._add_to_sketches(day, admitted_intents)

    def add_questions(self, day: str, counts: Iterable[QuestionCount]) -> None:
        """Add counts of questions, one for each attribute, to a day."""
        rows = [list(count) for count in sorted(counts)]
        raw = self._raw
        raw.run(_ADD_QUESTIONS, (self._store_id, day, rows))

    def questions_between(self, days: tuple[str, str]) -> list[QuestionCount]:
        """Return the counts of `read_question_counts`, inside the transaction."""
        raw = self._raw
        return read_question_counts(raw, self._store_id, days)

    def _add_to_sketches(self, day: str, counts: Mapping[str, SearchCount]) -> None:
        """Add shoppers to the day's sketches; the counts have locked the rows."""
        named_intents = [
            intent for intent, count in counts.items() if intent and count.shoppers
        ]
        if not named_intents:
            return
        rows: list[dict[str, object]] = []
        for intent, stored_sketch in self._stored_sketches(day, named_intents):
            codes = np.fromiter(counts[intent].shoppers, np.int64)
            merged_sketch = merge((stored_sketch, sketch(codes)))
            if merged_sketch != stored_sketch:
                rows.append({"of": intent, "grown": merged_sketch})
        if rows:
            query = search_counts.update().where(
                search_counts.c.store_id == self._store_id,
                search_counts.c.day == day,
                search_counts.c.intent == sa.bindparam("of"),
            )
            self._connection.execute(query.values(shoppers=sa.bindparam("grown")), rows)

    def _stored_sketches(self, day: str, intents: Sequence[str]) -> list[tuple[str, bytes]]:
        found: list[tuple[str, bytes]] = []
        for some in _chunks(intents):
            query = sa.select(search_counts.c.intent, search_counts.c.shoppers).where(
                self._own_rows(search_counts, day=day),
                search_counts.c.intent.in_(some),
            )
            rows = self._connection.execute(query)
            found += [(row[0], bytes(row[1] or EMPTY_SKETCH)) for row in rows]
        return found

    def totals_between(self, first: str, last: str) -> SearchTotals:
        """Return the number of text searches from the first to the last of these days."""
        rows = self._raw.all(_TOTALS, (self._store_id, first, last))
        searches, empty = rows[0]
        return SearchTotals(int(searches or 0), int(empty or 0))

    def delete_before(self, before: str) -> int:
        """Delete the counts before a day; return the number of rows."""
        deleted = 0
        for table in (search_counts, question_counts):
            deleted += self._delete_rows(table, table.c.day < before)
        return deleted

    def rare_intents_of_shopper(
        self, shopper_ids: Sequence[str], max_count: int
    ) -> set[str]:
        """Return intents searched less than `max_count` times on a day the shopper did.

        The calls of a search leave no event, but their count has a sketch of the shoppers,
        which is exact for few of them.
        """
        codes = np.fromiter(map(visitor_hash, shopper_ids), np.int64)
        shopper, columns = sketch(codes), search_counts.c
        query = sa.select(columns.intent, columns.shoppers).where(
            columns.store_id == self._store_id,
            columns.searches < max_count,
            sa.func.length(columns.shoppers) > 0,
        )
        rare: set[str] = set()
        for rows in self._connection.execute(query).partitions(_PAGE):
            pairs = [(bytes(row[1]), shopper) for row in rows]
            common = intersection_cardinalities(pairs)
            rare |= {row[0] for row, count in zip(rows, common, strict=True) if count}
        return rare

    def delete_rare_queries(
        self, texts: Sequence[str], intents: Iterable[str], max_count: int
    ) -> None:
        """Delete counts below `max_count` of these queries and intents, over all days."""
        columns, intents_to_check = search_counts.c, set(intents)
        for chunk in _chunks(texts):
            query = sa.select(columns.intent).where(
                columns.store_id == self._store_id, columns.text.in_(chunk)
            )
            intents_to_check.update(self._connection.execute(query).scalars())
        for chunk in _chunks(sorted(intents_to_check)):
            rare = (
                sa.select(columns.intent)
                .where(columns.store_id == self._store_id, columns.intent.in_(chunk))
                .group_by(columns.intent)
                .having(sa.func.sum(columns.searches) < max_count)
            )
            deleted = list(self._connection.execute(rare).scalars())
            self._delete_rows(search_counts, columns.intent.in_(deleted))
            self._delete_from_query_set(deleted)

    def _delete_from_query_set(self, intents: Sequence[str]) -> None:
        """Delete queries that the set of `features/search/relevance` took from the log."""
        columns = relevance_queries.c
        self._delete_rows(
            relevance_queries, columns.intent.in_(intents), columns.origin != "hand"
        )
        self._delete_rows(
            relevance_judgements,
            relevance_judgements.c.intent.in_(intents),
            relevance_judgements.c.by_hand.is_(False),
        )

    def _merge_intents_above_limit(
        self, day: str, counts: Mapping[str, SearchCount]
    ) -> dict[str, SearchCount]:
        room = MAX_INTENTS_PER_DAY - self._count_intents(day)
        if len(counts) <= room:
            return dict(counts)
        known_intents = self._known_intents(day, list(counts))
        admitted_intents: dict[str, SearchCount] = {}
        for intent, count in counts.items():
            is_new = intent not in known_intents
            room -= is_new
            is_over = is_new and room < 0 and intent != PHOTO_SEARCHES
            name = OTHER_INTENTS if is_over else intent
            counted = count._replace(text="") if name == OTHER_INTENTS else count
            admitted_intents[name] = (
                admitted_intents[name].plus(counted)
                if name in admitted_intents
                else counted
            )
        return admitted_intents

    def _count_intents(self, day: str) -> int:
        query = sa.select(sa.func.count()).where(self._own_rows(search_counts, day=day))
        return int(self._connection.execute(query).scalar_one())

    def _known_intents(self, day: str, intents: Sequence[str]) -> set[str]:
        known_intents: set[str] = set()
        for some in _chunks(intents):
            query = sa.select(search_counts.c.intent).where(
                self._own_rows(search_counts, day=day),
                search_counts.c.intent.in_(some),
            )
            known_intents.update(self._connection.execute(query).scalars())
        return known_intents


def _chunks(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(texts), _CHUNK):
        yield texts[start : start + _CHUNK]
