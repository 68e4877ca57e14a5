"""Index uploader: what one machine indexes, another searches and continues."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from productrecs.core.clock import fixed_clock
from productrecs.engines.text.search_index import IndexQuery
from productrecs.records.catalog.catalog_push import upsert_items
from productrecs.records.catalog.item import ItemPatch
from productrecs.storage.files.object_store import ObjectStore
from productrecs.storage.files.object_store_snapshots import (
    KINDS,
    SEARCH,
    SnapshotName,
    SnapshotStore,
)
from productrecs.storage.files.snapshot_cache import LocalIndexSnapshot, SnapshotCache
from productrecs.storage.jobs.leases import LEASE_MS, Lease
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.accounts.store import Store
from productrecs.training.repository import serving_snapshots, stop_serving_snapshot
from productrecs.training.search import index_uploader
from productrecs.training.search.index_uploader import IndexUploader
from productrecs.training.search.indexer import Indexer
from productrecs.training.search.served_index import ServedIndex, index_folder

VISIBLE = np.ones(100, dtype=np.bool_)
NOON = 1_800_000_000_000


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_uploader, "_UPLOAD_SECONDS", 0.0)


@dataclass
class SearchMachine:
    """A machine with its own folder, which indexes or only searches."""

    database: Database
    folder: Path
    shared: SnapshotStore

    def __post_init__(self) -> None:
        """Start without an index."""
        folders = {kind: self.folder / kind for kind in KINDS}
        self.cache = SnapshotCache(self.shared, folders)
        lease = Lease(self.database, "search", fixed_clock(NOON))
        self.uploader = IndexUploader(
            self.database, self.folder / SEARCH, self.shared, lease
        )

    def index(self) -> bool:
        """Index all that there is to index, and upload it."""
        reader = self.database.raw_reader()
        indexer = Indexer(self.folder / SEARCH, AccountDirectory(self.database))
        while indexer.run_next_batches(reader):
            pass
        indexer.close()
        reader.close()
        return self.uploader.try_uploading_changed_indexes()

    def serving(self) -> SnapshotName:
        """Return the index that serves."""
        with self.database.reading() as connection:
            [head] = serving_snapshots(connection)
        return head.names_by_kind()[SEARCH]

    def search(self, store: Store, query: str) -> list[int]:
        """Fetch the index that serves, and search it."""
        self.cache.wait_until_ready([self.serving()])
        served = ServedIndex(index_folder(self.folder / SEARCH, store.store_id))
        served.refresh()
        return served.find(IndexQuery(served.analyse(query), 50, VISIBLE)).items


@pytest.fixture
def machines(
    database: Database, tmp_path: Path, object_address: str
) -> tuple[SearchMachine, SearchMachine]:
    shared = SnapshotStore(ObjectStore(object_address))
    return tuple(  # type: ignore[return-value]  # two
        SearchMachine(database, tmp_path / name, shared) for name in ("one", "two")
    )


def push(database: Database, store: Store, **titles: str) -> None:
    patches = [ItemPatch(one, {"title": title}) for one, title in titles.items()]
    with database.transaction() as transaction:
        upsert_items(StoreLogTransaction(database, transaction, store.store_id), patches, 1)


def test_an_index_is_searched_and_continued_on_other_machines(
    database: Database, store: Store, machines: tuple[SearchMachine, SearchMachine]
) -> None:
    one, two = machines
    push(database, store, a="green tent", b="blue kayak")
    one.uploader.fetch_serving_indexes()
    assert one.index()
    assert len(two.search(store, "tent")) == 1

    # The first machine is lost; the second one goes on from its index.
    built = index_folder(two.folder / SEARCH, store.store_id).serving_manifest()
    push(database, store, c="red tent")
    two.uploader.fetch_serving_indexes()
    assert two.index()

    manifest = index_folder(two.folder / SEARCH, store.store_id).serving_manifest()
    assert built is not None
    assert manifest is not None
    assert manifest.generation == built.generation
    assert manifest.applied_seq > built.applied_seq
    assert len(two.search(store, "tent")) == 2
    assert len(one.search(store, "tent")) == 2


def test_of_two_machines_that_index_at_once_one_stops(
    database: Database, store: Store, machines: tuple[SearchMachine, SearchMachine]
) -> None:
    one, two = machines
    push(database, store, a="green tent")
    one.uploader.fetch_serving_indexes()
    two.uploader.fetch_serving_indexes()

    assert one.index()
    won = one.serving()
    assert not two.index()

    assert one.serving() == won
    assert len(two.search(store, "tent")) == 1


def test_a_lost_index_is_uploaded_again(
    database: Database, store: Store, machines: tuple[SearchMachine, SearchMachine]
) -> None:
    one, two = machines
    push(database, store, a="green tent")
    one.uploader.fetch_serving_indexes()
    assert one.index()
    lost = one.serving()
    one.shared.remove_store(store.store_id)

    two.cache.wait_until_ready([lost])
    assert two.cache.is_refused(lost)
    with database.transaction() as transaction:
        stop_serving_snapshot(transaction, lost)
    two.cache.forget_refusal(lost)
    assert one.uploader.try_uploading_changed_indexes()

    assert len(two.search(store, "tent")) == 1


def test_a_machine_that_indexes_keeps_its_own_files(
    database: Database, store: Store, machines: tuple[SearchMachine, SearchMachine]
) -> None:
    one, two = machines
    push(database, store, a="green tent")
    one.uploader.fetch_serving_indexes()
    assert one.index()
    assert two.search(store, "tent")
    held = LocalIndexSnapshot.read(two.folder / SEARCH / store.store_id)

    assert held.name == one.serving().name
    assert not held.is_complete  # a reader does not fetch what only an indexer needs
    two.uploader.fetch_serving_indexes()
    assert LocalIndexSnapshot.read(two.folder / SEARCH / store.store_id).is_complete


def test_one_process_holds_a_lease_until_it_ends(database: Database) -> None:
    one = Lease(database, "search", fixed_clock(NOON))
    other = Lease(database, "search", fixed_clock(NOON + LEASE_MS - 1))
    later = Lease(database, "search", fixed_clock(NOON + LEASE_MS))

    assert [one.take_or_renew(), one.take_or_renew(), other.take_or_renew()] == [
        True,
        True,
        False,
    ]
    assert [later.take_or_renew(), one.take_or_renew()] == [True, False]
    later.release()
    assert one.take_or_renew()
    one.release()
    assert other.take_or_renew()
