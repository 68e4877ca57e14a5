"""Customers pages: segments, who is due, and one shopper's record to export or erase."""

import itertools
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import urlencode

from productrecs.core.report import MAX_ROWS, parse_report_query
from productrecs.dashboard.page import (
    NavigationGroup,
    Page,
    PageOrRecordNotFoundError,
    Reply,
    Visit,
)
from productrecs.dashboard.product_table import titles_of
from productrecs.dashboard.report_period import REPORT_FILE_PATH
from productrecs.dashboard.report_values import figures_by_name, rows_by_column
from productrecs.features.privacy.shopper_export import (
    shopper_names,
    shopper_record_fields,
)
from productrecs.features.reports.rfm_segments import CustomerSegment
from productrecs.records.events.event import Fields
from productrecs.records.purchases.sold_lines.repository import SoldLineRepository
from productrecs.report_registry import make_report
from productrecs.services import build_eraser
from productrecs.tenancy.users.dashboard_user import Role

CUSTOMERS_PATH: Final = "/dashboard/customers"
ONE_PATH: Final = f"{CUSTOMERS_PATH}/one"
EXPORT_PATH: Final = f"{CUSTOMERS_PATH}/export"
SEGMENTS: Final = MappingProxyType(
    {
        CustomerSegment.NEW.value: ("New", "good"),
        CustomerSegment.ONCE.value: ("Bought on one day", ""),
        CustomerSegment.ACTIVE.value: ("Active", "good"),
        CustomerSegment.DUE.value: ("Due", "warn"),
        CustomerSegment.SLIPPING.value: ("Slipping", "warn"),
        CustomerSegment.LOST.value: ("Lost", "bad"),
    }
)
_RECORDS: Final = MappingProxyType(
    {
        "event": "Events",
        "purchase": "Order lines",
        "test": "Tests",
    }
)
_HAPPENED: Final = MappingProxyType(
    {
        "detail-page-view": "Viewed a product",
        "add-to-cart": "Added to the cart",
        "buy": "Bought",
        "category-view": "Viewed a category",
        "search-pref": "Searched",
        "search-click": "Clicked in a search",
        "image-search-click": "Clicked in a search by photo",
        "metadata-pref": "Chose a filter",
        "rec-impression": "Saw a recommendation",
        "rec-click": "Clicked a recommendation",
    }
)
_ROWS: Final = 50
_MOST_READ: Final = 5_000
_LONGEST_ID: Final = 256


def show_customers(visit: Visit, error: str = "", typed: str = "") -> Reply:
    """Show the segments, and the customers with most revenue or with an order due."""
    zone, services, store = visit.store.settings.zone, visit.services, visit.store
    by = "next" if visit.query["by"] == "next" else "value"
    segment = visit.query["segment"] if visit.query["segment"] in SEGMENTS else ""
    segments = make_report(
        services, store, "customers", parse_report_query(visit.now_ms, zone, by="segment")
    )
    query = parse_report_query(visit.now_ms, zone, by=by, limit=MAX_ROWS)
    report = make_report(services, store, "customer-list", query)
    customers = [
        customer
        for customer in rows_by_column(report)
        if segment in {"", customer["segment"]}
    ]
    segment_rows = rows_by_column(segments)
    return visit.render(
        "customers.html",
        status=404 if error else 200,
        title="Customers",
        error=error,
        typed=typed,
        figures=figures_by_name(segments),
        segments=segment_rows,
        is_counting=not segment_rows and _has_customers(visit),
        names=SEGMENTS,
        meanings=_segment_meanings(segments.notes),
        notes=segments.notes[:1],
        by=by,
        segment=segment,
        people=customers[:_ROWS],
        total=len(customers),
        link=lambda **fields: f"{CUSTOMERS_PATH}?{urlencode(fields)}",
        file=lambda name, by: f"{REPORT_FILE_PATH}?{urlencode({'report': name, 'by': by})}",
    )


def _has_customers(visit: Visit) -> bool:
    """Return whether an order names a customer, counted or not."""
    with visit.database.reading() as connection:
        sold_lines = SoldLineRepository(connection, visit.store.store_id)
        return any(sold_lines.pages_of_customer_lines())


def _segment_meanings(notes: tuple[str, ...]) -> dict[str, str]:
    """Return the meaning of each segment, from the report's notes."""
    pairs = (note.split(": ", 1) for note in notes if ": " in note)
    return {name: text for name, text in pairs if name in SEGMENTS}


def show_customer(visit: Visit) -> Reply:
    """Show the stored data of one shopper, found by any of their ids."""
    name = visit.query["customer"][:_LONGEST_ID]
    try:
        return _customer_page(visit, name)
    except PageOrRecordNotFoundError as error:
        return show_customers(visit, error=str(error), typed=name)


def _customer_page(
    visit: Visit, shopper_id: str, error: str = "", typed: str = ""
) -> Reply:
    names, records = _find_ids_and_records(visit, shopper_id)
    dated_records = [record for record in records if "timestamp" in record]
    dated_records.sort(key=lambda record: str(record["timestamp"]), reverse=True)
    counts = Counter(str(record["record"]) for record in records)
    query = parse_report_query(visit.now_ms, visit.store.settings.zone, limit=MAX_ROWS)
    report = make_report(visit.services, visit.store, "customer-list", query)
    row = next((row for row in rows_by_column(report) if row["customer"] in names), None)
    return visit.render(
        "customer.html",
        status=422 if error else 200,
        title=f"Customer {shopper_id}",
        name=shopper_id,
        names=names,
        known=row,
        segments=SEGMENTS,
        counts=[(label, counts[kind]) for kind, label in _RECORDS.items() if counts[kind]],
        records=dated_records[:_ROWS],
        titles=titles_of(visit, _item_ids_in(dated_records[:_ROWS])),
        is_cut=len(records) == _MOST_READ,
        labels=_RECORDS,
        happened=_HAPPENED,
        export=EXPORT_PATH,
        may_export=visit.user.role >= Role.EDITOR,
        error=error,
        typed=typed,
    )


def _find_ids_and_records(
    visit: Visit, shopper_id: str
) -> tuple[tuple[str, ...], list[Fields]]:
    """Return a shopper's ids and records; an unknown id is not found."""
    database, store_id = visit.database, visit.store.store_id
    names = shopper_names(database, store_id, shopper_id) if shopper_id else ()
    rows = shopper_record_fields(database, store_id, names) if names else iter(())
    records = list(itertools.islice(rows, _MOST_READ))
    if not records:
        message = "Nothing is stored of a customer with this id."
        raise PageOrRecordNotFoundError(message)
    return names, records


def _item_ids_in(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the product that each record shows."""
    shown = (
        record.get("item_id") or next(iter(record.get("item_ids") or ()), "")
        for record in records
    )
    return sorted({str(item_id) for item_id in shown if item_id})


def request_customer_erasure(visit: Visit) -> Reply:
    """Erase a shopper after the owner has typed the id again."""
    name, typed = visit.form["customer"][:_LONGEST_ID], visit.form["confirm"]
    if typed != name:
        error = "This is not the id above. Type it exactly to erase this customer."
        return _customer_page(visit, name, error, typed)
    _find_ids_and_records(visit, name)
    build_eraser(visit.services).request_erasure(visit.store.store_id, name)
    message = "The customer is being erased; it takes up to a minute."
    return visit.redirect(CUSTOMERS_PATH, message)


def export_customer_records(visit: Visit) -> Reply:
    """Send all records of a shopper as JSON lines."""
    name = visit.form["customer"][:_LONGEST_ID]
    names, _ = _find_ids_and_records(visit, name)
    rows = shopper_record_fields(visit.database, visit.store.store_id, names)
    lines = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows]
    return Reply(
        body="".join(f"{line}\n" for line in lines).encode(),
        media_type="application/jsonl; charset=utf-8",
        headers={"content-disposition": 'attachment; filename="customer.jsonl"'},
    )


PAGES: Final = (
    Page(CUSTOMERS_PATH, "Customers", show_customers, group=NavigationGroup.ANALYSE),
    Page(
        ONE_PATH,
        "Customer",
        show_customer,
        request_customer_erasure,
        may_change=Role.OWNER,
        action="Erased one customer",
    ),
    Page(
        EXPORT_PATH,
        "Records of a customer",
        None,
        export_customer_records,
        action="Exported a customer's records",
    ),
)
