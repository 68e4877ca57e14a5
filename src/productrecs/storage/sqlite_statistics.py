"""SQLite planner statistics: set in advance to those of a large store.

Without statistics SQLite assumes that `store_id` finds ten rows, and then reads a whole
store to find one order or one shopper. ANALYZE learns nothing while tables are empty.
"""

from typing import Final

import sqlalchemy as sa

_ROWS: Final = 1_000_000
_ROWS_OF_A_STORE: Final = 100_000
_ROWS_OF_A_KEY: Final = 20  # of one order, one shopper

_INDEXES_SQL: Final = """
    SELECT t.name, t.wr, i.name, i."unique", i.origin,
        (SELECT count(*) FROM pragma_index_info(i.name)),
        (SELECT name FROM pragma_index_info(i.name) WHERE seqno = 0)
    FROM pragma_table_list AS t, pragma_index_list(t.name) AS i
    WHERE t.schema = 'main' AND t.type = 'table'
"""


def set_planner_statistics(connection: sa.Connection) -> None:
    """Store, for every index that begins with the store, how many rows its columns find."""
    connection.exec_driver_sql("ANALYZE")  # makes the table of statistics
    connection.exec_driver_sql("DELETE FROM sqlite_stat1")
    indexes = connection.exec_driver_sql(_INDEXES_SQL).all()
    rows = [
        (
            table,
            table if without_rowid and origin == "pk" else index,
            _numbers(width, unique),
        )
        for table, without_rowid, index, unique, origin, width, first in indexes
        if first == "store_id"
    ]
    connection.exec_driver_sql("INSERT INTO sqlite_stat1 VALUES (?, ?, ?)", rows)
    connection.exec_driver_sql("ANALYZE sqlite_schema")  # reads it


def _numbers(width: int, unique: int) -> str:
    found = [_ROWS_OF_A_STORE, *[_ROWS_OF_A_KEY] * (width - 1)]
    if unique:
        found[-1] = 1
    return " ".join(map(str, (_ROWS, *found)))
