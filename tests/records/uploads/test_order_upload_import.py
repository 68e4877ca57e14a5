"""Upload import: stored once, in order, whatever interrupts it."""

import random
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from productrecs.core.clock import DAY_MS, system_ms
from productrecs.core.errors import StorageBusyError
from productrecs.core.ids import StoreId
from productrecs.records.orders import order_history_import
from productrecs.records.orders.order_history_import import OrderHistoryImport, SkippedRow
from productrecs.records.uploads import order_upload_import
from productrecs.records.uploads.file_import import ImportStatus
from productrecs.records.uploads.file_imports.repository import FileImportRepository
from productrecs.records.uploads.order_upload import (
    NewOrderUpload,
    OrderUpload,
    OrderUploadStatus,
)
from productrecs.records.uploads.order_upload_import import (
    MAX_ATTEMPTS,
    OrderUploadImporter,
    UploadTakenOverError,
)
from productrecs.records.uploads.order_uploads.repository import (
    QUEUE_LIMIT,
    OrderUploadRepository,
    files_needed,
    stores_with_uploads,
    submit_upload,
)
from productrecs.records.uploads.undo.undo_import import complete_undo_and_store_outcome
from productrecs.records.uploads.upload_folder import (
    TooManyUploadsError,
    UploadFolder,
    new_upload_id,
)
from productrecs.storage.jobs.job_queue import JobQueue
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import (
    ItemNumberCache,
    StoreDeletedError,
    StoreLogTransaction,
)
from productrecs.storage.sql.tables import imports, purchase_lines
from tests.records.orders.import_support import (
    MIDNIGHT,
    NOON,
    StoredLine,
    import_text,
    new_store_id,
    rows_of,
    standing,
)


@dataclass
class StoreUploads:
    """One store's uploads, submitted and imported without HTTP and without a worker."""

    database: Database
    folder: UploadFolder
    store: StoreId

    def submit(self, content: str, at: int = NOON) -> str:
        """Store a file and its upload."""
        upload_id = new_upload_id()
        file = self.folder.receive(upload_id)
        file.write(content.encode())
        queue = JobQueue(self.database, system_ms, random.Random(1))  # noqa: S311 - spreads retries
        with self.database.transaction() as transaction:
            log = StoreLogTransaction(self.database, transaction, self.store)
            submit_upload(log, queue, NewOrderUpload(upload_id, file.finish(), at))
        return upload_id

    def importing(self) -> OrderUploadImporter:
        """Return what a worker imports with."""
        zone = ZoneInfo("UTC")
        return OrderUploadImporter(
            self.database, ItemNumberCache(), self.folder, self.store, zone, system_ms
        )

    def run_next(self) -> bool:
        """Import the next upload to its end."""
        return self.importing().run_next(lambda _share, _moved: None)

    def find(self, upload_id: str) -> OrderUpload:
        """Return an upload as it stands."""
        with self.database.reading() as connection:
            found = OrderUploadRepository(connection, self.store).find(upload_id)
        assert found is not None
        return found


@pytest.fixture
def uploads(database: Database, tmp_path: Path) -> StoreUploads:
    path = tmp_path / "uploads"
    path.mkdir()
    return StoreUploads(database, UploadFolder(path), new_store_id(database))


def rows(count: int, price: int = 1) -> str:
    lines = "".join(
        f"A-{n // 3},item-{n % 7},{n % 4 - 1 or 3},{price}\n" for n in range(count)
    )
    return "order_id,item_id,quantity,price\n" + lines


def needed(uploads: StoreUploads) -> set[str]:
    with uploads.database.reading() as connection:
        return files_needed(connection)


def test_an_upload_is_imported_and_its_file_goes(uploads: StoreUploads) -> None:
    upload_id = uploads.submit(
        "order_id,item_id,quantity\nA,tent,2\nA,pegs,zero\nA,tent,3\n"
    )
    assert uploads.find(upload_id).status == OrderUploadStatus.QUEUED

    assert uploads.run_next()
    assert not uploads.run_next()

    found = uploads.find(upload_id)
    assert (found.status, found.rows) == (OrderUploadStatus.DONE, 3)
    assert (found.lines_imported, found.lines_updated, found.rows_skipped) == (1, 1, 1)
    assert found.errors == (
        SkippedRow(3, "quantity 'zero' is not a number; write it like 2"),
    )
    assert standing(uploads.database, uploads.store) == [
        StoredLine("A", "tent", 3, None, None, MIDNIGHT, None)
    ]
    assert list(uploads.folder.path.iterdir()) == []
    assert needed(uploads) == set()


def test_an_upload_that_has_ended_is_in_the_history_and_can_be_undone(
    uploads: StoreUploads,
) -> None:
    uploads.submit("order_id,item_id,quantity\nA,tent,2\n")
    uploads.run_next()
    before = standing(uploads.database, uploads.store)
    upload_id = uploads.submit("order_id,item_id,quantity\nA,tent,7\nB,tent,1\nB,x,no\n")
    uploads.run_next()
    assert standing(uploads.database, uploads.store) != before
    with uploads.database.transaction() as transaction:
        repository = FileImportRepository(transaction, uploads.store)
        done = repository.find(upload_id)
        assert done is not None
        assert done.sent_by == "API"
        counts = done.result["counts"]
        assert (counts["inserted"], counts["overwritten"], counts["skipped"]) == (1, 1, 1)
        undoing = ImportStatus.UNDOING
        assert repository.change_status(upload_id, (ImportStatus.DONE,), undoing)

    complete_undo_and_store_outcome(uploads.database, uploads.store, done, system_ms)

    assert standing(uploads.database, uploads.store) == before
    with uploads.database.reading() as connection:
        ended = FileImportRepository(connection, uploads.store).find(upload_id)
    assert ended is not None
    assert ended.status is ImportStatus.UNDONE
    assert ended.result["undone"] == {"removed": 1, "restored": 1}


def test_uploads_are_imported_in_the_order_they_came(uploads: StoreUploads) -> None:
    for price in (1, 2, 3):
        uploads.submit(rows(9, price))
    assert stores_with_uploads(uploads.database) == [uploads.store]
    assert len(needed(uploads)) == 3

    while uploads.run_next():
        pass

    assert {line.price for line in standing(uploads.database, uploads.store)} == {3.0}
    assert stores_with_uploads(uploads.database) == []


def test_rows_without_a_time_get_the_day_of_their_upload(uploads: StoreUploads) -> None:
    uploads.submit("order_id,item_id\nA,tent\n", at=NOON - 5 * DAY_MS)

    uploads.run_next()

    (line,) = standing(uploads.database, uploads.store)
    assert line.ts == MIDNIGHT - 5 * DAY_MS


def test_an_interrupted_import_continues_and_reports_the_same(
    uploads: StoreUploads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(order_history_import, "MAX_LINES", 10)
    whole = new_store_id(uploads.database)
    expected = import_text(uploads.database, whole, rows(105))
    upload_id = uploads.submit(rows(105))
    stored, note = 0, order_upload_import.UploadProgressStore.record

    def note_twice(self: order_upload_import.UploadProgressStore, *values: object) -> None:
        nonlocal stored
        stored += 1
        note(self, *values)  # type: ignore[arg-type]  # passed on as it came
        if stored % 2 == 0:
            message = "the database is busy"
            raise StorageBusyError(message)

    monkeypatch.setattr(order_upload_import.UploadProgressStore, "record", note_twice)
    broken = 0
    while True:
        try:
            if not uploads.run_next():
                break
        except StorageBusyError:
            broken += 1
            assert uploads.find(upload_id).attempts <= 1

    found = uploads.find(upload_id)
    assert broken > 5
    assert (found.rows, found.rows_skipped) == (expected.rows, expected.rows_skipped)
    assert found.lines_imported == expected.lines_imported
    assert found.errors == tuple(expected.errors)
    for table in (purchase_lines, imports):
        assert rows_of(uploads.database, uploads.store, table) == rows_of(
            uploads.database, whole, table
        )


def test_progress_is_reported_while_the_import_runs(
    uploads: StoreUploads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(order_history_import, "MAX_LINES", 10)
    upload_id = uploads.submit(rows(35))
    progress: list[tuple[float, bool]] = []

    def stop_at_the_end(share: float, moved: bool) -> None:  # noqa: FBT001 - a callback
        progress.append((share, moved))
        if moved:
            message = "progress to stop"
            raise StorageBusyError(message)

    with pytest.raises(StorageBusyError):
        uploads.importing().run_next(stop_at_the_end)

    found = uploads.find(upload_id)
    assert progress == [(1.0, True)]
    assert (found.status, found.rows_done) == (OrderUploadStatus.RUNNING, 31)
    assert found.lines_imported + found.rows_skipped == found.rows


def test_of_two_workers_only_one_stores(
    uploads: StoreUploads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(order_history_import, "MAX_LINES", 10)
    whole = new_store_id(uploads.database)
    import_text(uploads.database, whole, rows(60))
    upload_id = uploads.submit(rows(60))
    others: list[bool] = []

    def overtaken(_share: float, _moved: bool) -> None:  # noqa: FBT001 - a callback
        if not others:
            others.append(True)
            assert uploads.run_next()  # another worker imports all of it meanwhile

    with pytest.raises(UploadTakenOverError):
        uploads.importing().run_next(overtaken)

    assert uploads.find(upload_id).status == OrderUploadStatus.DONE
    assert rows_of(uploads.database, uploads.store, purchase_lines) == rows_of(
        uploads.database, whole, purchase_lines
    )


def test_a_file_that_breaks_every_import_fails_in_the_end(
    uploads: StoreUploads, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload_id, next_id = uploads.submit(rows(5)), uploads.submit(rows(6))

    def burst(*_: object) -> None:
        message = "a fault of ours"
        raise ValueError(message)

    with monkeypatch.context() as patched:
        patched.setattr(OrderHistoryImport, "run", burst)
        for _ in range(MAX_ATTEMPTS):
            with pytest.raises(ValueError, match="ours"):
                uploads.run_next()

    assert uploads.run_next()
    assert uploads.run_next()

    found = uploads.find(upload_id)
    assert found.status == OrderUploadStatus.FAILED
    assert [error.row for error in found.errors] == [0]
    assert "interrupted" in found.errors[0].message
    assert uploads.find(next_id).status == OrderUploadStatus.DONE
    assert list(uploads.folder.path.iterdir()) == []


def test_an_upload_whose_file_is_gone_fails(uploads: StoreUploads) -> None:
    upload_id = uploads.submit(rows(5))
    uploads.folder.remove(upload_id)

    assert uploads.run_next()

    assert uploads.find(upload_id).status == OrderUploadStatus.FAILED


def test_a_folder_that_is_away_for_a_moment_fails_nothing(uploads: StoreUploads) -> None:
    upload_id = uploads.submit(rows(5))
    away = uploads.folder.path.rename(uploads.folder.path.with_name("away"))
    with pytest.raises(FileNotFoundError):
        uploads.run_next()
    away.rename(uploads.folder.path)

    assert uploads.run_next()

    assert uploads.find(upload_id).status == OrderUploadStatus.DONE


def test_a_store_may_have_twenty_on_their_way(uploads: StoreUploads) -> None:
    for _ in range(QUEUE_LIMIT):
        uploads.submit(rows(1))
    with pytest.raises(TooManyUploadsError):
        uploads.submit(rows(1))

    uploads.run_next()

    uploads.submit(rows(1))


def test_a_deleted_store_takes_no_upload(uploads: StoreUploads) -> None:
    uploads.store = type(uploads.store)("st_nobody")

    with pytest.raises(StoreDeletedError):
        uploads.submit(rows(1))
