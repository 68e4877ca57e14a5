"""Catalog repository: SQL of items."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.records.catalog.availability import Availability
from productrecs.records.catalog.item import (
    FIELD_DEFAULTS,
    LIST_FIELDS,
    Item,
    as_attributes,
)
from productrecs.records.catalog.price_lists import as_list_prices
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.dialects import RawReader, raw_connection
from productrecs.storage.sql.store_counters_and_versions import (
    head_fields,
    record_catalog_change_and_read_size,
    set_head,
)
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import items

_CHUNK: Final = 500
_FIELDS: Final = tuple(FIELD_DEFAULTS)
_PAGE: Final = 1_000
_COLUMNS: Final = (
    "number, item_id, present, change_seq, title, product_url, image_url, price, "
    "availability, stock_qty, categories, available_from, available_until, created_at, "
    "brand, color, size, material, attributes, list_price, prices"
)
_PAGE_SQL: Final = (
    f"SELECT {_COLUMNS} FROM items WHERE store_id = ? AND number > ? "  # noqa: S608 - own names
    f"ORDER BY number LIMIT {_PAGE}"
)
_CHANGES_SQL: Final = (
    f"SELECT {_COLUMNS} FROM items WHERE store_id = ? AND change_seq > ? "  # noqa: S608 - own names
    f"ORDER BY change_seq, number"
)
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


@dataclass(frozen=True, slots=True)
class StoredItem:
    """An item with its number; `present` tells whether it is in the catalog."""

    number: int
    present: bool
    created_at: int
    item: Item
    updated_at: int | None = None  # the last push; None until it is stored
    change_seq: int = field(default=0, compare=False)  # of its last change in the log


class CatalogRepository(StoreScopedRepository):
    """One store's catalog, inside one transaction; never commits."""

    def find(self, item_ids: Iterable[str]) -> dict[str, StoredItem]:
        """Return the stored items with these ids, including deleted ones."""
        rows = self._select(item_ids, items)
        return {row["item_id"]: _to_stored_item(row) for row in rows}

    def presence(self, item_ids: Iterable[str]) -> dict[str, bool]:
        """Return the stored ids among these, and whether they are in the catalog."""
        rows = self._select(item_ids, items.c.item_id, items.c.present)
        return {row["item_id"]: bool(row["present"]) for row in rows}

    def changed_at(self, item_ids: Iterable[str]) -> dict[str, int]:
        """Return the time of each id's last change by a push (UTC ms)."""
        rows = self._select(item_ids, items.c.item_id, items.c.updated_at)
        return {row["item_id"]: int(row["updated_at"]) for row in rows}

    def _select(
        self, item_ids: Iterable[str], *columns: sa.ColumnElement[Any] | sa.Table
    ) -> Iterator[sa.RowMapping]:
        """Yield `columns` of the stored items with these ids."""
        distinct_ids = list(dict.fromkeys(item_ids))
        for start in range(0, len(distinct_ids), _CHUNK):
            query = sa.select(*columns).where(
                items.c.store_id == self._store_id,
                items.c.item_id.in_(distinct_ids[start : start + _CHUNK]),
            )
            yield from self._connection.execute(query).mappings()

    def page(self, after_number: int, limit: int) -> list[StoredItem]:
        """Return up to `limit` items of the catalog with a number above `after_number`."""
        query = self._page_query(after_number, limit, items)
        return [_to_stored_item(row) for row in self._connection.execute(query).mappings()]

    def page_of_changed_ids(
        self, after_number: int, limit: int, updated_after: int
    ) -> list[tuple[int, str]]:
        """Return the numbers and ids of such items that changed after a time (UTC ms)."""
        query = self._page_query(after_number, limit, items.c.number, items.c.item_id)
        query = query.where(items.c.updated_at > updated_after)
        return [(row[0], row[1]) for row in self._connection.execute(query)]

    def _page_query(
        self, after_number: int, limit: int, *columns: sa.ColumnElement[Any] | sa.Table
    ) -> sa.Select[Any]:
        query = sa.select(*columns).where(
            items.c.store_id == self._store_id,
            items.c.number > after_number,
            items.c.present.is_(True),
        )
        return query.order_by(items.c.number).limit(limit)

    def ids_of(self, numbers: Iterable[int]) -> dict[int, str]:
        """Return the product ids of these numbers, also of deleted and unknown products."""
        distinct_ids, found = sorted(set(numbers)), dict[int, str]()
        for start in range(0, len(distinct_ids), _CHUNK):
            query = sa.select(items.c.number, items.c.item_id).where(
                items.c.store_id == self._store_id,
                items.c.number.in_(distinct_ids[start : start + _CHUNK]),
            )
            found |= {int(row[0]): str(row[1]) for row in self._connection.execute(query)}
        return found

    def margin_shares(self) -> list[float]:
        """Return the margins of items with a price and a cost, as shares of the price."""
        query = sa.select((items.c.price - items.c.cost) / items.c.price).where(
            items.c.store_id == self._store_id,
            items.c.present.is_(True),
            items.c.price > 0,
            items.c.cost.is_not(None),
        )
        return [float(share) for share in self._connection.execute(query).scalars()]

    def size(self) -> int:
        """Return the number of items in the catalog."""
        row = head_fields(self._connection, self._store_id, "catalog_size")
        return 0 if row is None else int(row[0])

    def count_not_discontinued(self) -> int:
        """Return the number of items in the catalog that are not discontinued."""
        query = sa.select(sa.func.count()).where(
            items.c.store_id == self._store_id,
            items.c.present.is_(True),
            items.c.availability.is_distinct_from(Availability.DISCONTINUED.value),
        )
        return int(self._connection.execute(query).scalar_one())

    def next_number(self) -> int:
        """Return the next free product number."""
        row = head_fields(self._connection, self._store_id, "next_number")
        return 0 if row is None else int(row[0])

    def last_changed_at(self) -> int | None:
        """Return the time of the catalog's last change or push (UTC ms), or None."""
        synced = head_fields(self._connection, self._store_id, "synced_at")
        newest = (
            sa.select(items.c.updated_at)
            .where(items.c.store_id == self._store_id, items.c.change_seq > 0)
            .order_by(items.c.change_seq.desc())
            .limit(1)
        )
        moments = [*(synced or ()), self._connection.execute(newest).scalar()]
        return max((moment for moment in moments if moment is not None), default=None)

    def add(
        self, database: Database, new: Sequence[StoredItem], seq: int, now_ms: int
    ) -> None:
        """Store items with new ids."""
        if not new:
            return
        names = [column.name for column in items.columns]
        rows = []
        for stored_item in new:
            values = _changing_columns(stored_item, seq, now_ms) | {
                "store_id": self._store_id,
                "number": stored_item.number,
                "item_id": stored_item.item.item_id,
                "created_at": stored_item.created_at,
            }
            rows.append([values[name] for name in names])
        database.insert_rows(self._connection, items, rows)

    def change(self, changed: Sequence[StoredItem], seq: int, now_ms: int) -> None:
        """Store new values of items with known ids."""
        if not changed:
            return
        values = [_changing_columns(stored_item, seq, now_ms) for stored_item in changed]
        names = (*values[0], "created_at")
        query = (
            items.update()
            .where(
                items.c.store_id == sa.bindparam("own_store"),
                items.c.number == sa.bindparam("own_number"),
            )
            .values({name: sa.bindparam(f"new_{name}") for name in names})
        )
        self._connection.execute(
            query,
            [
                {"own_store": self._store_id, "own_number": stored_item.number}
                | {"new_created_at": stored_item.created_at}
                | {f"new_{name}": value for name, value in row.items()}
                for stored_item, row in zip(changed, values, strict=True)
            ],
        )

    def mark_changed(self, numbers: range, seq: int) -> bool:
        """Mark the items with these numbers, also deleted ones, as changed at `seq`.

        Return whether there are any: some numbers belong to ids that only events named.
        """
        changed = self._update_rows(
            items,
            items.c.number >= numbers.start,
            items.c.number < numbers.stop,
            items.c.change_seq > 0,
            change_seq=seq,
        )
        return changed > 0

    def record_sync(self, now_ms: int) -> None:
        """Record that the whole catalog was pushed again."""
        set_head(self._connection, self._store_id, synced_at=now_ms)

    def price_lists(self) -> dict[str, int]:
        """Return the store's price lists, each with the number of its items."""
        row = head_fields(self._connection, self._store_id, "price_lists")
        return {} if row is None else dict(json.loads(row[0]))

    def set_price_lists(self, counts: Mapping[str, int]) -> None:
        """Store the number of items in each price list."""
        text = json.dumps(dict(sorted(counts.items())))
        set_head(self._connection, self._store_id, price_lists=text)

    def record_catalog_change_and_read_size(self, seq: int, added_items: int) -> int:
        """Record a change at `seq` that added items; return the catalog's size."""
        return record_catalog_change_and_read_size(
            self._connection, self._store_id, seq, added_items
        )


def _changing_columns(stored_item: StoredItem, seq: int, now_ms: int) -> dict[str, object]:
    values: dict[str, object] = {name: getattr(stored_item.item, name) for name in _FIELDS}
    for name in (*LIST_FIELDS, "attributes", "prices"):
        values[name] = json.dumps(values[name], ensure_ascii=False)
    availability = stored_item.item.availability
    values["availability"] = None if availability is None else availability.value
    return values | {
        "present": stored_item.present,
        "change_seq": seq,
        "updated_at": now_ms,
    }


def _to_stored_item(row: Mapping[str, Any] | sa.RowMapping) -> StoredItem:
    fields: dict[str, Any] = {name: row[name] for name in _FIELDS}
    for name in LIST_FIELDS:
        fields[name] = tuple(json.loads(fields[name]))
    fields["attributes"] = as_attributes(json.loads(fields["attributes"]))
    fields["prices"] = as_list_prices(json.loads(fields["prices"]))
    if fields["availability"] is not None:
        fields["availability"] = Availability(fields["availability"])
    return StoredItem(
        number=int(row["number"]),
        present=bool(row["present"]),
        created_at=int(row["created_at"]),
        item=Item(row["item_id"], **fields),
        updated_at=int(row["updated_at"]),
        change_seq=int(row["change_seq"]),
    )


def rows_after(reader: RawReader, store_id: StoreId, number: int) -> list[tuple[Any, ...]]:
    """Return the next rows of a catalog by number, as `_COLUMNS`."""
    return reader.all(_PAGE_SQL, (store_id, number))


def rows_changed_since(
    reader: RawReader, store_id: StoreId, seq: int
) -> list[tuple[Any, ...]]:
    """Return the rows of a catalog that changed after `seq`, as `_COLUMNS`."""
    return reader.all(_CHANGES_SQL, (store_id, seq))


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


def read_all_titles(reader: RawReader, store_id: StoreId) -> Iterator[Sequence[ItemTitle]]:
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
