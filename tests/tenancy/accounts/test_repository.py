"""Accounts repository: settings and connection, changed atomically, per store."""

from collections.abc import Callable

import pytest

from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import StoreDeletedError
from productrecs.tenancy.accounts.repository import AccountRepository
from productrecs.tenancy.accounts.shop_connection import ShopConnection, ShopPlatform
from productrecs.tenancy.accounts.shop_connections.repository import (
    ShopConnectionRepository,
)
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import (
    change_origins,
    change_settings,
    delete_store,
)
from tests.support.stores import new_store

CONNECTED = ShopConnection(
    ShopPlatform.OPENCART,
    platform_chosen=True,
    plugin_version="2.0",
    store_url="https://shop.example",
    first_connected_at=1_000,
)


@pytest.fixture
def other(database: Database) -> Store:
    return new_store(database, "other.example")


def version(database: Database) -> int:
    with database.reading() as connection:
        return AccountRepository(connection).version()


def test_settings_that_change_nothing_move_no_version(
    database: Database, store: Store
) -> None:
    change_settings(database, store, {"rec_num": "3"})
    before = version(database)

    change_settings(database, store, {"rec_num": "3"})

    assert version(database) == before


def test_a_connection_is_deleted_with_its_store(database: Database, store: Store) -> None:
    with database.transaction() as transaction:
        ShopConnectionRepository(transaction, store.store_id).put(CONNECTED)

    delete_store(database, store)

    with database.reading() as connection:
        assert (
            ShopConnectionRepository(connection, store.store_id).find() == ShopConnection()
        )


@pytest.mark.parametrize(
    "change",
    [
        lambda database, store: change_settings(database, store, {"rec_num": "3"}),
        lambda database, store: change_origins(database, store, add=["https://a.example"]),
    ],
)
def test_a_deleted_store_is_not_changed(
    database: Database, store: Store, change: Callable[[Database, Store], object]
) -> None:
    delete_store(database, store)

    with pytest.raises(StoreDeletedError):
        change(database, store)
