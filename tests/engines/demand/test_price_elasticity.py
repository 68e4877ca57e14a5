"""Price elasticity: what past reductions sold, and nothing where they sold nothing."""

import numpy as np
import pytest

from productrecs.engines.demand.calendar_effects import (
    CalendarEffects,
    CalendarEvent,
    SpecialDayKind,
)
from productrecs.engines.demand.demand_series import DailyDemand
from productrecs.engines.demand.price_elasticity import HighestPaidPrices, price_elasticity
from tests.engines.demand.sample_stores import demand_of, drawn, rates

DAYS = 300


def with_reductions(
    elasticity: float, seed: int, items: int = 30
) -> tuple[DailyDemand, HighestPaidPrices]:
    """Return a store whose items are reduced three times, by 10 to 40 per cent."""
    rng = np.random.default_rng(seed)
    price = np.full((items, DAYS), 10.0)
    for item in range(items):
        for start in rng.integers(20, DAYS - 20, 3):
            price[item, start : start + 10] *= 1 - rng.choice([0.1, 0.2, 0.3, 0.4])
    wanted = rates(items, DAYS, seed) * (price / 10) ** elasticity
    amounts = drawn(wanted, seed)
    rows, days = np.nonzero(amounts)
    return demand_of(amounts), HighestPaidPrices(rows, days, price[rows, days])


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("true", [-1.0, -2.5])
def test_the_elasticity_of_past_reductions_is_found(true: float, seed: int) -> None:
    assert price_elasticity(*with_reductions(true, seed)) == pytest.approx(true, rel=0.25)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_reductions_that_sold_nothing_more_count_almost_nothing(seed: int) -> None:
    assert -0.2 < price_elasticity(*with_reductions(0.0, seed)) <= 0


def test_higher_prices_never_sell_more() -> None:
    assert price_elasticity(*with_reductions(1.0, 1)) == 0


def test_large_orders_at_a_lower_price_are_no_reductions() -> None:
    demand, paid = with_reductions(0.0, 1)
    amounts = demand.amounts.copy()
    amounts[:, ::17] *= 30  # the highest price of the day stays as usual

    assert price_elasticity(demand.with_amounts(amounts), paid) > -0.2


def test_few_items_or_no_prices_give_none() -> None:
    nothing = np.zeros(0, np.int64)

    assert price_elasticity(*with_reductions(-2.0, 1, items=4)) == 0
    assert (
        price_elasticity(
            with_reductions(-2.0, 1)[0], HighestPaidPrices(nothing, nothing, np.zeros(0))
        )
        == 0
    )


def test_a_campaign_ahead_has_the_factor_of_its_prices() -> None:
    demand, _ = with_reductions(0.0, 1)
    ahead = demand.first_day + DAYS + 3

    def factor(elasticity: float, stated: float | None = None) -> float:
        event = CalendarEvent(
            SpecialDayKind.CAMPAIGN, "Sale", ahead, ahead + 6, None, stated, price=0.8
        )
        return CalendarEffects(demand, [event], elasticity).sales_factor(event)

    assert factor(-2.0) == pytest.approx(0.8**-2)
    assert factor(-2.0, stated=1.1) == 1.1
    assert factor(0.0) == 1  # as past campaigns, of which there are none
