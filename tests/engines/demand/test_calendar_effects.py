"""Calendar effects: what past events did, and what it says about those ahead."""

import numpy as np
import pytest

from productrecs.engines.demand.calendar_effects import (
    CalendarEffects,
    CalendarEvent,
    SpecialDayKind,
)
from productrecs.engines.demand.demand_series import HORIZON, DailyDemand
from productrecs.engines.demand.forecast import with_calendar_effects
from tests.engines.demand.sample_stores import FIRST, demand_of, drawn, forecast, rates

DAYS = 200


def event(
    kind: SpecialDayKind,
    name: str,
    first: int,
    last: int,
    items: np.ndarray | None = None,
) -> CalendarEvent:
    return CalendarEvent(kind, name, FIRST + first, FIRST + last, items)


def campaigns(*starts: int, days: int = 7) -> list[CalendarEvent]:
    return [
        event(SpecialDayKind.CAMPAIGN, f"Sale {start}", start, start + days - 1)
        for start in starts
    ]


def holidays(*days: int, name: str = "") -> list[CalendarEvent]:
    return [
        event(SpecialDayKind.HOLIDAY, name or f"Holiday {day}", day, day) for day in days
    ]


def with_factor(factor: float, *events: CalendarEvent, seed: int = 2) -> DailyDemand:
    """Return the demand of a store that sells `factor` of the usual on these days."""
    wanted = rates(30, DAYS)
    for one in events:
        wanted[:, one.first - FIRST : one.last + 1 - FIRST] *= factor
    amounts = drawn(wanted, seed)
    closed = amounts.sum(axis=0) == 0
    return demand_of(amounts, np.ones(amounts.shape, np.bool_) & ~closed)


def test_a_campaign_ahead_sells_what_past_campaigns_sold() -> None:
    past, (ahead,) = campaigns(50, 100, 150), campaigns(DAYS + 3)
    demand = with_factor(1.6, *past)

    effects = CalendarEffects(demand, [*past, ahead])

    assert effects.sales_factor(ahead) == pytest.approx(1.6, abs=0.2)


def test_a_store_that_is_closed_on_sundays_learns_from_its_campaigns() -> None:
    past, (ahead,) = campaigns(50, 100, 150), campaigns(DAYS + 3)
    amounts = with_factor(1.6, *past).amounts
    sundays = np.arange(DAYS) % 7 == 6
    amounts[:, sundays] = 0
    demand = demand_of(amounts, np.ones(amounts.shape, np.bool_) & ~sundays)

    effects = CalendarEffects(demand, [*past, ahead])

    assert effects.sales_factor(ahead) == pytest.approx(1.6, abs=0.2)


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_campaigns_that_changed_nothing_change_almost_no_forecast(seed: int) -> None:
    past, (ahead,) = campaigns(50, 100, 150), campaigns(DAYS + 3)
    demand = with_factor(1.0, *past, seed=seed)

    effects = CalendarEffects(demand, [*past, ahead])

    assert effects.sales_factor(ahead) == pytest.approx(1.0, abs=0.12)


def test_a_past_campaign_does_not_raise_the_level() -> None:
    past = campaigns(180, days=14)
    usual = with_factor(1.0)
    demand = with_factor(1.8, *past)

    removed = CalendarEffects(demand, past).history_without_events()

    sold, expected = (float(one.amounts[:, 180:194].sum()) for one in (removed, usual))
    assert sold == pytest.approx(expected, rel=0.15)


def test_what_the_merchant_expects_counts_as_it_is() -> None:
    past = campaigns(50, 100, 150)
    ahead = CalendarEvent(
        SpecialDayKind.CAMPAIGN, "Big", FIRST + DAYS, FIRST + DAYS, None, 2.5
    )

    effects = CalendarEffects(with_factor(1.2, *past), [*past, ahead])

    assert effects.sales_factor(ahead) == 2.5


def test_a_campaign_of_one_category_leaves_the_others_alone() -> None:
    items = np.arange(30) < 10
    ahead = CalendarEvent(
        SpecialDayKind.CAMPAIGN, "Tents", FIRST + DAYS, FIRST + DAYS + 6, items, 2.0
    )
    demand = with_factor(1.0)
    usual = forecast(demand)

    planned = with_calendar_effects(usual, CalendarEffects(demand, [ahead]), FIRST + DAYS)

    ratio = planned.paths.mean[:, :7] / np.maximum(usual.paths.mean[:, :7], 1e-9)
    assert np.allclose(ratio[items], 2)
    assert np.allclose(ratio[~items], 1)
    assert np.allclose(planned.paths.mean[:, 7:], usual.paths.mean[:, 7:])
    assert (planned.total.mean[:7] > usual.total.mean[:7]).all()
    assert planned.total.next_7_days[1] > usual.total.next_7_days[1]


def test_a_store_that_closed_on_three_holidays_closes_on_the_next() -> None:
    past, (ahead,) = holidays(30, 70, 110), holidays(DAYS + 2)
    demand = with_factor(0.0, *past)

    effects = CalendarEffects(demand, [*past, ahead])

    assert effects.sales_factor(ahead) == 0
    assert effects.sales_factor(holidays(DAYS + 9)[0]) == 0


def test_a_store_that_opened_on_one_holiday_is_not_expected_to_close() -> None:
    past, opened = holidays(30, 70, 110), holidays(150)
    demand = with_factor(0.0, *past)

    effects = CalendarEffects(demand, [*past, *opened])

    assert effects.sales_factor(holidays(DAYS + 2)[0]) > 0


def test_a_holiday_is_like_itself_a_year_before_and_not_like_the_others() -> None:
    past = holidays(30, 70, 110, 130, 150)
    demand = with_factor(0.0, past[0])

    effects = CalendarEffects(demand, past)

    assert effects.sales_factor(holidays(DAYS + 2, name="Holiday 30")[0]) == 0
    assert effects.sales_factor(holidays(DAYS + 2, name="Holiday 70")[0]) > 0.7


def test_planned_closed_days_are_zero_and_the_days_after_as_usual() -> None:
    closed = event(SpecialDayKind.CLOSURE, "Summer", DAYS + 3, DAYS + 9)
    demand = with_factor(1.0)
    usual = forecast(demand)

    planned = with_calendar_effects(usual, CalendarEffects(demand, [closed]), FIRST + DAYS)

    assert not planned.paths.mean[:, 3:10].any()
    assert not planned.paths.quantiles[:, :, 3:10].any()
    assert not planned.total.mean[3:10].any()
    assert planned.total.closed[3:10].all()
    assert np.allclose(planned.total.mean[10:], usual.total.mean[10:])


def test_past_closed_days_say_nothing_about_demand() -> None:
    closed = [event(SpecialDayKind.CLOSURE, "Summer", 180, 193)]
    demand = demand_of(with_factor(0.0, *closed).amounts)

    removed = CalendarEffects(demand, closed).history_without_events()

    assert not removed.on_sale[:, 180:194].any()
    assert removed.on_sale[:, :180].all()
    assert demand.on_sale.all()  # the history itself stays


def test_a_store_without_sales_or_without_events_is_left_alone() -> None:
    nothing = demand_of(np.zeros((3, DAYS)))
    everything = [*campaigns(50, DAYS + 1), *holidays(60, DAYS + 2)]

    assert not CalendarEffects(nothing, everything).history_without_events().amounts.any()
    usual = with_factor(1.0)
    assert np.array_equal(
        CalendarEffects(usual, []).history_without_events().amounts, usual.amounts
    )


def test_events_outside_the_days_known_and_ahead_do_nothing() -> None:
    demand = with_factor(1.0)
    usual = forecast(demand)
    far = [*campaigns(-400, DAYS + HORIZON), *holidays(-30)]

    effects = CalendarEffects(demand, far)
    planned = with_calendar_effects(usual, effects, FIRST + DAYS)

    assert np.array_equal(effects.history_without_events().amounts, demand.amounts)
    assert np.allclose(planned.paths.mean, usual.paths.mean)


def test_a_sale_that_lasts_is_taken_out_of_the_past_as_it_counts_ahead() -> None:
    demand = DailyDemand(
        np.where(np.arange(60) < 50, 4, 8).astype(np.float32)[None],
        np.ones((1, 60), np.bool_),
        np.zeros(1, np.int32),
        1000,
    )
    sale = CalendarEvent(
        SpecialDayKind.PLANNED_PRICE, "Sale", 1050, 1065, np.ones(1, np.bool_), price=0.5
    )
    effects = CalendarEffects(demand, [sale], elasticity=-1.0)
    unknown = CalendarEffects(demand, [sale])

    assert np.allclose(effects.history_without_events().amounts, 4)
    assert effects.sales_factor(sale) == pytest.approx(2)
    assert unknown.sales_factor(sale) == 1
    assert np.allclose(unknown.history_without_events().amounts, demand.amounts)
