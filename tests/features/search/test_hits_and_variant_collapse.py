"""Hits: one result for all variants of a product."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import pytest

from productrecs.features.search.hits_and_variant_collapse import Hit, collapse_variants
from productrecs.features.search.product_search import (
    Collapse,
    SearchableStore,
    SearchRequest,
    find_products,
)
from productrecs.features.search.results_page import (
    ResultsPage,
    ResultsPageRequest,
    SortOrder,
    results_page,
)
from productrecs.records.catalog.item_filters import parse_filters
from productrecs.records.catalog.variant_groups import CatalogVariantGroups
from tests.support.searchable_store import Item, make_store

NOW: Final = 1_772_366_400_000
COLOURS: Final = ("Red", "Green", "Blue")
SIZES: Final = ("S", "M", "L", "XL")
SHIRTS: Final = [
    Item(f"Shirt {colour} {size}", 20 + n, "Nike", [colour], [size])
    for colour in COLOURS
    for n, size in enumerate(SIZES)
]  # 0 to 11
OTHERS: Final = [
    Item("Shirt Red M", 50, "Puma"),  # 12: of another brand
    Item("Shirt volume 1"),  # 13
    Item("Shirt volume 2"),  # 14
    Item("Polo shirt", 30, "Puma"),  # 15: two of one size and colour
    Item("Polo shirt", 31, "Puma"),  # 16
    Item("Shirt runner, 42", 60, size=["42"]),  # 17: sizes that are numbers
    Item("Shirt runner, 43", 60, size=["43"]),  # 18
    Item("Shirt dress, midnight", 70, color=["Midnight"]),  # 19: no usual colour
    Item("Shirt dress, dawn", 75, color=["Dawn"], in_stock=False),  # 20
]
LEADS: Final = {12, 13, 14, 15, 16}  # without variants


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> SearchableStore:
    """Return a store that sells shirts in many variants."""
    return make_store(tmp_path_factory.mktemp("variants"), [*SHIRTS, *OTHERS])


def find(store: SearchableStore, query: str, num: int = 50) -> list[Hit]:
    return find_products(store, SearchRequest(query, num, collapse=True), NOW).hits


def page(
    store: SearchableStore,
    query: str,
    filters: Sequence[str] = (),
    *,
    offset: int = 0,
    num: int = 50,
    sort: SortOrder = SortOrder.RELEVANCE,
) -> ResultsPage:
    request = ResultsPageRequest(
        SearchRequest(query, num, collapse=True),
        parse_filters(list(filters)),
        sort=sort,
        offset=offset,
        counts=True,
    )
    return results_page(store, request, NOW, lambda visible: visible.nonzero()[0].tolist())


def counts(hits: Sequence[Hit]) -> list[int]:
    return sorted(hit.variants for hit in hits)


@pytest.mark.parametrize("query", ["shirt ", ""])
def test_variants_are_one_result_with_their_number(
    store: SearchableStore, query: str
) -> None:
    found = page(store, query)

    assert counts(found.hits) == [1, 1, 1, 1, 1, 2, 2, 12]
    assert {hit.item for hit in found.hits if hit.variants == 1} == LEADS
    assert found.total == 8
    if query:
        assert counts(find(store, query)) == counts(found.hits)


@pytest.mark.parametrize(
    ("query", "first"), [("blue shirt M", 9), ("shirt xl green", 7), ("runner 43", 18)]
)
def test_the_variant_that_the_query_names_is_shown(
    store: SearchableStore, query: str, first: int
) -> None:
    assert find(store, query)[0].item == first
    assert page(store, query).hits[0].item == first


@pytest.mark.parametrize(
    ("filters", "variants", "total"),
    [
        (["color:Red"], [4], 1),
        (["color:Red", "color:Blue", "size:M"], [2], 1),
        (["price:..22"], [9], 1),
        (["color:Midnight"], [1], 1),
        (["in_stock:false"], [1], 1),
        (["color:None"], [], 0),
    ],
)
def test_filters_apply_to_variants_before_they_collapse(
    store: SearchableStore, filters: list[str], variants: list[int], total: int
) -> None:
    found = page(store, "shirt ", filters)

    assert counts(found.hits) == variants
    assert found.total == total


def test_words_that_are_filters_apply_to_variants_too(store: SearchableStore) -> None:
    assert find(store, "red shirt up to 22 ")[0].variants == 3


@pytest.mark.parametrize("sort", SortOrder)
@pytest.mark.parametrize("query", ["shirt ", ""])
def test_pages_put_together_have_every_group_once(
    store: SearchableStore, query: str, sort: SortOrder
) -> None:
    listed = [
        hit
        for offset in range(0, 9, 3)
        for hit in page(store, query, offset=offset, num=3, sort=sort).hits
    ]

    assert counts(listed) == [1, 1, 1, 1, 1, 2, 2, 12]
    assert len({hit.item for hit in listed}) == len(listed)


def test_the_cheapest_variant_is_shown_when_sorted_by_price(store: SearchableStore) -> None:
    first = page(store, "shirt ", sort=SortOrder.PRICE_UP).hits[0]

    assert (store.catalog.prices[first.item], first.variants) == (20, 12)


def test_more_candidates_are_read_until_there_are_enough_groups(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    items = [
        Item(f"Shirt {'abcdefgh'[n // 60] * 3} {size}", n, size=[size])
        for n, size in enumerate(str(n % 60 + 30) for n in range(480))
    ]
    store = make_store(tmp_path_factory.mktemp("many"), items)

    assert counts(find(store, "shirt ", 8)) == [60] * 8
    assert len(find(replace(store, collapse="never"), "shirt ", 8)) == 8


@pytest.mark.parametrize(
    ("setting", "collapse", "results"),
    [
        ("request", None, 21),
        ("request", True, 8),
        ("request", False, 21),
        ("always", None, 8),
        ("always", False, 21),
        ("never", None, 21),
        ("never", True, 21),
    ],
)
def test_the_call_and_the_store_say_whether_variants_collapse(
    store: SearchableStore, setting: Collapse, collapse: Any, results: int
) -> None:
    chosen = replace(store, collapse=setting)
    request = replace(SearchRequest("shirt ", 50), collapse=collapse)

    assert len(find_products(chosen, request, NOW).hits) == results


def test_the_best_variant_takes_the_place_of_the_first() -> None:
    groups = CatalogVariantGroups([7, 7, 0, 7, 8], [1, 2, 0, 3, 1])
    hits = [Hit(2, 9.0), Hit(0, 5.0), Hit(4, 4.0), Hit(1, 6.0), Hit(3, 6.0)]

    assert collapse_variants(groups, hits) == [Hit(2, 9.0), Hit(1, 6.0), Hit(4, 4.0)]
