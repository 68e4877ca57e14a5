"""Widget settings repository: merged atomically, separate by store."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa

from productrecs.features.widgets.repository import WidgetRepository, read_config
from productrecs.features.widgets.widget_config import (
    MAX_TYPES,
    ConfigChange,
    TooManyWidgetTypesError,
    WidgetConfig,
    WidgetConfigTooLargeError,
)
from productrecs.storage.sql.sequence_and_item_numbers import StoreDeletedError
from productrecs.storage.sql.tables import widget_configs
from productrecs.tenancy.accounts.store_management import (
    Registration,
    delete_store,
    find_store,
    register_store,
)

if TYPE_CHECKING:
    from productrecs.core.ids import StoreId
    from productrecs.storage.sql.database import Database

NOON = 1_000


@pytest.fixture
def store_id(database: Database) -> StoreId:
    return register_store(database, Registration("shop.example"), lambda: NOON)[0].store_id


@pytest.fixture
def other_id(database: Database) -> StoreId:
    return register_store(database, Registration("other.example"), lambda: NOON)[0].store_id


def put(
    database: Database, store_id: StoreId, change: ConfigChange, widget_type: str = "recs"
) -> WidgetConfig:
    with database.transaction() as transaction:
        return WidgetRepository(transaction, store_id).change(widget_type, change, NOON)


def get(database: Database, store_id: StoreId, widget_type: str = "recs") -> WidgetConfig:
    """Return what is set, as the integration and as a widget's call read it."""
    with database.reading() as connection:
        found = WidgetRepository(connection, store_id).find(widget_type)
    reader = database.raw_reader()
    assert read_config(reader, store_id, widget_type) == found
    reader.close()
    return found


def rows(database: Database) -> int:
    with database.reading() as connection:
        query = sa.select(sa.func.count()).select_from(widget_configs)
        return int(connection.execute(query).scalar_one())


def test_what_is_set_is_kept(database: Database, store_id: StoreId) -> None:
    change = ConfigChange({"title": "Für dich", "deep": [{"a": None}]}, "a{}", scoped=False)

    said = put(database, store_id, change)

    assert said == get(database, store_id)
    assert said == WidgetConfig(change.settings, "a{}", scoped=False)


def test_a_widget_without_settings_is_not_kept(
    database: Database, store_id: StoreId
) -> None:
    put(database, store_id, ConfigChange({"layout": "grid"}, "a{}", scoped=True))

    put(database, store_id, ConfigChange({"layout": None}, None, scoped=None))

    assert get(database, store_id) == WidgetConfig()
    assert rows(database) == 0


@pytest.mark.parametrize("widget_type", ["", "a\0b", "Recs", "x" * 1_000, "'; --"])
def test_what_can_be_no_type_has_nothing_set(
    database: Database, store_id: StoreId, widget_type: str
) -> None:
    assert get(database, store_id, widget_type) == WidgetConfig()


def test_changes_of_different_keys_at_once_all_survive(
    database: Database, store_id: StoreId
) -> None:
    together = threading.Barrier(6)

    def change(number: int) -> None:
        together.wait(10)
        put(database, store_id, ConfigChange({f"key-{number}": number}))

    with ThreadPoolExecutor(6) as threads:
        for done in [threads.submit(change, number) for number in range(6)]:
            done.result(30)

    assert get(database, store_id).settings == {f"key-{n}": n for n in range(6)}


def test_a_change_that_is_too_large_leaves_all_as_it_was(
    database: Database, store_id: StoreId
) -> None:
    before = put(database, store_id, ConfigChange({"a": "x" * 40_000}))

    with pytest.raises(WidgetConfigTooLargeError):
        put(database, store_id, ConfigChange({"b": "x" * 40_000}))

    assert get(database, store_id) == before


def test_a_store_has_so_many_types_and_no_more(
    database: Database, store_id: StoreId, other_id: StoreId
) -> None:
    for number in range(MAX_TYPES):
        put(database, store_id, ConfigChange({"gap": 1}), f"type-{number}")

    with pytest.raises(TooManyWidgetTypesError):
        put(database, store_id, ConfigChange({"gap": 1}), "one-more")

    put(database, store_id, ConfigChange({"gap": 2}), "type-0")
    put(database, other_id, ConfigChange({"gap": 1}), "one-more")
    put(database, store_id, ConfigChange({"gap": None}), "type-1")
    put(database, store_id, ConfigChange({"gap": 1}), "one-more")
    assert rows(database) == MAX_TYPES + 1


def test_a_deleted_store_keeps_and_gets_nothing(
    database: Database, store_id: StoreId
) -> None:
    put(database, store_id, ConfigChange({"layout": "grid"}))
    delete_store(database, find_store(database, "shop.example"))

    with pytest.raises(StoreDeletedError):
        put(database, store_id, ConfigChange({"layout": "grid"}))

    assert rows(database) == 0
