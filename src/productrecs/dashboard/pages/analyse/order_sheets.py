"""Order sheets page: what to order from each supplier, on which terms; goods on order."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Final, NamedTuple
from urllib.parse import urlencode

from productrecs.core.report import parse_report_query
from productrecs.core.written_numbers import typed_amount
from productrecs.dashboard.formats import sentence
from productrecs.dashboard.page import (
    Page,
    PageOrRecordNotFoundError,
    Reply,
    Visit,
    form_pages,
    parse_row_number,
)
from productrecs.dashboard.pages.analyse.demand_forecast import short_history_warning
from productrecs.dashboard.pages.catalog.recommendation_and_search_settings import (
    setting_errors,
)
from productrecs.dashboard.product_table import titles_of
from productrecs.dashboard.report_period import REPORT_FILE_PATH
from productrecs.dashboard.report_values import figures_by_name, rows_by_column
from productrecs.features.forecast.forecast_replies import today_of
from productrecs.features.forecast.repository import ForecastRepository
from productrecs.records.purchase_orders.purchase_order_line import (
    COLUMNS,
    MAX_DAYS_LATE,
    PurchaseOrderLine,
    UnknownPurchaseOrderLineError,
    parse_purchase_order_line,
    parse_purchase_orders,
)
from productrecs.records.purchase_orders.repository import (
    PurchaseOrderRepository,
)
from productrecs.records.suppliers.repository import SupplierRepository
from productrecs.records.suppliers.supplier import (
    SupplyInputError,
    UnknownSupplierError,
    parse_product_terms,
    parse_supplier,
)
from productrecs.report_registry import make_report

ORDERS_PATH: Final = "/dashboard/demand/orders"
BUDGET_LABELS: Final = {"order_budget": "The budget"}
_REPORT: Final = "order-sheet"
_REPLAY: Final = "order-replay"
_FIELDS: Final = ("supplier", "lead_time", "order_every", "minimum_order", "budget")
_MAX_FILE: Final = 5_000_000
_ROWS: Final = 10_000
_SHOWN: Final = 25
_NAMED: Final = 5


class _SubmittedSheet(NamedTuple):
    """A supplier's sheet in a submitted form: the ticked products, and the units of all."""

    supplier: str
    ticked: frozenset[str]
    units: Mapping[str, str]


def save_supplier(visit: Visit) -> Reply:
    """Store a supplier's terms."""
    sent = {name: visit.form[name] for name in _FIELDS}
    try:
        supplier = parse_supplier(*(sent[name] for name in _FIELDS))
        with visit.database.transaction() as transaction:
            SupplierRepository(transaction, visit.store.store_id).save(supplier)
    except SupplyInputError as error:
        return show_order_sheets(visit, status=422, sent=sent, error=sentence(error))
    return visit.redirect(f"{ORDERS_PATH}#suppliers", "Saved. The sheets follow it.")


def remove_supplier(visit: Visit) -> Reply:
    """Delete a supplier with its products' terms.

    Raises:
        PageOrRecordNotFoundError: when there is none of this name.
    """
    try:
        with visit.database.transaction() as transaction:
            suppliers = SupplierRepository(transaction, visit.store.store_id)
            suppliers.remove(visit.form["supplier"])
    except UnknownSupplierError as error:
        raise PageOrRecordNotFoundError(sentence(error)) from error
    return visit.redirect(f"{ORDERS_PATH}#suppliers", "Removed.")


def upload_product_terms(visit: Visit) -> Reply:
    """Store who supplies which product, from a CSV file."""
    if visit.file is None:
        return show_order_sheets(visit, status=422, file_error="Choose a CSV file.")
    try:
        terms = parse_product_terms(visit.file.path.read_text("utf-8"))
        with visit.database.transaction() as transaction:
            suppliers = SupplierRepository(transaction, visit.store.store_id)
            missing, new = suppliers.assign_terms(terms)
    except UnicodeDecodeError:
        message = "Save the file as CSV in UTF-8, then choose it again."
        return show_order_sheets(visit, status=422, file_error=message)
    except SupplyInputError as error:
        return show_order_sheets(visit, status=422, file_error=sentence(error))
    stored = visit.formats.count(len(terms) - len(missing), "product")
    message = f"Stored the terms of {stored}."
    if new:
        word = "supplier" if len(new) == 1 else "suppliers"
        message += f" New {word}: {_join_first_names(new)}."
    if missing:
        message += f" Your catalog lacks {len(missing)}: {_join_first_names(missing)}."
    return visit.redirect(f"{ORDERS_PATH}#suppliers", message)


def add_purchase_order_line(visit: Visit) -> Reply:
    """Store one product that was ordered."""
    sent = {name: visit.form[name] for name in COLUMNS[:3]}
    sent["supplier"] = visit.form["ordered_from"]
    try:
        line = parse_purchase_order_line(sent)
        with visit.database.transaction() as transaction:
            orders = PurchaseOrderRepository(transaction, visit.store.store_id)
            orders.add_line(line, visit.now_ms)
    except SupplyInputError as error:
        return show_order_sheets(visit, status=422, line=sent, line_error=sentence(error))
    return visit.redirect(f"{ORDERS_PATH}#ordered", "Saved. The sheets follow it.")


def record_sheet_as_ordered(visit: Visit) -> Reply:
    """Store the ticked products of a supplier's sheet as ordered, with the sent units."""
    columns = (visit.form.all_with_blanks(name) for name in ("item", "units", "expected"))
    rows = list(zip(*columns, strict=False))
    sheet = _SubmittedSheet(
        visit.form["supplier"],
        frozenset(visit.form.all("ordered")),
        {item: units for item, units, _ in rows},
    )
    try:
        lines = [
            parse_purchase_order_line(
                dict(zip(COLUMNS, (*row, sheet.supplier), strict=True))
            )
            for row in rows
            if row[0] in sheet.ticked
        ]
        with visit.database.transaction() as transaction:
            orders = PurchaseOrderRepository(transaction, visit.store.store_id)
            missing = orders.add(lines, visit.now_ms)
    except SupplyInputError as error:
        return show_order_sheets(
            visit, status=422, sheet=sheet, sheet_error=sentence(error)
        )
    stored = visit.formats.count(len(lines) - len(missing), "product")
    message = f"Recorded {stored} as ordered. To undo it, remove its lines below."
    if not lines:
        message = "Nothing was recorded: no product was ticked."
    return visit.redirect(f"{ORDERS_PATH}#ordered", message)


def replace_purchase_orders_by_file(visit: Visit) -> Reply:
    """Store the lines of a CSV file instead of all others."""
    if visit.file is None:
        return show_order_sheets(visit, status=422, line_error="Choose a CSV file.")
    try:
        lines = parse_purchase_orders(visit.file.path.read_text("utf-8"))
        with visit.database.transaction() as transaction:
            orders = PurchaseOrderRepository(transaction, visit.store.store_id)
            missing = orders.replace(lines, visit.now_ms)
    except UnicodeDecodeError:
        message = "Save the file as CSV in UTF-8, then choose it again."
        return show_order_sheets(visit, status=422, line_error=message)
    except SupplyInputError as error:
        return show_order_sheets(visit, status=422, line_error=sentence(error))
    message = f"Stored {visit.formats.count(len(lines) - len(missing), 'line')}."
    if missing:
        message += f" Your catalog lacks {len(missing)}: {_join_first_names(missing)}."
    return visit.redirect(f"{ORDERS_PATH}#ordered", message)


def remove_purchase_order_line(visit: Visit) -> Reply:
    """Delete a line: its goods arrived, or will not.

    Raises:
        PageOrRecordNotFoundError: when there is none of this number.
    """
    number = parse_row_number(visit.form["number"])
    try:
        with visit.database.transaction() as transaction:
            orders = PurchaseOrderRepository(transaction, visit.store.store_id)
            orders.remove([number])
    except UnknownPurchaseOrderLineError as error:
        raise PageOrRecordNotFoundError(sentence(error)) from error
    return visit.redirect(f"{ORDERS_PATH}#ordered", "Removed. The sheets follow it.")


def remove_delivery(visit: Visit) -> Reply:
    """Delete all lines that one supplier delivers on one day.

    Raises:
        PageOrRecordNotFoundError: when there are none.
    """
    delivery = visit.form["supplier"], visit.form["expected_day"]
    try:
        with visit.database.transaction() as transaction:
            orders = PurchaseOrderRepository(transaction, visit.store.store_id)
            numbers = [
                number
                for number, line in orders.lines().items()
                if (line.supplier, line.expected_day) == delivery
            ]
            orders.remove(numbers)
    except UnknownPurchaseOrderLineError as error:
        message = "These goods are not on order any more."
        raise PageOrRecordNotFoundError(message) from error
    removed = visit.formats.count(len(numbers), "line")
    return visit.redirect(
        f"{ORDERS_PATH}#ordered", f"Removed {removed}. The sheets follow it."
    )


def _sum_lines_by_delivery(
    lines: Iterable[PurchaseOrderLine],
) -> list[dict[str, str | int]]:
    """Return the lines summed by supplier and expected day, the earliest day first."""
    by_delivery: dict[tuple[str, str], list[int]] = {}
    for line in lines:
        delivery = (line.expected_day, line.supplier)
        by_delivery.setdefault(delivery, []).append(line.quantity)
    return [
        {
            "expected_day": expected_day,
            "supplier": supplier,
            "lines": len(quantities),
            "units": sum(quantities),
        }
        for (expected_day, supplier), quantities in sorted(by_delivery.items())
    ]


def _join_first_names(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def save_order_budget(visit: Visit) -> Reply:
    """Store the most money that the orders of a day may cost."""
    sent = {"order_budget": visit.form["order_budget"] or "0"}
    if errors := setting_errors(sent, BUDGET_LABELS):
        return show_order_sheets(
            visit,
            status=422,
            budget=sent["order_budget"],
            budget_error=errors["order_budget"],
        )
    visit.change_settings(sent)
    return visit.redirect(ORDERS_PATH, "Saved. The sheets follow it.")


def show_order_sheets(
    visit: Visit,
    status: int = 200,
    *,
    sent: Mapping[str, str] | None = None,
    budget: str | None = None,
    line: Mapping[str, str] | None = None,
    sheet: _SubmittedSheet | None = None,
    **errors: str,
) -> Reply:
    """Show a sheet per supplier, and the suppliers; `errors` have the template's names."""
    settings = visit.store.settings
    query = parse_report_query(visit.now_ms, settings.zone, limit=_ROWS)
    report = make_report(visit.services, visit.store, _REPORT, query)
    today = today_of(visit.now_ms, settings.zone)
    rows = rows_by_column(report)
    sheets: dict[str, list[dict[str, object]]] = {}
    for row in rows:
        arrival = today + timedelta(days=int(str(row["lead_time_days"])))
        sheets.setdefault(str(row["supplier"]), []).append(
            {**row, "expected_day": arrival.isoformat()}
        )
    with visit.database.reading() as connection:
        repository = SupplierRepository(connection, visit.store.store_id)
        suppliers, counts = repository.suppliers(), repository.product_counts()
        ordered = PurchaseOrderRepository(connection, visit.store.store_id).lines()
        run = ForecastRepository(connection, visit.store.store_id).newest_run()
    shown_lines = dict(list(ordered.items())[:_SHOWN])
    replay = make_report(visit.services, visit.store, _REPLAY, query)
    return visit.render(
        "order_sheets.html",
        status=status,
        is_on=settings.demand_forecast,
        warning=short_history_warning(run),
        figures=figures_by_name(report),
        replay=replay,
        replay_rows=rows_by_column(replay),
        replay_figures=figures_by_name(replay),
        replay_file=f"{REPORT_FILE_PATH}?{urlencode({'report': _REPLAY})}",
        sheets=sheets,
        sent_sheet=sheet,
        shown=_SHOWN,
        notes=report.notes,
        suppliers=suppliers,
        terms_by_name={one.name: one for one in suppliers},
        counts=counts,
        settings=settings,
        sent=sent or dict.fromkeys(_FIELDS, ""),
        budget=typed_amount(settings.order_budget) if budget is None else budget,
        amount=typed_amount,
        file=lambda report, supplier: (
            f"{REPORT_FILE_PATH}?{urlencode({'report': report, 'supplier': supplier})}"
        ),
        ordered=shown_lines,
        ordered_count=len(ordered),
        deliveries=_sum_lines_by_delivery(ordered.values()),
        titles=titles_of(visit, [line.product for line in shown_lines.values()]),
        late_before=(today - timedelta(days=MAX_DAYS_LATE)).isoformat(),
        line=line or dict.fromkeys(COLUMNS, ""),
        today=today.isoformat(),
        due_today=sum(
            bool(row["quantity"]) and row["order_date"] == today.isoformat() for row in rows
        ),
        **dict.fromkeys(_ERRORS, "") | errors,
    )


_ERRORS: Final = ("error", "file_error", "budget_error", "line_error", "sheet_error")


PAGES: Final = (
    Page(ORDERS_PATH, "Order sheets", show_order_sheets),
    *form_pages(
        ORDERS_PATH,
        "Order sheets",
        ("supplier", save_supplier, "Saved a supplier"),
        ("remove", remove_supplier, "Removed a supplier"),
        ("budget", save_order_budget, "Changed the budget of orders"),
        ("ordered", record_sheet_as_ordered, "Recorded an order sheet as ordered"),
        ("ordered/add", add_purchase_order_line, "Added goods on order"),
        ("ordered/remove", remove_purchase_order_line, "Removed goods on order"),
        ("ordered/remove-delivery", remove_delivery, "Removed a delivery"),
    ),
    Page(
        f"{ORDERS_PATH}/terms",
        "Order sheets",
        None,
        upload_product_terms,
        action="Uploaded who supplies which product",
        file_limit=_MAX_FILE,
    ),
    Page(
        f"{ORDERS_PATH}/ordered/file",
        "Order sheets",
        None,
        replace_purchase_orders_by_file,
        action="Uploaded the goods on order",
        file_limit=_MAX_FILE,
    ),
)
