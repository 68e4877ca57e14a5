"""Catalog search: what a merchant types begins the titles of the first products."""

from types import SimpleNamespace
from typing import Any

from productrecs.features.search.product_search import search_catalog

TITLES = ["Geschenkbox", "Rote Geschenkkarte", "Geschenkkarte 25 €"]


def test_products_whose_title_begins_with_the_text_come_first() -> None:
    catalog: Any = SimpleNamespace(title=TITLES.__getitem__, number=lambda _id: None)
    hits = SimpleNamespace(items=[0, 1, 2])
    index: Any = SimpleNamespace(analyse=str, find=lambda _query: hits)
    subset: Any = [True] * 3

    page = search_catalog(catalog, index, "geschenkk", subset, slice(0, 2))

    assert (page.items, page.total) == ([2, 0], 3)
