"""Days until a test decides: hand-computed cases, and the traffic that they start from."""

from pathlib import Path
from typing import Any

import pytest

from productrecs.core.clock import DAY_MS
from productrecs.features.experiments.experiment_duration import (
    ExperimentTraffic,
    days_remaining,
    days_to_detect,
    measure_recent_traffic,
    update_traffic_with_result,
)
from productrecs.records.events.event import EventKind, NewEvent
from productrecs.records.orders.order_and_purchase_ledger import NewOrderLine
from productrecs.storage.sql.database import Database
from tests.features.reports.shop import NOON, ReportedStore, click, impression

HALVES = (0.5, 0.5)


def traffic(variance: float, conversion: float = 0.5) -> ExperimentTraffic:
    """Return 100 visitors a day with a mean of 1."""
    return ExperimentTraffic(100, conversion, 1.0, variance)


# With rho = 0.00087818 n the interval and the power add up to
# sqrt(2 (rho + 1) / rho * ln(sqrt(rho + 1) / 0.05)) + 0.8416 standard errors: 3.87704 at
# n = 10,000 visitors and 4.60485 at 1,000; for alpha 0.025 it is 4.12104 at 10,000.
@pytest.mark.parametrize(
    ("of_visitors", "shares", "days"),
    [
        (traffic(0.04 * 10_000 / 4 / 3.87704**2), HALVES, 100),
        (traffic(0.04 * 1_000 / 4 / 4.60485**2), HALVES, 10),
        # 10 % held out: 1 / 0.1 + 1 / 0.9 = 11.11 instead of 1 / 0.5 + 1 / 0.5 = 4
        (traffic(0.04 * 10_000 * 0.09 / 3.87704**2), (0.1, 0.9), 100),
        # Two variants: 10,000 visitors of a pair are 13,333 of all.
        (traffic(0.04 * 10_000 / 4.5 / 4.12104**2), (0.5, 0.25, 0.25), 133.33),
        # 50 conversions in the smaller arm: 5,000 visitors, or 25,000 with 10 %
        (traffic(0.0001, 0.02), HALVES, 50),
        (traffic(0.0001, 0.02), (0.1, 0.9), 250),
        (traffic(0.0001, 0.0), HALVES, None),
        (ExperimentTraffic(0, 0.1, 1.0, 1.0), HALVES, None),
        (ExperimentTraffic(100, 0.1, 0.0, 1.0), HALVES, None),
        (traffic(1.0), (0.0, 1.0), None),
    ],
)
def test_days_follow_from_the_visitors_the_split_and_the_interval(
    of_visitors: ExperimentTraffic, shares: tuple[float, ...], days: float | None
) -> None:
    found = days_to_detect(of_visitors, shares, 0.2)

    assert found == (None if days is None else pytest.approx(days, rel=0.001))


def test_visitors_of_a_running_test_count_towards_it() -> None:
    a_test = traffic(0.04 * 10_000 / 4 / 3.87704**2)

    assert days_remaining(a_test, HALVES, 0.2, 0) in {100, 101}
    assert days_remaining(a_test, HALVES, 0.2, 6_050) == 40
    assert days_remaining(a_test, HALVES, 0.2, 20_000) == 0
    assert days_remaining(traffic(1.0, 0.0), HALVES, 0.2, 10) is None


def test_traffic_is_that_of_the_tested_list_in_the_last_28_days(
    tmp_path: Path, database: Database
) -> None:
    shop = ReportedStore(database, tmp_path)
    start = NOON - 10 * DAY_MS
    for n in range(40):
        widget = "cart" if n < 20 else "fbt"
        shop.send(impression("lamp", f"s_{n}", widget=widget), at=start)
    shop.send(impression("lamp", "s_old", widget="cart"), at=NOON - 40 * DAY_MS)
    shop.send(NewEvent(EventKind.SEARCH_PREF, session_id="s_1", term="lamp"), at=start + 9)
    shop.send(click("lamp", "s_2"), at=start + 9)
    line = NewOrderLine("lamp", 1, 30.0)
    for n in (3, 4, 21):
        shop.order(f"o_{n}", line, session=f"s_{n}", at=start + DAY_MS)

    def found(subject: str | None, goal: str) -> ExperimentTraffic:
        return measure_recent_traffic(database, shop.store, subject, goal, NOON)

    cart, other = found("cart", "revenue"), found("home", "revenue")
    assert (cart.visitors_per_day, cart.conversion, cart.mean) == (2.0, 0.1, 3.0)
    assert cart.variance == pytest.approx(30**2 * 0.1 * 0.9)
    assert found("cart", "clicks").conversion == 0.05
    assert found("", "orders").visitors_per_day == 0.1
    assert (other.visitors_per_day, other.is_whole_store) == (4.0, True)
    assert found(None, "revenue") == ExperimentTraffic(4.0, 0.075, 2.25, other.variance)


def test_a_running_test_uses_its_own_numbers_once_it_has_enough() -> None:
    metric = {"control": 0.2, "visitor_variance": 0.64, "conversions": 60}
    result: dict[str, Any] = {
        "days": 4.0,
        "goal": "orders",
        "arms": [{"visitors": 200, "conversion": 60}, {"visitors": 200, "conversion": 60}],
        "metrics": {"b": {"orders": metric}},
    }

    measured = update_traffic_with_result(traffic(9.0), result)
    early = update_traffic_with_result(
        traffic(9.0), {**result, "metrics": {"b": {"orders": {**metric, "conversions": 9}}}}
    )

    assert (measured.visitors_per_day, measured.conversion, measured.mean) == (
        100,
        0.3,
        0.2,
    )
    assert measured.variance == pytest.approx(0.16)
    assert (early.visitors_per_day, early.variance) == (100.0, 9.0)
    assert update_traffic_with_result(traffic(9.0), None) == traffic(9.0)
