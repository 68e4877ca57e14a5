"""Indexer bench: a store, the indexer of its search index, and a reader."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from productrecs.engines.text.search_index import IndexQuery, SearchIndex
from productrecs.records.catalog.catalog_push import (
    upsert_items,
)
from productrecs.records.catalog.item import ItemPatch
from productrecs.storage.files.search_index_files import (
    IndexFolder,
)
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.dialects import RawReader
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.accounts.store import Store
from productrecs.training.search.indexer import Indexer
from productrecs.training.search.served_index import ServedIndex, index_folder
from tests.support.clock import FakeClock

VISIBLE = np.ones(3_000, dtype=np.bool_)


@dataclass
class IndexerBench:
    """One store, the process that writes its index, and one that reads it."""

    database: Database
    root: Path
    reader: RawReader
    store: Store
    indexer: Indexer
    served: ServedIndex

    @property
    def folder(self) -> IndexFolder:
        """Where the index files of the store are."""
        return index_folder(self.root, self.store.store_id)

    def push(self, **titles: str) -> None:
        """Push items: ids with their titles."""
        patches = [ItemPatch(one, {"title": title}) for one, title in titles.items()]
        with self.database.transaction() as transaction:
            upsert_items(
                StoreLogTransaction(self.database, transaction, self.store.store_id),
                patches,
                1,
            )

    def settle(self) -> None:
        """Let the writer do all there is to do, and the reader read on."""
        for _ in range(100):
            if not self.indexer.run_next_batches(self.reader):
                break
        self.served.refresh()

    def search(self, query: str) -> list[int]:
        """Return what the reading process finds."""
        return self.served.find(IndexQuery(self.served.analyse(query), 50, VISIBLE)).items

    @property
    def indexed(self) -> int:
        """How many products the index holds that is published."""
        seal = self.folder.serving_manifest()
        assert seal is not None
        return len(SearchIndex(self.folder.path(seal.generation), seal.language))

    def writer_starts_anew(self) -> None:
        """Let another process write, as after a restart."""
        self.indexer.close()
        accounts = AccountDirectory(self.database)
        self.indexer = Indexer(self.root, accounts, FakeClock(0.0, step=1.0))


def damage(bench: IndexerBench) -> str:
    """Change one byte in the middle of the largest file; return its generation."""
    seal = bench.folder.serving_manifest()
    assert seal is not None
    files = list(bench.folder.path(seal.generation).glob("products/*.term"))
    file = max(files, key=lambda one: one.stat().st_size)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.unlink()  # who reads the old file goes on reading it
    file.write_bytes(bytes(content))
    return seal.generation
