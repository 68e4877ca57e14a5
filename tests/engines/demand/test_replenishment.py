"""Replenishment: order times and quantities, tested by simulated stores."""

from __future__ import annotations

import numpy as np
import pytest

from productrecs.engines.demand.replenishment import (
    ExpectedDemand,
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
    stock: list[float], outlook: ExpectedDemand, supply: ReplenishmentPolicy = SUPPLY
) -> StockPlan:
    return plan_stock(np.array(stock, np.float64), outlook, supply)


def test_an_order_is_due_when_what_is_left_lasts_for_the_lead_time() -> None:
    found = plan([100, 20, 10, 0], certain(2, 2, 2, 2))

    # 100 units last 50 days: after 40 of them 20 are left, the lead time's demand.
    assert found.order_in.tolist() == [40, 0, 0, 0]
    assert found.quantity.tolist() == [10, 10, 20, 30]
    assert found.lost.round(6).tolist() == [0, 0, 10, 20]


def test_more_service_orders_earlier_and_more() -> None:
    outlook = ExpectedDemand(np.full((1, 28), 2.0), np.full((1, 28), 5.0), np.ones(1))

    modest = plan([60], outlook)
    careful = plan([60], outlook, ReplenishmentPolicy(10, 0.99, 5, 60))

    assert careful.order_in[0] < modest.order_in[0]
    assert careful.quantity[0] > modest.quantity[0]


def test_what_sells_for_longer_than_wanted_is_too_much() -> None:
    found = plan([200, 120, 5], certain(2, 2, 0))

    assert found.surplus.tolist() == [80, 0, 5]
    assert found.order_in[2] == -1  # what does not sell is never ordered
    assert found.quantity[2] == 0


def test_nothing_is_said_where_stock_is_unknown() -> None:
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
    outlook = ExpectedDemand(np.full((1, 28), 4.0), np.full((1, 28), p90), np.ones(1))
    supply = ReplenishmentPolicy(
        lead_days=10, service=service, order_days=5, overstock_days=60
    )
    points = [
        stock for stock in range(30, 90) if plan([stock], outlook, supply).order_in[0] == 0
    ]

    lasted = (demand.sum(axis=1) <= max(points)).mean()

    assert lasted == pytest.approx(service, abs=0.03)


def test_expected_loss_is_what_is_lost_on_average() -> None:
    rng = np.random.default_rng(6)
    demand = rng.poisson(rng.gamma(4, 1, (20_000, 10))).sum(axis=1)
    p90 = 4 + 1.2816 * np.sqrt(8)
    outlook = ExpectedDemand(np.full((1, 28), 4.0), np.full((1, 28), p90), np.ones(1))

    for stock in (20, 40, 50):
        lost = np.maximum(demand - stock, 0).mean()
        assert plan([stock], outlook).lost[0] == pytest.approx(lost, rel=0.2, abs=0.1)
