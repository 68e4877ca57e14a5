"""Synced transactions: all wait for the disk, except those that opt out."""

import shutil
from pathlib import Path

import sqlalchemy as sa

from productrecs.storage.sql.database import Database
from productrecs.storage.sql.tables import counters


def level(connection: sa.Connection) -> object:
    """Return how the transaction of a connection will commit."""
    if connection.dialect.name == "sqlite":
        synchronous = connection.exec_driver_sql("PRAGMA synchronous").scalar_one()
        return {2: "on", 1: "off"}[int(synchronous)]
    return connection.exec_driver_sql("SHOW synchronous_commit").scalar()


def test_one_that_need_not_wait_leaves_the_others_as_they_are(database: Database) -> None:
    seen = []
    for synced in (True, False, True, False, False, True):
        with database.transaction(synced=synced) as transaction:
            seen.append(level(transaction))
    with database.transaction() as transaction:
        seen.append(level(transaction))

    assert seen == ["on", "off", "on", "off", "off", "on", "on"]


def test_one_that_fails_leaves_the_next_as_it_should_be(database: Database) -> None:
    try:
        with database.transaction(synced=False):
            raise KeyError  # noqa: TRY301 - what any caller might do
    except KeyError:
        pass

    with database.transaction() as transaction:
        assert level(transaction) == "on"


def test_what_did_not_wait_is_there_for_everybody(
    sqlite_database: Database, data_folder: Path, tmp_path: Path
) -> None:
    with sqlite_database.transaction(synced=False) as transaction:
        transaction.execute(counters.insert().values(name="mine", value=7))
    killed = tmp_path / "killed"
    shutil.copytree(data_folder, killed)  # as a kill leaves it: only a power cut takes more

    for folder in (data_folder, killed):
        other = Database.open(None, folder)
        with other.reading() as connection:
            query = sa.select(counters.c.value).where(counters.c.name == "mine")
            assert connection.execute(query).scalar() == 7
        other.close()
