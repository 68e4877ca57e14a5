"""Forecast repository: SQL for stored forecasts and the catalog's current items."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import sqlalchemy as sa

from productrecs.engines.array_types_and_sorting import Floats
from productrecs.records.catalog.availability import Availability
from productrecs.records.catalog.repository import items_of_store, items_sql
from productrecs.records.purchase_orders.purchase_order_line import OrderedUnits
from productrecs.records.purchase_orders.repository import (
    PurchaseOrderRepository,
)
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import forecast_runs, item_forecasts, stock_outs


@dataclass(frozen=True, slots=True)
class ForecastRun:
    """A store's forecast; days are ISO dates of its zone."""

    generated_at: int
    first_day: str
    target_mode: str
    history: Sequence[Sequence[Any]]  # (day, amount) pairs
    total: Mapping[str, Any]
    accuracy: Mapping[str, float] | None
    judged: Mapping[str, Any] | None
    items: int
    learned: int
    seconds: float

    @property
    def history_days(self) -> float | None:
        """The days from the store's first sale to the run; None: unknown, or no sale."""
        if self.accuracy is not None:
            return self.accuracy.get("history_days")
        sales = [amount > 0 for _, amount in self.history]
        return float(len(sales) - sales.index(True)) if any(sales) else None


class DayForecast(NamedTuple):
    """One day of a forecast."""

    mean: float
    p10: float
    p50: float
    p90: float


NO_DAYS_AHEAD: Final = DayForecast(0.0, 0.0, 0.0, 0.0)
_DAYS: Final = msgspec.json.Decoder(list[DayForecast])


@dataclass(frozen=True, slots=True)
class ItemForecast:
    """An item that is now in the catalog, and its forecast; `days` is empty without one."""

    item_id: str
    sku: str | None
    title: str
    price: float | None
    cost: float | None
    stock_qty: int | None
    availability: Availability | None
    available_from: str | None
    available_until: str | None
    created_at: int
    method: str | None
    days: Sequence[DayForecast]
    daily: Mapping[int, float] | None = None  # sales by days before the run; None: unknown


class ForecastItemRow(NamedTuple):
    """A forecast item that is now in the catalog, as a compact row.

    `price` is the mean price paid in the 90 days before the run, else the usual price.
    """

    item_id: str
    sku: str | None
    title: str
    price: float | None
    cost: float | None
    stock_qty: int | None
    availability: str | None
    available_from: str | None
    available_until: str | None
    method: str
    spread: float
    sold: str | None  # JSON: in the last 30, 60 and 90 days before the run
    supplier: str | None = None
    lead_time_days: int | None = None  # None: as the store's settings say
    order_every_days: int | None = None
    minimum_order: float | None = None
    pack_size: int | None = None
    minimum_quantity: int | None = None
    number: int = -1  # in the catalog
    on_order: tuple[OrderedUnits, ...] = ()  # what was ordered and has not arrived


@dataclass(frozen=True, slots=True, eq=False)
class ItemsWithExpectedSales:
    """The forecast items of the catalog: id, stock and expected sales."""

    items: Sequence[ForecastItemRow]
    means: Floats  # [items, days]
    p90s: Floats


_ITEM_COLUMNS: Final = (
    "item_id",
    "sku",
    "title",
    "price",
    "cost",
    "stock_qty",
    "availability",
    "available_from",
    "available_until",
    "created_at",
    "present",
)
_STOCKED_ITEMS: Final = (
    "SELECT i.item_id, i.sku, i.title, COALESCE(f.paid, i.price), i.cost, i.stock_qty, "  # noqa: S608 - own names
    "i.availability, i.available_from, i.available_until, f.method, f.spread, f.sold, "
    "p.supplier, s.lead_time_days, s.order_every_days, s.minimum_order, p.pack_size, "
    "p.minimum_quantity, i.number, "
    "f.ahead, CASE WHEN f.ahead IS NULL THEN f.days END FROM item_forecasts f "
    f"JOIN {items_sql(*_ITEM_COLUMNS)} i ON i.number = f.item "
    "LEFT JOIN product_terms p ON p.store_id = f.store_id AND p.item = f.item "
    "LEFT JOIN suppliers s ON s.store_id = p.store_id AND s.name = p.supplier "
    "WHERE f.store_id = ? AND i.present"
)


class ForecastRepository(StoreScopedRepository):
    """One store's forecasts, inside one transaction; never commits."""

    def newest_run(self) -> ForecastRun | None:
        """Return the newest run, or None before the first."""
        query = sa.select(forecast_runs).where(forecast_runs.c.store_id == self._store_id)
        row = self._connection.execute(query).mappings().first()
        if row is None:
            return None
        return ForecastRun(
            generated_at=row["generated_at"],
            first_day=row["first_day"],
            target_mode=row["target_mode"],
            history=json.loads(row["history"]),
            total=json.loads(row["total"]),
            accuracy=None if row["accuracy"] is None else json.loads(row["accuracy"]),
            judged=None if row["judged"] is None else json.loads(row["judged"]),
            items=row["items"],
            learned=row["learned"],
            seconds=row["seconds"],
        )

    def alerted_item_ids(self) -> frozenset[str]:
        """Return the products that alert e-mails about the newest run have named."""
        query = sa.select(forecast_runs.c.alerted).where(
            forecast_runs.c.store_id == self._store_id
        )
        return frozenset(json.loads(self._connection.execute(query).scalar() or "[]"))

    def replace_alerted_item_ids(self, item_ids: Collection[str]) -> None:
        """Record the products that alert e-mails have named."""
        self._update_rows(forecast_runs, alerted=json.dumps(sorted(item_ids)))

    def find_item_forecast(self, item_id: str) -> ItemForecast | None:
        """Return a catalog item and its forecast; None when it is not in the catalog."""
        query = self._select_items_and_forecasts([item_id], item_forecasts.c.daily)
        row = self._connection.execute(query).mappings().first()
        if row is None:
            return None
        stored = row["daily"]
        return replace(
            _to_item_forecast(row),
            daily=None if stored is None else dict(json.loads(stored)),
        )

    def item_forecasts(self, item_ids: Sequence[str]) -> list[ItemForecast]:
        """Return the given items that are in the catalog, with their forecasts."""
        query = self._select_items_and_forecasts(item_ids)
        return [
            _to_item_forecast(row) for row in self._connection.execute(query).mappings()
        ]

    def stock_out_periods_of_item(
        self, item_id: str, since_ms: int
    ) -> list[tuple[int, int | None]]:
        """Return when an item was sold out after `since_ms`; the end is None if it is."""
        item = items_of_store("item_id", store_id=self._store_id)
        query = (
            sa.select(stock_outs.c.since, stock_outs.c.until)
            .join_from(stock_outs, item, stock_outs.c.item == item.c.number)
            .where(
                stock_outs.c.store_id == self._store_id,
                item.c.item_id == item_id,
                sa.or_(stock_outs.c.until.is_(None), stock_outs.c.until >= since_ms),
            )
        )
        return [(since, until) for since, until in self._connection.execute(query)]

    def items_with_expected_sales(
        self, item_id: str | None = None
    ) -> ItemsWithExpectedSales:
        """Return every catalog item that has a forecast, or only the one with this id."""
        query, values = _STOCKED_ITEMS, [str(self._store_id)] * 2
        if item_id is not None:
            query += " AND i.item_id = ?"
            values.append(item_id)
        rows = self._raw.all(query, values)
        rows.sort(key=lambda row: str(row[0]))
        packed = b"".join(_packed_means_and_p90s(row[-2], row[-1]) for row in rows)
        means_and_p90s = np.frombuffer(packed, "<f4").astype(np.float64)
        means_and_p90s = (
            means_and_p90s.reshape(len(rows), 2, -1) if rows else np.zeros((0, 2, 0))
        )
        on_order = PurchaseOrderRepository(
            self._connection, self._store_id
        ).units_on_order()
        items = [
            ForecastItemRow._make((*row[:-2], tuple(on_order.get(str(row[0]), ()))))
            for row in rows
        ]
        return ItemsWithExpectedSales(items, means_and_p90s[:, 0], means_and_p90s[:, 1])

    def _select_items_and_forecasts(
        self, item_ids: Sequence[str], *columns: sa.ColumnElement[Any]
    ) -> sa.Select[Any]:
        item = items_of_store(*_ITEM_COLUMNS, store_id=self._store_id)
        joined = item.outerjoin(
            item_forecasts,
            (item_forecasts.c.store_id == self._store_id)
            & (item_forecasts.c.item == item.c.number),
        )
        return (
            sa.select(
                *(item.c[name] for name in _ITEM_COLUMNS),
                item_forecasts.c.method,
                item_forecasts.c.days,
                *columns,
            )
            .select_from(joined)
            .where(item.c.present.is_(True), item.c.item_id.in_(item_ids))
        )


def _packed_means_and_p90s(packed: bytes | None, days: str | None) -> bytes:
    """Return an item's means and p90s; rows of an earlier release have only the means."""
    if packed is not None:
        return bytes(packed)
    values = np.array(_DAYS.decode(days or "[]"), "<f4")
    return values[:, [0, 3]].T.tobytes()


def _to_item_forecast(row: sa.RowMapping) -> ItemForecast:
    availability, days = row["availability"], row["days"]
    return ItemForecast(
        item_id=row["item_id"],
        sku=row["sku"],
        title=row["title"],
        price=row["price"],
        cost=row["cost"],
        stock_qty=row["stock_qty"],
        availability=None if availability is None else Availability(availability),
        available_from=row["available_from"],
        available_until=row["available_until"],
        created_at=row["created_at"],
        method=row["method"],
        days=() if days is None else _DAYS.decode(days),
    )
