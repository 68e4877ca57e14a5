"""Click boosts of search: how much they raise a product, and which clicks are ignored."""

import numpy as np
import pytest

from productrecs.engines.click_boosts import (
    CART,
    CLICK,
    PURCHASE,
    ClickBoostModel,
    ClickBoostOptions,
    SearchInteractions,
    fit_click_boosts,
)

Row = tuple[int, int, int, float, float]  # query, item, shopper, weight, age in days
OPTIONS = ClickBoostOptions()


def learned(*rows: Row) -> dict[tuple[int, int], float]:
    """Return the lift of each (query, item)."""
    columns = np.array(rows, dtype=np.float64).T if rows else np.zeros((5, 0))
    queries, items, shoppers = (column.astype(np.int64) for column in columns[:3])
    lifts = fit_click_boosts(
        SearchInteractions(queries, items, shoppers, *columns[3:]), OPTIONS
    )
    pairs = zip(lifts.queries.tolist(), lifts.items.tolist(), strict=True)
    return dict(zip(pairs, lifts.boosts.tolist(), strict=True))


def clicks(item: int, shoppers: range, age: float = 0.0, query: int = 0) -> list[Row]:
    return [(query, item, shopper, CLICK, age) for shopper in shoppers]


def test_a_lift_is_the_smoothed_share_of_what_was_chosen() -> None:
    found = learned(*clicks(5, range(6)), *clicks(7, range(10, 12)))

    assert found == pytest.approx({(0, 5): 6 / (8 + 12), (0, 7): 2 / (8 + 12)})


def test_nothing_was_chosen_and_nothing_is_lifted() -> None:
    assert learned() == {}


def test_a_purchase_says_more_than_a_cart_and_that_more_than_a_click() -> None:
    rows = [
        (0, item, shopper, weight, 0.0)
        for item, weight in ((1, CLICK), (2, CART), (3, PURCHASE))
        for shopper in (10 * item, 10 * item + 1)
    ]
    found = learned(*rows)

    assert found[0, 3] > found[0, 2] > found[0, 1]


def test_choices_fade_by_half_in_sixty_days() -> None:
    fresh, old = learned(*clicks(5, range(4))), learned(*clicks(5, range(4), age=60.0))

    assert fresh[0, 5] == pytest.approx(4 / 16)
    assert old[0, 5] == pytest.approx(2 / 14)


def test_one_loud_shopper_lifts_nothing_and_moves_little() -> None:
    loud: list[Row] = [(0, 9, 1, PURCHASE, 0.0)] * 1_000
    quiet = clicks(5, range(10, 20))

    assert learned(*loud) == {}
    both = learned(*loud, *quiet)
    assert set(both) == {(0, 5)}
    assert both[0, 5] == pytest.approx(10 / (18 + 12))
    # Nor by choosing everything: all of it together is as much as one purchase.
    everything: list[Row] = [(0, item, 1, PURCHASE, 0.0) for item in range(100)]
    among = learned(*everything, *quiet)
    assert among[0, 5] == pytest.approx((10 + 0.08) / (10 + 8 + 12))


def test_queries_do_not_teach_one_another() -> None:
    found = learned(
        *clicks(5, range(3)), *clicks(5, range(3), query=1), *clicks(6, range(3))
    )

    assert found[1, 5] > found[0, 5]
    assert (1, 6) not in found


def test_a_model_is_found_again_by_the_texts_of_its_queries() -> None:
    rows = [*clicks(5, range(3), query=2), *clicks(6, range(4), query=2)]
    columns = np.array(rows, dtype=np.float64).T
    queries, items, shoppers = (column.astype(np.int64) for column in columns[:3])
    lifts = fit_click_boosts(
        SearchInteractions(queries, items, shoppers, *columns[3:]), OPTIONS
    )
    model = ClickBoostModel.from_query_boosts(
        lifts, ["tent", "lamp", "m\u00f6bel \U0001f984"]
    )
    again = ClickBoostModel.from_arrays(model.to_arrays())

    assert len(again) == 1
    assert list(again.boosts_of("m\u00f6bel \U0001f984")) == [6, 5]
    assert again.boosts_of("tent") == again.boosts_of("") == {}
    assert ClickBoostModel.empty().boosts_of("tent") == {}
    assert ClickBoostModel.from_arrays({}).boosts_of("tent") == {}


def test_arrays_that_do_not_fit_together_are_refused() -> None:
    arrays = dict(ClickBoostModel.empty().to_arrays())
    arrays["starts"] = np.zeros(3, dtype=np.int64)

    with pytest.raises(ValueError, match="fit together"):
        ClickBoostModel.from_arrays(arrays)
