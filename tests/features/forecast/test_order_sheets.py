"""Order sheets: packs, minimum orders and a budget, by supplier."""

import math
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from productrecs.features.forecast.order_sheets import OrderSheet, plan_order_sheets
from productrecs.features.forecast.repository import ItemsWithExpectedSales
from productrecs.features.forecast.stock_actions import (
    ORDER_ALERTS,
    StockAction,
    plan_stock_actions,
)
from productrecs.records.suppliers.supplier import Supplier
from tests.features.forecast.test_stock_actions import (
    NIGHT,
    RUN,
    SETTINGS,
    item,
    planned,
)

TODAY = date(2026, 3, 2)


def actions(**terms: Any) -> dict[str, StockAction]:
    """Return what to do about a tent and a lamp, of which two are sold a day."""
    return planned(
        item("tent", 2, 4, cost=50.0, supplier="Tents Ltd", **terms),
        item("lamp", 2, 8, cost=5.0, price=6.0),
        item("rich", 2, 900),
    )


def sheets(
    found: dict[str, StockAction],
    budget: float = 0.0,
    minimum_order: float = 0.0,
    budget_of_supplier: float | None = None,
) -> dict[str, OrderSheet]:
    name = "Tents Ltd"
    suppliers = {name: Supplier(name, None, None, minimum_order, budget_of_supplier)}
    made = plan_order_sheets(found.values(), suppliers, budget, TODAY)
    return {one.supplier: one for one in made}


def quantities(made: dict[str, OrderSheet]) -> dict[str, int]:
    return {
        line.action.item_id: line.quantity for one in made.values() for line in one.lines
    }


def test_each_supplier_has_a_sheet_of_what_is_due() -> None:
    found = actions()

    made = sheets(found)

    assert list(made) == ["Tents Ltd", ""]
    assert quantities(made) == {
        name: found[name].order_quantity for name in ("tent", "lamp")
    }
    (line,) = made["Tents Ltd"].lines
    assert made["Tents Ltd"].cost == line.cost == 50.0 * line.quantity


def test_quantities_are_whole_packs_of_at_least_the_minimum() -> None:
    one, packs, many = (
        actions(**terms)["tent"].order_quantity or 0
        for terms in ({}, {"pack_size": 24}, {"minimum_quantity": 100, "pack_size": 24})
    )

    assert packs % 24 == 0
    assert one <= packs < one + 24
    assert many == 120


def test_a_supplier_with_a_long_lead_time_is_asked_for_more_and_earlier() -> None:
    short, long = (
        planned(item("tent", 2, 40, lead_time_days=days))["tent"] for days in (7, 30)
    )

    assert short.order_date is not None
    assert long.order_date is not None
    assert long.order_date < short.order_date
    assert long.lead_time_days == 30
    assert long.lead_time_sales == pytest.approx(60)


def test_what_is_due_before_the_next_order_is_ordered_now() -> None:
    tent = actions()["tent"]
    tomorrow, later = (
        replace(tent, order_date=TODAY + timedelta(days=days)) for days in (6, 7)
    )

    assert quantities(sheets({"tent": tomorrow})) == {"tent": tent.order_quantity}
    assert sheets({"tent": later}) == {}


@given(
    stocks=st.lists(st.integers(0, 60), min_size=1, max_size=30),
    paces=st.lists(st.floats(0.01, 4), min_size=30, max_size=30),
)
def test_every_product_of_a_sheet_is_in_a_figure_of_demand(
    stocks: list[int], paces: list[float]
) -> None:
    told = [item(f"{n}", paces[n], stock) for n, stock in enumerate(stocks)]
    rows = [one for one, _ in told]
    means = np.repeat([[pace] for _, pace in told], 28, axis=1)
    stocked = ItemsWithExpectedSales(rows, means, 2 * means)
    found = plan_stock_actions(stocked, RUN, SETTINGS, NIGHT)
    assert found is not None

    made = plan_order_sheets(found.top_actions(100), {}, 0.0, TODAY)

    counted = found.due_later_count + sum(found.count(alert) for alert in ORDER_ALERTS)
    assert sum(len(sheet.lines) for sheet in made) == counted


def test_a_sheet_begins_with_what_is_due_first() -> None:
    tent = actions()["tent"]
    late, soon, early, risky = (
        replace(
            tent,
            item_id=name,
            order_date=TODAY + timedelta(days=days),
            revenue_at_risk=at_risk,
        )
        for name, days, at_risk in (
            *(("late", 5, 90.0), ("soon", 2, 1.0)),
            *(("early", 0, 1.0), ("risky", 0, 9.0)),
        )
    )
    made = sheets({one.item_id: one for one in (late, soon, early, risky)})

    (sheet,) = made.values()
    ordered = [line.action.item_id for line in sheet.lines]
    assert ordered == ["risky", "early", "soon", "late"]


def test_a_sheet_is_filled_to_the_minimum_order_in_packs() -> None:
    found = actions(pack_size=10)

    made = sheets(found, minimum_order=5_000.0)["Tents Ltd"]

    assert 5_000 <= made.cost < 5_000 + 10 * 50.0
    assert made.lines[0].quantity % 10 == 0
    assert made.below_minimum == 0


def test_a_minimum_that_would_last_over_a_year_is_not_filled() -> None:
    made = sheets(actions(), minimum_order=1e9)["Tents Ltd"]

    assert made.lines[0].quantity < 2 * 366
    assert made.below_minimum == 1e9 - made.cost


def test_the_budget_of_a_supplier_is_for_its_sheet_alone() -> None:
    found = actions()
    lamps = found["lamp"].order_quantity

    own = sheets(found, budget_of_supplier=120.0)
    both = sheets(found, budget=60.0, budget_of_supplier=1e6)

    assert quantities(own) == {"lamp": lamps, "tent": 2}
    assert sum(one.cost for one in both.values()) <= 60.0


def test_a_budget_buys_first_of_each_product_what_an_order_of_today_saves() -> None:
    found = actions()
    (lamp, tent) = (found[name] for name in ("lamp", "tent"))
    saved = math.ceil(lamp.units_saved)
    assert saved < (lamp.order_quantity or 0)

    little, more = (
        sheets(found, budget=saved * 5.0 + tents * 50)
        for tents in (1, math.ceil(tent.units_saved))
    )

    assert quantities(little) == {"lamp": saved, "tent": 1}
    assert quantities(more) == {"lamp": saved, "tent": math.ceil(tent.units_saved)}
    (line,) = little["Tents Ltd"].lines
    assert line.over_budget == (tent.order_quantity or 0) - 1


def test_a_budget_spent_to_the_last_cent_still_buys_what_is_free() -> None:
    found = planned(
        item("clip", 1, 0, cost=0.1, price=1.0), item("gift", 1, 0, cost=0.0, price=None)
    )

    made = sheets(found, budget=0.3)  # as floats, 3 clips cost .30000000000000004

    assert quantities(made)["clip"] == 3
    assert quantities(made)["gift"] > 0


def test_a_budget_buys_no_less_of_a_product_than_its_minimum() -> None:
    found = actions(minimum_quantity=40)

    assert quantities(sheets(found, budget=39 * 50.0))["tent"] == 0
    assert quantities(sheets(found, budget=60 * 50.0))["tent"] >= 40


def test_a_budget_does_not_buy_what_is_lost_whatever_one_orders() -> None:
    # The forks are sold out for good, and sell seldom. The espresso lasts until an order
    # of today arrives, and no longer.
    found = planned(
        item("forks", 0.2, 0, cost=20.0, price=100.0, spread=2.0),
        item("espresso", 3, 21, cost=6.0, price=12.0),
    )
    forks, espresso = found["forks"], found["espresso"]
    assert (forks.order_quantity or 0) > 5
    assert forks.revenue_at_risk == pytest.approx(0.2 * 7 * 100)
    assert forks.revenue_saved == pytest.approx(0.2 * 7 * 100)
    assert espresso.revenue_saved == pytest.approx(3 * 7 * 12, rel=0.2)

    made = sheets(found, budget=6.0 * math.ceil(espresso.units_saved) + 2 * 20)

    saved = {"espresso": math.ceil(espresso.units_saved), "forks": 2}
    assert quantities(made) == saved  # not the forks that may be sold in months


@given(
    budget=st.floats(0.01, 5_000),
    pack_size=st.integers(1, 30),
    minimum=st.floats(0, 3_000),
    is_known=st.booleans(),
)
def test_a_budget_is_never_exceeded(
    budget: float, pack_size: int, minimum: float, *, is_known: bool
) -> None:
    found = actions(pack_size=pack_size)
    if not is_known:
        found["lamp"] = replace(found["lamp"], unit_cost=None)

    made = sheets(found, budget=budget, minimum_order=minimum)

    assert sum(one.cost for one in made.values()) <= budget + 0.01
    for line in (line for one in made.values() for line in one.lines):
        assert line.quantity % line.action.pack_size == 0
        assert line.quantity >= 0
        assert line.over_budget >= 0
