"""Customer repository: SQL of the stored segments."""

import json
from typing import Any, Final, NamedTuple

import msgspec
import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.storage.sql.dialects import upsert
from productrecs.storage.sql.store_heads import heads_of_all_stores, log_seq
from productrecs.storage.sql.tables import insights

CUSTOMERS: Final = "customers"


class StoredSegments(NamedTuple):
    """A computed result, its time, and the log position that it covers."""

    computed_at: int
    applied_seq: int
    result: dict[str, Any]


class SegmentsProgress(NamedTuple):
    """The end of a store's log; when its segments were computed, and up to where."""

    store_id: StoreId
    head: int
    computed_at: int | None
    applied_seq: int


def segments_progress(connection: sa.Connection) -> list[SegmentsProgress]:
    """Return the progress of every store of the installation."""
    heads, own_columns = heads_of_all_stores("seq"), insights.c
    query = sa.select(
        heads.c.store_id, heads.c.seq, own_columns.computed_at, own_columns.applied_seq
    )
    same = sa.and_(own_columns.store_id == heads.c.store_id, own_columns.name == CUSTOMERS)
    rows = connection.execute(query.select_from(heads.outerjoin(insights, same)))
    return [
        SegmentsProgress(StoreId(row[0]), int(row[1]), row[2], int(row[3] or 0))
        for row in rows
    ]


class CustomerRepository:
    """One store's customers, inside one transaction; never commits."""

    def __init__(self, transaction: sa.Connection, store_id: StoreId) -> None:
        """Work on `store_id`'s rows only."""
        self._transaction = transaction
        self._store_id = store_id

    def head(self) -> int:
        """Return the last sequence number of the log."""
        return log_seq(self._transaction, self._store_id)

    def store_segments(self, segments: StoredSegments) -> None:
        """Store a result, replacing the last one."""
        values = {
            "computed_at": segments.computed_at,
            "applied_seq": segments.applied_seq,
            "result": json.dumps(segments.result, allow_nan=False),
        }
        added = upsert(self._transaction, insights).values(
            store_id=self._store_id, name=CUSTOMERS, **values
        )
        query = added.on_conflict_do_update(
            index_elements=["store_id", "name"], set_=values
        )
        self._transaction.execute(query)

    def last(self) -> StoredSegments | None:
        """Return the last result, or None before the first."""
        query = sa.select(
            insights.c.computed_at, insights.c.applied_seq, insights.c.result
        ).where(insights.c.store_id == self._store_id, insights.c.name == CUSTOMERS)
        row = self._transaction.execute(query).first()
        if row is None:
            return None
        return StoredSegments(int(row[0]), int(row[1]), msgspec.json.decode(row[2]))
