"""Item lookups: subqueries of items to join with, titles, descriptions and costs."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.storage.sql.dialects import RawReader, raw_connection
from productrecs.storage.sql.tables import items

_PAGE: Final = 10_000
_TITLES_SQL: Final = (
    "SELECT number, title, present, change_seq FROM items "  # noqa: S608 - own names
    f"WHERE store_id = ? AND number > ? ORDER BY number LIMIT {_PAGE}"
)
_CHANGED_TITLES_SQL: Final = (
    "SELECT number, title, present, change_seq FROM items "
    "WHERE store_id = ? AND change_seq > ?"
)
_DESCRIPTIONS_SQL: Final = (
    "SELECT number, description FROM items WHERE store_id = ? AND number IN ({})"
)
_COSTS_SQL: Final = "SELECT number, cost FROM items WHERE store_id = ? AND cost IS NOT NULL"


def items_of_store(*names: str, store_id: StoreId) -> sa.Subquery:
    """Return the number and these columns of a store's items, to join with its rows.

    Both databases read a joined item by its key, as from the table itself.
    """
    columns = [items.c[name] for name in ("number", *names)]
    return sa.select(*columns).where(items.c.store_id == store_id).subquery("item")


def items_sql(*names: str) -> str:
    """Return the same as SQL that takes the store, for raw statements."""
    columns = ", ".join(("number", *names))
    return f"(SELECT {columns} FROM items WHERE store_id = ?)"  # noqa: S608 - own names


class ItemTitle(NamedTuple):
    """An item's title, whether it is in the catalog, and its last change number."""

    number: int
    title: str
    present: bool
    change_seq: int


def read_titles(reader: RawReader, store_id: StoreId) -> Iterator[Sequence[ItemTitle]]:
    """Yield every title of a catalog in batches."""
    after = -1
    while page := reader.all(_TITLES_SQL, (store_id, after)):
        after = int(page[-1][0])
        yield [_title(row) for row in page]


def read_changed_titles(
    reader: RawReader, store_id: StoreId, after_seq: int
) -> Sequence[ItemTitle]:
    """Return the titles of items that changed in a catalog after `after_seq`."""
    rows = reader.all(_CHANGED_TITLES_SQL, (store_id, after_seq))
    return [_title(row) for row in rows]


def read_descriptions(
    reader: RawReader, store_id: StoreId, numbers: Sequence[int]
) -> dict[int, str]:
    """Return the descriptions of a few items, by number."""
    if not numbers:
        return {}
    sql = _DESCRIPTIONS_SQL.format(", ".join("?" * len(numbers)))
    rows = reader.all(sql, (store_id, *numbers))
    return {int(number): str(text) for number, text in rows if text}


def costs_of_items(connection: sa.Connection, store_id: StoreId) -> dict[int, float]:
    """Return the costs of a store's items, by number; those without one are missing."""
    return dict(raw_connection(connection).all(_COSTS_SQL, (store_id,)))


def _title(row: Sequence[Any]) -> ItemTitle:
    return ItemTitle(int(row[0]), row[1], bool(row[2]), int(row[3]))
