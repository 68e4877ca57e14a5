"""Raw SQL for hot paths: statements sent straight to the driver, without SQLAlchemy.

SQLAlchemy's part of a short statement costs several times the statement itself: a batch of
32 events takes a millisecond less of Python without it. The statements are the same for
both databases except for the placeholders that this module replaces. Everything here works
inside a transaction that `Database.transaction` opened, beside SQLAlchemy's statements.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol

import apsw
import msgspec
import sqlalchemy as sa

from productrecs.core.caches import Cache, memoized
from productrecs.core.ids import StoreId
from productrecs.storage import apsw_dbapi

ROWS_PLACEHOLDER: Final = "{given}"
"""Placeholder in SQL for rows that come as one parameter, a list: `FROM {given}`, and then
`given.value ->> 0` for their first column."""

LOOKUP_PLACEHOLDER: Final = "{found}"
"""Placeholder before a table, `found`, that is joined to each given row: `CROSS JOIN
{found} lines AS found WHERE found.store_id = ? AND found.a = given.value ->> 0 {each}`."""

FIELD_PLACEHOLDER: Final = "{each}"
"""Placeholder after the conditions of such a table."""

RAW_CONNECTION_KEY: Final = "productrecs.bare"
"""The key of the `RawConnection` in a pooled connection's info."""

Row = tuple[Any, ...]
_TOGETHER: Final = 1_000
_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode


class RawConnection(Protocol):
    """The driver under one transaction; `?` marks parameters, a list of rows being one.

    Errors are the driver's own; `Database.transaction` translates them. A statement for
    many rows is one call of the driver: between two calls other threads take the
    interpreter, and getting it back costs more than a row.
    """

    def all(self, sql: str, parameters: Sequence[object]) -> list[Row]:
        """Run one statement and return every row it gives."""

    def run(self, sql: str, parameters: Sequence[object]) -> None:
        """Run one statement that gives no rows."""

    def mapped(
        self, columns: tuple[str, str, str], store_id: StoreId, wanted: Iterable[str]
    ) -> dict[str, Any]:
        """Return one column by another where that is wanted: a table's key and value.

        Bound to one store. A wanted key that is not stored is not in the result.
        """

    def insert(self, table: sa.Table, rows: Sequence[Sequence[object]]) -> None:
        """Insert rows (values in the order of the table's columns) the fastest way."""


def raw_connection(transaction: sa.Connection) -> RawConnection:
    """Return the driver under `transaction`."""
    found: RawConnection = transaction.info[RAW_CONNECTION_KEY]
    return found


class SqliteRawConnection:
    """The driver under a transaction on SQLite; see `RawConnection`."""

    def __init__(self, driver: apsw_dbapi.ApswConnection) -> None:
        """Speak to an open connection."""
        self._driver = driver.apsw

    def all(self, sql: str, parameters: Sequence[object]) -> list[Row]:
        """Run one statement and return every row it gives."""
        with _translated():
            return self._driver.execute(
                _sqlite(sql), encode_parameters(parameters)
            ).fetchall()

    def run(self, sql: str, parameters: Sequence[object]) -> None:
        """Run one statement that gives no rows."""
        with _translated():
            self._driver.execute(_sqlite(sql), encode_parameters(parameters))

    def mapped(
        self, columns: tuple[str, str, str], store_id: StoreId, wanted: Iterable[str]
    ) -> dict[str, Any]:
        """Return one column by another where that is wanted: a table's key and value."""
        rows = self.all(_sqlite_map(*columns), (store_id, list(wanted)))
        found: dict[str, Any] = _decode(rows[0][0])
        return found

    def insert(self, table: sa.Table, rows: Sequence[Sequence[object]]) -> None:
        """Insert few rows with one statement, many with one that is run for each."""
        with _translated():
            if len(rows) <= _TOGETHER and not _holds_bytes(table):
                self._driver.execute(_sqlite_insert_together(table), (rows_to_json(rows),))
            else:
                self._driver.executemany(_sqlite_insert(table), rows)


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except apsw.Error as error:
        raise apsw_dbapi.to_dbapi_error(error) from error


def encode_parameters(parameters: Sequence[object]) -> list[Any]:
    """Return parameters as the drivers take them: lists of rows as JSON."""
    return [rows_to_json(one) if isinstance(one, list) else one for one in parameters]


def rows_to_json(rows: object) -> str:
    """Return rows as the text of one parameter."""
    return _encode(rows).decode()


def insert_columns(table: sa.Table) -> str:
    """Return the table's columns as an INSERT names them."""
    return ", ".join(f'"{column.name}"' for column in table.columns)


@memoized(Cache.STATEMENTS)
def _holds_bytes(table: sa.Table) -> bool:
    """Return whether a column keeps bytes, which JSON has no form for."""
    return any(isinstance(column.type, sa.LargeBinary) for column in table.columns)


@memoized(Cache.STATEMENTS)
def _sqlite(sql: str) -> str:
    # Of CROSS JOIN the left table is the outer loop here.
    named = sql.replace(ROWS_PLACEHOLDER, "json_each(?) AS given")
    return named.replace(LOOKUP_PLACEHOLDER, "").replace(FIELD_PLACEHOLDER, "")


@memoized(Cache.STATEMENTS)
def _sqlite_map(table: str, key: str, value: str) -> str:
    return (
        f"SELECT json_group_object({key}, {value}) FROM {table} "  # noqa: S608 - own names
        f"WHERE store_id = ? AND {key} IN (SELECT value FROM json_each(?))"
    )


@memoized(Cache.STATEMENTS)
def _sqlite_insert(table: sa.Table) -> str:
    marks = ", ".join("?" for _ in table.columns)
    return f'INSERT INTO "{table.name}" ({insert_columns(table)}) VALUES ({marks})'  # noqa: S608 - own names


@memoized(Cache.STATEMENTS)
def _sqlite_insert_together(table: sa.Table) -> str:
    values = ", ".join(f"value ->> {place}" for place in range(len(table.columns)))
    return (
        f'INSERT INTO "{table.name}" ({insert_columns(table)}) '  # noqa: S608 - own names
        f"SELECT {values} FROM json_each(?)"
    )
