"""Order sheets: what to order from each supplier, in packs and within a budget.

Page, CSV file, API, command line and the merchant's assistant show these numbers.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any, Final

from productrecs.core.report import (
    Figure,
    FigureDefinition,
    Report,
    define_figure,
)
from productrecs.core.timestamps import iso
from productrecs.features.forecast.demand_reports import NO_FORECAST, SUPPLIES_NOTE, TOO_OLD
from productrecs.features.forecast.forecast_replies import HORIZON_DAYS, today_of
from productrecs.features.forecast.repository import ForecastRepository
from productrecs.features.forecast.stock_actions import (
    StockAction,
    is_due_before_next_order,
    plan_stock_actions,
)
from productrecs.records.suppliers.repository import SupplierRepository

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from productrecs.core.report import ReportQuery, ReportValue
    from productrecs.records.suppliers.supplier import Supplier
    from productrecs.storage.sql.database import Database
    from productrecs.tenancy.accounts.store import Store

_COLUMNS: Final = (
    FigureDefinition("supplier", "text", "from whom; empty: no supplier is known"),
    FigureDefinition("item_id", "text", "the product"),
    FigureDefinition("sku", "text", "the merchant's own code"),
    FigureDefinition("title", "text", "its title"),
    FigureDefinition("quantity", "count", "units to order"),
    FigureDefinition("packs", "count", "the same in packs"),
    FigureDefinition("pack_size", "count", "units of a pack"),
    FigureDefinition(
        "unit_cost",
        "money",
        "the cost; where it is not known, the mean price paid in the last 90 days",
    ),
    FigureDefinition("cost", "money", "of the quantity"),
    FigureDefinition("stock_qty", "count", "units in stock"),
    FigureDefinition("order_date", "day", "the last day to order it"),
    FigureDefinition("revenue_at_risk", "money", "lost until an order of today arrives"),
    FigureDefinition(
        "revenue_saved",
        "money",
        "expected sales that an order of today saves: those beyond the stock, from its "
        "arrival to the arrival of the next order",
    ),
    FigureDefinition(
        "over_budget", "count", "units that should be ordered, but a budget ended"
    ),
    FigureDefinition("on_order", "count", "units that were ordered and have not arrived"),
    FigureDefinition("lead_time_days", "count", "days until an order of today arrives"),
    FigureDefinition("sold_90_days", "number", "sold in the 90 days before the run"),
)

_FOR_SUPPLIER: Final = ("supplier", "item_id", "sku", "title", "quantity", "packs")
_SUPPLIER_COLUMNS: Final = (
    *(column for column in _COLUMNS if column.name in _FOR_SUPPLIER),
    FigureDefinition("pack_size", "count", "units of a pack"),
    FigureDefinition("unit_cost", "money", "the cost; empty where it is not known"),
    FigureDefinition("cost", "money", "of the quantity; empty where it is not known"),
)


@dataclass(frozen=True, slots=True)
class OrderSheetLine:
    """One product of an order sheet; `over_budget` are the units that money lacked for."""

    action: StockAction
    quantity: int
    over_budget: int = 0

    @property
    def cost(self) -> float | None:
        """The cost of the quantity; None when neither cost nor price is known."""
        unit_cost = self.action.unit_cost
        return None if unit_cost is None else round(self.quantity * unit_cost, 2)


@dataclass(frozen=True, slots=True)
class OrderSheet:
    """What to order from one supplier ("" without one)."""

    supplier: str
    lines: tuple[OrderSheetLine, ...]
    minimum_order: float = 0.0

    @property
    def cost(self) -> float:
        """The sum of the lines whose cost is known."""
        return round(sum(line.cost or 0.0 for line in self.lines), 2)

    @property
    def below_minimum(self) -> float:
        """What lacks to the supplier's minimum order; 0 for nothing to order."""
        has_order = any(line.quantity for line in self.lines)
        return round(max(self.minimum_order - self.cost, 0.0), 2) if has_order else 0.0


def plan_order_sheets(
    actions: Iterable[StockAction],
    suppliers: Mapping[str, Supplier],
    budget: float,
    today: date,
) -> list[OrderSheet]:
    """Return the sheets by supplier, sorted by order date, then by sales at risk.

    A product is on its sheet if it is due before the supplier's next order. A sheet below
    the supplier's minimum order takes more packs of the products that last shortest. The
    supplier's budget, and a `budget` above 0 of all sheets, buy first the units that save
    most sales for the money.
    """
    by_supplier: dict[str, list[OrderSheetLine]] = defaultdict(list)
    for action in actions:
        if _is_due(action, today):
            line = OrderSheetLine(action, action.order_quantity or 0)
            by_supplier[action.supplier or ""].append(line)
    minimums = {supplier.name: supplier.minimum_order for supplier in suppliers.values()}
    lines = {
        name: _fill_to_minimum_order(due, minimums.get(name, 0.0))
        for name, due in by_supplier.items()
    }
    budgets = {name: own.budget for name, own in suppliers.items() if own.budget}
    if budget > 0 or budgets:
        lines = _split_quantities_at_budget(lines, budget or math.inf, budgets)
    return [
        OrderSheet(
            name, tuple(sorted(lines[name], key=_urgency_sort_key)), minimums.get(name, 0.0)
        )
        for name in sorted(lines, key=lambda name: (not name, name))
    ]


def _is_due(action: StockAction, today: date) -> bool:
    return bool(action.order_quantity) and is_due_before_next_order(
        action.order_date, action.order_every_days, today
    )


def _urgency_sort_key(line: OrderSheetLine) -> tuple[date, float, str]:
    return (
        line.action.order_date or date.max,
        -(line.action.revenue_at_risk or 0.0),
        line.action.item_id,
    )


def _fill_to_minimum_order(
    lines: list[OrderSheetLine], minimum: float
) -> list[OrderSheetLine]:
    """Return the lines with as many more packs as the minimum order needs.

    Each next pack goes to the product whose order would last shortest.
    """
    filled = {line.action.item_id: line for line in lines}
    cost = sum(line.cost or 0.0 for line in lines)
    usable = [line.action for line in lines if (line.action.unit_cost or 0) > 0]
    while cost < minimum and usable:
        action = min(
            usable,
            key=lambda due: (_days_covered(due, filled[due.item_id].quantity), due.item_id),
        )
        line = filled[action.item_id]
        if _days_covered(action, line.quantity) > _MAX_FILL_DAYS:
            break
        filled[action.item_id] = replace(line, quantity=line.quantity + action.pack_size)
        cost += action.pack_size * (action.unit_cost or 0.0)
    return list(filled.values())


_MAX_FILL_DAYS: Final = 365


def _days_covered(action: StockAction, quantity: int) -> float:
    """Return how long stock and orders last at the expected pace."""
    pace = action.expected_28_days / HORIZON_DAYS
    units = (action.stock_qty or 0) + action.on_order + quantity
    return math.inf if pace <= 0 else units / pace


def _split_quantities_at_budget(
    lines: Mapping[str, list[OrderSheetLine]], budget: float, budgets: Mapping[str, float]
) -> dict[str, list[OrderSheetLine]]:
    """Return the lines that the budgets pay, in packs; those of unknown cost are free.

    `budget` is for all sheets together, `budgets` are those of suppliers.
    """
    left = {name: budgets.get(name, math.inf) for name in lines}
    bought = {name: [0] * len(own) for name, own in lines.items()}
    for name, place, wanted in _line_parts_by_saved_sales(lines):
        action = lines[name][place].action
        pack_cost = action.pack_size * (action.unit_cost or 0.0)
        money = min(budget, left[name])
        is_paid = pack_cost <= 0 or pack_cost * wanted <= money + _ROUNDING
        packs = wanted if is_paid else int(max(money, 0.0) / pack_cost + _ROUNDING)
        if (bought[name][place] + packs) * action.pack_size < action.minimum_quantity:
            continue
        bought[name][place] += packs
        budget -= packs * pack_cost
        left[name] -= packs * pack_cost
    return {
        name: [
            _with_quantity(line, packs * line.action.pack_size)
            for line, packs in zip(own, bought[name], strict=True)
        ]
        for name, own in lines.items()
    }


_ROUNDING: Final = 1e-9


def _with_quantity(line: OrderSheetLine, quantity: int) -> OrderSheetLine:
    return replace(line, quantity=quantity, over_budget=line.quantity - quantity)


def _line_parts_by_saved_sales(
    lines: Mapping[str, list[OrderSheetLine]],
) -> list[tuple[str, int, int]]:
    """Return parts of lines in the order in which money buys them.

    A part is a supplier, the place of a line, and packs. First come the units that an
    order of today saves; the rest of a line is a reserve, or can come with the next order.
    """
    parts: list[tuple[bool, float, date, str, str, int, int]] = []
    for name, own in lines.items():
        for place, line in enumerate(own):
            action = line.action
            packs = line.quantity // action.pack_size
            least = max(action.units_saved, action.minimum_quantity)
            first = min(math.ceil(least / action.pack_size - _ROUNDING), packs)
            for is_rest, wanted in ((False, first), (True, packs - first)):
                cost = wanted * action.pack_size * (action.unit_cost or 0.0)
                per_money = -(action.revenue_saved or 0.0) / max(cost, _ROUNDING)
                day = action.order_date or date.max
                parts.append((is_rest, per_money, day, action.item_id, name, place, wanted))
    return [part[-3:] for part in sorted(parts) if part[-1]]


def plan_order_sheets_now(
    database: Database, store: Store, now_ms: int
) -> list[OrderSheet] | None:
    """Return the store's sheets for an order of today; None without a fresh forecast."""
    with database.reading() as connection:
        repository = ForecastRepository(connection, store.store_id)
        run = repository.newest_run()
        stocked = None if run is None else repository.items_with_expected_sales()
        suppliers = SupplierRepository(connection, store.store_id).suppliers()
    if run is None or stocked is None:
        return None
    actions = plan_stock_actions(stocked, run, store.settings, now_ms)
    if actions is None:
        return None
    return plan_order_sheets(
        actions.top_actions(len(actions)),
        {supplier.name: supplier for supplier in suppliers},
        store.settings.order_budget,
        today_of(now_ms, store.settings.zone),
    )


def order_sheet_report(
    database: Database, store: Store, query: ReportQuery, now_ms: int
) -> Report:
    """Return what to order today, by supplier; `query.where` may name one supplier."""
    title = f"What to order for {store.domain}"
    sheets = plan_order_sheets_now(database, store, now_ms)
    if sheets is None:
        return Report("order-sheet", title, columns=_COLUMNS, notes=(NO_FORECAST, TOO_OLD))
    sheets = _sheets_of_requested_supplier(sheets, query)
    rows = [_full_table_row(sheet, line) for sheet in sheets for line in sheet.lines]
    notes = [SUPPLIES_NOTE]
    notes += [
        f"{sheet.supplier}: {sheet.below_minimum:.2f} below the minimum order."
        for sheet in sheets
        if sheet.below_minimum
    ]
    if len(rows) > query.limit:
        notes.append(f"{len(rows) - query.limit} more products; --limit shows them.")
    return Report(
        "order-sheet",
        f"{title}, {iso(now_ms)[:10]}, money in {store.settings.currency}",
        figures=_sheet_figures(sheets),
        columns=_COLUMNS,
        rows=tuple(rows[: query.limit]),
        notes=tuple(notes),
    )


def supplier_order_report(
    database: Database, store: Store, query: ReportQuery, now_ms: int
) -> Report:
    """Return what a supplier needs to know of its sheet: products, units and costs.

    `query.where` may name one supplier. Products whose order is 0 units are left out, and
    so is the price that customers paid where the cost is not known.
    """
    title = f"Order of {store.domain}"
    sheets = plan_order_sheets_now(database, store, now_ms)
    if sheets is None:
        return Report(
            "supplier-order", title, columns=_SUPPLIER_COLUMNS, notes=(NO_FORECAST, TOO_OLD)
        )
    rows = [
        _supplier_file_row(sheet, line)
        for sheet in _sheets_of_requested_supplier(sheets, query)
        for line in sheet.lines
        if line.quantity
    ]
    return Report(
        "supplier-order",
        f"{title}, {iso(now_ms)[:10]}, money in {store.settings.currency}",
        columns=_SUPPLIER_COLUMNS,
        rows=tuple(rows[: query.limit]),
    )


def _sheets_of_requested_supplier(
    sheets: list[OrderSheet], query: ReportQuery
) -> list[OrderSheet]:
    where = dict(query.where)
    if "supplier" not in where:
        return sheets
    return [sheet for sheet in sheets if sheet.supplier == where["supplier"]]


def _ordered_product_cells(
    sheet: OrderSheet, line: OrderSheetLine
) -> tuple[ReportValue, ...]:
    """Return the cells that the supplier's file and the full table begin with."""
    action = line.action
    return (
        sheet.supplier,
        action.item_id,
        action.sku,
        action.title,
        line.quantity,
        line.quantity // action.pack_size,
        action.pack_size,
    )


def _supplier_file_row(sheet: OrderSheet, line: OrderSheetLine) -> tuple[ReportValue, ...]:
    action = line.action
    return (
        *_ordered_product_cells(sheet, line),
        action.unit_cost if action.has_cost else None,
        line.cost if action.has_cost else None,
    )


def _sheet_figures(sheets: Sequence[OrderSheet]) -> tuple[Figure, ...]:
    lines = [line for sheet in sheets for line in sheet.lines]
    ordered = [line for line in lines if line.quantity]
    missed = sum(line.over_budget * (line.action.unit_cost or 0.0) for line in lines)
    figures: tuple[tuple[str, str, str, Any], ...] = (
        ("products", "count", "products to order", len(ordered)),
        ("suppliers", "count", "suppliers to order from", len(sheets)),
        ("cost", "money", "of all orders", round(sum(sheet.cost for sheet in sheets), 2)),
        (
            "without_cost",
            "count",
            "products without a cost, at the mean price paid in the last 90 days",
            sum(not line.action.has_cost for line in ordered),
        ),
        ("over_budget", "money", "what the budgets do not pay", round(missed, 2)),
    )
    return tuple(
        define_figure(name, unit, value, meaning) for name, unit, meaning, value in figures
    )


def _full_table_row(sheet: OrderSheet, line: OrderSheetLine) -> tuple[ReportValue, ...]:
    action = line.action
    return (
        *_ordered_product_cells(sheet, line),
        action.unit_cost,
        line.cost,
        action.stock_qty,
        None if action.order_date is None else action.order_date.isoformat(),
        action.revenue_at_risk,
        action.revenue_saved,
        line.over_budget,
        action.on_order,
        action.lead_time_days,
        action.sold_90_days,
    )
