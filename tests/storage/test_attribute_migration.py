"""Item attributes: the migration moves them from descriptions into columns."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations

from productrecs.core.ids import StoreId
from productrecs.records.catalog.item import Item
from productrecs.records.catalog.repository import CatalogRepository

if TYPE_CHECKING:
    from productrecs.storage.database import Database

_MIGRATION = "productrecs.storage.migrations.versions.2026_11_25_1910_item_attributes"
_NEW = ("brand", "gtin", "color", "size", "material", "attributes", "list_price")
_DESCRIPTIONS = (
    "Warm.\n\nAttributes: Brand: Acme; Color: Blue, Red; Fit: Slim",
    "Attributes: Size: M",
    "Attributes: none. Really\nwarm.",
    "Its Attributes: many",
    None,
)


def test_appended_attributes_become_fields(database: Database) -> None:
    store = StoreId("one")
    with database.transaction() as transaction:
        for name in _NEW:
            transaction.execute(sa.text(f"ALTER TABLE items DROP COLUMN {name}"))
        for number, text in enumerate(_DESCRIPTIONS):
            row = (
                "INSERT INTO items (store_id, number, item_id, present, change_seq, "
                "description, created_at, updated_at) "
                "VALUES (:store, :number, :id, true, 1, :text, 0, 0)"
            )
            values = {"store": store, "number": number, "id": str(number), "text": text}
            transaction.execute(sa.text(row), values)

    with (
        database.transaction() as transaction,
        Operations.context(MigrationContext.configure(transaction)),
    ):
        import_module(_MIGRATION).upgrade()

    with database.reading() as connection:
        found = [one.item for one in CatalogRepository(connection, store).page(-1, 9)]
    assert found == [
        Item(
            "0",
            description="Warm.",
            brand="Acme",
            color=("Blue", "Red"),
            attributes=(("Fit", ("Slim",)),),
        ),
        Item("1", size=("M",)),
        Item("2", description=_DESCRIPTIONS[2]),
        Item("3", description=_DESCRIPTIONS[3]),
        Item("4"),
    ]
