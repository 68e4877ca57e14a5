"""Code search: a whole SKU, GTIN or id answers with its product alone."""

from dataclasses import replace
from typing import Final

import pytest

from productrecs.features.search.product_search import (
    SearchableStore,
    SearchRequest,
    find_products,
)
from productrecs.features.search.results_page import ResultsPageRequest, results_page
from productrecs.records.catalog.item_filters import parse_filters
from tests.support.searchable_store import Item, make_store

NOW: Final = 1_772_366_400_000
ITEMS: Final = (
    Item("Cordless drill", codes=("WR-44526-B", "4006381333931")),
    Item("Cordless drill with case", codes=("WR-44526-C", "036000291452")),
    Item("Drill 4006381333931 spare handle", codes=("WR-44526",)),
    Item("iPhone 13", codes=("iphone-13",)),
    Item("iPhone 13 case, black"),
    Item("Battery for DCD771C2", price=5),
    Item("Impact drill", price=99, codes=("DCD771C2",)),
    Item("Shirt", codes=("SHIRT-77", "9780306406157")),
    Item("Shirt, long", codes=("SHIRT-77",)),
    Item("Old drill", codes=("WR-99999",), in_stock=False),
    Item("Notebook", codes=("kites",)),
    Item("Paper kites"),
    Item("Lamp 60 W", codes=("1234",)),
    Item("Calendar with the number 1234"),
    Item("Ladder", codes=("5678",)),
    Item("Rope", codes=("77",)),
    Item("Plug", codes=("60W",)),
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> SearchableStore:
    """Return a store whose products have codes."""
    return make_store(tmp_path_factory.mktemp("codes"), ITEMS)


@pytest.mark.parametrize(
    ("query", "items"),
    [
        ("WR-44526-B", {0}),
        ("wr44526b", {0}),
        ("WR 44526 B", {0}),
        ("wr/44526.b ", {0}),
        ("WR-44526", {2}),  # others begin with it
        ("4006381333931", {0}),  # also in another title
        ("4 006381 333931", {0}),
        ("400-6381-33393-1", {0}),
        ("04006381333931", {0}),  # the same number as GTIN-14
        ("036000291452", {1}),
        ("0036000291452", {1}),  # a UPC as EAN-13
        ("36000291452", {1}),  # without its zero
        ("978-0-306-40615-7", {7}),
        ("shirt-77", {7, 8}),  # two products have it
        ("5678", {14}),
        ("i-14", {14}),  # an id
    ],
)
def test_a_whole_code_finds_its_products_alone(
    store: SearchableStore, query: str, items: set[int]
) -> None:
    request = SearchRequest(query, 12)

    found = find_products(store, request, NOW)
    page = results_page(store, ResultsPageRequest(request, counts=True), NOW, lambda _: ())

    assert {hit.item for hit in found.hits} == items
    assert {hit.item for hit in page.hits} == items
    assert found.is_code
    assert page.is_code
    assert page.total == len(items)


@pytest.mark.parametrize(
    ("query", "first", "other"),
    [
        ("iphone 13", 3, 4),  # its id is a name that others have
        ("dcd771c2", 6, 5),  # another product is for it
        ("kites", 10, 11),  # a word
        ("1234", 12, 13),  # a number that others have
        ("77", 15, 7),  # part of another code
        ("60w", 16, 12),  # a quantity that others have
    ],
)
def test_what_may_be_more_than_a_code_finds_other_products_too(
    store: SearchableStore, query: str, first: int, other: int
) -> None:
    found = find_products(store, SearchRequest(query, 12), NOW)

    items = [hit.item for hit in found.hits]
    assert items[0] == first
    assert other in items
    assert not found.is_code


@pytest.mark.parametrize("query", ["wr-99999", "WR 99999"])
def test_the_code_of_a_hidden_product_does_not_find_it(
    store: SearchableStore, query: str
) -> None:
    hidden = replace(store, sold_out="hidden")

    shown = find_products(store, SearchRequest(query, 12), NOW)
    found = find_products(hidden, SearchRequest(query, 12), NOW)

    assert [hit.item for hit in shown.hits] == [9]
    assert 9 not in [hit.item for hit in found.hits]
    assert not found.is_code


def test_a_filter_of_the_call_holds_for_codes_too(store: SearchableStore) -> None:
    def page(text: str) -> list[int]:
        request = ResultsPageRequest(SearchRequest("wr-44526-b", 12), parse_filters([text]))
        return [hit.item for hit in results_page(store, request, NOW, lambda _: ()).hits]

    assert page("in_stock:true") == [0]
    assert page("in_stock:false") == []
