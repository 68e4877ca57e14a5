"""Impact repository: SQL for the daily sums of attribution and the sales behind them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.core.report import ReportQuery
from productrecs.engines.hyperloglog import cardinality, merge
from productrecs.records.catalog.repository import items_of_store
from productrecs.records.events.event import EventKind
from productrecs.records.purchases.sold_lines.repository import order_ids_of_lines
from productrecs.storage.sql.attribution_backlog import (
    UnattributedRecordCount,
    attribution_backlog,
)
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import (
    credit_days,
    item_credit_days,
    look_days,
    outcome_days,
    outcomes,
    shopper_days,
    touch_days,
)

_SALE: Final = int(EventKind.BUY)
_CREDITS: Final = (
    "carts",
    "carts_clicked",
    "cart_value",
    "lines",
    "lines_clicked",
    "units",
    "revenue",
    "revenue_clicked",
)
_ITEM_SUMS: Final = (
    "carts",
    "carts_clicked",
    "lines",
    "lines_clicked",
    "units",
    "revenue",
    "revenue_clicked",
)

Key = tuple[Any, ...]


class ShopperReach(NamedTuple):
    """The numbers of distinct shoppers who were shown something, and who clicked."""

    shown: int
    clicked: int


LookSpot = tuple[str, str]  # a look's id, and the id of a product in it


class LookSpotSums(NamedTuple):
    """What a product did in a look, and the carts and sales that followed there."""

    shown: int = 0
    clicked: int = 0
    carts: int = 0
    sales: int = 0
    revenue: float = 0.0
    clicked_revenue: float = 0.0  # the part of it that followed a click


class GroupCurrencyTotals(NamedTuple):
    """What is attributed to one group, in one currency."""

    carts: int
    carts_clicked: int
    cart_value: float
    lines: int
    lines_clicked: int
    units: int
    revenue: float
    revenue_clicked: float


class PeriodTotals(NamedTuple):
    """All live carts and sales of a period in one currency, attributed or not."""

    currency: str
    carts: int
    cart_value: float
    lines: int
    units: int
    revenue: float
    orders: int
    orders_credited: int
    orders_clicked: int  # orders with a line that followed a click


class AttributedSale(NamedTuple):
    """One bought line with its touchpoint."""

    ts: int
    order_id: str | None
    item_id: str
    title: str
    units: int
    value: float
    currency: str
    clicked: bool
    touched_at: int
    widget: str
    source: str
    position: int


class AttributedItemSums(NamedTuple):
    """What is attributed to recommendations of one product."""

    item_id: str
    title: str
    carts: int
    carts_clicked: int
    lines: int
    lines_clicked: int
    units: int
    revenue: float
    revenue_clicked: float


class AttributionReportRepository(StoreScopedRepository):
    """One store's sums, inside one transaction; only reads."""

    def __init__(
        self, connection: sa.Connection, store_id: StoreId, currency: str = ""
    ) -> None:
        """Read `store_id`'s rows only; `currency` is the store's own."""
        super().__init__(connection, store_id)
        self._currency = currency

    def backlog(self) -> UnattributedRecordCount:
        """Return how much of the log attribution has not read yet."""
        return attribution_backlog(self._connection, self._store_id)

    def touchpoint_counts(
        self, period: ReportQuery, by: Sequence[str]
    ) -> dict[Key, tuple[int, int]]:
        """Return impressions and clicks, grouped by these columns."""
        groups = [touch_days.c[name] for name in by]
        query = sa.select(
            *groups, sa.func.sum(touch_days.c.shown), sa.func.sum(touch_days.c.clicked)
        ).where(touch_days.c.store_id == self._store_id, *_in_period(touch_days, period))
        rows = self._connection.execute(query.group_by(*groups))
        return {tuple(row[:-2]): (int(row[-2] or 0), int(row[-1] or 0)) for row in rows}

    def shopper_reach_and_total(
        self, period: ReportQuery, by: Sequence[str]
    ) -> dict[Key, ShopperReach]:
        """Return the distinct shoppers, by day, widget or source; the total at ().

        A shopper in several groups counts once in each of them, and once in the total.
        """
        columns = shopper_days.c
        query = sa.select(
            *(columns[name] for name in by), columns.shown, columns.clicked
        ).where(columns.store_id == self._store_id, *_in_period(shopper_days, period))
        sketches: dict[Key, list[tuple[bytes, bytes]]] = defaultdict(list)
        for *key, shown, clicked in self._connection.execute(query):
            sketches[tuple(key)].append((shown, clicked))
        merged = {key: _merged_sketches(sketches) for key, sketches in sketches.items()}
        merged[()] = _merged_sketches(merged.values())
        return {
            key: ShopperReach(cardinality(shown), cardinality(clicked))
            for key, (shown, clicked) in merged.items()
        }

    def attributed_totals(
        self, period: ReportQuery, by: Sequence[str]
    ) -> dict[Key, GroupCurrencyTotals]:
        """Return the attributed sums, grouped by these columns and the currency last."""
        groups = [credit_days.c[name] for name in (*by, "currency")]
        sums = [sa.func.sum(credit_days.c[name]) for name in _CREDITS]
        query = sa.select(*groups, *sums).where(
            credit_days.c.store_id == self._store_id, *_in_period(credit_days, period)
        )
        rows = self._connection.execute(query.group_by(*groups))
        return {
            tuple(row[: len(groups)]): _to_group_totals(row[len(groups) :]) for row in rows
        }

    def period_totals(self, period: ReportQuery) -> list[PeriodTotals]:
        """Return the sums of all live carts and sales, by currency."""
        names = PeriodTotals._fields[1:]
        sums = [sa.func.sum(outcome_days.c[name]) for name in names]
        query = (
            sa.select(outcome_days.c.currency, *sums)
            .where(
                outcome_days.c.store_id == self._store_id, *_in_period(outcome_days, period)
            )
            .group_by(outcome_days.c.currency)
        )
        return [_to_period_totals(row) for row in self._connection.execute(query)]

    def look_spot_sums(self, period: ReportQuery) -> dict[LookSpot, LookSpotSums]:
        """Return what each product did in each look, by look and item id."""
        days, outcome = look_days.c, outcomes.c
        seen = (
            sa.select(
                days.look.label("look"),
                days.item.label("item"),
                sa.func.sum(days.shown),
                sa.func.sum(days.clicked),
            )
            .where(days.store_id == self._store_id, *_in_period(look_days, period))
            .group_by(days.look, days.item)
        )
        is_sale = outcome.kind == _SALE
        sold = (
            sa.select(
                outcome.look.label("look"),
                outcome.item.label("item"),
                _sum_where(~is_sale, 1),
                _sum_where(is_sale & (outcome.units > 0), 1),
                _sum_where(is_sale, outcome.value),
                _sum_where(is_sale & outcome.clicked, outcome.value),
            )
            .where(
                outcome.store_id == self._store_id,
                outcome.widget == "look",
                outcome.look != "",
                outcome.currency.in_(("", self._currency)),
                *_in_period(outcomes, period),
            )
            .group_by(outcome.look, outcome.item)
        )
        sums_by_spot: dict[LookSpot, LookSpotSums] = {}
        for key, (shown, clicked) in self._read_sums_by_item_id(seen):
            sums_by_spot[key] = LookSpotSums(int(shown), int(clicked))
        for key, (carts, sales, revenue, after_click) in self._read_sums_by_item_id(sold):
            sums = sums_by_spot.get(key, LookSpotSums())
            sums_by_spot[key] = sums._replace(
                carts=int(carts),
                sales=int(sales),
                revenue=float(revenue),
                clicked_revenue=float(after_click),
            )
        return sums_by_spot

    def _read_sums_by_item_id(
        self, sums: sa.Select[Any]
    ) -> Iterator[tuple[LookSpot, Sequence[Any]]]:
        """Yield sums of looks and item numbers by the item's id instead."""
        some = sums.subquery()
        columns = list(some.c)
        item = items_of_store("item_id", store_id=self._store_id)
        query = sa.select(columns[0], item.c.item_id, *columns[2:]).join(
            item, item.c.number == columns[1]
        )
        for look, item_id, *values in self._connection.execute(query):
            yield (str(look), str(item_id)), values

    def top_attributed_items(self, period: ReportQuery) -> list[AttributedItemSums]:
        """Return the products with most attributed revenue in the store's own currency."""
        item = items_of_store("item_id", "title", store_id=self._store_id)
        summed = (
            self._select_filtered_item_sums(period)
            if period.where
            else self._select_item_sums(period)
        )
        revenue = summed.selected_columns["revenue"]
        top = summed.order_by(revenue.desc(), summed.selected_columns["item"])
        top_items = top.limit(period.limit).subquery()
        query = (
            sa.select(item.c.item_id, item.c.title, *list(top_items.c)[1:])
            .join(top_items, item.c.number == top_items.c.item)
            .order_by(top_items.c.revenue.desc(), item.c.item_id)
        )
        return [
            AttributedItemSums(*row[:2], *map(int, row[2:7]), *map(float, row[7:]))
            for row in self._connection.execute(query)
        ]

    def _select_item_sums(self, period: ReportQuery) -> sa.Select[Any]:
        """Select the sums of each product from the daily sums."""
        days = item_credit_days.c
        return (
            sa.select(
                days.item, *(sa.func.sum(days[name]).label(name) for name in _ITEM_SUMS)
            )
            .where(
                days.store_id == self._store_id,
                days.currency.in_(("", self._currency)),
                *_in_period(item_credit_days, period),
            )
            .group_by(days.item)
        )

    def _select_filtered_item_sums(self, period: ReportQuery) -> sa.Select[Any]:
        """Select the same from the outcomes: daily sums have no placements."""
        outcome = outcomes.c
        is_sale, is_line = (
            outcome.kind == _SALE,
            (outcome.kind == _SALE) & (outcome.units > 0),
        )
        sums = (
            _sum_where(~is_sale, 1),
            _sum_where(~is_sale & outcome.clicked, 1),
            _sum_where(is_line, 1),
            _sum_where(is_line & outcome.clicked, 1),
            _sum_where(is_sale, outcome.units),
            _sum_where(is_sale, outcome.value),
            _sum_where(is_sale & outcome.clicked, outcome.value),
        )
        labels = zip(sums, _ITEM_SUMS, strict=True)
        return (
            sa.select(outcome.item, *(part.label(name) for part, name in labels))
            .where(
                outcome.store_id == self._store_id,
                outcome.touch.is_not(None),
                outcome.currency.in_(("", self._currency)),
                *_in_period(outcomes, period),
                *_outcome_filters(period),
            )
            .group_by(outcome.item)
        )

    def newest_attributed_sales(self, period: ReportQuery) -> list[AttributedSale]:
        """Return the newest attributed sales of a period, newest first."""
        orders = order_ids_of_lines(self._store_id)
        item = items_of_store("item_id", "title", store_id=self._store_id)
        outcome = outcomes.c
        query = (
            sa.select(
                outcome.ts,
                orders.c.order_id,
                item.c.item_id,
                item.c.title,
                outcome.units,
                outcome.value,
                outcome.currency,
                outcome.clicked,
                outcome.touched_at,
                outcome.widget,
                outcome.source,
                outcome.position,
            )
            .join(orders, orders.c.line_seq == outcome.fact)
            .join(item, item.c.number == outcome.item)
            .where(
                outcome.store_id == self._store_id,
                outcome.kind == _SALE,
                outcome.touch.is_not(None),
                *_in_period(outcomes, period),
                *_outcome_filters(period),
            )
            .order_by(outcome.day.desc(), outcome.fact.desc())
            .limit(period.limit)
        )
        return [AttributedSale._make(row) for row in self._connection.execute(query)]


def _sum_where(condition: sa.ColumnElement[bool], column: Any) -> sa.ColumnElement[Any]:
    """Return the sum of an expression over the rows for which `condition` holds."""
    return sa.func.sum(sa.case((condition, column), else_=0))


def _in_period(table: sa.Table, period: ReportQuery) -> tuple[sa.ColumnElement[bool], ...]:
    return (table.c.day >= period.first_day, table.c.day <= period.last_day)


def _outcome_filters(period: ReportQuery) -> Iterator[sa.ColumnElement[bool]]:
    for name, value in period.where:
        if name == "position":
            yield outcomes.c.position == int(value or 0)
        elif name == "touch":
            yield outcomes.c.clicked == (value == "click")
        else:
            yield outcomes.c[name] == value


def _merged_sketches(sketches: Iterable[tuple[bytes, bytes]]) -> tuple[bytes, bytes]:
    pairs = list(sketches)
    return merge(shown for shown, _ in pairs), merge(clicked for _, clicked in pairs)


def _to_group_totals(row: Sequence[Any]) -> GroupCurrencyTotals:
    carts, carts_clicked, cart_value, lines, lines_clicked, units, *revenues = row
    return GroupCurrencyTotals(
        int(carts),
        int(carts_clicked),
        float(cart_value),
        int(lines),
        int(lines_clicked),
        int(units),
        *map(float, revenues),
    )


def _to_period_totals(row: Sequence[Any]) -> PeriodTotals:
    currency, carts, cart_value, lines, units, revenue, *orders = row
    return PeriodTotals(
        currency,
        int(carts),
        float(cart_value),
        int(lines),
        int(units),
        float(revenue),
        *map(int, orders),
    )
