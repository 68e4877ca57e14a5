"""Metered call repository: SQL of metered calls, one row per store and month."""

from collections.abc import Mapping, Sequence
from typing import Final

import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.storage.sql.dialects import ROWS_PLACEHOLDER, RawReader, raw_connection
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import metered_calls
from productrecs.tenancy.billing.call_meter import StoreMonth

_CHUNK: Final = 500
# One row order prevents deadlocks between processes. Deleted stores are skipped.
_ADD_SQL: Final = (
    "INSERT INTO metered_calls (store_id, month, calls) "  # noqa: S608 - a fixed text
    "SELECT stores.store_id, given.value ->> 1, CAST(given.value ->> 2 AS BIGINT) "
    f"FROM {ROWS_PLACEHOLDER} JOIN stores ON stores.store_id = given.value ->> 0 "
    "WHERE true ORDER BY 1, 2 "
    "ON CONFLICT (store_id, month) "
    "DO UPDATE SET calls = metered_calls.calls + excluded.calls "
    "RETURNING store_id, month, calls"
)
_READ_SQL: Final = (
    "SELECT store_id, calls FROM metered_calls WHERE month = ? AND store_id IN"
)


class MeteredCallRepository(StoreScopedRepository):
    """One store's metered calls, inside one transaction; never commits."""

    def calls(self, month: str) -> int:
        """Return the counted calls of a month; 0 without any."""
        query = sa.select(metered_calls.c.calls).where(
            self._own_rows(metered_calls, month=month)
        )
        return int(self._connection.execute(query).scalar() or 0)


def add_calls(
    transaction: sa.Connection, counted: Mapping[StoreMonth, int]
) -> dict[StoreMonth, int]:
    """Add calls of several stores; return their totals. Deleted stores are missing."""
    rows = [[store_id, month, calls] for (store_id, month), calls in counted.items()]
    added = raw_connection(transaction).all(_ADD_SQL, [rows])
    return {(StoreId(row[0]), row[1]): int(row[2]) for row in added}


def read_calls(
    reader: RawReader, month: str, store_ids: Sequence[StoreId]
) -> dict[StoreId, int]:
    """Return the counted calls of several stores in a month; 0 without any."""
    calls = dict.fromkeys(store_ids, 0)
    for start in range(0, len(store_ids), _CHUNK):
        some = store_ids[start : start + _CHUNK]
        placeholders = ", ".join("?" * len(some))
        rows = reader.all(f"{_READ_SQL} ({placeholders})", [month, *some])
        calls |= {StoreId(row[0]): int(row[1]) for row in rows}
    return calls
