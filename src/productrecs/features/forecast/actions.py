"""What should a merchant do about stock, and what is it worth? In order of money."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta, tzinfo
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import numpy as np

from productrecs.engines.demand.stock import Outlook, StockPlan, Supply, plan_stock
from productrecs.features.forecast.cover import cover_of
from productrecs.features.forecast.dates import dates_from, days_as_offered, today_of
from productrecs.features.forecast.item import runs_out
from productrecs.features.forecast.repository import (
    NOTHING,
    DayAhead,
    ItemForecast,
    Run,
)
from productrecs.records.catalog.availability import Availability

if TYPE_CHECKING:
    from collections.abc import Sequence

    from productrecs.tenancy.accounts.settings import StoreSettings

_WORTH_A_WORD: Final = 0.5  # units that may be lost, before it is told


class Alert(StrEnum):
    """What is the matter with a product's stock; the most pressing of it."""

    OUT_OF_STOCK = "out_of_stock"  # and wanted
    RUNS_OUT = "runs_out"  # before an order of today comes
    ORDER_NOW = "order_now"  # an order is due
    OVERSTOCK = "overstock"  # stock for longer than the store wants


@dataclass(frozen=True, slots=True)
class Action:
    """What is expected of one product, and what to do; money in the store's currency."""

    item_id: str
    sku: str | None
    title: str
    method: str
    alert: Alert | None
    money: float | None  # at risk, or bound in too much; None where no price is known
    stock_qty: int | None
    sold_30_days: float | None  # before the run, returns taken off
    sold_60_days: float | None
    sold_90_days: float | None
    expected_28_days: float
    days_of_cover: float | None
    stockout_date: date | None
    order_date: date | None
    order_quantity: int | None
    revenue_at_risk: float | None
    overstock_units: int | None
    overstock_value: float | None


def plan_actions(
    items: Sequence[ItemForecast], run: Run, settings: StoreSettings, now_ms: int
) -> list[Action]:
    """Return an action for each forecast product, that of most money first.

    None once all days of the forecast have passed.

    Revenue at risk is what will be wanted and not there before an order of today comes, at
    today's price. Too much is valued at cost, or at the price where no cost is known.
    Products whose stock is not counted have neither.
    """
    zone = settings.zone
    today = today_of(now_ms, zone)
    dates = dates_from(run.first_day)
    if not items or dates[-1] <= today:
        return []
    begun = sum(one <= today for one in dates)
    paths = [_ahead(item, run, zone, begun) for item in items]
    supply = Supply(
        lead_days=settings.lead_time_days,
        service=settings.service_level / 100,
        order_days=settings.order_every_days,
        overstock_days=settings.overstock_days,
    )
    outlook = Outlook(
        np.array([[day.mean for day in path] for path in paths], np.float64),
        np.array([[day.p90 for day in path] for path in paths], np.float64),
        np.array([item.spread for item in items]),
    )
    stock = np.array([_units(item) for item in items], np.float64)
    plan = plan_stock(stock, outlook, supply)
    actions = [
        _action(item, paths[row], plan, row, today) for row, item in enumerate(items)
    ]
    return sorted(actions, key=_by_money)


def _ahead(item: ItemForecast, run: Run, zone: tzinfo, begun: int) -> list[DayAhead]:
    """Return the days from tomorrow on; `begun` of the run's have passed."""
    days = days_as_offered(item, run.first_day, zone)
    if not begun:
        return days
    later = days[begun:]
    # All paths have one length; what is missing at the end is the average of the rest.
    return [*later, *([_average(later)] * (len(days) - len(later)))]


def _average(days: Sequence[DayAhead]) -> DayAhead:
    if not days:
        return NOTHING
    columns = zip(*days, strict=True)
    return DayAhead(*(sum(column) / len(days) for column in columns))


def _units(item: ItemForecast) -> float:
    """Return the units in stock, NaN where nobody counts them."""
    if item.stock_qty is not None:
        return float(item.stock_qty)
    return 0.0 if item.availability is Availability.OUT_OF_STOCK else np.nan


def _action(
    item: ItemForecast, path: list[DayAhead], plan: StockPlan, row: int, today: date
) -> Action:
    means = [day.mean for day in path]
    sold = (None, None, None) if item.sold is None else item.sold
    units = _units(item)
    stock = None if np.isnan(units) else int(units)
    cover = cover_of(stock, means)
    order_in, surplus = int(plan.order_in[row]), float(plan.surplus[row])
    at_risk = _worth(float(plan.lost[row]), item.price)
    too_much = None if np.isnan(surplus) else int(surplus)
    bound = _worth(surplus, item.price if item.cost is None else item.cost)
    alert = _alert(stock, float(plan.lost[row]), order_in, too_much)
    return Action(
        item_id=item.item_id,
        sku=item.sku,
        title=item.title,
        method=item.method or "statistical",
        alert=alert,
        money=bound if alert is Alert.OVERSTOCK else at_risk,
        stock_qty=item.stock_qty,
        sold_30_days=sold[0],
        sold_60_days=sold[1],
        sold_90_days=sold[2],
        expected_28_days=round(sum(means), 1),
        days_of_cover=None if cover is None else round(cover, 1),
        stockout_date=None if cover is None else runs_out(today, cover),
        order_date=None if order_in < 0 else today + timedelta(days=order_in),
        order_quantity=None if order_in < 0 else int(plan.quantity[row]),
        revenue_at_risk=at_risk,
        overstock_units=too_much,
        overstock_value=bound,
    )


def _alert(
    stock: int | None, lost: float, order_in: int, too_much: int | None
) -> Alert | None:
    if stock is None:
        return None
    if stock <= 0:
        return Alert.OUT_OF_STOCK if lost > 0 else None
    if order_in == 0:
        return Alert.RUNS_OUT if lost > _WORTH_A_WORD else Alert.ORDER_NOW
    return Alert.OVERSTOCK if too_much else None


def _worth(units: float, price: float | None) -> float | None:
    return None if price is None or np.isnan(units) else round(units * price, 2)


def _by_money(action: Action) -> tuple[bool, float, float, str]:
    return (
        action.alert is None,
        -(action.money or 0.0),
        -action.expected_28_days,
        action.item_id,
    )
