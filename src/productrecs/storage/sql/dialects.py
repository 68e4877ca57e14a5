"""SQL dialects: one interface for both databases, each implemented in one module.

A repository writes a statement with SQLAlchemy or, on a hot path, as raw SQL that goes
straight to the driver: for a short statement, SQLAlchemy costs several times the statement
itself. Raw SQL is the same for both databases except for the placeholders here. SQLite is
in `sqlite_dialect.py`, PostgreSQL in `postgres_dialect.py`.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import msgspec
import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from productrecs.core.errors import StorageError
from productrecs.core.ids import StoreId

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

ROWS_PLACEHOLDER: Final = "{given}"
"""Placeholder in SQL for rows that are passed as one list parameter: `FROM {given}`, then
`given.value ->> 0` for their first column."""

LOOKUP_PLACEHOLDER: Final = "{found}"
"""Placeholder before a table, `found`, that is joined to each given row: `CROSS JOIN
{found} lines AS found WHERE found.store_id = ? AND found.a = given.value ->> 0 {each}`."""

FIELD_PLACEHOLDER: Final = "{each}"
"""Placeholder after the conditions of such a table."""

RAW_CONNECTION_KEY: Final = "productrecs.bare"
"""The key of the `RawConnection` in a pooled connection's info."""

Row = tuple[Any, ...]
_encode: Final = msgspec.json.Encoder().encode


class RawReader(Protocol):
    """One raw read-only connection for one thread; `?` marks parameters."""

    def all(self, sql: str, parameters: Sequence[object]) -> list[Row]:
        """Return every row of a short query, which sees all current commits.

        Raises:
            StorageError: one of its kinds, when the database failed.
        """

    def close(self) -> None:
        """Return the connection to the pool."""


class RawConnection(Protocol):
    """Raw SQL in one transaction; `?` marks parameters, also row lists.

    Errors are the driver's own; `Database.transaction` translates them. A statement for
    many rows is one driver call: between two calls other threads may take the GIL, and
    reacquiring it costs more than a row.
    """

    def all(self, sql: str, parameters: Sequence[object]) -> list[Row]:
        """Run one statement and return all its rows."""

    def run(self, sql: str, parameters: Sequence[object]) -> None:
        """Run one statement that returns no rows."""

    def values_by_key(
        self, columns: tuple[str, str, str], store_id: StoreId, keys: Iterable[str]
    ) -> dict[str, Any]:
        """Map keys of a table to values; `columns` are the table, its key and its value.

        Reads one store's rows. The result omits keys that are not stored.
        """

    def insert(self, table: sa.Table, rows: Sequence[Sequence[object]]) -> None:
        """Insert rows (values in the table's column order) as fast as possible."""


def raw_connection(transaction: sa.Connection) -> RawConnection:
    """Return the driver's connection of `transaction`."""
    found: RawConnection = transaction.info[RAW_CONNECTION_KEY]
    return found


def encode_parameters(parameters: Sequence[object]) -> Sequence[Any]:
    """Return parameters in the driver's form: lists of rows as JSON."""
    for parameter in parameters:
        if type(parameter) is list:
            return [
                rows_to_json(parameter) if type(parameter) is list else parameter
                for parameter in parameters
            ]
    return parameters


def rows_to_json(rows: object) -> str:
    """Return rows as the text of one parameter."""
    return _encode(rows).decode()


def insert_column_list(table: sa.Table) -> str:
    """Return the table's column list for an INSERT."""
    return ", ".join(f'"{column.name}"' for column in table.columns)


@dataclass(frozen=True, slots=True)
class DatabaseProblem:
    """A problem of a database that can be opened, and its remedy."""

    message: str
    remedy: str


class ReplicationStatus(NamedTuple):
    """How a database server copies its commits to standbys."""

    synchronous_commit: str  # the server's setting
    standby_names: str  # of standbys that each commit waits for; empty: none
    standbys: int  # that are connected
    synchronous: int  # of these, how many each commit waits for


class SqlDialect(Protocol):
    """The operations that differ between the databases."""

    @property
    def name(self) -> str:
        """`sqlite` or `postgresql`."""

    @property
    def server_time(self) -> str | None:
        """A query of the server's time in UTC milliseconds; None without a server."""

    @property
    def can_read_on_event_loop(self) -> bool:
        """Whether a short read may run on the event loop (it needs no network)."""

    @property
    def syncs_after_commit(self) -> bool:
        """Whether unsynced commits can be synced afterwards, with `flush`."""

    @property
    def driver_error(self) -> type[Exception]:
        """The base class of the driver's errors."""

    def create_engine(self) -> sa.Engine:
        """Return the engine that `Database` uses."""

    def begin_write(self, connection: sa.Connection, *, synced: bool) -> None:
        """Start a write transaction; with `synced` its commit waits for the disk."""

    def flush(self) -> None:
        """Return once all earlier commits are on the disk."""

    def checkpoint_in_background(self) -> None:
        """Run checkpoints in the background: no commit waits for them."""

    def overwrite_deleted(self) -> bool:
        """Overwrite deleted rows in files; return whether that was possible."""

    def compact(self) -> None:
        """Give the space of deleted rows back to the disk; may block writes."""

    def release_free_pages(self) -> bool:
        """Give some of that space back, briefly; return whether there may be more."""

    def table_bytes(self, connection: sa.Connection) -> dict[str, int]:
        """Return what each table takes with its indexes; may read the whole database."""

    def close(self) -> None:
        """Close open resources other than the connections."""

    def begin_read(self, connection: sa.Connection) -> None:
        """Start a transaction that only reads."""

    def raw_reader(
        self, on_failure: Callable[[StorageError], None], *, is_scan: bool = False
    ) -> RawReader:
        """Open a raw connection for reads on a hot path; pass failures to `on_failure`.

        One for a scan caches fewer pages.
        """

    def lock_migrations(self, connection: sa.Connection) -> None:
        """Lock migrations: one process at a time."""

    def update_planner_statistics(self, connection: sa.Connection) -> None:
        """Update the database's statistics for a changed schema."""

    def find_damage(self, connection: sa.Connection) -> DatabaseProblem | None:
        """Return the damage in the stored data, if any; reads all of it."""

    def find_problems(self, connection: sa.Connection) -> list[DatabaseProblem]:
        """Return other problems of the database's files."""

    def replication_status(self, connection: sa.Connection) -> ReplicationStatus | None:
        """Return how the server replicates; None without a server."""

    def translate(self, error: BaseException | None) -> StorageError | None:
        """Return our error for a driver's, or None when it is not a storage error."""


def upsert(
    connection: sa.Connection, table: sa.Table
) -> "sqlite.Insert | postgresql.Insert":
    """Return an INSERT with `on_conflict_do_update`, in the database's own syntax."""
    if connection.dialect.name == "sqlite":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # noqa: PLC0415 - slow, and often not needed

    return postgresql.insert(table)


def put_row(
    connection: sa.Connection,
    table: sa.Table,
    *,
    summed_columns: Collection[str] = (),
    kept_columns: Collection[str] = (),
    **values: Any,
) -> None:
    """Store a row, or change the one with its primary key.

    Of that one, `summed_columns` grow by their values, `kept_columns` stay, and the others
    are replaced.
    """
    row = upsert(connection, table).values(values)
    key = [column.name for column in table.primary_key]
    changed = {
        name: table.c[name] + row.excluded[name]
        if name in summed_columns
        else row.excluded[name]
        for name in values
        if name not in {*key, *kept_columns}
    }
    connection.execute(row.on_conflict_do_update(index_elements=key, set_=changed))
