"""Stock simulation: arrivals, lost sales and money bound by day."""

import numpy as np

from productrecs.features.forecast.replenishment_simulation import (
    MEAN_DAYS,
    ReplenishmentScenario,
    ReplenishmentTerms,
    build_average_sales_rule,
    simulate_replenishment,
)


def scenario(
    demand: list[list[float]], stock: list[float], lead: int
) -> ReplenishmentScenario:
    leads = np.full(len(stock), lead)
    return ReplenishmentScenario(np.array(demand), np.array(stock), leads, counted_from=0)


def test_goods_can_be_sold_after_the_lead_time() -> None:
    given = scenario([[2.0] * 6, [2.0] * 6], [4.0, 100.0], lead=3)

    found = simulate_replenishment(
        given, lambda day, _stock, _arriving: np.array([8.0 * (day == 0), 0])
    )

    # Two days of stock, the order of the first evening is there on the fourth day.
    assert found.days_out.tolist() == [1, 0]
    assert found.lost.tolist() == [2, 0]
    assert found.stock.round(2).tolist() == [round((2 + 0 + 0 + 6 + 4 + 2) / 6, 2), 93]
    assert (found.lines.tolist(), found.order_days) == ([1, 0], 1)


def test_days_before_the_counted_ones_are_not_counted() -> None:
    given = ReplenishmentScenario(np.full((1, 4), 5.0), np.zeros(1), np.array([1]), 3)

    found = simulate_replenishment(given, lambda *_: np.array([5.0]))

    assert (found.days_out.tolist(), found.lost.tolist()) == ([0], [0])
    assert (found.lines.tolist(), found.order_days) == ([1], 1)


def test_the_plain_rule_orders_packs_up_to_the_average() -> None:
    terms = ReplenishmentTerms(
        np.array([3, 3]), np.array([7, 7]), np.array([1.0, 12]), np.zeros(2)
    )
    sales = np.full((2, MEAN_DAYS + 20), 2.0)
    rule = build_average_sales_rule(sales, MEAN_DAYS, terms, reserve_days=5)

    first = rule(0, np.array([10.0, 10]), np.array([[4.0], [0]]))

    assert first.tolist() == [2 * 15 - 14, 24]
    assert rule(1, np.zeros(2), np.zeros((2, 1))).tolist() == [0, 0]
    assert rule(7, np.array([30.0, 31]), np.zeros((2, 1))).tolist() == [0, 0]


def test_the_plain_rule_knows_no_later_sales() -> None:
    terms = ReplenishmentTerms(np.array([3]), np.array([7]), np.ones(1), np.zeros(1))
    sales = np.full((1, MEAN_DAYS + 20), 2.0)
    same = sales.copy()
    same[:, MEAN_DAYS + 8 :] = 99.0

    ordered = [
        build_average_sales_rule(one, MEAN_DAYS, terms, 0)(7, np.zeros(1), np.zeros((1, 1)))
        for one in (sales, same)
    ]

    assert ordered[0].tolist() == ordered[1].tolist() == [20]
