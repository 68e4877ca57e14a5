"""Unread results: they do not keep a connection at an old snapshot."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa

from productrecs.core.clock import system_ms
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.tables import stores
from productrecs.tenancy.accounts.store_management import (
    Registration,
    all_stores,
    delete_store,
    register_store,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


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
        register_store(elsewhere, Registration(domain), system_ms)
    with sqlite_database.transaction() as transaction:
        transaction.execute(sa.select(stores.c.store_id))  # and nobody asks for its rows

    register_store(elsewhere, Registration("c.example"), system_ms)

    assert len(all_stores(sqlite_database)) == 3


@pytest.mark.usefixtures("_no_collections")
def test_after_a_deletion_others_see_what_comes_next(
    sqlite_database: Database, elsewhere: Database
) -> None:
    store, _ = register_store(sqlite_database, Registration("a.example"), system_ms)
    delete_store(sqlite_database, store)

    register_store(elsewhere, Registration("b.example"), system_ms)

    assert [one.domain for one in all_stores(sqlite_database)] == ["b.example"]
