"""Searchable stores in memory and a folder, without a service."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from productrecs.core.ids import StoreId
from productrecs.engines.text.index_schema import ProductText
from productrecs.engines.text.search_index import IndexWriter, SearchIndex
from productrecs.features.search.product_search import SearchableStore
from productrecs.features.search.search_rule_set import SearchRuleSet
from productrecs.records.catalog.catalog_view import CatalogView

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from productrecs.training.search.served_index import ServedIndex


@dataclass
class Item:
    """One product of a store."""

    title: str
    price: float | None = None
    brand: str = ""
    color: Sequence[str] = ()
    size: Sequence[str] = ()
    material: Sequence[str] = ()
    in_stock: bool = True
    codes: Sequence[str] = ()  # its SKU and GTIN
    list_price: float | None = None


@dataclass
class Rows:
    """The rows of a catalog, as the database would give them."""

    items: Sequence[Item]
    parameters: list[object] = field(default_factory=list)

    def all(self, _: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Return the rows after the one that was read last."""
        return [
            (
                number, f"i-{number}", True, 1, one.title, None, None, one.price,
                None if one.in_stock else "out_of_stock", None, "[]", None, None, number,
                one.brand or None, json.dumps(one.color), json.dumps(one.size),
                json.dumps(one.material), "[]", one.list_price, "[]",
            )
            for number, one in enumerate(self.items)
            if number > parameters[1]
        ]  # fmt: skip


def make_store(
    folder: Path, items: Sequence[Item], language: str = "en", currency: str = "EUR"
) -> SearchableStore:
    """Return the search state of a store with these items."""
    catalog = CatalogView(
        StoreId("s"), UTC, lambda one: json.dumps({"title": one.title}).encode()[:-1]
    )
    catalog.refresh(cast("Any", Rows(items)), 1)
    with IndexWriter(folder, language) as writer:
        writer.put(
            ProductText(number, one.title, (f"i-{number}", *one.codes))
            for number, one in enumerate(items)
        )
        writer.commit()
    return SearchableStore(
        catalog=catalog,
        index=cast("ServedIndex", SearchIndex(folder, language)),
        ranks=np.zeros(0, np.int32),
        trending_count=0,
        search_rules=SearchRuleSet(),
        currency=currency,
    )
