"""PostgreSQL support: an empty database per test, and no server left behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from productrecs.storage.sql.database import Database
from productrecs.storage.sql.tables import counters
from tests.support.postgres import Cluster, MigratedDatabases

_OWNER = """
import sys, time
from tests.support.postgres import Owner
owner = Owner.begin()
owner.cluster.ensure_started()
print(owner.cluster.folder, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("turn", [1, 2])
def test_a_test_finds_no_row_of_another(database: Database, turn: int) -> None:
    with database.transaction() as transaction:
        before = transaction.execute(sa.select(counters)).all()
        transaction.execute(counters.insert().values(name="turn", value=turn))

    assert before == []


def change_a_column(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    connection.execute("ALTER TABLE counters ADD COLUMN left_behind int")


def read_only(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    name = connection.info.dbname
    connection.execute(
        f'ALTER DATABASE "{name}" SET default_transaction_read_only TO on'.encode()
    )


@pytest.mark.postgres
@pytest.mark.parametrize("change", [None, change_a_column, read_only])
def test_a_database_is_used_again_unless_a_test_changed_more_than_rows(
    migrated_databases: MigratedDatabases,
    change: Callable[[psycopg.Connection[tuple[object, ...]]], None] | None,
) -> None:
    url = migrated_databases.take()
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute("INSERT INTO counters (name, value) VALUES ('a', 1)")
        connection.execute("ANALYZE counters")
        if change is not None:
            change(connection)
    migrated_databases.give_back(url)

    again = migrated_databases.take()
    with psycopg.connect(again.replace("+psycopg", "")) as connection:
        assert connection.execute("SELECT * FROM counters").fetchall() == []
        measured = "SELECT * FROM pg_stats WHERE tablename = 'counters'"
        assert connection.execute(measured).fetchall() == []
    migrated_databases.give_back(again)
    assert (again == url) is (change is None)


@pytest.mark.postgres
def test_a_database_that_somebody_still_uses_is_not_used_again(
    migrated_databases: MigratedDatabases,
) -> None:
    url = migrated_databases.take()
    connection = psycopg.connect(url.replace("+psycopg", ""))
    migrated_databases.give_back(url)
    connection.close()

    assert migrated_databases.take() != url


@pytest.mark.postgres
def test_a_server_dies_with_the_run_that_started_it(postgres_cluster: Cluster) -> None:
    assert postgres_cluster.data.exists()  # a server is installed: skipped otherwise
    owner = subprocess.Popen(
        [sys.executable, "-c", _OWNER], stdout=subprocess.PIPE, text=True, cwd=Path.cwd()
    )
    assert owner.stdout is not None
    folder = Path(owner.stdout.readline().strip())
    server = int((folder / "data" / "postmaster.pid").read_text("utf-8").split()[0])
    assert _is_alive(server)

    owner.send_signal(signal.SIGKILL)
    owner.communicate()

    assert _within(20, lambda: not folder.exists() and not _is_alive(server))


def _is_alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    return True


def _within(seconds: float, condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
