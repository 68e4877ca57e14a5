"""Click judgements: what clicks say of a product, without what its position says."""

import pytest

from productrecs.engines.click_boosts import PURCHASE
from productrecs.features.search.relevance.click_judgements import (
    SearchClick,
    judge_clicks,
    position_weight,
)
from productrecs.features.search.relevance.relevance_measure import RelevanceGrade


@pytest.mark.parametrize(
    ("position", "weight"),
    [(None, 1.0), (0, 1.0), (1, 1.0), (2, 1.741), (4, 3.031), (8, 5.0), (400, 5.0)],
)
def test_a_click_counts_by_the_chance_that_its_position_is_seen(
    position: int | None, weight: float
) -> None:
    assert position_weight(position) == pytest.approx(weight, abs=0.001)


def clicks(
    item: int, shoppers: range, position: int = 1, weight: float = 1.0, intent: str = "tent"
) -> list[SearchClick]:
    return [SearchClick(intent, item, f"s{n}", position, weight) for n in shoppers]


GOOD, FAIR = RelevanceGrade.GOOD, RelevanceGrade.FAIR


@pytest.mark.parametrize(
    ("sent", "judged"),
    [
        pytest.param(clicks(1, range(9)), {}, id="nine shoppers are too few for a query"),
        pytest.param(clicks(1, range(10)), {1: (GOOD, 10)}, id="ten are enough"),
        pytest.param(
            clicks(1, range(10)) + clicks(2, range(10, 12)),
            {1: (GOOD, 10)},
            id="two shoppers are too few for a product",
        ),
        pytest.param(
            clicks(1, range(3)) * 4, {}, id="a shopper who clicks again is one shopper"
        ),
        pytest.param(
            clicks(1, range(10)) + clicks(2, range(10, 15)) + clicks(3, range(15, 18)),
            {1: (GOOD, 10), 2: (GOOD, 5), 3: (FAIR, 3)},
            id="half of the best is good, less is fair",
        ),
        pytest.param(
            clicks(1, range(31)) + clicks(2, range(40, 43)),
            {1: (GOOD, 31)},
            id="less than a tenth of the best is not judged",
        ),
        pytest.param(
            clicks(1, range(10)) + clicks(2, range(10, 13), position=8),
            {1: (GOOD, 10), 2: (GOOD, 3)},
            id="a click that had to be scrolled to counts more",
        ),
        pytest.param(
            clicks(1, range(10)) + clicks(2, range(10, 13), weight=PURCHASE),
            {1: (FAIR, 10), 2: (GOOD, 3)},
            id="what is bought counts more than what is looked at",
        ),
        pytest.param(
            clicks(1, range(6)) + clicks(1, range(6), intent="lamp"),
            {},
            id="the shoppers of two queries do not add up",
        ),
    ],
)
def test_products_are_judged_by_their_shoppers(
    sent: list[SearchClick], judged: dict[int, tuple[RelevanceGrade, int]]
) -> None:
    found = list(judge_clicks(sent))

    assert {one.item: (one.grade, one.shoppers) for one in found} == judged
    assert found == list(judge_clicks(reversed(sent)))
