"""Database check of a backup: verifies every page, then counts the rows of each table."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import apsw

from productrecs.storage.backup.manifest import damaged_backup

_TABLES: Final = (
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' "
    "ORDER BY name"
)
_SCHEMA: Final = "alembic_version"


@dataclass(frozen=True, slots=True)
class DatabaseSummary:
    """The schema's last migration, and how many rows each table has."""

    schema: str
    rows: dict[str, int]


def verify_database(path: Path) -> DatabaseSummary:
    """Read every page and index of a database that no other process has open.

    Raises:
        DamagedBackupError: when anything in it is wrong, or it is none of ours.
    """
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            verdict = connection.execute("PRAGMA integrity_check(1)").fetchone()
            if verdict != ("ok",):
                raise damaged_backup(
                    f"SQLite finds: {verdict[0] if verdict else 'nothing'}"
                )
            return DatabaseSummary(_schema(connection), _rows(connection))
        finally:
            connection.close()
    except apsw.Error as error:
        raise damaged_backup(str(error)) from error


def _schema(connection: apsw.Connection) -> str:
    row = connection.execute(f"SELECT version_num FROM {_SCHEMA}").fetchone()  # noqa: S608 - a constant
    if row is None:
        raise damaged_backup("its schema is unknown")
    return str(row[0])


def _rows(connection: apsw.Connection) -> dict[str, int]:
    tables = [str(row[0]) for row in connection.execute(_TABLES).fetchall()]
    counts = {}
    for name in tables:
        if name != _SCHEMA:
            query = f'SELECT count(*) FROM "{name}"'  # noqa: S608 - the names of tables
            counts[name] = int(str(connection.execute(query).fetchall()[0][0]))
    return counts
