"""Stock plan: order dates and quantities from stock and expected sales."""

import numpy as np
import pytest

from productrecs.features.forecast.stock_plan import (
    ExpectedDemand,
    IncomingGoods,
    ReplenishmentPolicy,
    StockPlan,
    plan_stock,
)

SUPPLY = ReplenishmentPolicy(lead_days=10, service=0.95, order_days=5, overstock_days=60)


def certain(*paces: float) -> ExpectedDemand:
    """Return items that sell so much each day, no more and no less."""
    means = np.repeat(np.array(paces)[:, None], 28, axis=1)
    return ExpectedDemand(means, means.copy(), np.zeros(len(paces)))


def plan(
    stock: list[float],
    expected: ExpectedDemand,
    supply: ReplenishmentPolicy = SUPPLY,
    incoming: IncomingGoods | None = None,
) -> StockPlan:
    return plan_stock(np.array(stock, np.float64), expected, supply, incoming)


def arriving(*orders: tuple[int, int, float]) -> IncomingGoods:
    """Return goods on order: the item, the days until they arrive, and the units."""
    rows, days, units = zip(*orders, strict=True)
    return IncomingGoods(np.array(rows), np.array(days), np.array(units, np.float64))


def test_an_order_is_due_when_what_is_left_lasts_for_the_lead_time() -> None:
    found = plan([100, 20, 10, 0], certain(2, 2, 2, 2))

    # 100 units last 50 days: after 40 of them 20 are left, the lead time's demand.
    assert found.order_in.tolist() == [40, 0, 0, 0]
    assert found.quantity.tolist() == [10, 10, 20, 30]
    assert found.lost.round(6).tolist() == [0, 0, 10, 20]


def test_an_order_saves_what_is_sold_between_its_arrival_and_that_of_the_next() -> None:
    # Ten days of lead time, five to the next order, two sold a day.
    found = plan([0, 10, 20, 24, 40], certain(2, 2, 2, 2, 2))

    assert found.saved.round(6).tolist() == [10, 10, 10, 6, 0]


def test_goods_on_order_need_not_be_saved() -> None:
    found = plan([20] * 2, certain(2, 2), incoming=arriving((1, 12, 100)))

    assert found.saved.round(6).tolist() == [10, 2]


def test_more_service_orders_earlier_and_more() -> None:
    expected = ExpectedDemand(np.full((1, 28), 2.0), np.full((1, 28), 5.0), np.ones(1))

    modest = plan([60], expected)
    careful = plan([60], expected, ReplenishmentPolicy(10, 0.99, 5, 60))

    assert careful.order_in[0] < modest.order_in[0]
    assert careful.quantity[0] > modest.quantity[0]


def test_what_sells_for_longer_than_wanted_is_too_much() -> None:
    found = plan([200, 120, 5], certain(2, 2, 0))

    assert found.surplus.tolist() == [80, 0, 5]
    assert found.order_in[2] == -1  # what does not sell is never ordered
    assert found.quantity[2] == 0


def test_unknown_stock_gets_no_order_day_and_no_surplus() -> None:
    found = plan([np.nan], certain(2))

    assert found.order_in.tolist() == [-1]
    assert np.isnan(found.lost).all()
    assert np.isnan(found.surplus).all()


@pytest.mark.parametrize("service", [0.8, 0.95])
def test_orders_at_the_point_keep_the_promised_service(service: float) -> None:
    # A shop that orders when it is told to, 4,000 times, with demand that scatters.
    rng = np.random.default_rng(5)
    demand = rng.poisson(rng.gamma(4, 1, (4_000, 10)))  # mean 4, variance 8 a day
    p90 = 4 + 1.2816 * np.sqrt(8)
    expected = ExpectedDemand(np.full((1, 28), 4.0), np.full((1, 28), p90), np.ones(1))
    supply = ReplenishmentPolicy(
        lead_days=10, service=service, order_days=5, overstock_days=60
    )
    points = [
        stock for stock in range(30, 90) if plan([stock], expected, supply).order_in[0] == 0
    ]

    lasted = (demand.sum(axis=1) <= max(points)).mean()

    assert lasted == pytest.approx(service, abs=0.03)


def test_expected_loss_is_what_is_lost_on_average() -> None:
    rng = np.random.default_rng(6)
    demand = rng.poisson(rng.gamma(4, 1, (20_000, 10))).sum(axis=1)
    p90 = 4 + 1.2816 * np.sqrt(8)
    expected = ExpectedDemand(np.full((1, 28), 4.0), np.full((1, 28), p90), np.ones(1))

    for stock in (20, 40, 50):
        lost = np.maximum(demand - stock, 0).mean()
        assert plan([stock], expected).lost[0] == pytest.approx(lost, rel=0.2, abs=0.1)


def test_goods_on_order_are_not_ordered_again() -> None:
    # Ten days of lead time and five to the next order: 30 units are sold until then.
    incoming = arriving((1, 4, 20), (2, 4, 30), (3, 12, 8), (4, 40, 30))

    found = plan([10] * 5, certain(2, 2, 2, 2, 2), incoming=incoming)

    assert found.order_in.tolist() == [0, 5, 10, 0, 0]
    assert found.quantity.tolist() == [20, 10, 10, 12, 20]


def test_what_arrives_late_does_not_save_the_days_before() -> None:
    incoming = arriving((1, 8, 100), (2, 8, 3), (3, 11, 100), (4, 1, 100))

    found = plan([4] * 5, certain(2, 2, 2, 2, 2), incoming=incoming)

    # Stock lasts two days, and goods of the eighth day sell on three of the ten.
    assert found.lost.round(6).tolist() == [16, 10, 13, 16, 0]
