"""Item attributes: columns for them, filled from the end of descriptions."""

import json
from collections.abc import Iterator
from typing import Any, Final

import sqlalchemy as sa
from alembic import op

revision = "2026_11_25_1910"
down_revision = "2026_11_24_0035"

_MARK: Final = "Attributes: "
_FIELDS: Final = frozenset({"color", "size", "material"})
_PAGE: Final = 1_000

_items: Final = sa.table(
    "items",
    *(
        sa.column(name)
        for name in (
            "store_id",
            "number",
            "description",
            "brand",
            "color",
            "size",
            "material",
            "attributes",
        )
    ),
)


def upgrade() -> None:
    """Add the columns, and move what imports appended to descriptions into them."""
    op.add_column("items", sa.Column("brand", sa.Text()))
    op.add_column("items", sa.Column("gtin", sa.Text()))
    for name in ("color", "size", "material", "attributes"):
        column = sa.Column(name, sa.Text(), server_default="[]", nullable=False)
        op.add_column("items", column)
    op.add_column("items", sa.Column("list_price", sa.Double()))
    connection = op.get_bind()
    for page in _described(connection):
        for store_id, number, description in page:
            fields = _fields(description)
            if fields is not None:
                query = _items.update().where(
                    _items.c.store_id == store_id, _items.c.number == number
                )
                connection.execute(query.values(fields))


def _described(connection: sa.Connection) -> Iterator[list[Any]]:
    """Yield the items whose descriptions may end with attributes, in pages."""
    after = ("", -1)
    while True:
        query = (
            sa.select(_items.c.store_id, _items.c.number, _items.c.description)
            .where(
                _items.c.description.like(f"%{_MARK}%"),
                sa.tuple_(_items.c.store_id, _items.c.number)
                > sa.tuple_(sa.literal(after[0]), sa.literal(after[1])),
            )
            .order_by(_items.c.store_id, _items.c.number)
            .limit(_PAGE)
        )
        page = [tuple(row) for row in connection.execute(query)]
        if not page:
            return
        yield page
        after = (page[-1][0], page[-1][1])


def _fields(description: str) -> dict[str, object] | None:
    """Return the columns of an item whose description ends with attributes."""
    prose, mark, line = description.rpartition(_MARK)
    if not mark or "\n" in line or (prose and not prose.endswith("\n\n")):
        return None
    fields: dict[str, object] = {"description": prose.rstrip() or None}
    others = []
    for part in line.split("; "):
        name, colon, text = part.partition(": ")
        values = [value for value in text.split(", ") if value]
        if not colon or not values:
            continue
        field = name.casefold()
        if field == "brand":
            fields["brand"] = values[0]
        elif field in _FIELDS:
            fields[field] = json.dumps(values, ensure_ascii=False)
        else:
            others.append((name, values))
    return fields | {"attributes": json.dumps(others, ensure_ascii=False)}
