"""Upload jobs: every upload is imported, and stores take turns."""

import contextlib
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from productrecs.core import csv_reader
from productrecs.core.ids import StoreId
from productrecs.records.orders import order_history_import
from productrecs.records.uploads.order_upload import NewOrderUpload, OrderUploadStatus
from productrecs.records.uploads.order_uploads.repository import (
    OrderUploadRepository,
    submit_upload,
)
from productrecs.records.uploads.upload_folder import UploadFolder, new_upload_id
from productrecs.services import Services, build_services
from productrecs.settings import Settings
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.storage.sql.tables import jobs
from productrecs.tenancy.accounts.store_management import (
    Registration,
    delete_store,
    register_store,
)
from productrecs.worker import file_import_jobs
from productrecs.worker.file_import_jobs import build_order_upload_worker
from tests.records.orders.import_support import NOON, new_store_id
from tests.support.migrated import bring
from tests.support.service import eventually


@dataclass
class ImportInstallation:
    """An installation whose importer does one job at each call."""

    services: Services

    def upload(self, store: StoreId, rows: int) -> str:
        """Store a file and its upload with the job."""
        self.services.uploads.mkdir(exist_ok=True)
        upload_id = new_upload_id()
        file = UploadFolder(self.services.uploads).receive(upload_id)
        lines = "".join(f"A-{number},item\n" for number in range(rows))
        file.write(f"order_id,item_id\n{lines}".encode())
        with self.services.database.transaction() as transaction:
            log = StoreLogTransaction(self.services.database, transaction, store)
            submit_upload(
                log, self.services.queue, NewOrderUpload(upload_id, file.finish(), NOON)
            )
        return upload_id

    def status(self, store: StoreId, upload_id: str) -> tuple[OrderUploadStatus, int]:
        """Return how an upload stands, and how many of its rows are stored."""
        with self.services.database.reading() as connection:
            stored = OrderUploadRepository(connection, store).find(upload_id)
        assert stored is not None
        return stored.status, stored.rows


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[ImportInstallation]:
    bring(tmp_path / "data")
    services = build_services(Settings(data=tmp_path / "data"))
    yield ImportInstallation(services)
    services.close()


@pytest.fixture
def in_small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_reader, "BLOCK_BYTES", 500)
    monkeypatch.setattr(order_history_import, "MAX_LINES", 10)
    monkeypatch.setattr(file_import_jobs, "SLICE_SECONDS", 0.0)


@pytest.mark.usefixtures("in_small_steps")
def test_a_long_import_lets_another_store_go_before(
    installation: ImportInstallation,
) -> None:
    large, small = (
        new_store_id(installation.services.database),
        new_store_id(installation.services.database),
    )
    long, short = installation.upload(large, 2_000), installation.upload(small, 1)
    importer = build_order_upload_worker(installation.services)

    assert importer.run_next_job()
    status, rows = installation.status(large, long)
    assert status == OrderUploadStatus.RUNNING
    assert 0 < rows < 2_000
    assert importer.run_next_job()
    assert installation.status(small, short) == (OrderUploadStatus.DONE, 1)
    while importer.run_next_job():
        pass
    assert installation.status(large, long) == (OrderUploadStatus.DONE, 2_000)


@pytest.mark.usefixtures("in_small_steps")
def test_a_long_import_goes_on_while_no_other_store_waits(
    installation: ImportInstallation,
) -> None:
    store = new_store_id(installation.services.database)
    upload_id = installation.upload(store, 500)

    assert build_order_upload_worker(installation.services).run_next_job()

    assert installation.status(store, upload_id) == (OrderUploadStatus.DONE, 500)


@pytest.mark.usefixtures("in_small_steps")
def test_a_stopped_worker_releases_the_import(installation: ImportInstallation) -> None:
    store = new_store_id(installation.services.database)
    upload_id = installation.upload(store, 500)
    stopped = build_order_upload_worker(installation.services)
    stopped.stop()

    assert stopped.run_next_job()
    assert installation.status(store, upload_id)[0] == OrderUploadStatus.RUNNING
    assert build_order_upload_worker(installation.services).run_next_job()

    assert installation.status(store, upload_id) == (OrderUploadStatus.DONE, 500)


def test_an_upload_whose_job_is_lost_is_imported_all_the_same(
    installation: ImportInstallation,
) -> None:
    database = installation.services.database
    store = new_store_id(database)
    upload_id = installation.upload(store, 3)
    with database.transaction() as transaction:
        transaction.execute(jobs.delete())

    with at_work(installation.services):
        eventually(
            lambda: installation.status(store, upload_id) == (OrderUploadStatus.DONE, 3), 20
        )


def test_the_file_of_a_deleted_store_is_swept_away(
    installation: ImportInstallation,
) -> None:
    database, folder = installation.services.database, installation.services.uploads
    registration = Registration("shop.example")
    store = register_store(database, registration, installation.services.clock)[0]
    installation.upload(store.store_id, 3)
    delete_store(database, store)
    for path in folder.iterdir():
        os.utime(path, (NOON / 1000, NOON / 1000))  # long ago

    with at_work(installation.services):
        eventually(lambda: list(folder.iterdir()) == [], 20)


@contextlib.contextmanager
def at_work(services: Services) -> Iterator[None]:
    """Let an importer work as in production while the block runs."""
    importer = build_order_upload_worker(services)
    thread = threading.Thread(target=importer.run)
    thread.start()
    try:
        yield
    finally:
        importer.stop()
        thread.join()
