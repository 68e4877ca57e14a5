"""PostgreSQL dialect; imported only when `DATABASE_URL` names a PostgreSQL server.

The server keeps its durable defaults; every wait has a timeout.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import psycopg
import sqlalchemy as sa
from psycopg.conninfo import conninfo_to_dict

from productrecs.core.cache_registry import RegisteredCache, memoized
from productrecs.core.errors import (
    DamagedDatabaseError,
    ReadOnlyStorageError,
    StorageBusyError,
    StorageError,
    StorageFullError,
    UnsafeStorageError,
)
from productrecs.core.ids import StoreId
from productrecs.storage.sql.dialects import (
    FIELD_PLACEHOLDER,
    LOOKUP_PLACEHOLDER,
    RAW_CONNECTION_KEY,
    ROWS_PLACEHOLDER,
    DatabaseProblem,
    RawReader,
    ReplicationStatus,
    Row,
    encode_parameters,
    insert_column_list,
)
from productrecs.storage.sql.sqlite_connection import LOCK_WAIT_MS

_DEFAULTS: Final = {
    "connect_timeout": "3",  # for each host
    "keepalives": "1",
    "keepalives_idle": "3",
    "keepalives_interval": "1",
    "keepalives_count": "3",
    "tcp_user_timeout": "6000",
}
"""Timeouts that an address may change: a server that vanished is noticed within 6 s."""


def connection_parameters(url: str, options: str) -> dict[str, Any]:
    """Return libpq's parameters of an address, with our timeouts unless it has others.

    Several hosts are tried in turn. Of these the primary is wanted: a standby cannot write.
    """
    try:
        given = conninfo_to_dict(url)
    except psycopg.Error:  # its message may hold the password
        message = (
            "DATABASE_URL cannot be read; write postgresql://USER:PASSWORD@HOST:PORT/NAME, "
            "with % codes for special characters of the password"
        )
        raise UnsafeStorageError(message) from None
    parameters = {**_DEFAULTS, **given}
    if "," in str(given.get("host", given.get("hostaddr", ""))):
        parameters.setdefault("target_session_attrs", "primary")
    if parameters.get("target_session_attrs") == "read-write":
        # Readers' sessions are read-only, which libpq would take for a standby.
        parameters["target_session_attrs"] = "primary"
    parameters["options"] = f"{given.get('options', '')} {options}".strip()
    return parameters


_TABLE_BYTES: Final = (
    "SELECT relname, pg_total_relation_size(oid) FROM pg_class "
    "WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace"
)
_REPLICATION: Final = (
    "SELECT current_setting('synchronous_commit'), "
    "current_setting('synchronous_standby_names'), count(*), "
    "count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')) FROM pg_stat_replication"
)


@dataclass(frozen=True)
class PostgresDialect:
    """A PostgreSQL server: many writers, row locks. `url` is an address as libpq's."""

    url: str
    name: str = "postgresql"
    can_read_on_event_loop: bool = False
    syncs_after_commit: bool = False
    driver_error: type[Exception] = psycopg.Error
    server_time: str | None = (
        "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)"
    )

    def create_engine(self) -> sa.Engine:
        """Return an engine with timeouts for all waits."""
        parameters = connection_parameters(self.url, f"-c lock_timeout={LOCK_WAIT_MS}")
        engine = sa.create_engine(
            "postgresql+psycopg://",
            # Not SQLAlchemy's form of an address: it has no list of hosts.
            creator=lambda: _connect_to_utf8_database(parameters),
            pool_size=5,
            max_overflow=15,
            pool_pre_ping=True,
            pool_timeout=LOCK_WAIT_MS / 1000,
        )
        sa.event.listen(engine, "connect", _prepare)
        return engine

    def begin_write(self, connection: sa.Connection, *, synced: bool) -> None:
        """Do nothing: SQLAlchemy begins the transaction, and writes lock their rows."""
        if not synced:
            connection.exec_driver_sql("SET LOCAL synchronous_commit = off")

    def begin_read(self, connection: sa.Connection) -> None:
        """Read one snapshot of the database for the whole transaction."""
        connection.exec_driver_sql(
            "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
        )

    def raw_reader(
        self,
        on_failure: Callable[[StorageError], None],
        *,
        is_scan: bool = False,  # noqa: ARG002 - the server has the cache
    ) -> RawReader:
        """Open a read-only connection that reconnects when it was lost."""
        return _PostgresHotReader(self.url, on_failure)

    def flush(self) -> None:
        """Do nothing: the server's commits wait for the disk."""

    def checkpoint_in_background(self) -> None:
        """Do nothing: the server does so by default."""

    def overwrite_deleted(self) -> bool:
        """Return True: the server's autovacuum does it."""
        return True

    def compact(self) -> None:
        """Do nothing: autovacuum lets new rows use the space of deleted ones."""

    def release_free_pages(self) -> bool:
        """Return False, for the same reason."""
        return False

    def table_bytes(self, connection: sa.Connection) -> dict[str, int]:
        """Ask the server for the sizes of the tables."""
        return {name: int(size) for name, size in connection.exec_driver_sql(_TABLE_BYTES)}

    def close(self) -> None:
        """Do nothing: there are no other resources."""

    def lock_migrations(self, connection: sa.Connection) -> None:
        """Hold an advisory lock until the transaction ends."""
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7270001)")

    def update_planner_statistics(self, connection: sa.Connection) -> None:
        """Do nothing: the server runs ANALYZE automatically."""

    def find_damage(self, connection: sa.Connection) -> DatabaseProblem | None:  # noqa: ARG002
        """Return None: the server checks its pages as it reads them."""
        return None

    def find_problems(self, connection: sa.Connection) -> list[DatabaseProblem]:  # noqa: ARG002
        """Return no problems: the server reports them in its own log."""
        return []

    def replication_status(self, connection: sa.Connection) -> ReplicationStatus:
        """Return how the server replicates."""
        return ReplicationStatus(*connection.exec_driver_sql(_REPLICATION).one())

    def translate(self, error: BaseException | None) -> StorageError | None:
        """Return our error for one of psycopg's."""
        if not isinstance(error, psycopg.Error):
            return None
        return _to_storage_error(error, self.url)


def _to_storage_error(error: psycopg.Error, url: str) -> StorageError:
    if isinstance(
        error,
        psycopg.errors.LockNotAvailable
        | psycopg.errors.DeadlockDetected
        | psycopg.errors.SerializationFailure
        | psycopg.errors.TooManyConnections,
    ):
        return StorageBusyError("the database is busy; retry")
    if isinstance(error, psycopg.errors.DiskFull):
        return StorageFullError("the disk of the database is full; nothing is lost")
    if isinstance(error, psycopg.errors.DataCorrupted | psycopg.errors.IndexCorrupted):
        message = "the database server reports damaged data; see its log"
        return DamagedDatabaseError(message, _failure_detail(error, url))
    if isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
        message = "the database is read-only: nothing can be stored; make it writable"
        return ReadOnlyStorageError(message)
    if isinstance(error, psycopg.OperationalError):
        message = "the database cannot be reached; retry"
        return StorageBusyError(message, _failure_detail(error, url))
    message = f"the database rejected the operation: {error.__class__.__name__}"
    return StorageError(message, _failure_detail(error, url))


def _failure_detail(error: psycopg.Error, url: str) -> str:
    """Return the server's host and port and its reason, without the password."""
    given = conninfo_to_dict(url)
    place = f"{given.get('host') or given.get('hostaddr') or 'local'} port "
    place += str(given.get("port") or 5_432)
    reason = " ".join(str(error).split())
    if password := str(given.get("password") or ""):
        reason = reason.replace(password, "...")
    return f"{place}: {reason or type(error).__name__}"


_READER_OPTIONS: Final = "-c default_transaction_read_only=on -c statement_timeout=5000"


class _PostgresHotReader:
    def __init__(self, url: str, on_failure: Callable[[StorageError], None]) -> None:
        self._url = url
        self._on_failure = on_failure
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None

    def all(self, sql: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
        try:
            try:
                return self._run(sql, parameters)
            except psycopg.OperationalError:  # the server was restarted: reconnect, retry
                self.close()
                return self._run(sql, parameters)
        except psycopg.Error as error:
            translated = _to_storage_error(error, self._url)
            self._on_failure(translated)
            raise translated from error

    def _run(self, sql: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
        if self._connection is None:
            self._connection = psycopg.connect(
                autocommit=True, **connection_parameters(self._url, _READER_OPTIONS)
            )
        return self._connection.execute(
            _to_postgres_sql(sql), encode_parameters(parameters)
        ).fetchall()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def _connect_to_utf8_database(parameters: Mapping[str, Any]) -> psycopg.Connection[Row]:
    """Open a connection.

    Raises:
        UnsafeStorageError: when the database cannot hold every text.
    """
    connection = psycopg.connect(**parameters)
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        connection.close()
        message = (
            f"the database has the encoding {encoding}, which cannot hold every text: "
            "create it with createdb --encoding=UTF8 --template=template0 NAME"
        )
        raise UnsafeStorageError(message)
    return connection


def _prepare(
    connection: psycopg.Connection[Row], record: sa.pool.ConnectionPoolEntry
) -> None:
    record.info[RAW_CONNECTION_KEY] = PostgresRawConnection(connection)


class PostgresRawConnection:
    """Raw SQL on PostgreSQL, for a transaction; see `RawConnection`."""

    def __init__(self, driver: psycopg.Connection[Row]) -> None:
        """Use an open connection."""
        self._driver = driver

    def all(self, sql: str, parameters: Sequence[object]) -> list[Row]:
        """Run one statement and return all its rows."""
        # A cached plan from when a table was empty may use the wrong index of a store.
        prepare = False if LOOKUP_PLACEHOLDER in sql else None
        text = _to_postgres_sql(sql)
        return self._driver.execute(
            text, encode_parameters(parameters), prepare=prepare
        ).fetchall()

    def run(self, sql: str, parameters: Sequence[object]) -> None:
        """Run one statement that returns no rows."""
        self._driver.execute(_to_postgres_sql(sql), encode_parameters(parameters))

    def values_by_key(
        self, columns: tuple[str, str, str], store_id: StoreId, keys: Iterable[str]
    ) -> dict[str, Any]:
        """Map keys of a table to values; `columns` are the table, its key and its value."""
        rows = self._driver.execute(
            _postgres_select_by_keys(*columns), (store_id, list(keys))
        )
        return dict(rows.fetchall())

    def insert(self, table: sa.Table, rows: Sequence[Sequence[object]]) -> None:
        """Use COPY, which is three times as fast as INSERT."""
        if not rows:
            return
        sql = f'COPY "{table.name}" ({insert_column_list(table)}) FROM STDIN'
        with self._driver.cursor() as cursor, cursor.copy(sql.encode()) as copy:
            for row in rows:
                copy.write_row(row)


@memoized(RegisteredCache.STATEMENTS)
def _to_postgres_sql(sql: str) -> bytes:
    value_rows = "json_array_elements(?::json) AS given(value)"
    # OFFSET stops the planner from scanning all of a store's rows, which it prefers while
    # a growing table has no statistics.
    with_rows = sql.replace(ROWS_PLACEHOLDER, value_rows).replace(
        LOOKUP_PLACEHOLDER, "LATERAL (SELECT * FROM"
    )
    return (
        with_rows.replace(FIELD_PLACEHOLDER, "OFFSET 0) AS found")
        .replace("?", "%s")
        .encode()
    )


@memoized(RegisteredCache.STATEMENTS)
def _postgres_select_by_keys(table: str, key: str, value: str) -> bytes:
    return (
        f"SELECT {key}, {value} FROM {table} "  # noqa: S608 - own names
        f"WHERE store_id = %s AND {key} = ANY(%s)"
    ).encode()
