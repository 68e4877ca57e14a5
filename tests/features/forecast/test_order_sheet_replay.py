"""Replay of orders: the sheets of past days, from what was known then."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from productrecs.core.clock import DAY_MS
from productrecs.features.forecast import order_sheet_replay
from productrecs.features.forecast.order_sheet_replay import (
    order_replay_report,
    replay_order_rules_and_store_result,
)
from productrecs.features.forecast.replenishment_simulation import simulate_replenishment
from productrecs.report_registry import report_to_dict
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import change_settings, find_store
from productrecs.training.demand.demand_inputs import read_demand_inputs
from productrecs.training.demand.repository import track_stock_outs
from tests.training.demand.test_forecast_run import (
    NIGHT,
    TODAY,
    run,
    sell,
    sell_daily,
    stock,
    store,
)

__all__ = ["store"]


def replayed(database: Database, store: Store) -> dict[str, Any]:
    replay_order_rules_and_store_result(database, store, NIGHT)
    return report_to_dict(order_replay_report(database, store, max_rows=20))


@pytest.fixture
def trading(database: Database, store: Store) -> Store:
    """Return a store that sold some tents a day for half a year, by chance."""
    change_settings(database, store, {"lead_time_days": "7"})
    stock(database, store, tent={"price": 20.0, "cost": 8.0, "stock_qty": 5})
    units = np.random.default_rng(4).negative_binomial(1, 0.2, 181)  # a mean of 4
    rows = [
        f"{back}-{one},tent,{TODAY - timedelta(days=back)}T18:00:00,1,20"
        for back in range(1, 181)
        for one in range(units[back])
    ]
    sell(database, store, *rows)
    run(database, store)
    return find_store(database, store.domain)


def test_sheets_and_plain_rules_are_compared_on_the_same_days(
    database: Database, trading: Store
) -> None:
    report = replayed(database, trading)

    figures = {one["name"]: one["value"] for one in report["figures"]}
    rows = {row["rule"]: row for row in report["rows"]}
    assert (figures["days"], figures["products"]) == (89, 1)
    assert figures["last_day"] == "2026-03-01"
    sheets = rows.pop("order sheets")
    assert len(rows) == 3
    assert sheets["days_out"] < rows["average of 4 weeks"]["days_out"]
    assert sheets["lost_revenue"] == 20 * sheets["lost_units"]
    assert 0 < sheets["stock_value"] < 8 * 300
    assert 5 < sheets["order_days"] == sheets["order_lines"] <= 13


def test_the_past_sheets_know_nothing_later(
    database: Database, trading: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = 21

    def other_end(*arguments: Any) -> Any:
        inputs = read_demand_inputs(*arguments)
        amounts = inputs.demand.amounts.copy()
        amounts[:, -kept:] *= 50
        return replace(inputs, demand=inputs.demand.with_amounts(amounts))

    orders: list[list[float]] = []

    def watched(scenario: Any, rule: Any) -> Any:
        days = scenario.demand.shape[1] - kept
        ordered = [0.0] * days

        def order(day: int, stock: Any, arriving: Any) -> Any:
            units = rule(day, stock, arriving)
            if day < days:
                ordered[day] = float(units.sum())
            return units

        found = simulate_replenishment(scenario, order)
        orders.append(ordered)
        return found

    monkeypatch.setattr(order_sheet_replay, "simulate_replenishment", watched)
    replayed(database, trading)
    first = orders.copy()
    orders.clear()
    monkeypatch.setattr(order_sheet_replay, "read_demand_inputs", other_end)
    replayed(database, trading)

    assert np.sum(first[0]) > 0
    assert orders == first


def test_recorded_days_without_stock_are_beside_it(
    database: Database, trading: Store
) -> None:
    monday = NIGHT - 10 * DAY_MS
    stock(database, trading, tent={"stock_qty": 0})
    track_stock_outs(database, trading.store_id, monday)
    stock(database, trading, tent={"stock_qty": 9})
    track_stock_outs(database, trading.store_id, monday + 3 * DAY_MS)

    report = replayed(database, trading)

    recorded = report["rows"][-1]
    assert (recorded["rule"], recorded["days_out"]) == ("as recorded", 3)
    assert recorded["stock_value"] is None
    assert any("at noon, since 2026-02-20." in note for note in report["notes"])


def test_a_short_history_is_not_replayed(database: Database, store: Store) -> None:
    stock(database, store, tent={"price": 20.0}, lamp={"price": 7.0})
    sell_daily(database, store, days=80)
    run(database, store)

    report = replayed(database, store)

    assert report["rows"] == []
    assert "needs 126 days of orders" in report["notes"][0]
    assert "The store has 80 days." in report["notes"][0]


def test_many_products_are_sampled(
    database: Database, trading: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(order_sheet_replay, "_MAX_PRODUCTS", 2)
    names = [f"item-{n}" for n in range(4)]
    facts: dict[str, Any] = {name: {"price": 5.0} for name in names}
    stock(database, trading, **facts)
    sell(
        database,
        trading,
        *(
            f"{name}-{back},{name},{TODAY - timedelta(days=back)}T12:00:00,1,5"
            for name in names
            for back in range(1, 170, 3)
        ),
    )
    run(database, trading)

    report = replayed(database, trading)

    assert any(
        "2 of 5 products are replayed" in note and "sold in the half year before" in note
        for note in report["notes"]
    )
