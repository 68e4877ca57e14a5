"""Unread results: they do not keep a connection at an old snapshot."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from productrecs.storage.sql.database import Database
from productrecs.storage.sql.tables import stores
from productrecs.tenancy.accounts.store_management import (
    all_stores,
    delete_store,
)
from tests.support.stores import new_store


@pytest.fixture
def _no_collections() -> Iterator[None]:
    """Let no collection help, as while a catalog is read into memory."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def elsewhere(sqlite_database: Database, data_folder: Path) -> Iterator[Database]:
    """Give the same database as another process has it."""
    del sqlite_database
    opened = Database.open(None, data_folder)
    yield opened
    opened.close()


@pytest.mark.usefixtures("_no_collections")
def test_what_another_process_writes_is_seen_by_whoever_reads_next(
    sqlite_database: Database, elsewhere: Database
) -> None:
    for domain in ("a.example", "b.example"):
        new_store(elsewhere, domain)
    with sqlite_database.transaction() as transaction:
        transaction.execute(sa.select(stores.c.store_id))  # and nobody asks for its rows

    new_store(elsewhere, "c.example")

    assert len(all_stores(sqlite_database)) == 3


@pytest.mark.usefixtures("_no_collections")
def test_after_a_deletion_others_see_what_comes_next(
    sqlite_database: Database, elsewhere: Database
) -> None:
    store = new_store(sqlite_database, "a.example")
    delete_store(sqlite_database, store)

    new_store(elsewhere, "b.example")

    assert [one.domain for one in all_stores(sqlite_database)] == ["b.example"]
