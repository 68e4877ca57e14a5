"""File imports of the dashboard: for which stores one is stored."""

import pytest

from productrecs.records.uploads.file_import import NewFileImport
from productrecs.records.uploads.file_imports.repository import FileImportRepository
from productrecs.records.uploads.upload_folder import new_upload_id
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import StoreDeletedError
from productrecs.tenancy.accounts.store_management import (
    delete_store,
)
from tests.support.stores import new_store

NOW = 1_772_000_000_000


def test_a_deleted_store_takes_no_file_import(database: Database) -> None:
    store = new_store(database)
    delete_store(database, store)
    new = NewFileImport(new_upload_id(), "orders.csv", 1, "ada@shop.example", NOW)

    with (
        pytest.raises(StoreDeletedError),
        database.transaction() as transaction,
    ):
        FileImportRepository(transaction, store.store_id).add(new)
