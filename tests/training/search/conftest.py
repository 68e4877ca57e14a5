"""Fixtures of the indexer's tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.training.search.indexer import Indexer
from productrecs.training.search.served_index import ServedIndex, index_folder
from tests.support.clock import FakeClock
from tests.support.indexer_bench import IndexerBench
from tests.support.stores import new_store


@pytest.fixture
def bench(database: Database, tmp_path: Path) -> Iterator[IndexerBench]:
    store = new_store(database, "a.example")
    root = tmp_path / "search"
    reader = database.raw_reader()
    indexer = Indexer(root, AccountDirectory(database), FakeClock(0.0, step=1.0))
    served = ServedIndex(index_folder(root, store.store_id))
    yield IndexerBench(database, root, reader, store, indexer, served)
    indexer.close()
    reader.close()
