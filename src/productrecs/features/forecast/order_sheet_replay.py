"""Order sheet replay: what the order sheets would have led to on a store's own past.

On each order day of the last months, the sheets are made from what was known then, by the
functions that make today's. Stock is simulated, and compared with that of a plain rule.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from productrecs.core.clock import DAY_MS
from productrecs.core.report import (
    FigureDefinition,
    Report,
    define_figure,
)
from productrecs.core.timestamps import iso
from productrecs.features.forecast.order_sheets import plan_order_sheets
from productrecs.features.forecast.replenishment_simulation import (
    MEAN_DAYS,
    ReplenishmentOutcome,
    ReplenishmentScenario,
    ReplenishmentTerms,
    build_average_sales_rule,
    simulate_replenishment,
)
from productrecs.features.forecast.repository import (
    ForecastItemRow,
    ForecastRepository,
    ForecastRun,
    ItemsWithExpectedSales,
)
from productrecs.features.forecast.stock_actions import plan_stock_actions
from productrecs.records.purchase_orders.purchase_order_line import OrderedUnits
from productrecs.storage.sql.stored_insights import (
    StoredInsight,
    read_insight,
    store_insight,
)
from productrecs.training.demand.demand_inputs import DemandInputs, read_demand_inputs
from productrecs.training.demand.past_forecasts import PastForecaster
from productrecs.training.demand.repository import DemandRepository, StockOutPeriod

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from productrecs.engines.array_types_and_sorting import Floats
    from productrecs.engines.demand.calendar_effects import CalendarEvent
    from productrecs.engines.demand.demand_series import DailyDemand
    from productrecs.engines.demand.forecast import DemandForecast
    from productrecs.storage.sql.database import Database
    from productrecs.tenancy.accounts.store import Store
    from productrecs.tenancy.accounts.store_settings import StoreSettings

_INSIGHT: Final = "order-replay"
_MAX_PRODUCTS: Final = 300
_COUNTED_DAYS, _MIN_COUNTED_DAYS = 112, 28
_MIN_HISTORY: Final = 84  # days before the replay: a backtest of eight weeks and a horizon
_RESERVES: Final = {
    "average of 4 weeks": 0,
    "average of 4 weeks, 7 days in reserve": 7,
    "average of 4 weeks, 14 days in reserve": 14,
}
_SHEETS: Final = "order sheets"
_RECORDED: Final = "as recorded"
_COLUMNS: Final = (
    FigureDefinition("rule", "text", "by which rule orders are made"),
    FigureDefinition(
        "days_out", "count", "days without enough stock, summed over products"
    ),
    FigureDefinition("days_out_share", "share", "their share of all products' days"),
    FigureDefinition("lost_units", "count", "units asked for and not in stock"),
    FigureDefinition("lost_revenue", "money", "the same at the price"),
    FigureDefinition(
        "stock_value", "money", "mean stock at cost, or at the price without a cost"
    ),
    FigureDefinition("order_days", "count", "days on which anything was ordered"),
    FigureDefinition("order_lines", "count", "products ordered, summed over orders"),
)


class OrderSheetReplayInputs(NamedTuple):
    """The products of a replay, and its days."""

    items: Sequence[ForecastItemRow]
    demand: DailyDemand
    events: Sequence[CalendarEvent]
    terms: ReplenishmentTerms
    start: int  # number of its first day
    counted_from: int  # days after `start`
    eligible: int  # products of which the items are a sample


def replay_order_rules_and_store_result(
    database: Database, store: Store, now_ms: int
) -> None:
    """Replay the orders of a store's past with today's terms, and store the result."""
    inputs = read_demand_inputs(database, store, now_ms)
    with database.reading() as connection:
        stocked = ForecastRepository(connection, store.store_id).items_with_expected_sales()
        since_ms = int(inputs.days.midnights[0])
        outs = DemandRepository(connection, store.store_id).stock_outs(since_ms)
    replayed = replay_order_rules(inputs, stocked.items, store.settings)
    result: dict[str, Any] = {"rows": []}
    if replayed is not None:
        replay, rows = replayed
        first = inputs.days.iso(replay.start + replay.counted_from)
        result = {
            "first_day": first,
            "last_day": inputs.days.iso(inputs.days.count - 1),
            "days": inputs.days.count - replay.start - replay.counted_from,
            "products": len(replay.items),
            "eligible": replay.eligible,
            "recorded_since": _first_stock_out_day(inputs, outs),
            "rows": rows + _recorded_stock_out_rows(inputs, replay, outs, now_ms),
        }
    with database.transaction() as transaction:
        insight = StoredInsight(now_ms, 0, result)
        store_insight(transaction, store.store_id, _INSIGHT, insight)


def replay_order_rules(
    inputs: DemandInputs, items: Sequence[ForecastItemRow], settings: StoreSettings
) -> tuple[OrderSheetReplayInputs, list[list[Any]]] | None:
    """Return what was replayed, and the report's row of each rule, the sheets first.

    None if the history is too short.
    """
    replay = _choose_products_and_days(inputs, items, settings)
    return (
        None
        if replay is None
        else (replay, _simulate_report_rows(inputs, replay, settings))
    )


def _choose_products_and_days(
    inputs: DemandInputs, items: Sequence[ForecastItemRow], settings: StoreSettings
) -> OrderSheetReplayInputs | None:
    """Return the products and days of the replay; None if the history is too short.

    Products are those that sold in the half year before it, evenly by their sales.
    """
    if not items:
        return None
    longest_lead = max(item.lead_time_days or settings.lead_time_days for item in items)
    days = min(_COUNTED_DAYS + longest_lead, inputs.days.count - _MIN_HISTORY)
    if days - longest_lead < _MIN_COUNTED_DAYS:
        return None
    start = inputs.days.count - days
    sold_before = inputs.demand.amounts[:, max(0, start - 180) : start].sum(axis=1)
    row_of = {number: row for row, number in enumerate(inputs.numbers.tolist())}
    eligible = [
        (-float(sold_before[row_of[item.number]]), item.item_id, item)
        for item in items
        if item.number in row_of and sold_before[row_of[item.number]] > 0
    ]
    if not eligible:
        return None
    step = -(-len(eligible) // _MAX_PRODUCTS)
    chosen = [item for _, _, item in sorted(eligible)[::step]]
    rows = np.array([row_of[item.number] for item in chosen], np.int64)
    return OrderSheetReplayInputs(
        chosen,
        inputs.demand.of(rows),
        [
            event if event.items is None else replace(event, items=event.items[rows])
            for event in inputs.events
        ],
        _order_terms(chosen, settings),
        start,
        longest_lead,
        len(eligible),
    )


def _order_terms(
    items: Sequence[ForecastItemRow], settings: StoreSettings
) -> ReplenishmentTerms:
    return ReplenishmentTerms(
        np.array([item.lead_time_days or settings.lead_time_days for item in items]),
        np.array([item.order_every_days or settings.order_every_days for item in items]),
        np.array([item.pack_size or 1 for item in items], np.float64),
        np.array([item.minimum_quantity or 0 for item in items], np.float64),
    )


def _simulate_report_rows(
    inputs: DemandInputs, replay: OrderSheetReplayInputs, settings: StoreSettings
) -> list[list[Any]]:
    amounts = replay.demand.amounts.astype(np.float64)
    terms, start = replay.terms, replay.start
    usual = amounts[:, start - MEAN_DAYS : start].mean(axis=1)
    scenario = ReplenishmentScenario(
        amounts[:, start:],
        terms.rounded_to_packs(usual * (terms.lead_days + terms.order_days)),
        terms.lead_days,
        replay.counted_from,
    )
    rules = {
        _SHEETS: _OrderSheetRule(inputs, replay, settings).units_to_order,
        **{
            name: build_average_sales_rule(amounts, start, terms, days)
            for name, days in _RESERVES.items()
        },
    }
    return [
        _rule_report_row(name, simulate_replenishment(scenario, rule), replay, scenario)
        for name, rule in rules.items()
    ]


def _rule_report_row(
    rule: str,
    simulated: ReplenishmentOutcome,
    replay: OrderSheetReplayInputs,
    scenario: ReplenishmentScenario,
) -> list[Any]:
    prices, values = _prices_and_stock_values(replay.items)
    counted = scenario.demand.shape[1] - scenario.counted_from
    days_out = int(simulated.days_out.sum())
    return [
        rule,
        days_out,
        round(days_out / max(len(replay.items) * counted, 1), 4),
        round(float(simulated.lost.sum())),
        round(float((simulated.lost * prices).sum()), 2),
        round(float((simulated.stock * values).sum()), 2),
        simulated.order_days,
        int(simulated.lines.sum()),
    ]


def _prices_and_stock_values(items: Sequence[ForecastItemRow]) -> tuple[Floats, Floats]:
    """Return each item's price, and its cost or else its price; 0 if unknown."""
    prices = np.array([item.price or 0.0 for item in items])
    costs = [item.price if item.cost is None else item.cost for item in items]
    return prices, np.array([cost or 0.0 for cost in costs])


class _OrderSheetRule:
    """Orders by the order sheets, from forecasts that are renewed each week."""

    def __init__(
        self, inputs: DemandInputs, replay: OrderSheetReplayInputs, settings: StoreSettings
    ) -> None:
        self._days, self._replay, self._settings = inputs.days, replay, settings
        self._forecaster = PastForecaster(replay.demand, replay.events, replay.start)
        self._forecasts: dict[int, DemandForecast] = {}

    def units_to_order(self, day: int, stock: Floats, arriving: Floats) -> Floats:
        """Return the units of that evening's sheets: [items]."""
        due = np.flatnonzero(day % self._replay.terms.order_days == 0)
        ordered = np.zeros(len(stock))
        if not len(due):
            return ordered
        origin = self._replay.start + day // 7 * 7 + 1
        forecast = self._forecasts.get(origin)
        if forecast is None:
            self._forecasts = {origin: self._forecaster.forecast(origin)}
            forecast = self._forecasts[origin]
        today = self._days.first + timedelta(days=self._replay.start + day)
        items = [
            _item_as_of_past_day(
                self._replay.items[row],
                forecast.sum_overdispersion[row],
                stock[row],
                [
                    OrderedUnits(
                        int(arriving[row, later]),
                        (today + timedelta(days=int(later) + 1)).isoformat(),
                    )
                    for later in np.flatnonzero(arriving[row])
                ],
            )
            for row in due.tolist()
        ]
        noon = int(self._days.midnights[self._replay.start + day]) + DAY_MS // 2
        actions = plan_stock_actions(
            ItemsWithExpectedSales(
                items,
                forecast.paths.mean[due].astype(np.float64),
                forecast.paths.quantiles[2, due].astype(np.float64),
            ),
            _forecast_run_from(self._days.iso(origin)),
            self._settings,
            noon,
        )
        if actions is None:
            return ordered
        row_of = {self._replay.items[row].item_id: row for row in due.tolist()}
        for sheet in plan_order_sheets(actions.top_actions(len(actions)), {}, 0.0, today):
            for line in sheet.lines:
                ordered[row_of[line.action.item_id]] = line.quantity
        return ordered


def _item_as_of_past_day(
    item: ForecastItemRow, spread: float, stock: float, on_order: Sequence[OrderedUnits]
) -> ForecastItemRow:
    """Return an item as it would have been then; its windows of sale are not known."""
    return item._replace(
        stock_qty=int(stock),
        spread=spread,
        on_order=tuple(on_order),
        availability=None,
        available_from=None,
        available_until=None,
        sold=None,
    )


def _forecast_run_from(first_day: str) -> ForecastRun:
    return ForecastRun(0, first_day, "units", [], {}, None, None, 0, 0, 0.0)


def _first_stock_out_day(
    inputs: DemandInputs, outs: Sequence[StockOutPeriod]
) -> str | None:
    """Return the day of the first recorded stock-out; None without any."""
    if not outs:
        return None
    first = np.array([min(out.since for out in outs)], np.int64)
    return inputs.days.iso(int(inputs.days.numbers(first)[0]))


def _recorded_stock_out_rows(
    inputs: DemandInputs,
    replay: OrderSheetReplayInputs,
    outs: Sequence[StockOutPeriod],
    now_ms: int,
) -> list[list[Any]]:
    """Return the row of the recorded days without stock at noon.

    None without counted days after the first record.
    """
    numbers = {item.number for item in replay.items}
    first = replay.start + replay.counted_from
    noons = inputs.days.midnights[first:-1] + DAY_MS // 2
    noons = noons[noons >= min((out.since for out in outs), default=now_ms)]
    days_out = sum(
        int(((noons >= out.since) & (noons < (out.until or now_ms))).sum())
        for out in outs
        if out.item in numbers
    )
    if not len(noons):
        return []
    share = round(days_out / (len(replay.items) * len(noons)), 4)
    return [[_RECORDED, days_out, share, *[None] * (len(_COLUMNS) - 3)]]


def order_replay_report(database: Database, store: Store, max_rows: int) -> Report:
    """Return the last replay of a store's orders; without rows before the first."""
    with database.reading() as connection:
        stored = read_insight(connection, store.store_id, _INSIGHT)
        run = ForecastRepository(connection, store.store_id).newest_run()
    result: Mapping[str, Any] = {} if stored is None else stored.result
    rows = result.get("rows", [])
    if stored is None or not rows:
        return Report(
            _INSIGHT,
            _TITLE,
            columns=_COLUMNS,
            notes=(_missing_replay_reason(run, store.settings.lead_time_days),),
        )
    figures = (
        ("first_day", "day", "first day that is counted"),
        ("last_day", "day", "last day that is counted"),
        ("days", "count", "days that are counted"),
        ("products", "count", "products replayed"),
    )
    return Report(
        _INSIGHT,
        f"{_TITLE}, money in {store.settings.currency}",
        figures=(
            *(
                define_figure(name, unit, result[name], meaning)
                for name, unit, meaning in figures
            ),
            define_figure("replayed_at", "time", iso(stored.computed_at), "when"),
        ),
        columns=_COLUMNS,
        rows=tuple(tuple(row) for row in rows)[:max_rows],
        notes=_replay_notes(result),
    )


def _missing_replay_reason(run: ForecastRun | None, lead_days: int) -> str:
    """Return why nothing is replayed: most stores have too few days of orders."""
    needed = _MIN_HISTORY + _MIN_COUNTED_DAYS + lead_days
    days = None if run is None else run.history_days
    if days is not None and days >= needed:
        return "Nothing is replayed yet: the next forecast does it."
    known = "" if days is None else f" The store has {days:.0f} days."
    return (
        f"Nothing is replayed yet. It needs {needed} days of orders with a lead time of "
        f"{lead_days} days.{known}"
    )


_TITLE: Final = "Orders replayed on past sales"


def _replay_notes(result: Mapping[str, Any]) -> tuple[str, ...]:
    notes = [
        (
            "Each rule starts with the same stock, knows the sales up to the evening of an "
            "order day, and gets the goods after exactly the lead time, on today's terms."
        ),
        (
            "Demand is what was sold. What shoppers did not find is unknown, so every rule "
            "would have lost more than this."
        ),
        (
            "The sheets use forecasts of each week without the learned model. Budget and "
            "minimum orders are left out."
        ),
    ]
    sold = "that sold in the half year before and are in the catalog"
    if result["products"] < result["eligible"]:
        notes.append(
            f"{result['products']} of {result['eligible']} products are replayed, evenly "
            f"from those that sell most to those that sell least, of those {sold}."
        )
    else:
        notes.append(f"All products are replayed {sold}.")
    if result["rows"][-1][0] == _RECORDED:
        notes.append(
            "As recorded: days on which these products were out of stock at noon, since "
            f"{result['recorded_since']}."
        )
    return tuple(notes)
