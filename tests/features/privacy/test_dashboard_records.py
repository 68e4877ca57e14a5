"""Erasure in the dashboard's records: dry runs, failed rows and the live view of events."""

import pytest

from productrecs.core.ids import StoreId
from productrecs.features.live_events.live_event import LiveEvent, LiveEventVerdict
from productrecs.features.live_events.repository import LiveEventRepository
from productrecs.features.privacy.repository import ShopperRecordRepository
from productrecs.records.uploads.file_import import ImportStatus, NewFileImport
from productrecs.records.uploads.file_imports.repository import FileImportRepository
from productrecs.storage.sql.database import Database
from tests.features.reports.shop import NOON
from tests.records.orders.import_support import new_store_id

FILE = "up_" + "a" * 24


def add_file(
    database: Database, store_id: StoreId, status: ImportStatus, **values: object
) -> None:
    """Store a file import in a state."""
    new = NewFileImport(FILE, "orders.csv", 1, "", NOON)
    with database.transaction() as transaction:
        repository = FileImportRepository(transaction, store_id)
        repository.add(new)
        repository.change_status(FILE, [ImportStatus.CHECKING], status, **values)


@pytest.mark.parametrize("name", ["me-zq71", "Zoë", 'a"b', "50%_off\\"])
def test_reports_that_quote_a_name_are_deleted(database: Database, name: str) -> None:
    store_id = new_store_id(database)
    quoting = {"rows": {"cells": [[name]]}}
    quoted = name.replace('"', '""')
    add_file(
        database,
        store_id,
        ImportStatus.DONE,
        preview=quoting,
        result=quoting,
        rejects=f'row,reason\n3,"{quoted}"\n',
    )

    with database.transaction() as transaction:
        ShopperRecordRepository(
            transaction, store_id
        ).delete_names_from_uploads_and_imports(["somebody-else"])
    with database.reading() as connection:
        kept = FileImportRepository(connection, store_id).find(FILE)
    with database.transaction() as transaction:
        ShopperRecordRepository(
            transaction, store_id
        ).delete_names_from_uploads_and_imports([name])
    with database.reading() as connection:
        repository = FileImportRepository(connection, store_id)
        gone, rejects = repository.find(FILE), repository.rejected_rows_csv(FILE)

    assert kept is not None
    assert kept.preview == kept.result == quoting
    assert gone is not None
    assert (gone.preview, gone.result, rejects) == ({}, {}, "")


@pytest.mark.parametrize("status", ImportStatus)
def test_an_erasure_waits_for_files_that_were_sent_before_and_are_being_read(
    database: Database, status: ImportStatus
) -> None:
    store_id = new_store_id(database)
    add_file(database, store_id, status)
    waits = status in {ImportStatus.CHECKING, ImportStatus.QUEUED, ImportStatus.RUNNING}

    with database.transaction() as transaction:
        shoppers = ShopperRecordRepository(transaction, store_id)
        assert shoppers.unfinished_upload_count(NOON) == waits
        assert shoppers.unfinished_upload_count(NOON - 1) == 0


def test_the_live_view_of_a_store_is_emptied(database: Database) -> None:
    stores = [new_store_id(database), new_store_id(database)]
    event = LiveEvent(NOON, LiveEventVerdict.ACCEPTED, "buy", "me", "tent", "c", "", "{}")
    with database.transaction() as transaction:
        for store_id in stores:
            LiveEventRepository(transaction, store_id).add_and_delete_old([event])
        ShopperRecordRepository(transaction, stores[0]).delete_live_events()

    with database.reading() as connection:
        left = [
            len(LiveEventRepository(connection, one).latest_recorded(NOON))
            for one in stores
        ]
    assert left == [0, 1]
