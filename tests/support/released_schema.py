"""Released schemas: dumps of a database with one row in every table.

`python -m tests.support.released_schema 0.1.0`, run when a version is released, writes its
dumps for SQLite and PostgreSQL. The tests of later versions upgrade from them. A released
dump is never written again.
"""

import re
import sqlite3  # noqa: TID251 - for its dump; no other copy has these files open
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Final

import sqlalchemy as sa
from sqlalchemy.sql.type_api import TypeEngine

from productrecs.storage.sql.database import Database
from productrecs.storage.sql.migrations.schema_upgrade import migrate
from productrecs.storage.sql.tables import metadata
from tests.support import postgres

FOLDER: Final = Path(__file__).parents[1] / "storage" / "sql" / "released"
_NOT_SQL: Final = re.compile(
    r"^(--.*|\\.*|SET .*|SELECT pg_catalog\.set_config.*|)\n", re.M
)


def dumps() -> list[Path]:
    """Return the dumps of all released versions."""
    return sorted(FOLDER.glob("*.sql"))


def load(dump: Path, url: str | None, folder: Path) -> Database:
    """Return an opened database with what a dump holds; `url` is an empty PostgreSQL's."""
    if url is None:
        with closing(sqlite3.connect(folder / "productrecs.db")) as connection:
            connection.executescript(dump.read_text("utf-8"))
    opened = Database.open(url, folder)
    if url is not None:
        with opened.transaction() as transaction:
            transaction.exec_driver_sql(dump.read_text("utf-8"))
    return opened


def _fill_every_table(database: Database) -> None:
    with database.transaction() as transaction:
        for table in metadata.sorted_tables:
            transaction.execute(
                table.insert().values(
                    {column.name: _value(column.type) for column in table.columns}
                )
            )


def _value(kind: TypeEngine[object]) -> object:
    if isinstance(kind, sa.LargeBinary):
        return b"1"
    if isinstance(kind, sa.Boolean):
        return True
    return "1" if isinstance(kind, sa.String) else 1  # also JSON


def _write_sqlite(file: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        database = Database.open(None, Path(folder))
        migrate(database)
        _fill_every_table(database)
        database.close()
        with closing(sqlite3.connect(Path(folder) / "productrecs.db")) as connection:
            lines = [line for line in connection.iterdump() if "sqlite_stat" not in line]
    file.write_text("\n".join(lines) + "\n", "utf-8")


def _write_postgresql(file: Path, cluster: postgres.Cluster) -> None:
    url = cluster.create_database()
    with tempfile.TemporaryDirectory() as folder:
        database = Database.open(url, Path(folder))
        migrate(database)
        _fill_every_table(database)
        database.close()
    words = ("--inserts", "--no-owner", "--no-privileges", "--username=postgres")
    name = url.partition("?")[0].rpartition("/")[2]
    dump = subprocess.run(
        [cluster.binaries / "pg_dump", *words, f"--host={cluster.folder}", name],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    file.write_text(_NOT_SQL.sub("", dump), "utf-8")


def main(version: str) -> None:
    """Write the dumps of a version."""
    FOLDER.mkdir(exist_ok=True)
    _write_sqlite(FOLDER / f"{version}.sqlite.sql")
    owner = postgres.Owner.begin()
    if owner is None:
        sys.exit("PostgreSQL's dump needs a server: apt-get install postgresql")
    try:
        owner.cluster.ensure_started()
        _write_postgresql(FOLDER / f"{version}.postgresql.sql", owner.cluster)
    finally:
        owner.end()


if __name__ == "__main__":
    if not re.fullmatch(r"\d+\.\d+\.\d+", sys.argv[-1]):
        sys.exit("usage: python -m tests.support.released_schema VERSION, such as 0.2.0")
    main(sys.argv[1])
