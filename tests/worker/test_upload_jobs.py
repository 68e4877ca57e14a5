"""Upload jobs: every upload is imported, and stores take turns."""

from __future__ import annotations

import contextlib
import os
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from productrecs.records.orders import csv_reader, order_history_import
from productrecs.records.uploads.order_upload import (
    NewUpload,
    UploadFolder,
    UploadStatus,
    new_upload_id,
)
from productrecs.records.uploads.repository import UploadRepository, submit_upload
from productrecs.services import Services, build_services
from productrecs.settings import Settings
from productrecs.storage.sql.sequence_and_item_numbers import StoreLog
from productrecs.storage.sql.tables import jobs
from productrecs.tenancy.accounts.store_management import (
    Registration,
    delete_store,
    register_store,
)
from productrecs.worker import file_import_jobs
from productrecs.worker.file_import_jobs import build_importer
from tests.records.orders.import_support import NOON, new_store
from tests.support.migrated import bring
from tests.support.service import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from productrecs.core.ids import StoreId


@dataclass
class House:
    """An installation whose importer does one job at a time, as it is told."""

    services: Services

    def hand_in(self, store: StoreId, rows: int) -> str:
        """Store a file and its upload with the job."""
        self.services.uploads.mkdir(exist_ok=True)
        upload_id = new_upload_id()
        file = UploadFolder(self.services.uploads).receive(upload_id)
        lines = "".join(f"A-{number},item\n" for number in range(rows))
        file.write(f"order_id,item_id\n{lines}".encode())
        with self.services.database.transaction() as transaction:
            log = StoreLog(self.services.database, transaction, store)
            submit_upload(
                log, self.services.queue, NewUpload(upload_id, file.finish(), NOON)
            )
        return upload_id

    def status(self, store: StoreId, upload_id: str) -> tuple[UploadStatus, int]:
        """Return how an upload stands, and how many of its rows are stored."""
        with self.services.database.reading() as connection:
            found = UploadRepository(connection, store).find(upload_id)
        assert found is not None
        return found.status, found.rows


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    bring(tmp_path / "data")
    services = build_services(Settings(data=tmp_path / "data"))
    yield House(services)
    services.close()


@pytest.fixture
def in_small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_reader, "BLOCK_BYTES", 500)
    monkeypatch.setattr(order_history_import, "MAX_LINES", 10)
    monkeypatch.setattr(file_import_jobs, "SLICE_SECONDS", 0.0)


@pytest.mark.usefixtures("in_small_steps")
def test_a_long_import_lets_another_store_go_before(house: House) -> None:
    large, small = new_store(house.services.database), new_store(house.services.database)
    long, short = house.hand_in(large, 2_000), house.hand_in(small, 1)
    importer = build_importer(house.services)

    assert importer.run_one()
    status, rows = house.status(large, long)
    assert status == UploadStatus.RUNNING
    assert 0 < rows < 2_000
    assert importer.run_one()
    assert house.status(small, short) == (UploadStatus.DONE, 1)
    while importer.run_one():
        pass
    assert house.status(large, long) == (UploadStatus.DONE, 2_000)


@pytest.mark.usefixtures("in_small_steps")
def test_a_long_import_goes_on_where_nobody_waits(house: House) -> None:
    store = new_store(house.services.database)
    upload_id = house.hand_in(store, 500)

    assert build_importer(house.services).run_one()

    assert house.status(store, upload_id) == (UploadStatus.DONE, 500)


@pytest.mark.usefixtures("in_small_steps")
def test_a_worker_that_is_stopped_gives_the_import_back(house: House) -> None:
    store = new_store(house.services.database)
    upload_id = house.hand_in(store, 500)
    stopped = build_importer(house.services)
    stopped.stop()

    assert stopped.run_one()
    assert house.status(store, upload_id)[0] == UploadStatus.RUNNING
    assert build_importer(house.services).run_one()

    assert house.status(store, upload_id) == (UploadStatus.DONE, 500)


def test_an_upload_whose_job_is_lost_is_imported_all_the_same(house: House) -> None:
    database = house.services.database
    store = new_store(database)
    upload_id = house.hand_in(store, 3)
    with database.transaction() as transaction:
        transaction.execute(jobs.delete())

    with at_work(house.services):
        eventually(lambda: house.status(store, upload_id) == (UploadStatus.DONE, 3), 20)


def test_the_file_of_a_deleted_store_is_swept_away(house: House) -> None:
    database, folder = house.services.database, house.services.uploads
    registration = Registration("shop.example")
    store = register_store(database, registration, house.services.clock)[0]
    house.hand_in(store.store_id, 3)
    delete_store(database, store)
    for path in folder.iterdir():
        os.utime(path, (NOON / 1000, NOON / 1000))  # long ago

    with at_work(house.services):
        eventually(lambda: list(folder.iterdir()) == [], 20)


@contextlib.contextmanager
def at_work(services: Services) -> Iterator[None]:
    """Let an importer work as in production while the block runs."""
    importer = build_importer(services)
    thread = threading.Thread(target=importer.run)
    thread.start()
    try:
        yield
    finally:
        importer.stop()
        thread.join()
