"""Stored insights: computed results of a store, and the log position they cover."""

import json
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.storage.sql.dialects import put_row
from productrecs.storage.sql.store_counters_and_versions import heads_of_all_stores
from productrecs.storage.sql.tables import insights


class StoredInsight(NamedTuple):
    """A computed result, its time, and the log position that it covers."""

    computed_at: int
    applied_seq: int
    result: Any  # what JSON can say


class InsightCoverage(NamedTuple):
    """The end of a store's log; when its result was computed, and up to where."""

    store_id: StoreId
    seq: int
    computed_at: int | None
    applied_seq: int


def insight_coverages(connection: sa.Connection, name: str) -> list[InsightCoverage]:
    """Return how much of each store's log the result with this name covers."""
    heads = heads_of_all_stores("seq")
    is_own = (insights.c.store_id == heads.c.store_id) & (insights.c.name == name)
    query = (
        sa.select(
            heads.c.store_id, heads.c.seq, insights.c.computed_at, insights.c.applied_seq
        )
        .select_from(heads.outerjoin(insights, is_own))
        .order_by(heads.c.store_id)
    )
    return [
        InsightCoverage(StoreId(row[0]), int(row[1]), row[2], int(row[3] or 0))
        for row in connection.execute(query)
    ]


def read_insight(
    connection: sa.Connection, store_id: StoreId, name: str
) -> StoredInsight | None:
    """Return a store's last result with this name; None before the first."""
    query = sa.select(
        insights.c.computed_at, insights.c.applied_seq, insights.c.result
    ).where(insights.c.store_id == store_id, insights.c.name == name)
    row = connection.execute(query).first()
    if row is None:
        return None
    return StoredInsight(int(row[0]), int(row[1]), msgspec.json.decode(row[2]))


def store_insight(
    transaction: sa.Connection, store_id: StoreId, name: str, insight: StoredInsight
) -> None:
    """Store a result, replacing the last one with this name."""
    values = {
        **insight._asdict(),
        "result": json.dumps(insight.result, allow_nan=False),
    }
    put_row(transaction, insights, store_id=store_id, name=name, **values)
