"""Upgrade: a database of every released version becomes one of this version."""

from pathlib import Path

import pytest
import sqlalchemy as sa

from productrecs.storage.sql.database import Database
from productrecs.storage.sql.migrations.schema_upgrade import is_current, migrate
from productrecs.storage.sql.tables import metadata
from tests.architecture.test_tables import differences
from tests.support.released_schema import dumps, load


def rows(database: Database) -> dict[str, int]:
    with database.reading() as connection:
        return {
            name: connection.execute(
                sa.select(sa.func.count()).select_from(sa.table(name))
            ).scalar_one()
            for name in sa.inspect(connection).get_table_names()
        }


def assert_upgraded(database: Database) -> None:
    before = rows(database)
    assert set(before.values()) == {1}

    migrate(database)

    assert is_current(database)
    assert differences(database, metadata) == []
    after = rows(database)
    assert {after[name] for name in before.keys() & after.keys()} == {1}


@pytest.mark.parametrize("dump", dumps(), ids=lambda dump: str(dump.name))
def test_a_database_of_a_released_version_is_upgraded_with_its_rows(
    dump: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    is_sqlite = dump.name.endswith(".sqlite.sql")
    url = None if is_sqlite else str(request.getfixturevalue("postgres_url"))
    database = load(dump, url, tmp_path)
    try:
        assert_upgraded(database)
    finally:
        database.close()


def test_there_is_a_dump_of_each_database() -> None:
    assert {dump.name.rsplit(".", 2)[1] for dump in dumps()} == {"sqlite", "postgresql"}
