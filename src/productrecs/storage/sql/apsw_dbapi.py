"""DB-API driver (PEP 249) over apsw, so that SQLAlchemy uses the SQLite bundled there.

Debian's own SQLite can corrupt a database with two writers (fixed in 3.51.3), and apsw is
the only driver with a safe SQLite in its wheels for both x86_64 and aarch64. It is not
a DB-API module, so this file adds the missing part, as small as SQLAlchemy allows.
Connections are in autocommit mode until an explicit BEGIN.
"""

import contextlib
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Self

import apsw

apilevel: Final = "2.0"
threadsafety: Final = 1
paramstyle: Final = "qmark"
Binary: Final = bytes  # PEP 249's name for the type of binary columns
sqlite_version: Final[str] = apsw.sqlite_lib_version()
sqlite_version_info: Final = tuple(int(part) for part in sqlite_version.split("."))


def compile_options() -> tuple[str, ...]:
    """Return the options that this SQLite was built with, such as `THREADSAFE=1`."""
    return tuple(apsw.compile_options)


class Warning(Exception):  # noqa: A001, N818 - PEP 249 gives these names
    """PEP 249: an important warning. Never raised here."""


class Error(Exception):
    """PEP 249: the base of all database errors; `code` is SQLite's primary result code."""

    code: int = 0


class InterfaceError(Error):
    """PEP 249: the driver was used wrongly."""


class DatabaseError(Error):
    """PEP 249: the database reported something."""


class DataError(DatabaseError):
    """PEP 249: a value does not fit."""


class OperationalError(DatabaseError):
    """PEP 249: busy, full, broken or read-only storage."""


class IntegrityError(DatabaseError):
    """PEP 249: a constraint refused the row."""


class InternalError(DatabaseError):
    """PEP 249: SQLite's own state is wrong."""


class ProgrammingError(DatabaseError):
    """PEP 249: wrong SQL or wrong parameters."""


class NotSupportedError(DatabaseError):
    """PEP 249: SQLite cannot do this."""


_TRANSLATION: Final[tuple[tuple[type[apsw.Error], type[Error]], ...]] = (
    (apsw.ConstraintError, IntegrityError),
    (apsw.CorruptError, DatabaseError),
    (apsw.NotADBError, DatabaseError),
    (apsw.MismatchError, DataError),
    (apsw.TooBigError, DataError),
    (apsw.BindingsError, ProgrammingError),
    (apsw.MisuseError, ProgrammingError),
    (apsw.ConnectionClosedError, ProgrammingError),
    (apsw.InternalError, InternalError),
)


_PRIMARY: Final = 0xFF


def to_dbapi_error(error: apsw.Error) -> Error:
    """Return the PEP 249 error for one of apsw's, with SQLite's primary result code."""
    kind: type[Error] = OperationalError
    for apsw_error, dbapi_error in _TRANSLATION:
        if isinstance(error, apsw_error):
            kind = dbapi_error
            break
    extended = int(getattr(error, "extendedresult", 0))
    result = kind(
        f"{error} ({_error_name(extended)})" if extended > _PRIMARY else str(error)
    )
    result.code = int(getattr(error, "result", 0)) & _PRIMARY
    return result


def _error_name(extended: int) -> str:
    """Return SQLite's name of one of its extended result codes."""
    return str(apsw.mapping_extended_result_codes.get(extended, extended))


class ApswCursor:
    """PEP 249's cursor: one statement at a time, rows as tuples."""

    arraysize = 1
    lastrowid: int | None = None

    def __init__(self, connection: "ApswConnection") -> None:
        """Open a cursor on `connection`."""
        self._connection = connection
        self._cursor = connection.apsw.cursor()
        self.description: Sequence[Sequence[Any]] | None = None
        self.rowcount = -1

    def _record_columns(self, cursor: apsw.Cursor, _sql: str, _values: object) -> bool:
        # apsw forgets the columns of an empty SELECT once it has run, so store them here.
        columns = cursor.get_description()
        self.description = [
            (*column[:2], None, None, None, None, None) for column in columns
        ]
        return True

    def _finish_statement(self) -> None:
        if not self.description:  # a statement without columns gives no rows
            self.description = None
            self.rowcount = self._connection.apsw.changes()

    def execute(self, sql: str, parameters: Sequence[object] = ()) -> Self:
        """Run one statement."""
        self.description, self.rowcount = None, -1
        # Set only here: otherwise the cursors form a reference cycle, and a partly read
        # result holds its connection at an old snapshot until the next garbage collection.
        self._cursor.exec_trace = self._record_columns
        try:
            self._cursor.execute(sql, tuple(parameters))
        except apsw.Error as error:
            raise to_dbapi_error(error) from error
        finally:
            self._cursor.exec_trace = None
        self._finish_statement()
        return self

    def executemany(self, sql: str, rows: Iterable[Sequence[object]]) -> Self:
        """Run one statement for each row of parameters."""
        before = self._connection.apsw.total_changes()
        try:
            self._cursor.executemany(sql, rows)
        except apsw.Error as error:
            raise to_dbapi_error(error) from error
        self.description = None
        self.rowcount = self._connection.apsw.total_changes() - before
        return self

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the next row, or None at the end."""
        try:
            return self._cursor.fetchone()
        except apsw.Error as error:
            raise to_dbapi_error(error) from error

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """Return up to `size` further rows."""
        try:
            return list(itertools.islice(self._cursor, size or self.arraysize))
        except apsw.Error as error:
            raise to_dbapi_error(error) from error

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return all further rows."""
        try:
            return self._cursor.fetchall()
        except apsw.Error as error:
            raise to_dbapi_error(error) from error

    def close(self) -> None:
        """Close the statement and drop its rows."""
        self._cursor.close(force=True)

    def setinputsizes(self, sizes: object) -> None:
        """Do nothing: PEP 249 requires it; SQLite needs no sizes."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Do nothing: PEP 249 requires it; SQLite needs no sizes."""


class ApswConnection:
    """PEP 249's connection; `apsw` is the raw connection, for hot paths."""

    isolation_level: str | None = ""

    def __init__(self, path: str, *, flags: int) -> None:
        """Open the file at `path` with SQLite's open `flags`."""
        try:
            self.apsw = apsw.Connection(path, flags=flags)
        except apsw.Error as error:
            raise to_dbapi_error(error) from error

    def cursor(self) -> ApswCursor:
        """Return a new cursor."""
        return ApswCursor(self)

    def commit(self) -> None:
        """Make the open transaction durable; without one, do nothing."""
        try:
            self._end_transaction("COMMIT")
        except Error:
            # SQLAlchemy considers the transaction ended, and would reuse the connection.
            with contextlib.suppress(Error):
                self.rollback()
            raise

    def rollback(self) -> None:
        """Roll back the open transaction; without one, do nothing."""
        self._end_transaction("ROLLBACK")

    def _end_transaction(self, sql: str) -> None:
        if not self.apsw.in_transaction:
            return
        try:
            self.apsw.execute(sql)
        except apsw.Error as error:
            raise to_dbapi_error(error) from error

    def close(self) -> None:
        """Close the file."""
        self.apsw.close()

    def create_function(
        self, name: str, arguments: int, function: Callable[..., Any], **options: bool
    ) -> None:
        """Make `function` callable from SQL (SQLAlchemy adds two of its own)."""
        self.apsw.create_scalar_function(
            name, function, arguments, deterministic=options.get("deterministic", False)
        )


def connect(
    path: str,
    *,
    read_only: bool = False,
    check_same_thread: bool = True,
    isolation_level: str | None = "",
) -> ApswConnection:
    """Open the database at `path`, created when absent unless `read_only`."""
    del check_same_thread, isolation_level  # SQLAlchemy's; apsw guards threads itself
    flags = apsw.SQLITE_OPEN_READONLY if read_only else apsw.SQLITE_OPEN_READWRITE
    if not read_only:
        flags |= apsw.SQLITE_OPEN_CREATE
    return ApswConnection(path, flags=flags)
