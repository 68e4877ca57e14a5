"""Catalog changes: SQL of the searchable texts that changed."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from productrecs.core.ids import StoreId
from productrecs.engines.text.index_schema import MAX_DESCRIPTION, ProductText
from productrecs.storage.sql.dialects import RawReader
from productrecs.storage.sql.store_counters_and_versions import catalog_versions_and_sizes

_CHANGES_SQL: Final = (
    "SELECT change_seq, number, present, item_id, sku, title, categories, description, "
    "brand, gtin, color, size, material, attributes FROM items "
    "WHERE store_id = ? AND change_seq > 0 AND (change_seq > ? OR "
    "(change_seq = ? AND number > ?)) ORDER BY change_seq, number LIMIT ?"
)
_SAMPLE_SQL: Final = (
    "SELECT title, description FROM items WHERE store_id = ? AND change_seq > 0 LIMIT ?"
)
_SAMPLE: Final = 400
_PROSE: Final = MAX_DESCRIPTION - 2_000  # leaves room for the attributes


@dataclass(frozen=True, slots=True)
class CatalogVersion:
    """The version of a store's catalog."""

    store_id: StoreId
    seq: int
    size: int


@dataclass(frozen=True, slots=True, order=True)
class CatalogChangePosition:
    """A position in the order of a catalog's changes."""

    seq: int = 0
    number: int = -1


@dataclass(frozen=True, slots=True)
class SearchableTextChanges:
    """The changes between two positions."""

    changed: Sequence[ProductText]
    removed: Sequence[int]
    up_to: CatalogChangePosition
    is_all: bool


def read_catalog_versions(reader: RawReader) -> list[CatalogVersion]:
    """Return the head of every store's catalog."""
    rows = catalog_versions_and_sizes(reader)
    return [CatalogVersion(StoreId(row[0]), int(row[1]), int(row[2])) for row in rows]


def read_text_changes(
    reader: RawReader, store_id: StoreId, after: CatalogChangePosition, limit: int
) -> SearchableTextChanges:
    """Return the next up to `limit` changes of a catalog, in their order."""
    parameters = (store_id, after.seq, after.seq, after.number, limit)
    rows = reader.all(_CHANGES_SQL, parameters)
    last = CatalogChangePosition(int(rows[-1][0]), int(rows[-1][1])) if rows else after
    return SearchableTextChanges(
        changed=[_to_product_text(row) for row in rows if row[2]],
        removed=[int(row[1]) for row in rows if not row[2]],
        up_to=last,
        is_all=len(rows) < limit,
    )


def sample_texts(reader: RawReader, store_id: StoreId) -> list[str]:
    """Return some texts of a catalog, for language detection."""
    rows = reader.all(_SAMPLE_SQL, (store_id, _SAMPLE))
    return [f"{title} {(description or '')[:500]}" for title, description in rows]


def _to_product_text(row: Sequence[Any]) -> ProductText:
    _, number, _, item_id, sku, title, categories, description, brand, gtin, *lists = row
    *attribute_lists, other_attributes = (json.loads(text) for text in lists)
    texts = [value for values in attribute_lists for value in values]
    texts += [f"{name} {' '.join(values)}" for name, values in other_attributes]
    return ProductText(
        number=int(number),
        title=title,
        codes=tuple(code for code in (item_id, sku, gtin) if code),
        categories=(*json.loads(categories), *((brand,) if brand else ())),
        description=f"{(description or '')[:_PROSE]}\n\n{' ; '.join(texts)}".strip(),
    )
