"""Migrations: a database of every earlier schema keeps all its data.

Each migration may have been somebody's last release. A database is made by the migrations
up to it, every table gets rows whose values are all different, and what the rest of the
migrations leave is held against them: also when those are killed at any statement.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from productrecs.processes.child_process import ForkedProcess
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.migrations.schema_upgrade import KNOWN, is_current, migrate
from productrecs.storage.sql.sqlite_dialect import SqliteDialect
from productrecs.storage.sql.tables import metadata
from tests.architecture.test_tables import differences

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import UnionType

Contents = dict[str, Counter[tuple[Any, ...]]]
ROWS: Final = 3
REBUILT: Final = frozenset(("look_days",))  # emptied, and filled again from the events
DROPPED: Final = frozenset(("rankers", "explorations"))  # no gain was measured
SOME: Final = (KNOWN[0], KNOWN[len(KNOWN) // 2], KNOWN[-2])


@pytest.fixture
def empty_url(database_kind: str, request: pytest.FixtureRequest) -> str | None:
    """Return the address of a database without tables; None is SQLite."""
    if database_kind == "sqlite":
        return None
    return str(request.getfixturevalue("postgres_url"))


def come_to(database: Database, revision: str) -> None:
    """Migrate an empty database as far as `revision`."""
    config = Config()
    config.set_main_option("script_location", "productrecs.storage.sql:migrations")
    with database.transaction() as transaction:
        config.attributes["connection"] = transaction
        command.upgrade(config, revision)


def fill(database: Database, rows: int = ROWS) -> None:
    """Give every table rows, no two values of which are the same but their store's."""
    with database.transaction() as transaction:
        for table in tables_of(transaction):
            transaction.execute(
                table.insert(),
                [
                    {column.name: value(column, row) for column in table.columns}
                    for row in range(rows)
                ],
            )


def tables_of(connection: sa.Connection) -> list[sa.Table]:
    """Return the tables that are there, those that others refer to first."""
    found = sa.MetaData()
    found.reflect(connection)
    return [table for table in found.sorted_tables if table.name != "alembic_version"]


def value(column: sa.Column[Any], row: int) -> object:
    """Return what stands in a column: the column's name in some form, and the row."""
    number = sum(map(ord, column.name)) % 900 * 10 + row
    length = getattr(column.type, "length", None) or 40
    known = {"store_id": f"store-{row}", "plan": "trial"}
    forms: tuple[tuple[type[Any] | UnionType, object], ...] = (
        (sa.Boolean, bool(row % 2)),
        (sa.Integer, number),
        (sa.Float | sa.Numeric, number + 0.5),
        (sa.LargeBinary, f"{column.name} {row}\0".encode()),
        (sa.JSON, {column.name: row}),
        (sa.types.TypeEngine, f"{row} {column.name}é"[:length]),
    )
    fitting = (form for kind, form in forms if isinstance(column.type, kind))
    return known.get(column.name, next(fitting))


def contents(database: Database, like: Contents | None = None) -> Contents:
    """Return every table's rows by name; of `like` with its columns only."""
    with database.reading() as connection:
        found = {}
        for table in tables_of(connection):
            names = sorted(column.name for column in table.columns)
            if like is not None:
                if table.name not in like:
                    continue
                names = [name for name, _ in next(iter(like[table.name]))]
            query = sa.select(*(table.c[name] for name in names))
            found[table.name] = Counter(
                tuple(zip(names, map(repr, row), strict=True))
                for row in connection.execute(query)
            )
    return found


def opened(url: str | None, folder: Path, revision: str) -> tuple[Database, Contents]:
    """Return a database of an earlier schema, and what it holds."""
    database = Database.open(url, folder)
    come_to(database, revision)
    fill(database)
    before = contents(database)
    assert all(rows.total() == ROWS for rows in before.values())
    return database, before


def check_migrated(database: Database, before: Contents) -> None:
    """Check that a database has the present schema and kept what it had."""
    assert is_current(database)
    assert differences(database, metadata) == []
    after = contents(database, before)
    assert {name: rows for name, rows in after.items() if name not in REBUILT} == {
        name: rows for name, rows in before.items() if name not in REBUILT | DROPPED
    }
    with database.reading() as connection:
        assert database.dialect.find_damage(connection) is None


@pytest.mark.parametrize(
    "revision",
    [
        *SOME,
        *(
            pytest.param(one, marks=pytest.mark.trust)
            for one in KNOWN[:-1]
            if one not in SOME
        ),
    ],
)
def test_every_earlier_schema_comes_to_the_present_one_with_all_it_holds(
    data_folder: Path, empty_url: str | None, revision: str
) -> None:
    database, before = opened(empty_url, data_folder, revision)

    assert migrate(database)

    check_migrated(database, before)
    assert not migrate(database)
    database.close()


def dies_at(
    url: str | None, folder: Path, place: int, work: Callable[[Database], object]
) -> int:
    """Let a process do `work` and be killed at its statement `place`; return its end."""

    def die() -> int:
        seen = 0

        def look(*_: object) -> None:
            nonlocal seen
            seen += 1
            if seen == place:
                os.kill(os.getpid(), signal.SIGKILL)

        sa.event.listen(sa.Engine, "before_cursor_execute", look)
        database = Database.open(url, folder)
        work(database)
        database.close()
        return 0

    return ForkedProcess("migrate", die, ()).wait()


def survive(
    url: str | None, folder: Path, places: int, work: Callable[[Database], object]
) -> None:
    """Check that all is there though the migrations were killed at some places."""
    database, before = opened(url, folder, KNOWN[0])
    database.close()
    ended = [dies_at(url, folder, place, work) for place in spread(places)]
    assert ended == [-signal.SIGKILL] * places

    database = Database.open(url, folder)
    migrate(database)
    check_migrated(database, before)
    database.close()


def spread(places: int) -> list[int]:
    """Return statements from the second to the last but some of all migrations."""
    return [2 + number * STATEMENTS // places for number in range(places)]


STATEMENTS: Final = 40  # fewer than all migrations have, on either database


@pytest.mark.parametrize("places", [4, pytest.param(40, marks=pytest.mark.trust)])
def test_migrations_that_are_killed_anywhere_begin_anew_and_lose_nothing(
    data_folder: Path, empty_url: str | None, places: int
) -> None:
    survive(empty_url, data_folder, places, migrate)


def test_control_migrations_that_are_not_one_transaction_cannot_begin_anew(
    data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def at_once(database: Database) -> None:
        with monkeypatch.context() as broken:
            broken.setattr(SqliteDialect, "begin_write", lambda *_, **__: None)
            migrate(database)

    with pytest.raises((AssertionError, sa.exc.SQLAlchemyError)):
        survive(None, data_folder, 12, at_once)


def test_control_a_row_that_is_lost_or_altered_is_seen(data_folder: Path) -> None:
    database, before = opened(None, data_folder, KNOWN[-2])
    migrate(database)
    with database.transaction() as transaction:
        transaction.exec_driver_sql("UPDATE items SET title = 'x' WHERE store_id LIKE '%1'")

    with pytest.raises(AssertionError):
        check_migrated(database, before)
    database.close()
