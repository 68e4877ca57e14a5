"""Fit cache: an engine is refitted only when its inputs changed."""

from collections.abc import Sequence

import numpy as np
import pytest

from productrecs.engines.array_types_and_sorting import Arrays
from productrecs.engines.engine_protocol import FitFingerprint
from productrecs.records.events.event import EventKind
from productrecs.training.fit_cache import (
    FitCache,
)
from productrecs.training.order_and_cart_lines import (
    counted_line_mask,
    order_lines_with_visit_carts,
)
from productrecs.training.partitioned_shopper_events import ShopperEventArrays
from productrecs.training.training_inputs import (
    CatalogTrainingInputs,
    OrderLineArrays,
)


@pytest.fixture(name="fits")
def _fits() -> list[int]:
    return []


def fitted(
    cache: FitCache, fits: list[int], inputs: tuple[object, ...], arguments: int = 1
) -> int:
    def fit() -> Arrays:
        fits.append(len(fits))
        return {"number": np.array(fits[-1:])}

    fingerprint = FitFingerprint(inputs, arguments)
    return int(cache.get_or_fit("pairs", fingerprint, fit)["number"][0])


def test_the_same_inputs_are_fitted_once(fits: list[int]) -> None:
    cache, inputs = FitCache(), ([1], [2])

    assert [fitted(cache, fits, inputs) for _ in range(3)] == [0, 0, 0]


def test_equal_inputs_that_are_other_objects_and_other_arguments_are_fitted_again(
    fits: list[int],
) -> None:
    cache, inputs = FitCache(), ([1], [2])

    numbers = [
        fitted(cache, fits, objects)
        for objects in (inputs, (inputs[0], [2]), inputs[:1], inputs)
    ]
    numbers.append(fitted(cache, fits, inputs, arguments=2))

    assert numbers == [0, 1, 2, 3, 4]


def test_a_failed_fit_is_not_cached(fits: list[int]) -> None:
    cache, inputs = FitCache(), ([1],)
    with pytest.raises(ZeroDivisionError):
        cache.get_or_fit(
            "pairs", FitFingerprint(inputs), lambda: {"none": np.zeros(1 // 0)}
        )

    assert fitted(cache, fits, inputs) == 0


TENT, GREEN, STOVE, GONE, BARE = range(5)
ROWS = [
    (TENT, True, "Tent 2", '["Camping", "Tents"]'),
    (GREEN, True, "Tent 2 green", '["Camping", "Tents"]'),
    (STOVE, True, "Stove", '["Camping"]'),
    (GONE, False, "Old tent", '["Tents"]'),
    (BARE, True, "Gift", "[]"),
]
MINUTE = 60_000
NOW = 1_000 * MINUTE


def read(*pages: Sequence[tuple[int, bool, str, str]]) -> tuple[list[int], list[int]]:
    catalog = CatalogTrainingInputs()
    for number, page in enumerate(pages):
        catalog.apply_changes(page, number)
        catalog.categories_and_variants(6)
    categories, variants = catalog.categories_and_variants(6)
    return categories.tolist(), variants.groups.tolist()


def test_the_narrowest_category_counts_and_variants_are_one_group() -> None:
    categories, groups = read(ROWS)

    assert categories == [1, 1, 0, -1, -1, -1]
    assert groups[TENT] == groups[GREEN] > 0
    assert groups[STOVE] == groups[BARE] == groups[5] == 0


def test_reading_on_equals_reading_at_once() -> None:
    renamed = (GREEN, True, "Tarp", '["Tarps"]')
    emptied = (STOVE, True, "Stove", "[]")
    sold = (TENT, True, "Tent 2", '["Camping", "Tents"]')

    step_by_step = read(ROWS, [renamed], [emptied, sold])

    assert step_by_step == read([sold, renamed, emptied])
    assert step_by_step[0] == [0, 1, -1, -1, -1, -1]
    assert step_by_step != read(ROWS)  # the control: what changed is seen


def test_sizes_are_learned_from_all_titles_and_go_with_them() -> None:
    catalog = CatalogTrainingInputs()
    catalog.apply_changes(
        [(TENT, True, "Shirt XL", "[]"), (STOVE, True, "Skirt xl", "[]")], 1
    )

    before = catalog.categories_and_variants(4)[1].sizes
    again = catalog.categories_and_variants(4)[1].sizes
    catalog.apply_changes(
        [(TENT, True, "Shirt", "[]"), (STOVE, False, "Skirt xl", "[]")], 2
    )

    assert before is again  # nothing is learned anew
    assert before[TENT] == before[STOVE] > 0
    assert not catalog.categories_and_variants(4)[1].sizes.any()


def test_an_empty_catalog_has_no_categories() -> None:
    catalog, found = CatalogTrainingInputs(), []
    gone = [(TENT, False, "Tent", "[]")]
    pages = ROWS[:0], ROWS[4:], ROWS[:1], gone

    for number, page in enumerate(pages):
        catalog.apply_changes(page, number)
        found.append(catalog.has_categories)

    assert found == [False, False, True, False]


def purchases(*lines: tuple[int, int, int, int]) -> OrderLineArrays:
    """Return lines of (order, item, minute, visitor)."""
    orders, items, minutes, visitors = np.array(lines, np.int64).reshape(-1, 4).T
    count = len(lines)
    return OrderLineArrays(
        line_seqs=np.arange(count),
        baskets=orders,
        items=items.astype(np.int32),
        quantities=np.ones(count, np.int64),
        totals=np.ones(count),
        times=minutes * MINUTE,
        is_active=np.ones(count, np.bool_),
        buyers=visitors + 100 * (visitors > 0),
        visitors=visitors,
    )


COFFEE, CAKE, GIFT = 0, 1, 2
NOBODY_SAID = np.nan


@pytest.mark.parametrize(
    ("price_of_gift", "price_of_others", "gifts_in", "remains"),
    [
        (0.0, 5.0, 3, False),
        (0.0, 5.0, 1, True),  # of six orders: a free product
        (2.0, 5.0, 3, True),
        (NOBODY_SAID, 5.0, 3, True),
        (0.0, 0.0, 3, True),  # nothing has a price
        (0.0, NOBODY_SAID, 3, True),
    ],
)
def test_what_is_free_in_many_orders_is_a_gift_and_a_best_seller_is_not(
    price_of_gift: float, price_of_others: float, gifts_in: int, *, remains: bool
) -> None:
    orders = [(n, item, n, 1) for n in range(6) for item in (COFFEE, CAKE)]
    gifts = [(n, GIFT, n, 1) for n in range(gifts_in)]
    bought = purchases(*orders, *gifts)
    bought.totals[:] = np.where(bought.items == GIFT, price_of_gift, price_of_others)

    counts = counted_line_mask(bought)

    assert counts[bought.items != GIFT].all()
    assert (counts[bought.items == GIFT] == remains).all()


def carted(*events: tuple[int, int, int]) -> ShopperEventArrays:
    """Return what (item, minute, visitor) put into carts, and a view of all."""
    items, minutes, visitors = np.array(events, np.int64).reshape(-1, 3).T
    kinds = [EventKind.ADD_TO_CART] * len(events) + [EventKind.DETAIL_PAGE_VIEW]
    return ShopperEventArrays(
        times=np.append(minutes, 1) * MINUTE,
        kinds=np.array(kinds, np.int8),
        items=np.append(items, BARE).astype(np.int32),
        visitors=np.append(visitors, 1),
    )


def baskets(bought: OrderLineArrays, done: ShopperEventArrays) -> set[tuple[int, ...]]:
    lines = order_lines_with_visit_carts(bought, done, NOW)
    assert lines is not None
    return {
        tuple(np.unique(lines.items[lines.baskets == one]).tolist())
        for one in np.unique(lines.baskets)
    }


def test_what_lay_in_the_cart_of_a_visit_that_bought_is_of_its_basket() -> None:
    bought = purchases((7, TENT, 20, 1), (8, TENT, 20, 2), (8, STOVE, 20, 2))

    found = baskets(bought, carted((TENT, 1, 1), (STOVE, 5, 1), (GONE, 9, 3)))

    assert found == {(TENT, STOVE)}  # the first with its cart, the second as it was


def test_carts_of_other_visits_and_anonymous_orders_stay_apart() -> None:
    bought = purchases((7, TENT, 20, 1), (8, STOVE, 20, 0), (9, GREEN, 900, 1))

    found = baskets(bought, carted((STOVE, 5, 1), (GONE, 5, 0), (GONE, 300, 1)))

    assert found == {(TENT, STOVE), (STOVE,), (GREEN,)}


def test_without_a_cart_of_the_same_visit_there_is_nothing_to_join() -> None:
    bought = purchases((7, TENT, 20, 1), (8, STOVE, 20, 0))

    assert order_lines_with_visit_carts(bought, carted(), NOW) is None
    assert order_lines_with_visit_carts(bought, carted((STOVE, 5, 4)), NOW) is None
    assert (
        order_lines_with_visit_carts(
            purchases((8, STOVE, 20, 0)), carted((STOVE, 5, 4)), NOW
        )
        is None
    )
    assert order_lines_with_visit_carts(purchases(), carted((STOVE, 5, 4)), NOW) is None
