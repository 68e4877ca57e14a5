"""Relevance measure: variants of a product, which are one result or one each."""

from dataclasses import replace
from typing import Final

import pytest

from productrecs.features.search.product_search import Collapse, SearchableStore
from productrecs.features.search.relevance.relevance_measure import (
    JudgedQuery,
    RelevanceGrade,
    compare_configurations,
    measure_relevance,
)
from tests.support.searchable_store import Item, make_store

NOW: Final = 1_772_366_400_000
VARIANTS: Final = [
    Item(f"Shirt {colour} {size}", 20, "Nike", [colour], [size])
    for colour in ("Red", "Green", "Blue")
    for size in ("S", "M", "L", "XL")
]  # 0 to 11
HANGER: Final = len(VARIANTS)
QUERY: Final = JudgedQuery(
    "shirt", "shirt", 1.0, {0: RelevanceGrade.GOOD, HANGER: RelevanceGrade.GOOD}
)


@pytest.fixture(scope="module")
def shirts(tmp_path_factory: pytest.TempPathFactory) -> SearchableStore:
    """Return a store with a shirt in twelve variants, and another product below them."""
    items = [*VARIANTS, Item("Hanger for a shirt", 9, "Ikea")]
    return make_store(tmp_path_factory.mktemp("shirts"), items)


def test_a_search_is_measured_as_the_widget_shows_it(shirts: SearchableStore) -> None:
    [score] = measure_relevance(shirts, [QUERY], NOW).scores

    assert len(score.results.items) == 2
    assert score.results.items[1] == HANGER
    assert score.ndcg == 1.0, "both products are good, whichever variant is shown"


@pytest.mark.parametrize(
    ("now", "changed", "results", "change"),
    [
        ("request", "never", (2, 10), "worse"),
        ("never", "request", (10, 2), "better"),
        ("request", "always", (10, 2), "better"),  # of pages that do not ask
        ("always", "never", (2, 10), "worse"),
        ("always", "always", (2, 2), None),
        ("never", "never", (10, 10), None),
    ],
)
def test_the_effect_of_collapsing_variants_is_shown(
    shirts: SearchableStore,
    now: Collapse,
    changed: Collapse,
    results: tuple[int, int],
    change: str | None,
) -> None:
    effect = compare_configurations(
        replace(shirts, collapse=now), replace(shirts, collapse=changed), [QUERY], NOW
    )

    shown = [len(both.scores[0].results.items) for both in (effect.before, effect.after)]
    assert tuple(shown) == results
    assert (len(effect.wins), len(effect.losses)) == (change == "better", change == "worse")
    assert len(effect.changed_queries) == (change is not None)
