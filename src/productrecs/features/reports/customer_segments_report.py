"""Customer reports: the segments of a store's customers, and customers by name."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, tzinfo
from typing import Any, Final

from productrecs.core.ids import StoreId
from productrecs.core.report import (
    FigureDefinition,
    Report,
    ReportQuery,
    ReportQueryError,
    ReportValue,
    define_figure,
    share_of,
)
from productrecs.core.timestamps import iso
from productrecs.features.reports.rfm_segments import (
    MEANINGS,
    CustomerSegment,
    RfmCustomer,
    segment_customers,
)
from productrecs.records.purchases.sold_lines.repository import SoldLineRepository
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.store_counters_and_versions import log_seq
from productrecs.storage.sql.stored_insights import (
    InsightCoverage,
    StoredInsight,
    insight_coverages,
    read_insight,
    store_insight,
)
from productrecs.tenancy.accounts.repository import AccountRepository
from productrecs.tenancy.accounts.store import Store, is_nightly_run_due

SEGMENTS_INSIGHT: Final = "customers"
LISTED: Final = 1_000
"""How many customers are stored by name: those with most revenue, and those due next."""

RULE: Final = (
    "From orders with a customer (user_id of an order, customer_id of a file), net of "
    "returns; orders with only a session are not counted. The usual gap between two "
    "orders is the customer's own, drawn towards the store's for customers with few "
    "orders."
)
_VALUES: Final = ("high", "middle", "low")
_GROUPS: Final = {
    "segment": FigureDefinition(
        "segment",
        "text",
        ("the segment, by where customers are in their own buying rhythm"),
    ),
    "value": FigureDefinition(
        "value", "text", "high: the top 10 % by revenue; middle: the next 40 %"
    ),
}
_SUMS: Final = (
    FigureDefinition("customers", "count", "how many customers"),
    FigureDefinition("customers_share", "share", "of all customers"),
    FigureDefinition("orders", "count", "their orders so far"),
    FigureDefinition("revenue", "money", "their revenue so far, in the store's currency"),
    FigureDefinition("revenue_share", "share", "of the revenue of all customers"),
    FigureDefinition("revenue_each", "money", "revenue / customers"),
)
_CUSTOMER_COLUMNS: Final = (
    FigureDefinition("customer", "text", "the customer's id"),
    _GROUPS["segment"],
    _GROUPS["value"],
    FigureDefinition("orders", "count", "their orders so far"),
    FigureDefinition("revenue", "money", "their revenue in the store's currency"),
    FigureDefinition("first_order", "day", "the day of their first order"),
    FigureDefinition("last_order", "day", "the day of their last order"),
    FigureDefinition(
        "expected", "day", ("when the next order is expected; empty when it is overdue")
    ),
    FigureDefinition(
        "recency", "count", ("5: the fifth that bought most recently; 1: longest ago")
    ),
    FigureDefinition("frequency", "count", "5: the fifth that ordered most often"),
    FigureDefinition("money", "count", "5: the fifth that spent most"),
)


def compute_and_store_segments(
    database: Database, store: Store, now_ms: int
) -> StoredInsight:
    """Compute and store the store's customer segments; reads all order lines.

    Raises:
        StoreDeletedError: when the store was deleted meanwhile.
    """
    zone = store.settings.zone
    today = datetime.fromtimestamp(now_ms / 1000, UTC).astimezone(zone).date()
    with database.reading() as connection:
        head = log_seq(connection, store.store_id)
        lines = SoldLineRepository(connection, store.store_id).pages_of_customer_lines()
        customers = segment_customers(lines, store.settings.currency, zone, today)
    result = StoredInsight(
        now_ms,
        head,
        {"sums": _segment_sums(customers), "people": _listed_customer_rows(customers)},
    )
    with database.transaction(synced=False) as transaction:
        AccountRepository(transaction).lock(store.store_id)
        store_insight(transaction, store.store_id, SEGMENTS_INSIGHT, result)
    return result


def customer_segments_report(
    database: Database, store: Store, query: ReportQuery
) -> Report:
    """Return the segments of all customers so far; ignores the requested days.

    Raises:
        ReportQueryError: for an unknown grouping.
    """
    by = query.by or ("segment",)
    if set(by) - set(_GROUPS) or len(set(by)) != len(by):
        message = f"group by any of {', '.join(_GROUPS)}, each once"
        raise ReportQueryError(message)
    stored = _last_computed_segments(database, store)
    sums = [] if stored is None else stored.result["sums"]
    count = sum(row[2] for row in sums)
    meanings = [
        f"{customer_segment.value}: {MEANINGS[customer_segment]}."
        for customer_segment in CustomerSegment
        if "segment" in by
    ]
    return Report(
        name="customers",
        title="Customers by recency, frequency and revenue (RFM)",
        figures=(
            define_figure("customers", "count", count, "customers who ever bought"),
            define_figure(
                "worked_out",
                "time",
                None if stored is None else iso(stored.computed_at),
                "when this was computed",
            ),
        ),
        columns=(*(_GROUPS[name] for name in by), *_SUMS),
        rows=tuple(_segment_group_rows(sums, by)[: query.limit]),
        notes=(RULE, *meanings, *_not_computed_notes(stored)),
    )


def _segment_group_rows(
    sums: Sequence[Sequence[Any]], by: Sequence[str]
) -> list[tuple[ReportValue, ...]]:
    """Return the rows of groups from [segment, value, customers, orders, revenue] sums."""
    total, total_revenue = sum(row[2] for row in sums), sum(row[4] for row in sums)
    groups: dict[tuple[str, ...], list[Any]] = defaultdict(lambda: [0, 0, 0.0])
    for segment, value, customers, orders, revenue in sums:
        group_values = {"segment": segment, "value": value}
        group = groups[tuple(group_values[name] for name in by)]
        group[0] += customers
        group[1] += orders
        group[2] += revenue
    return [
        (
            *key,
            customers,
            share_of(customers, total),
            orders,
            revenue,
            share_of(revenue, total_revenue),
            share_of(revenue, customers),
        )
        for key, (customers, orders, revenue) in sorted(groups.items(), key=_group_order)
    ]


def customer_list_report(database: Database, store: Store, query: ReportQuery) -> Report:
    """Return customers by name: by highest revenue, or by due date with `by` next.

    Raises:
        ReportQueryError: for a `by` other than value or next.
    """
    by = query.by or ("value",)
    if by not in {("value",), ("next",)}:
        message = "list customers by value, or by next: whose next order is due first"
        raise ReportQueryError(message)
    stored = _last_computed_segments(database, store)
    customers = [] if stored is None else stored.result["people"]
    if by == ("next",):
        customers = sorted(
            (customer for customer in customers if customer[7]),
            key=lambda customer: (customer[7], customer[0]),
        )
    else:
        customers = sorted(customers, key=lambda customer: (-customer[4], customer[0]))
    return Report(
        name="customer-list",
        title="Customers by name",
        columns=_CUSTOMER_COLUMNS,
        rows=tuple(tuple(customer) for customer in customers[: query.limit]),
        notes=(RULE, *_not_computed_notes(stored)),
    )


def _last_computed_segments(database: Database, store: Store) -> StoredInsight | None:
    with database.reading() as connection:
        return read_insight(connection, store.store_id, SEGMENTS_INSIGHT)


def _not_computed_notes(stored: StoredInsight | None) -> list[str]:
    return (
        []
        if stored
        else ["Not computed yet: a worker does it within minutes of the first orders."]
    )


def _group_order(group: tuple[tuple[str, ...], Any]) -> list[int]:
    places = [*CustomerSegment, *_VALUES]
    return [places.index(name) for name in group[0]]


def _segment_sums(customers: Sequence[RfmCustomer]) -> list[list[Any]]:
    """Return [segment, value, customers, orders, revenue] of each group."""
    groups: dict[tuple[str, str], list[Any]] = defaultdict(lambda: [0, 0, 0.0])
    for customer in customers:
        group = groups[customer.segment.value, customer.value]
        group[0] += 1
        group[1] += customer.orders
        group[2] += customer.revenue
    return [[*key, *group] for key, group in sorted(groups.items())]


def _listed_customer_rows(customers: Sequence[RfmCustomer]) -> list[list[Any]]:
    due = sorted(
        (customer for customer in customers if customer.next_day is not None),
        key=lambda customer: (
            customer.next_day or date.max,
            -customer.revenue,
            customer.name,
        ),
    )
    listed = {customer.name: customer for customer in (*customers[:LISTED], *due[:LISTED])}
    return [
        [
            customer.name,
            customer.segment.value,
            customer.value,
            customer.orders,
            customer.revenue,
            customer.first_day.isoformat(),
            customer.last_day.isoformat(),
            None if customer.next_day is None else customer.next_day.isoformat(),
            customer.recency,
            customer.frequency,
            customer.money,
        ]
        for customer in listed.values()
    ]


_GROWN: Final = 2
"""Growth factor of the log (after an import) that triggers a run before the night."""


def stores_due_for_segments(
    database: Database, stores: Iterable[Store], now_ms: int
) -> list[StoreId]:
    """Return the stores whose segments must be computed.

    They were never computed, the nightly run is due, or the log has doubled since.
    """
    with database.reading() as connection:
        progress_by_store = {
            row.store_id: row for row in insight_coverages(connection, SEGMENTS_INSIGHT)
        }
    return [
        store.store_id
        for store in stores
        if _are_segments_due(
            progress_by_store.get(store.store_id), store.settings.zone, now_ms
        )
    ]


def _are_segments_due(coverage: InsightCoverage | None, zone: tzinfo, now_ms: int) -> bool:
    if coverage is None or coverage.computed_at is None:
        return True
    has_grown = coverage.seq >= max(1, _GROWN * coverage.applied_seq)
    return has_grown or is_nightly_run_due(zone, coverage.computed_at, now_ms)
