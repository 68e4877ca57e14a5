"""Ranking repository: SQL of shown lists, their outcomes, and ranking models."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.records.events.event import EventKind
from productrecs.storage.dialects import upsert
from productrecs.storage.tables import (
    events,
    purchase_lines,
    rankers,
    store_heads,
    touch_days,
)

_PAGE: Final = 20_000
MAX_ROWS: Final = 5_000_000
WIDGET: Final = "recs"
KINDS: Final = (
    EventKind.DETAIL_PAGE_VIEW,
    EventKind.ADD_TO_CART,
    EventKind.REC_IMPRESSION,
    EventKind.REC_CLICK,
)


class RankingFact(NamedTuple):
    """One log entry, with the columns for impressions and their outcomes."""

    seq: int
    ts: int
    kind: int
    item: int
    person: str
    position: int | None


@dataclass(frozen=True, slots=True)
class StoredRanker:
    """The ranker of a store; its trees serve only if the backtest shows a gain."""

    trained_at: int
    serves: bool
    report: dict[str, Any]
    trees: dict[str, Any]


def count_impressions_and_clicks(
    connection: sa.Connection,
) -> dict[StoreId, tuple[int, int]]:
    """Return the number of recommendation impressions and clicks, by store."""
    query = sa.select(
        touch_days.c.store_id,
        sa.func.sum(touch_days.c.shown),
        sa.func.sum(touch_days.c.clicked),
    ).group_by(touch_days.c.store_id)
    rows = connection.execute(query)
    return {StoreId(row[0]): (int(row[1]), int(row[2])) for row in rows}


def trained_at(connection: sa.Connection) -> dict[StoreId, int]:
    """Return when the ranker of each store was last trained."""
    query = sa.select(rankers.c.store_id, rankers.c.trained_at)
    return {StoreId(store_id): int(at) for store_id, at in connection.execute(query)}


def serving_rankers(connection: sa.Connection) -> dict[StoreId, str]:
    """Return the ranker that serves each store."""
    query = sa.select(store_heads.c.store_id, store_heads.c.model_id)
    return {StoreId(store_id): model for store_id, model in connection.execute(query)}


class RankingRepository:
    """One store's lists and trees, inside one transaction; never commits."""

    def __init__(self, transaction: sa.Connection, store_id: StoreId) -> None:
        """Access `store_id`'s rows only."""
        self._transaction = transaction
        self._store_id = store_id

    def facts(self, since_ms: int) -> Iterator[RankingFact]:
        """Yield impressions, views, clicks and cart events since a time, in log order.

        Reads at most the last five million rows of the log.
        """
        log = events.c
        query = (
            sa.select(log.seq, log.ts, log.kind, log.item, log.person, log.position)
            .where(
                log.store_id == self._store_id,
                log.seq > self._newest() - MAX_ROWS,
                log.ts >= since_ms,
                log.kind.in_([int(kind) for kind in KINDS]),
                sa.func.coalesce(log.widget, WIDGET) == WIDGET,
                log.item.is_not(None),
            )
            .order_by(log.seq)
        )
        yield from self._pages(query)

    def purchases(self, since_ms: int) -> Iterator[RankingFact]:
        """Yield the purchases since a time, in log order."""
        lines = purchase_lines.c
        query = (
            sa.select(
                lines.seq,
                lines.ts,
                sa.literal(int(EventKind.BUY)),
                lines.item,
                lines.person,
                sa.null(),
            )
            .where(
                lines.store_id == self._store_id,
                lines.ts >= since_ms,
                lines.person.is_not(None),
                lines.void.is_(False),
            )
            .order_by(lines.seq)
        )
        yield from self._pages(query)

    def load(self) -> StoredRanker | None:
        """Return the last ranker."""
        query = sa.select(
            rankers.c.trained_at, rankers.c.serves, rankers.c.report, rankers.c.trees
        ).where(rankers.c.store_id == self._store_id)
        row = self._transaction.execute(query).first()
        if row is None:
            return None
        return StoredRanker(row[0], bool(row[1]), json.loads(row[2]), json.loads(row[3]))

    def store(self, ranker: StoredRanker) -> None:
        """Store `ranker` as the last one."""
        values = {
            "trained_at": ranker.trained_at,
            "serves": ranker.serves,
            "report": json.dumps(ranker.report),
            "trees": json.dumps(ranker.trees),
        }
        query = upsert(self._transaction, rankers).values(store_id=self._store_id, **values)
        self._transaction.execute(
            query.on_conflict_do_update(index_elements=["store_id"], set_=values)
        )

    def _newest(self) -> int:
        query = sa.select(store_heads.c.seq).where(store_heads.c.store_id == self._store_id)
        return int(self._transaction.execute(query).scalar() or 0)

    def _pages(self, query: sa.Select[Any]) -> Iterator[RankingFact]:
        result = self._transaction.execution_options(stream_results=True).execute(query)
        for page in result.partitions(_PAGE):
            for row in page:
                yield RankingFact(*row)
