"""PostgreSQL connections: several hosts, timeouts, and a server that goes away."""

import asyncio
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from productrecs.core.errors import (
    StorageBusyError,
    UnconfirmedWriteError,
    UnsafeStorageError,
)
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.group_commit import GroupCommit, WriteTransaction
from productrecs.storage.sql.migrations.schema_upgrade import migrate
from productrecs.storage.sql.postgres_dialect import connection_parameters
from productrecs.storage.sql.tables import counters
from tests.support.postgres import Cluster

pytestmark = pytest.mark.postgres


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("postgresql://u:p@a/d", {"host": "a", "dbname": "d", "connect_timeout": "3"}),
        ("postgresql://a/d?connect_timeout=9", {"connect_timeout": "9"}),
        ("postgresql://a/d?tcp_user_timeout=0", {"tcp_user_timeout": "0"}),
        ("postgresql://a/d", {"target_session_attrs": None, "options": "-c x=1"}),
        ("postgresql://a,b:99/d", {"host": "a,b", "port": ",99"}),
        ("postgresql://a,b/d", {"target_session_attrs": "primary"}),
        (
            "postgresql://a,b/d?target_session_attrs=read-write",
            {"target_session_attrs": "primary"},
        ),
        ("postgresql://a,b/d?target_session_attrs=any", {"target_session_attrs": "any"}),
        ("postgresql://a/d?options=-c%20y%3D2", {"options": "-c y=2 -c x=1"}),
    ],
)
def test_an_address_is_read_as_libpq_reads_it_with_our_timeouts(
    address: str, expected: dict[str, str | None]
) -> None:
    parameters = connection_parameters(address, "-c x=1")

    assert {name: parameters.get(name) for name in expected} == expected


def test_a_database_that_cannot_hold_every_text_is_refused(
    postgres_cluster: Cluster, tmp_path: Path
) -> None:
    postgres_cluster.execute(
        "CREATE DATABASE ascii ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0"
    )
    database = Database.open(postgres_cluster.url("ascii"), tmp_path)
    try:
        with pytest.raises(UnsafeStorageError, match=r"SQL_ASCII.* --encoding=UTF8"):
            migrate(database)
    finally:
        database.close()
        postgres_cluster.drop_database(postgres_cluster.url("ascii"))


@pytest.fixture
def opened(migrated_url: str, tmp_path: Path) -> Iterator[Database]:
    database = Database.open(migrated_url, tmp_path)
    yield database
    database.close()


def end_sessions(url: str) -> None:
    """End every other connection to the database, as a server that stops does."""
    with psycopg.connect(url.replace("+psycopg", "", 1), autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def add(transaction: sa.Connection, name: str) -> None:
    transaction.execute(counters.insert().values(name=name, value=1))


def write_and_lose(database: Database, url: str, *, during_commit: bool) -> None:
    with database.transaction() as transaction:
        add(transaction, "one")
        end_sessions(url)
        if not during_commit:
            add(transaction, "two")


def test_only_a_connection_lost_during_the_commit_leaves_a_write_unconfirmed(
    opened: Database, migrated_url: str
) -> None:
    with pytest.raises(StorageBusyError):
        write_and_lose(opened, migrated_url, during_commit=False)
    with pytest.raises(UnconfirmedWriteError, match="it may be stored"):
        write_and_lose(opened, migrated_url, during_commit=True)

    with opened.transaction() as transaction:  # dead connections are dropped
        add(transaction, "three")
    with opened.reading() as connection:
        names = set(connection.execute(sa.select(counters.c.name)).scalars())
    assert names & {"one", "two", "three"} == {"three"}


def test_an_unconfirmed_batch_is_not_written_again(
    opened: Database, migrated_url: str
) -> None:
    attempts: list[Hashable] = []

    def handler(
        work: WriteTransaction, key: Hashable, payloads: Sequence[Any]
    ) -> Sequence[None]:
        attempts.append(key)
        add(work.connection, f"{key} {len(attempts)}")
        if len(attempts) == len(stores):
            end_sessions(migrated_url)
        return [None] * len(payloads)

    stores = ("st_1", "st_2")

    async def write() -> list[Any]:
        writer = GroupCommit(opened, lambda: None)
        waiting = [writer.submit(handler, store, store) for store in stores]
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
        await asyncio.to_thread(writer.close)
        return outcomes

    for _ in range(5):  # both are usually in one batch
        attempts.clear()
        outcomes = asyncio.run(write())
        if all(isinstance(one, UnconfirmedWriteError) for one in outcomes):
            break
    assert all(isinstance(one, UnconfirmedWriteError) for one in outcomes), outcomes
    assert attempts == ["st_1", "st_2"]
