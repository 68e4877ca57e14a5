"""Stock actions: sorted by money at stake."""

from datetime import date
from typing import Any

import numpy as np
import pytest

from productrecs.core.clock import DAY_MS
from productrecs.core.timestamps import parse_timestamp
from productrecs.features.forecast.repository import (
    ForecastItemRow,
    ForecastRun,
    ItemsWithExpectedSales,
)
from productrecs.features.forecast.stock_actions import (
    StockAction,
    StockAlert,
    plan_stock_actions,
)
from productrecs.records.catalog.availability import Availability
from productrecs.records.purchase_orders.purchase_order_line import OrderedUnits
from productrecs.tenancy.accounts.store_settings import StoreSettings

NIGHT = parse_timestamp("2026-03-02T02:00Z")
RUN = ForecastRun(NIGHT, "2026-03-03", "units", [], {}, None, None, 0, 0, 1.0)
SETTINGS = StoreSettings(lead_time_days=7, order_every_days=7, overstock_days=60)

Told = tuple[ForecastItemRow, float]  # and what it sells on each day


def item(name: str, pace: float, stock: int | None, **facts: Any) -> Told:
    known: dict[str, Any] = {
        "sku": None,
        "title": name.title(),
        "price": 10.0,
        "cost": None,
        "availability": None,
        "available_from": None,
        "available_until": None,
        "method": "statistical",
        "spread": 1.0,
        "sold": None,
    }
    return ForecastItemRow(item_id=name, stock_qty=stock, **(known | facts)), pace


def planned(
    *items: Told, now: int = NIGHT, by: str | None = None, limit: int = 100
) -> dict[str, StockAction]:
    paces = np.repeat([[pace] for _, pace in items] or np.zeros((0, 1)), 28, axis=1)
    stocked = ItemsWithExpectedSales([one for one, _ in items], paces, 2 * paces)
    actions = plan_stock_actions(stocked, RUN, SETTINGS, now)
    return (
        {}
        if actions is None
        else {one.item_id: one for one in actions.top_actions(limit, by)}
    )


def test_alerts_come_in_order_of_money() -> None:
    found = planned(
        item("fine", 2, 60),
        item("dear", 2, 0, price=500.0),
        item("cheap", 2, 0, price=1.0),
        item("soon", 2, 4, price=50.0),
        item("heap", 1, 1_000, cost=2.0),
    )

    assert list(found) == ["dear", "heap", "soon", "cheap", "fine"]
    assert [one.alert for one in found.values()] == [
        StockAlert.OUT_OF_STOCK,
        StockAlert.OVERSTOCK,
        StockAlert.RUNS_OUT,
        StockAlert.OUT_OF_STOCK,
        None,
    ]
    assert found["dear"].money == found["dear"].revenue_at_risk == 14 * 500.0
    assert found["heap"].money == (1_000 - 60) * 2.0


def test_an_order_is_dated_and_counted() -> None:
    fine = planned(item("fine", 2, 60))["fine"]

    assert fine.days_of_cover == 30.0
    assert fine.stockout_date == date(2026, 4, 2)
    assert fine.order_date is not None
    assert date(2026, 3, 18) < fine.order_date < date(2026, 3, 26)
    assert fine.order_quantity is not None
    assert 14 < fine.order_quantity < 30


def test_days_that_have_passed_since_the_run_are_left_out() -> None:
    fresh = planned(item("fine", 2, 60))["fine"]
    stale = planned(item("fine", 2, 60), now=NIGHT + 9 * DAY_MS)["fine"]

    assert stale.days_of_cover == fresh.days_of_cover == 30.0
    assert stale.stockout_date == date(2026, 4, 11)
    assert planned(item("fine", 2, 60), now=NIGHT + 40 * DAY_MS) == {}


def test_without_a_price_there_is_an_alert_and_no_money() -> None:
    one = planned(item("plain", 2, 0, price=None))["plain"]

    assert (one.alert, one.money) == (StockAlert.OUT_OF_STOCK, None)


def test_uncounted_stock_that_is_marked_out_counts_as_none() -> None:
    out = item("out", 2, None, availability=Availability.OUT_OF_STOCK)

    assert planned(out)["out"].alert is StockAlert.OUT_OF_STOCK
    assert planned(item("open", 2, None))["open"].alert is None


def test_what_is_discontinued_is_not_ordered_again_and_is_too_much() -> None:
    last = item("last", 2, 10, availability=Availability.DISCONTINUED)

    found = planned(last)["last"]

    assert found.order_date is None
    assert found.alert is StockAlert.OVERSTOCK
    assert found.overstock_units == 10


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("stockout_date", ["none", "soon", "later", "never"]),
        ("order_date", ["none", "soon", "later", "never"]),
        ("expected_28_days", ["later", "none", "soon", "never"]),
        ("overstock_value", ["never", "none", "soon", "later"]),
    ],
)
def test_actions_come_in_other_orders_too(by: str, names: list[str]) -> None:
    some = (
        item("soon", 2, 20),
        item("never", 0, 9),
        item("later", 3, 99),
        item("none", 2, 0),
    )

    assert list(planned(*some, by=by)) == names
    assert list(planned(*some, by=by, limit=2)) == names[:2]


def test_what_is_outside_its_window_is_not_expected_to_sell() -> None:
    found = planned(
        item("short", 2, 60, available_until="2026-03-06"),
        item("late", 2, 60, available_from="2026-03-29"),
    )

    assert (found["short"].expected_28_days, found["late"].expected_28_days) == (8.0, 4.0)


def test_no_products_have_no_actions() -> None:
    assert planned() == {}


@pytest.mark.parametrize(
    ("stock", "day", "alert"),
    [
        (4, "2026-03-09", StockAlert.RUNS_OUT),
        (4, "2026-03-05", None),  # they arrive before the stock is sold
        (0, "2026-03-09", StockAlert.OUT_OF_STOCK),
    ],
)
def test_goods_on_order_end_no_alert_before_they_arrive(
    stock: int, day: str, alert: StockAlert | None
) -> None:
    tent = planned(item("tent", 2, stock, on_order=(OrderedUnits(200, day),)))["tent"]

    assert tent.alert is alert
    assert tent.order_date != date(2026, 3, 2), "nothing has to be ordered again"


def test_goods_on_order_count_until_they_are_a_week_late() -> None:
    def order_of(day: str) -> StockAction:
        return planned(item("tent", 2, 4, on_order=(OrderedUnits(100, day),)))["tent"]

    soon, late, forgotten = (
        order_of(day) for day in ("2026-03-05", "2026-02-23", "2026-02-22")
    )

    assert (soon.on_order, late.on_order, forgotten.on_order) == (100, 100, 0)
    assert soon.order_date == late.order_date != date(2026, 3, 2)
    assert forgotten.order_date == date(2026, 3, 2)


def test_the_mean_price_paid_is_a_unit_cost_in_cents() -> None:
    found = planned(item("paid", 2, 0, price=3.3215), item("screw", 2, 0, cost=0.0125))

    assert (found["paid"].unit_cost, found["paid"].has_cost) == (3.32, False)
    assert (found["screw"].unit_cost, found["screw"].has_cost) == (0.0125, True)
