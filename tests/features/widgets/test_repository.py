"""Widget settings repository: merged atomically, separate by store."""

import pytest
import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.features.widgets.repository import WidgetRepository, read_widget_config
from productrecs.features.widgets.widget_config import (
    MAX_TYPES,
    TooManyWidgetTypesError,
    WidgetConfig,
    WidgetConfigChange,
)
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import StoreDeletedError
from productrecs.storage.sql.tables import widget_configs
from productrecs.tenancy.accounts.store_management import (
    delete_store,
    find_store,
)
from tests.support.stores import new_store

NOON = 1_000


@pytest.fixture
def other_id(database: Database) -> StoreId:
    return new_store(database, "other.example").store_id


def put(
    database: Database,
    store_id: StoreId,
    change: WidgetConfigChange,
    widget_type: str = "recs",
) -> WidgetConfig:
    with database.transaction() as transaction:
        return WidgetRepository(transaction, store_id).merge_change(
            widget_type, change, NOON
        )


def get(database: Database, store_id: StoreId, widget_type: str = "recs") -> WidgetConfig:
    """Return what is set, as the integration and as a widget's call read it."""
    with database.reading() as connection:
        found = WidgetRepository(connection, store_id).find(widget_type)
    reader = database.raw_reader()
    assert read_widget_config(reader, store_id, widget_type) == found
    reader.close()
    return found


def rows(database: Database) -> int:
    with database.reading() as connection:
        query = sa.select(sa.func.count()).select_from(widget_configs)
        return int(connection.execute(query).scalar_one())


def test_a_widget_without_settings_is_not_kept(
    database: Database, store_id: StoreId
) -> None:
    put(database, store_id, WidgetConfigChange({"layout": "grid"}, "a{}", scoped=True))

    put(database, store_id, WidgetConfigChange({"layout": None}, None, scoped=None))

    assert get(database, store_id) == WidgetConfig()
    assert rows(database) == 0


def test_a_store_has_so_many_types_and_no_more(
    database: Database, store_id: StoreId, other_id: StoreId
) -> None:
    for number in range(MAX_TYPES):
        put(database, store_id, WidgetConfigChange({"gap": 1}), f"type-{number}")

    with pytest.raises(TooManyWidgetTypesError):
        put(database, store_id, WidgetConfigChange({"gap": 1}), "one-more")

    put(database, store_id, WidgetConfigChange({"gap": 2}), "type-0")
    put(database, other_id, WidgetConfigChange({"gap": 1}), "one-more")
    put(database, store_id, WidgetConfigChange({"gap": None}), "type-1")
    put(database, store_id, WidgetConfigChange({"gap": 1}), "one-more")
    assert rows(database) == MAX_TYPES + 1


def test_a_deleted_store_keeps_and_gets_nothing(
    database: Database, store_id: StoreId
) -> None:
    put(database, store_id, WidgetConfigChange({"layout": "grid"}))
    delete_store(database, find_store(database, "shop.example"))

    with pytest.raises(StoreDeletedError):
        put(database, store_id, WidgetConfigChange({"layout": "grid"}))

    assert rows(database) == 0
