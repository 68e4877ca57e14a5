"""Attributed sales reports: products sold after recommendations, and their orders."""

from typing import Final

from productrecs.core.clock import iso
from productrecs.core.report import (
    Definition,
    Report,
    ReportQuery,
    ReportValue,
)
from productrecs.features.insights.impact.attribution_report import (
    CURRENCY,
    GROUPS,
    RULE,
    apart,
    notes_on,
    parted,
)
from productrecs.features.insights.impact.repository import (
    AttributedItem,
    AttributedSale,
    ImpactRepository,
    ShownAndClicked,
)
from productrecs.storage.database import Database
from productrecs.tenancy.accounts.store import Store


def sales_report(database: Database, store: Store, period: ReportQuery) -> Report:
    """Return the newest credited sales: the orders behind the numbers."""
    with database.reading() as connection:
        repository = ImpactRepository(connection, store.store_id)
        sales, behind = repository.sales(period), repository.behind()
    return Report(
        name="credited-sales",
        title=f"Sales after recommendations, {period.first_day} to {period.last_day}",
        columns=_SALE_COLUMNS,
        rows=tuple(_sale(one, store.settings.currency) for one in sales),
        notes=(RULE, *notes_on(0, behind)),
    )


_SALE_COLUMNS: Final = (
    Definition("time", "time", "when the line was bought"),
    Definition("order_id", "text", "the order; empty for a buy event without one"),
    Definition("item_id", "text", "the product"),
    Definition("title", "text", "its current title"),
    Definition("units", "count", "units; unknown counts as 1"),
    Definition("revenue", "money", "the line's revenue"),
    CURRENCY,
    Definition("touch", "text", "click or impression: the touchpoint that is credited"),
    Definition("touched", "time", "the time of the touchpoint"),
    *(GROUPS[name] for name in ("widget", "source", "position")),
)


def looks_by_item(
    database: Database, store: Store, period: ReportQuery
) -> dict[str, ShownAndClicked]:
    """Return how often products were shown and clicked in looks, by their ids.

    The product of the page that shows a look does not count.
    """
    with database.reading() as connection:
        return ImpactRepository(connection, store.store_id).looks(period)


def items_report(database: Database, store: Store, period: ReportQuery) -> Report:
    """Return which products sold after recommendations, most revenue first."""
    own = store.settings.currency
    with database.reading() as connection:
        repository = ImpactRepository(connection, store.store_id, own)
        found, behind = repository.items(period), repository.behind()
    return Report(
        name="credited-items",
        title=f"Products sold after recommendations, {period.first_day} to "
        f"{period.last_day}",
        columns=_ITEM_COLUMNS,
        rows=tuple(_item(one, own) for one in found),
        notes=(RULE, *notes_on(0, behind)),
    )


_ITEM_COLUMNS: Final = (
    Definition("item_id", "text", "the product"),
    Definition("title", "text", "its current title"),
    Definition("carts", "count", "credited add-to-carts of it"),
    *apart("carts", "count"),
    Definition("sales", "count", "credited order lines of it, without returns"),
    *apart("sales", "count"),
    Definition("units", "count", "units in them, net of returns; unknown counts as 1"),
    Definition("revenue", "money", "their revenue in the store's currency"),
    *apart("revenue", "money"),
    CURRENCY,
)


def _item(one: AttributedItem, currency: str) -> tuple[ReportValue, ...]:
    return (
        one.item_id,
        one.title,
        *parted(one.carts, one.carts_clicked),
        *parted(one.lines, one.lines_clicked),
        one.units,
        *parted(one.revenue, one.revenue_clicked),
        currency,
    )


def _sale(one: AttributedSale, currency: str) -> tuple[ReportValue, ...]:
    return (
        iso(one.ts),
        one.order_id,
        one.item_id,
        one.title,
        one.units,
        one.value,
        one.currency or currency,
        "click" if one.clicked else "impression",
        iso(one.touched_at),
        one.widget or None,
        one.source or None,
        one.position or None,
    )
