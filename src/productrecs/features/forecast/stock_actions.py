"""Stock actions: alerts, order dates and quantities for each product, by money at stake."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date, timedelta, tzinfo
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import numpy as np

from productrecs.features.forecast.forecast_replies import (
    dates_from,
    days_of_cover_by_item,
    offered_day_mask,
    stockout_day,
    today_of,
)
from productrecs.features.forecast.stock_plan import (
    ExpectedDemand,
    IncomingGoods,
    ReplenishmentPolicy,
    StockPlan,
    plan_stock,
)
from productrecs.records.catalog.availability import Availability
from productrecs.records.purchase_orders.purchase_order_line import MAX_DAYS_LATE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from productrecs.engines.array_types_and_sorting import Floats, Ints
    from productrecs.features.forecast.repository import (
        ForecastItemRow,
        ForecastRun,
        ItemsWithExpectedSales,
    )
    from productrecs.tenancy.accounts.store_settings import StoreSettings

_MIN_UNITS_AT_RISK: Final = 0.5  # units at risk from which an alert is raised


class StockAlert(StrEnum):
    """The stock problem of a product; the most urgent one."""

    OUT_OF_STOCK = "out_of_stock"  # and in demand
    RUNS_OUT = "runs_out"  # before an order placed today, or goods on order, arrive
    ORDER_NOW = "order_now"  # an order is due
    OVERSTOCK = "overstock"  # stock for longer than the store wants


_ALERTS: Final = tuple(StockAlert)

ORDER_ALERTS: Final = (StockAlert.OUT_OF_STOCK, StockAlert.RUNS_OUT, StockAlert.ORDER_NOW)
"""The alerts of products that have to be ordered today, or are on order."""

SORT_ORDERS: Final = ("stockout_date", "order_date", "expected_28_days", "overstock_value")
"""The sort orders of actions, besides money."""


@dataclass(frozen=True, slots=True)
class StockAction:
    """The forecast of one product and its action; money is in the store's currency."""

    item_id: str
    sku: str | None
    title: str
    method: str
    alert: StockAlert | None
    money: float | None  # revenue at risk or overstock value; None: the price is unknown
    stock_qty: int | None
    sold_30_days: float | None  # before the run, minus returns
    sold_60_days: float | None
    sold_90_days: float | None
    expected_28_days: float
    days_of_cover: float | None
    stockout_date: date | None
    order_date: date | None
    order_quantity: int | None
    revenue_at_risk: float | None
    units_saved: float  # expected sales that an order of today saves
    revenue_saved: float | None  # the same in money
    overstock_units: int | None
    overstock_value: float | None
    lead_time_sales: float
    safety_stock: float
    supplier: str | None
    lead_time_days: int
    order_every_days: int
    pack_size: int
    minimum_quantity: int
    unit_cost: float | None  # the cost, else the price
    has_cost: bool  # whether `unit_cost` is the cost
    on_order: int  # units that were ordered and have not arrived


def is_due_before_next_order(order_date: date | None, every_days: int, today: date) -> bool:
    """Return whether an order of today should have the product: the next is too late."""
    return order_date is not None and order_date < today + timedelta(days=every_days)


class StockActions:
    """The actions for every forecast product, computed together."""

    def __init__(
        self,
        stocked: ItemsWithExpectedSales,
        run: ForecastRun,
        settings: StoreSettings,
        today: date,
    ) -> None:
        """Compute the actions for a `run` that has days ahead."""
        self._items, self._today = stocked.items, today
        means, p90s = _expected_sales_from_tomorrow(stocked, run, settings.zone, today)
        spreads = np.array([item.spread for item in self._items], np.float64)
        policy = _replenishment_policy(self._items, settings)
        size = len(self._items)
        self._lead_days = np.broadcast_to(policy.lead_days, size)
        self._order_days = np.broadcast_to(policy.order_days, size)
        self._stock = np.array([_units_in_stock(item) for item in self._items], np.float64)
        self._on_order = _goods_on_order(self._items, today)
        self._plan = plan_stock(
            self._stock, ExpectedDemand(means, p90s, spreads), policy, self._on_order
        )
        self._expected = means.sum(axis=1)
        self._days_of_cover = days_of_cover_by_item(self._stock, means)
        prices = _nan_if_none([item.price for item in self._items])
        costs = _nan_if_none([item.cost for item in self._items])
        self._revenue_at_risk = np.round(self._plan.lost * prices, 2)
        self._revenue_saved = np.round(self._plan.saved * prices, 2)
        unit_values = np.where(np.isnan(costs), np.round(prices, 2), costs)
        self._unit_values = unit_values
        self._overstock_values = np.round(self._plan.surplus * unit_values, 2)
        self._most_urgent_alert_codes = _most_urgent_alert_codes(self._stock, self._plan)
        self._units_on_order = self._on_order.arriving_until(np.full(size, np.inf))
        is_overstock = self._most_urgent_alert_codes == _ALERTS.index(StockAlert.OVERSTOCK)
        self._money = np.where(is_overstock, self._overstock_values, self._revenue_at_risk)

    def __len__(self) -> int:
        """Return how many products there are."""
        return len(self._items)

    @property
    def revenue_at_risk(self) -> float:
        """The revenue at risk of all products."""
        return round(float(np.nansum(self._revenue_at_risk)), 2)

    @property
    def overstock_value(self) -> float:
        """The overstock value of all products."""
        return round(float(np.nansum(self._overstock_values)), 2)

    @property
    def healthy_count(self) -> int:
        """How many products have a stock count and no alert."""
        counted = np.array([item.stock_qty is not None for item in self._items], np.bool_)
        return int((counted & (self._most_urgent_alert_codes < 0)).sum())

    def count(self, alert: StockAlert) -> int:
        """Return how many products have this alert."""
        return int((self._most_urgent_alert_codes == _ALERTS.index(alert)).sum())

    @property
    def due_later_count(self) -> int:
        """How many products without an order alert are due before the next order."""
        is_due = (self._plan.order_in >= 0) & (self._plan.order_in < self._order_days)
        to_order = [_ALERTS.index(alert) for alert in ORDER_ALERTS]
        return int((is_due & ~np.isin(self._most_urgent_alert_codes, to_order)).sum())

    def top_actions(self, limit: int, by: str | None = None) -> list[StockAction]:
        """Return the first `limit` actions, sorted by money, or by one of `SORT_ORDERS`.

        Ties are sorted by money, then by id.
        """
        order = np.lexsort(
            (
                -self._expected,
                -np.nan_to_num(self._money),
                self._most_urgent_alert_codes < 0,
            )
        )
        if by is not None:
            order = order[np.argsort(self._sort_keys(by)[order], kind="stable")]
        return [self._stock_action(row) for row in order[:limit].tolist()]

    def _sort_keys(self, by: str) -> Floats:
        if by == "stockout_date":
            return np.nan_to_num(np.floor(self._days_of_cover), nan=np.inf)
        if by == "order_date":
            order_days = self._plan.order_in.astype(np.float64)
            return np.where(order_days < 0, np.inf, order_days)
        return -np.nan_to_num(
            self._overstock_values if by == "overstock_value" else self._expected
        )

    def _stock_action(self, row: int) -> StockAction:
        item, plan = self._items[row], self._plan
        order_in = int(plan.order_in[row])
        surplus = _none_if_nan(plan.surplus[row])
        cover = _none_if_nan(self._days_of_cover[row])
        code = int(self._most_urgent_alert_codes[row])
        sold = (None, None, None) if item.sold is None else json.loads(item.sold)
        return StockAction(
            item_id=item.item_id,
            sku=item.sku,
            title=item.title,
            method=item.method,
            alert=None if code < 0 else _ALERTS[code],
            money=_none_if_nan(self._money[row]),
            stock_qty=item.stock_qty,
            sold_30_days=sold[0],
            sold_60_days=sold[1],
            sold_90_days=sold[2],
            expected_28_days=round(float(self._expected[row]), 1),
            days_of_cover=None if cover is None else round(cover, 1),
            stockout_date=None if cover is None else stockout_day(self._today, cover),
            order_date=None if order_in < 0 else self._today + timedelta(days=order_in),
            order_quantity=None if order_in < 0 else int(plan.quantity[row]),
            revenue_at_risk=_none_if_nan(self._revenue_at_risk[row]),
            units_saved=float(np.nan_to_num(plan.saved[row])),
            revenue_saved=_none_if_nan(self._revenue_saved[row]),
            overstock_units=None if surplus is None else int(surplus),
            overstock_value=_none_if_nan(self._overstock_values[row]),
            lead_time_sales=round(float(plan.lead_demand[row]), 2),
            safety_stock=round(float(plan.safety[row]), 2),
            supplier=item.supplier,
            lead_time_days=int(self._lead_days[row]),
            order_every_days=int(self._order_days[row]),
            pack_size=item.pack_size or 1,
            minimum_quantity=item.minimum_quantity or 0,
            unit_cost=_none_if_nan(self._unit_values[row]),
            has_cost=item.cost is not None,
            on_order=int(self._units_on_order[row]),
        )


def _replenishment_policy(
    items: Sequence[ForecastItemRow], settings: StoreSettings
) -> ReplenishmentPolicy:
    """Return each item's policy: its supplier's terms, else the store's settings."""

    def term(name: str, otherwise: int) -> Floats:
        values = [getattr(item, name) for item in items]
        known = [otherwise if value is None else value for value in values]
        return np.array(known, np.float64)

    return ReplenishmentPolicy(
        lead_days=term("lead_time_days", settings.lead_time_days),
        service=settings.service_level / 100,
        order_days=term("order_every_days", settings.order_every_days),
        overstock_days=settings.overstock_days,
        pack_size=term("pack_size", 1),
        minimum_quantity=term("minimum_quantity", 0),
    )


def _goods_on_order(items: Sequence[ForecastItemRow], today: date) -> IncomingGoods:
    """Return what was ordered; goods that are late by a few days count as of tomorrow."""
    orders = [
        (row, (date.fromisoformat(order.expected_day) - today).days, order.units)
        for row, item in enumerate(items)
        for order in item.on_order
    ]
    counted = [order for order in orders if order[1] >= -MAX_DAYS_LATE]
    rows, days, units = zip(*counted, strict=True) if counted else ((), (), ())
    return IncomingGoods(
        np.array(rows, np.int64),
        np.maximum(np.array(days, np.int64), 1),
        np.array(units, np.float64),
    )


def plan_stock_actions(
    stocked: ItemsWithExpectedSales, run: ForecastRun, settings: StoreSettings, now_ms: int
) -> StockActions | None:
    """Return the actions; None once all days of the forecast have passed.

    Revenue at risk is the demand without stock before an order placed today arrives, at
    the mean price paid in the 90 days before the run, else at today's. Overstock is valued
    at cost, or at that price when the cost is not known. Products without a stock count
    have neither.
    """
    today = today_of(now_ms, settings.zone)
    if not stocked.items or dates_from(run.first_day)[-1] <= today:
        return None
    return StockActions(stocked, run, settings, today)


def _expected_sales_from_tomorrow(
    stocked: ItemsWithExpectedSales, run: ForecastRun, zone: tzinfo, today: date
) -> tuple[Floats, Floats]:
    """Return means and p90s from tomorrow on; 0 on days when an item is not offered.

    Days of the run that have passed are replaced at the end by the average of the rest.
    """
    dates = dates_from(run.first_day, stocked.means.shape[1])
    skipped_days = sum(day <= today for day in dates)
    is_offered = offered_day_mask(stocked.items, dates, zone)[:, skipped_days:]
    remaining = (
        stocked.means[:, skipped_days:] * is_offered,
        stocked.p90s[:, skipped_days:] * is_offered,
    )
    means, p90s = (
        np.concatenate(
            (expected, np.repeat(expected.mean(axis=1)[:, None], skipped_days, axis=1)),
            axis=1,
        )
        for expected in remaining
    )
    return means, p90s


def _units_in_stock(item: ForecastItemRow) -> float:
    """Return the units in stock, NaN for products without a stock count."""
    if item.stock_qty is not None:
        return float(item.stock_qty)
    return 0.0 if item.availability == Availability.OUT_OF_STOCK else np.nan


def _nan_if_none(values: list[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], np.float64)


def _most_urgent_alert_codes(stock: Floats, plan: StockPlan) -> Ints:
    """Return each item's most urgent alert as an index into _ALERTS; -1 for none."""
    lost, is_due = np.nan_to_num(plan.lost), plan.order_in == 0
    runs_out = is_due | (np.nan_to_num(plan.uncovered) > _MIN_UNITS_AT_RISK)
    conditions = (
        (stock <= 0) & (lost > 0),
        (stock > 0) & runs_out & (lost > _MIN_UNITS_AT_RISK),
        (stock > 0) & is_due,
        (stock > 0) & (np.nan_to_num(plan.surplus) >= 1),
    )
    return np.select(conditions, range(len(_ALERTS)), -1)


def _none_if_nan(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
