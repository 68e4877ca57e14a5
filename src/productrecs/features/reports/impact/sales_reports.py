"""Sales reports: sales after recommendations, and the funnel of each widget."""

from collections.abc import Sequence
from typing import Final

from productrecs.core.report import (
    Figure,
    FigureDefinition,
    Report,
    ReportQuery,
    ReportQueryError,
    ReportValue,
    share_of,
)
from productrecs.core.timestamps import iso
from productrecs.features.reports.impact.attribution_report import (
    CURRENCY,
    GROUPS,
    RULE,
    GroupAttribution,
    attribution_notes,
    clicked_and_seen_definitions,
    join_touchpoints_and_totals,
    split_by_touchpoint,
)
from productrecs.features.reports.impact.repository import (
    AttributedItemSums,
    AttributedSale,
    AttributionReportRepository,
    LookSpot,
    LookSpotSums,
    ShopperReach,
)
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.store import Store


def attributed_sales_report(
    database: Database, store: Store, period: ReportQuery
) -> Report:
    """Return the newest attributed sales: the orders behind the figures."""
    with database.reading() as connection:
        repository = AttributionReportRepository(connection, store.store_id)
        sales, backlog = repository.newest_attributed_sales(period), repository.backlog()
    return Report(
        name="credited-sales",
        title=f"Sales after recommendations, {period.first_day} to {period.last_day}",
        columns=_SALE_COLUMNS,
        rows=tuple(_attributed_sale_row(sale, store.settings.currency) for sale in sales),
        notes=(RULE, *attribution_notes(0, backlog)),
    )


_SALE_COLUMNS: Final = (
    FigureDefinition("time", "time", "when the line was bought"),
    FigureDefinition("order_id", "text", "the order; empty for a buy event without one"),
    FigureDefinition("item_id", "text", "the product"),
    FigureDefinition("title", "text", "its current title"),
    FigureDefinition("units", "count", "units; unknown counts as 1"),
    FigureDefinition("revenue", "money", "the line's revenue"),
    CURRENCY,
    FigureDefinition(
        "touch", "text", "click or impression: the touchpoint that is credited"
    ),
    FigureDefinition("touched", "time", "the time of the touchpoint"),
    *(GROUPS[name] for name in ("widget", "source", "position")),
)


def read_look_spot_sums(
    database: Database, store: Store, period: ReportQuery
) -> dict[LookSpot, LookSpotSums]:
    """Return what each product did in each look, by look and item id.

    The product of the page that shows a look does not count.
    """
    with database.reading() as connection:
        repository = AttributionReportRepository(
            connection, store.store_id, store.settings.currency
        )
        return repository.look_spot_sums(period)


def attributed_items_report(
    database: Database, store: Store, period: ReportQuery
) -> Report:
    """Return the products sold after recommendations, most revenue first."""
    own_currency = store.settings.currency
    with database.reading() as connection:
        repository = AttributionReportRepository(connection, store.store_id, own_currency)
        attributed, backlog = repository.top_attributed_items(period), repository.backlog()
    return Report(
        name="credited-items",
        title=f"Products sold after recommendations, {period.first_day} to "
        f"{period.last_day}",
        columns=_ITEM_COLUMNS,
        rows=tuple(_attributed_item_row(item, own_currency) for item in attributed),
        notes=(RULE, *attribution_notes(0, backlog)),
    )


_ITEM_COLUMNS: Final = (
    FigureDefinition("item_id", "text", "the product"),
    FigureDefinition("title", "text", "its current title"),
    FigureDefinition("carts", "count", "credited add-to-carts of it"),
    *clicked_and_seen_definitions("carts", "count"),
    FigureDefinition("sales", "count", "credited order lines of it, without returns"),
    *clicked_and_seen_definitions("sales", "count"),
    FigureDefinition(
        "units", "count", "units in them, net of returns; unknown counts as 1"
    ),
    FigureDefinition("revenue", "money", "their revenue in the store's currency"),
    *clicked_and_seen_definitions("revenue", "money"),
    CURRENCY,
)


def _attributed_item_row(
    item: AttributedItemSums, currency: str
) -> tuple[ReportValue, ...]:
    return (
        item.item_id,
        item.title,
        *split_by_touchpoint(item.carts, item.carts_clicked),
        *split_by_touchpoint(item.lines, item.lines_clicked),
        item.units,
        *split_by_touchpoint(item.revenue, item.revenue_clicked),
        currency,
    )


def _attributed_sale_row(sale: AttributedSale, currency: str) -> tuple[ReportValue, ...]:
    return (
        iso(sale.ts),
        sale.order_id,
        sale.item_id,
        sale.title,
        sale.units,
        sale.value,
        sale.currency or currency,
        "click" if sale.clicked else "impression",
        iso(sale.touched_at),
        sale.widget or None,
        sale.source or None,
        sale.position or None,
    )


DEFAULT_BY: Final = ("widget", "source", "position")
_THOUSAND: Final = 1_000
_POSITION: Final = "position"

COLUMNS: Final = (
    FigureDefinition("shown", "count", "recommended products shown (rec-impression), live"),
    FigureDefinition("clicked", "count", "clicks on them (rec-click)"),
    FigureDefinition("click_rate", "share", "clicked / shown"),
    FigureDefinition("carted", "count", "add-to-carts that are attributed to them"),
    *clicked_and_seen_definitions("carted", "count"),
    FigureDefinition("cart_rate", "share", "carted / shown"),
    FigureDefinition(
        "bought", "count", ("order lines that are attributed to them, without returns")
    ),
    *clicked_and_seen_definitions("bought", "count"),
    FigureDefinition("buy_rate", "share", "bought / shown"),
    FigureDefinition("revenue", "money", "their revenue, net of returns"),
    *clicked_and_seen_definitions("revenue", "money"),
    CURRENCY,
    FigureDefinition("revenue_per_1000", "money", "revenue for each 1,000 products shown"),
)

SHOPPERS: Final = (
    FigureDefinition(
        "shoppers",
        "count",
        "different shoppers who were shown something: exact up to 1,024, then accurate "
        "to about 2 %; a shopper with several days or lists counts once",
    ),
    FigureDefinition(
        "shoppers_clicked",
        "count",
        ("of these, shoppers who clicked; counted the same way"),
    ),
)
_RATE: Final = FigureDefinition("shopper_rate", "share", "shoppers_clicked / shoppers")
_NO_REACH: Final = ShopperReach(0, 0)
_BY_POSITION: Final = (
    "Shoppers are counted by widget, source and day, not by position: use --by "
    "widget,source."
)


def widget_funnel_report(database: Database, store: Store, period: ReportQuery) -> Report:
    """Return the funnel of each place, most impressions first, in the store's currency.

    Raises:
        ReportQueryError: for an unknown grouping.
    """
    by = period.by or DEFAULT_BY
    if set(by) - set(GROUPS) or len(set(by)) != len(by):
        message = f"group by any of {', '.join(GROUPS)}, each once"
        raise ReportQueryError(message)
    own_currency = store.settings.currency
    with database.reading() as connection:
        repository = AttributionReportRepository(connection, store.store_id)
        touchpoints = repository.touchpoint_counts(period, by)
        credited = repository.attributed_totals(period, by)
        reach = repository.shopper_reach_and_total(
            period, [name for name in by if name != _POSITION]
        )
        backlog = repository.backlog()
    groups = join_touchpoints_and_totals(touchpoints, credited, own_currency)
    groups_in_currency = [group for group in groups if group.currency == own_currency]
    is_by_position = _POSITION in by
    rows = tuple(
        _funnel_row(group)
        + (() if is_by_position else _reach_values(reach.get(group.key, _NO_REACH)))
        for group in _sort_by_impressions_or_day(groups_in_currency, by)[: period.limit]
    )
    notes = attribution_notes(len(groups_in_currency) - len(rows), backlog)
    if len(groups_in_currency) < len(groups):
        notes.append(
            "Sales in other currencies are not included: see the report attribution."
        )
    if is_by_position:
        notes.append(_BY_POSITION)
    return Report(
        name="widgets",
        title=f"Lists and their results, {period.first_day} to {period.last_day}",
        figures=tuple(map(Figure, (*SHOPPERS, _RATE), _reach_values(reach[()]))),
        columns=(
            *(GROUPS[name] for name in by),
            *COLUMNS,
            *(() if is_by_position else (*SHOPPERS, _RATE)),
        ),
        rows=rows,
        notes=tuple(notes),
    )


def _reach_values(reach: ShopperReach) -> tuple[ReportValue, ...]:
    return (*reach, share_of(reach.clicked, reach.shown))


def _sort_by_impressions_or_day(
    groups: Sequence[GroupAttribution], by: Sequence[str]
) -> list[GroupAttribution]:
    if by[0] == "day":
        return sorted(groups, key=lambda group: group.key)
    return sorted(groups, key=lambda group: (-(group.shown or 0), group.key))


def _funnel_row(group: GroupAttribution) -> tuple[ReportValue, ...]:
    shown, clicked, credited = group.shown or 0, group.clicked or 0, group.attributed
    return (
        *(value or None for value in group.key),
        shown,
        clicked,
        share_of(clicked, shown),
        *split_by_touchpoint(credited.carts, credited.carts_clicked),
        share_of(credited.carts, shown),
        *split_by_touchpoint(credited.lines, credited.lines_clicked),
        share_of(credited.lines, shown),
        *split_by_touchpoint(credited.revenue, credited.revenue_clicked),
        group.currency,
        share_of(credited.revenue * _THOUSAND, shown),
    )
