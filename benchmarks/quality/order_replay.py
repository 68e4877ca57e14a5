"""What order sheets lead to on Online Retail: days without stock, and stock held.

Sales of the last 112 days are replayed by the code that a store's page shows. Stock is in
units: each product counts as one, whatever it costs. Orders of 1,000 units and more are
left out.
"""

from __future__ import annotations

from datetime import UTC, date
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.quality.datasets import online_retail_sales
from benchmarks.quality.demand import history
from benchmarks.report import Figure
from productrecs.engines.demand.price_elasticity import HighestPaidPrices
from productrecs.features.forecast.order_sheet_replay import replay_order_rules
from productrecs.features.forecast.repository import ForecastItemRow
from productrecs.tenancy.accounts.store_settings import StoreSettings
from productrecs.training.demand.demand_inputs import DemandInputs, days_between

if TYPE_CHECKING:
    from benchmarks.report import Report

_LEAD_DAYS: Final = (7, 14, 28)
_LARGEST_DAY: Final = 1_000


def measure(report: Report) -> None:
    """Add the figures of the order sheets and of plain rules."""
    amounts, first = online_retail_sales()
    amounts[amounts >= _LARGEST_DAY] = 0
    demand = history(amounts, first)
    begin = date.fromordinal(first)
    days = days_between(begin, date.fromordinal(first + demand.days), UTC)
    everything = np.ones((demand.items, 29), np.bool_)
    nothing = np.zeros(0, np.int64)
    inputs = DemandInputs(
        demand,
        everything,
        np.arange(demand.items),
        days,
        [],
        "units",
        0,
        HighestPaidPrices(nothing, nothing, np.zeros(0)),
    )
    items = [
        ForecastItemRow(
            *(f"item-{number}", None, "", 1.0, None, 0, None, None, None),
            *("statistical", 1.0, None),
            number=number,
        )
        for number in range(demand.items)
    ]
    for lead_days in _LEAD_DAYS:
        settings = StoreSettings(lead_time_days=lead_days, order_every_days=7)
        found = replay_order_rules(inputs, items, settings)
        assert found is not None
        replay, rows = found
        for rule, _, share, lost, _, stock, *_ in rows:
            title = f"orders, {lead_days} days of lead time, {rule}"
            note = f"{len(replay.items)} products"
            report.add(Figure(f"{title}, days out of stock", share, "share", note=note))
            report.add(Figure(f"{title}, units lost", lost, "units", note=note))
            report.add(Figure(f"{title}, mean stock", stock, "units", note=note))
