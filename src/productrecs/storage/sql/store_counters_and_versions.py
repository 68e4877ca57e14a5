"""Store counters and versions: a row per store, with its positions in the log.

All SQL of `store_heads` is here; only a restore changes all rows by itself. `seq` is the
last number of the store's log, and its row is locked while a transaction takes numbers. The
table describes the other columns.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.storage.sql.dialects import RawReader, raw_connection
from productrecs.storage.sql.tables import store_heads

_LOG_HEAD: Final = "SELECT seq, erasures + bots FROM store_heads WHERE store_id = ?"
_ADVANCE_LOG: Final = (
    "UPDATE store_heads SET seq = seq + ? WHERE store_id = ? RETURNING seq, erasures"
)
_CATALOGS: Final = "SELECT store_id, catalog_seq, catalog_size FROM store_heads"
_VERSIONS: Final = (
    "SELECT store_id, catalog_seq, model_id, rules_seq, search_seq, visual_id, index_id, "
    "looks_seq, placements_seq FROM store_heads WHERE store_id IN ({})"
)
_QUERY_SIZES: Final = (1, 8, 64, 512)  # few texts, which the drivers prepare once


class ViewVersions(NamedTuple):
    """The version of each view of a store: numbers of its log, and ids of snapshots."""

    catalog_seq: int
    model_id: str | None
    rules_seq: int
    search_seq: int
    visual_id: str | None
    index_id: str | None
    looks_seq: int
    placements_seq: int


def add_head(transaction: sa.Connection, store_id: StoreId) -> None:
    """Add the head of a new store, with an empty log."""
    transaction.execute(store_heads.insert().values(store_id=store_id))


def head_fields(
    connection: sa.Connection, store_id: StoreId, *names: str
) -> tuple[Any, ...] | None:
    """Return these columns of a store's head; None if the store was deleted."""
    columns = [store_heads.c[name] for name in names]
    query = sa.select(*columns).where(store_heads.c.store_id == store_id)
    row = connection.execute(query).first()
    return None if row is None else tuple(row)


def log_seq(connection: sa.Connection, store_id: StoreId) -> int:
    """Return the last number of a store's log; 0 if the store was deleted."""
    row = head_fields(connection, store_id, "seq")
    return 0 if row is None else int(row[0])


def heads_of_all_stores(*names: str) -> sa.Subquery:
    """Return the store's id and these columns of every store, to join with its rows."""
    columns = [store_heads.c[name] for name in names]
    return sa.select(store_heads.c.store_id, *columns).subquery("heads")


def set_head(transaction: sa.Connection, store_id: StoreId, **values: object) -> bool:
    """Set columns of a store's head; return False if the store was deleted."""
    query = store_heads.update().where(store_heads.c.store_id == store_id)
    return transaction.execute(query.values(values)).rowcount == 1


def compare_and_set_head(
    transaction: sa.Connection,
    store_id: StoreId,
    before: Mapping[str, object],
    **values: object,
) -> bool:
    """Set columns of a store's head if others are still as `before`; return whether."""
    query = store_heads.update().where(
        store_heads.c.store_id == store_id,
        *(store_heads.c[name].is_not_distinct_from(one) for name, one in before.items()),
    )
    return transaction.execute(query.values(values)).rowcount == 1


def lock_head(transaction: sa.Connection, store_id: StoreId) -> bool:
    """Lock a store's head for the transaction; return False if the store was deleted."""
    query = store_heads.update().where(store_heads.c.store_id == store_id)
    return transaction.execute(query.values(seq=store_heads.c.seq)).rowcount == 1


def advance_log_and_read_erasures(
    transaction: sa.Connection, store_id: StoreId, count: int
) -> tuple[int, int] | None:
    """Lock a store's head, take `count` numbers of its log, and return the last.

    The second value is how many shoppers of the store were erased. None: it was deleted.
    """
    rows = raw_connection(transaction).all(_ADVANCE_LOG, (count, store_id))
    return (int(rows[0][0]), int(rows[0][1])) if rows else None


def increment_counter(
    transaction: sa.Connection, store_id: StoreId, counter: str, count: int = 1
) -> int | None:
    """Lock a store's head, add to a counter and return it; None for a deleted store."""
    column = store_heads.c[counter]
    query = (
        store_heads.update()
        .where(store_heads.c.store_id == store_id)
        .values({column: column + count})
        .returning(column)
    )
    found: int | None = transaction.execute(query).scalar()
    return found


def record_catalog_change_and_read_size(
    transaction: sa.Connection, store_id: StoreId, seq: int, added_items: int
) -> int:
    """Record a change of the catalog that added items; return its size."""
    query = (
        store_heads.update()
        .where(store_heads.c.store_id == store_id)
        .values(catalog_seq=seq, catalog_size=store_heads.c.catalog_size + added_items)
        .returning(store_heads.c.catalog_size)
    )
    return int(transaction.execute(query).scalar_one())


def record_confirmed_order_time(
    transaction: sa.Connection, store_id: StoreId, now_ms: int, if_before_ms: int
) -> None:
    """Record the time of such an order, unless a time after `if_before_ms` is known."""
    at = store_heads.c.confirmed_order_at
    query = store_heads.update().where(
        store_heads.c.store_id == store_id, sa.or_(at.is_(None), at < if_before_ms)
    )
    transaction.execute(query.values(confirmed_order_at=now_ms))


def log_seq_and_losses(reader: RawReader, store_id: StoreId) -> tuple[int, int]:
    """Return a store's newest sequence number, and how often its log lost events."""
    rows = reader.all(_LOG_HEAD, (store_id,))
    return rows[0] if rows else (-1, 0)


def catalog_versions_and_sizes(reader: RawReader) -> list[tuple[Any, ...]]:
    """Return (store, version, size) of every store's catalog."""
    return reader.all(_CATALOGS, ())


def view_versions_by_store(
    reader: RawReader, store_ids: Sequence[StoreId]
) -> dict[StoreId, ViewVersions]:
    """Return the version of each view of these stores; stores that are gone are missing."""
    versions: dict[StoreId, ViewVersions] = {}
    for start in range(0, len(store_ids), _QUERY_SIZES[-1]):
        chosen = list(store_ids[start : start + _QUERY_SIZES[-1]])
        size = next(size for size in _QUERY_SIZES if size >= len(chosen))
        chosen += chosen[:1] * (size - len(chosen))
        query = _VERSIONS.format(", ".join("?" * size))
        for row in reader.all(query, chosen):
            versions[StoreId(row[0])] = ViewVersions(*row[1:])
    return versions
