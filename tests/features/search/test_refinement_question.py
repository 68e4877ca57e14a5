"""Refinement: the question whose answer narrows the results of a search most."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from productrecs.features.search.product_search import SearchableStore, SearchRequest
from productrecs.features.search.refinement_question import (
    MAX_ANSWERS,
    RefinementQuestion,
    choose_refinement_question,
    question_weights,
)
from productrecs.features.search.results_page import ResultsPageRequest, results_page
from productrecs.records.catalog.item_filters import parse_filters
from productrecs.records.search_counts.repository import QuestionCount
from tests.support.searchable_store import Item, make_store

NOW: Final = 1_772_366_400_000


def shoes(count: int, describe: Callable[[int], Item]) -> list[Item]:
    """Return products of different titles with the attributes of `describe`."""
    return [describe(n) for n in range(count)]


def named(n: int, **fields: object) -> Item:
    """Return a shoe with these attributes."""
    return Item(f"Shoe model {n + 100}", **fields)  # type: ignore[arg-type]


COLOURS: Final = ("Red", "Blue", "Green", "Black", "White", "Pink", "Gold", "Grey")


def refinement_among(
    folder: Path, items: Sequence[Item], query: str = "shoe ", filters: Sequence[str] = ()
) -> RefinementQuestion | None:
    """Return the question that a search is answered with."""
    return ask(make_store(folder, items), query, filters)


def ask(
    store: SearchableStore, query: str = "shoe ", filters: Sequence[str] = ()
) -> RefinementQuestion | None:
    request = ResultsPageRequest(
        SearchRequest(query, 12), parse_filters(list(filters)), refine=True
    )
    return results_page(store, request, NOW, lambda _: ()).refinement


@pytest.mark.parametrize(
    ("count", "describe", "attribute"),
    [
        (20, lambda n: named(n, color=[COLOURS[n % 2]]), "color"),
        (20, lambda n: named(n, color=[COLOURS[n % 5]], brand="ABCD"[n % 2]), "color"),
        (20, lambda n: named(n, color=[COLOURS[n % 2]], size=[str(38 + n % 4)]), "size"),
        (20, lambda n: named(n, material=["Wool", "Silk"][n % 2 :][:1]), "material"),
        # Each product has all sizes: no answer excludes anything.
        (20, lambda n: named(n, size=["S", "M", "L"], brand="AB"[n % 2]), "brand"),
        (20, lambda n: named(n, size=["S", "M", "L"]), None),
        # One answer has nearly all.
        (20, lambda n: named(n, color=["Red" if n % 10 else "Blue"]), None),
        # Few products have the attribute.
        (20, lambda n: named(n, color=[COLOURS[n % 2]] if n % 4 == 0 else []), None),
        # Each product has its own value.
        (20, lambda n: named(n, brand=f"Brand {n}"), None),
        # Only few of many values fit into a question.
        (120, lambda n: named(n, brand=f"Brand {n % 40}"), None),
        (7, lambda n: named(n, color=[COLOURS[n % 2]]), None),
        (8, lambda n: named(n, color=[COLOURS[n % 2]]), "color"),
        (20, named, None),
    ],
)
def test_a_refinement_is_offered_where_it_halves_the_results(
    tmp_path: Path, count: int, describe: Callable[[int], Item], attribute: str | None
) -> None:
    found = refinement_among(tmp_path, shoes(count, describe))

    assert (found and found.attribute) == attribute


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> SearchableStore:
    """Return a store of shoes in two colours and four sizes, a third of them by Nike."""
    items = shoes(
        24,
        lambda n: named(
            n,
            color=[COLOURS[n % 2]],
            size=[("XL", "S", "42", "40")[n // 2 % 4]],
            brand=("Nike", "Puma", "Asics")[n % 3],
        ),
    )
    return make_store(tmp_path_factory.mktemp("shoes"), items)


@pytest.mark.parametrize(
    ("query", "filters", "attribute"),
    [
        ("shoe ", (), "size"),
        ("shoe ", ("size:S", "size:XL"), "brand"),
        ("shoe ", ("size:S", "size:XL", "brand:Nike"), None),  # four are left
        ("shoe ", ("brand:Nike", "brand:Puma", "size:S", "size:40"), "color"),
        ("blue shoe ", (), "size"),
        ("nike shoe ", (), "size"),
        ("xyzzy ", (), None),
    ],
)
def test_an_attribute_that_a_filter_fixes_is_not_offered(
    store: SearchableStore, query: str, filters: tuple[str, ...], attribute: str | None
) -> None:
    found = ask(store, query, filters)

    assert (found and found.attribute) == attribute


def test_each_answer_is_a_filter_that_leaves_as_many_as_it_says(
    store: SearchableStore,
) -> None:
    found = ask(store)
    assert found is not None

    assert [one.value for one in found.answers] == ["S", "XL", "40", "42"]
    for answer in found.answers:
        filters = parse_filters([found.filter_of(answer)])
        request = ResultsPageRequest(SearchRequest("shoe ", 12), filters, counts=True)
        page = results_page(store, request, NOW, lambda _: ())
        assert page.total == answer.count == 6


def test_what_shoppers_chose_for_the_query_decides_which_question_helps(
    tmp_path: Path,
) -> None:
    items = shoes(
        20,
        lambda n: named(
            n, color=[COLOURS[n % 2]], material=["Wool" if n % 5 < 3 else "Silk"]
        ),
    )
    catalog, found = make_store(tmp_path, items).catalog, np.arange(20, dtype=np.int64)
    all_red = dict.fromkeys(range(0, 20, 2), 1.0)

    before = choose_refinement_question(catalog, found, {}, ())
    after = choose_refinement_question(catalog, found, all_red, ())

    assert (before and before.attribute) == "color"
    assert (after and after.attribute) == "material"


def test_categories_and_other_attributes_are_offered_too(store: SearchableStore) -> None:
    catalog = store.catalog
    items = np.arange(24, dtype=np.int64)
    for item in range(24):
        catalog.attributes.put(item, (("Lined", (str(bool(item % 2)),)),))
    assert choose_refinement_question(catalog, items, {}, ()) is None  # "true" says nothing

    for item in range(24):
        catalog.attributes.put(item, (("Season", (f"Season {item % 3}",)),))
    found = choose_refinement_question(catalog, items, {}, ())
    assert found is not None
    assert (found.attribute, found.name) == ("attributes.Season", "Season")
    assert found.filter_of(found.answers[0]) == "attributes.Season:Season 0"
    assert choose_refinement_question(catalog, items, {}, {"attributes.season"}) is None


@pytest.mark.parametrize(
    ("offers", "color_answers", "material_answers", "attribute"),
    [
        (0, 0, 0, "color"),  # the higher gain
        (50, 0, 10, "color"),  # few answers change nothing
        (4_000, 400, 400, "color"),
        (4_000, 100, 700, "material"),
    ],
)
def test_a_question_that_shoppers_answer_is_asked_before_one_of_a_higher_gain(
    tmp_path: Path, offers: int, color_answers: int, material_answers: int, attribute: str
) -> None:
    items = shoes(
        20, lambda n: named(n, color=[COLOURS[n % 4]], material=["Wool", "Silk"][n % 2])
    )
    store = make_store(tmp_path, items)
    counts = [
        QuestionCount("color", offers, color_answers),
        QuestionCount("material", offers, material_answers),
    ]

    found = ask(replace(store, question_weights=question_weights(counts)))

    assert (found and found.attribute) == attribute


def test_few_answers_change_the_weight_of_a_question_by_a_tenth_at_most() -> None:
    one = question_weights([QuestionCount("color", 50, 10), QuestionCount("brand", 50, 0)])

    assert all(0.9 <= weight <= 1.1 for weight in one.values())


def test_a_question_is_chosen_in_a_fraction_of_a_millisecond(tmp_path: Path) -> None:
    many = shoes(
        400,
        lambda n: named(
            n, color=[COLOURS[n % 8]], size=[str(30 + n % 9)], brand=f"B{n % 11}"
        ),
    )
    catalog = make_store(tmp_path, many).catalog
    items = np.arange(400, dtype=np.int64)
    began = time.process_time()

    for _ in range(100):
        found = choose_refinement_question(catalog, items, {}, ())

    assert time.process_time() - began < 0.3  # 3 ms each on a slow machine
    assert found is not None
    assert len(found.answers) <= MAX_ANSWERS
