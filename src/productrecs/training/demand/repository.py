"""Demand repository: SQL of sales, catalog facts, forecast runs and due stores."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from productrecs.core.clock import DAY_MS
from productrecs.core.ids import StoreId
from productrecs.records.catalog.availability import Availability
from productrecs.records.catalog.repository import items_of_store
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.dialects import upsert
from productrecs.storage.sql.store_counters_and_versions import lock_head, log_seq
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import (
    forecast_drafts,
    forecast_runs,
    item_forecasts,
    stock_outs,
)
from productrecs.tenancy.accounts.store import Store, is_nightly_run_due

_PAGE: Final = 50_000
_CHUNK: Final = 500
_PRICE_COLUMNS: Final = (
    "price",
    "list_price",
    "planned_price",
    "planned_price_from",
    "planned_price_until",
)


class ForecastItemFacts(NamedTuple):
    """Catalog facts about one product id that a forecast needs."""

    number: int
    present: bool
    created_at: int
    availability: Availability | None
    categories: tuple[str, ...]  # the narrowest last
    available_from: str | None
    available_until: str | None
    price: float | None
    list_price: float | None
    planned_price: float | None
    planned_price_from: str | None
    planned_price_until: str | None


class StockOutPeriod(NamedTuple):
    """A period in which an item was out of stock; `until` is None while it lasts."""

    item: int
    since: int
    until: int | None


@dataclass(frozen=True, slots=True)
class StoredForecastRun:
    """A store's forecast, as stored."""

    generated_at: int
    first_day: str
    target_mode: str
    history: Sequence[tuple[str, float]]
    total: Mapping[str, object]
    accuracy: Mapping[str, float] | None
    judged: Mapping[str, object] | None
    items: int
    learned: int
    seconds: float


def last_forecast_times(connection: sa.Connection) -> dict[StoreId, int]:
    """Return the time of every store's last forecast, including deleted stores."""
    query = sa.select(forecast_runs.c.store_id, forecast_runs.c.generated_at)
    return {StoreId(store_id): time_ms for store_id, time_ms in connection.execute(query)}


class DemandRepository(StoreScopedRepository):
    """One store's sales and forecasts, inside one transaction; never commits."""

    def lock_if_exists(self) -> bool:
        """Lock the store against deletion; return whether it exists."""
        return lock_head(self._connection, self._store_id)

    def log_seq(self) -> int:
        """Return the sequence number of the store's log."""
        return log_seq(self._connection, self._store_id)

    def facts_of_present_and_past_items(self) -> list[ForecastItemFacts]:
        """Return the facts of every product id of the store, present and past."""
        item = items_of_store(
            "present",
            "created_at",
            "availability",
            "categories",
            "available_from",
            "available_until",
            *_PRICE_COLUMNS,
            store_id=self._store_id,
        )
        query = sa.select(item)
        return [_item_facts(row) for row in self._connection.execute(query).mappings()]

    def stock_outs(self, since_ms: int) -> list[StockOutPeriod]:
        """Return the stock-outs that ended after `since_ms` or have not ended."""
        query = sa.select(stock_outs.c.item, stock_outs.c.since, stock_outs.c.until).where(
            stock_outs.c.store_id == self._store_id,
            sa.or_(stock_outs.c.until.is_(None), stock_outs.c.until >= since_ms),
        )
        return [StockOutPeriod(*row) for row in self._connection.execute(query)]

    def sold_out_numbers(self) -> set[int]:
        """Return the numbers of the catalog's items that are out of stock now."""
        names = ("present", "availability", "stock_qty")
        item = items_of_store(*names, store_id=self._store_id)
        without_stock = sa.and_(item.c.availability.is_(None), item.c.stock_qty == 0)
        query = sa.select(item.c.number).where(
            item.c.present.is_(True),
            sa.or_(item.c.availability == Availability.OUT_OF_STOCK.value, without_stock),
        )
        return set(self._connection.execute(query).scalars())

    def begin_stock_outs(self, item_numbers: Sequence[int], now_ms: int) -> None:
        """Record that these items are sold out from now on."""
        for number in item_numbers:
            row = upsert(self._connection, stock_outs).values(
                store_id=self._store_id, item=number, since=now_ms, until=None
            )
            self._connection.execute(row.on_conflict_do_nothing())

    def end_stock_outs(self, item_numbers: Sequence[int], now_ms: int) -> None:
        """Record that these items are in stock again."""
        for start in range(0, len(item_numbers), _CHUNK):
            self._update_rows(
                stock_outs,
                stock_outs.c.item.in_(item_numbers[start : start + _CHUNK]),
                stock_outs.c.until.is_(None),
                until=now_ms,
            )

    def delete_stock_outs(self, before_ms: int) -> None:
        """Delete stock-outs that ended before `before_ms`."""
        self._delete_rows(stock_outs, stock_outs.c.until < before_ms)

    def load_draft(self, fingerprint: str) -> dict[str, Any] | None:
        """Return the draft of an interrupted run of the same `fingerprint`, if any."""
        query = sa.select(forecast_drafts.c.verdict).where(
            self._own_rows(forecast_drafts, fingerprint=fingerprint)
        )
        draft = self._connection.execute(query).scalar()
        return None if draft is None else dict(json.loads(draft))

    def store_draft(self, fingerprint: str, backtest: Mapping[str, object]) -> None:
        """Store the run's draft; replaces any other."""
        self._put_row(
            forecast_drafts, fingerprint=fingerprint, verdict=json.dumps(backtest)
        )

    def replace_run(
        self,
        database: Database,
        run: StoredForecastRun,
        item_rows: Sequence[Sequence[object]],
    ) -> None:
        """Publish `run` and its items' `item_rows` (number, method, days, ...)."""
        for table in (forecast_runs, item_forecasts, forecast_drafts):
            self._delete_rows(table)
        stored = (
            self._store_id,
            run.generated_at,
            run.first_day,
            run.target_mode,
            json.dumps(run.history),
            json.dumps(run.total),
            None if run.accuracy is None else json.dumps(run.accuracy),
            None if run.judged is None else json.dumps(run.judged),
            run.items,
            run.learned,
            run.seconds,
            None,  # set after the reorder e-mails were sent
        )
        database.insert_rows(self._connection, forecast_runs, [stored])
        own_rows = [(self._store_id, *row) for row in item_rows]
        database.insert_rows(self._connection, item_forecasts, own_rows)


def _item_facts(row: sa.RowMapping) -> ForecastItemFacts:
    availability = row["availability"]
    return ForecastItemFacts(
        number=int(row["number"]),
        present=bool(row["present"]),
        created_at=int(row["created_at"]),
        availability=None if availability is None else Availability(availability),
        categories=tuple(json.loads(row["categories"])),
        available_from=row["available_from"],
        available_until=row["available_until"],
        **{name: row[name] for name in _PRICE_COLUMNS},
    )


def stores_with_due_forecast(
    database: Database, stores: Iterable[Store], now_ms: int
) -> list[StoreId]:
    """Return the stores with the demand add-on whose forecast is due.

    A store without a forecast is due at once, others once a day in their nightly window.
    """
    enabled = [store for store in stores if store.settings.demand_forecast]
    if not enabled:
        return []
    with database.reading() as connection:
        newest = last_forecast_times(connection)
    return [
        store.store_id
        for store in enabled
        if store.store_id not in newest
        or is_nightly_run_due(store.settings.zone, newest[store.store_id], now_ms)
    ]


_RETENTION_MS: Final = 800 * DAY_MS


def track_stock_outs(database: Database, store_id: StoreId, now_ms: int) -> int:
    """Record items that ran out or came back since the last check; return their number."""
    with database.reading() as connection:
        repository = DemandRepository(connection, store_id)
        recorded = {
            stock_out.item
            for stock_out in repository.stock_outs(now_ms)
            if stock_out.until is None
        }
        sold_out = repository.sold_out_numbers()
    started, ended = sorted(sold_out - recorded), sorted(recorded - sold_out)
    if not started and not ended:
        return 0
    with database.transaction() as transaction:
        repository = DemandRepository(transaction, store_id)
        if not repository.lock_if_exists():
            return 0
        repository.begin_stock_outs(started, now_ms)
        repository.end_stock_outs(ended, now_ms)
        repository.delete_stock_outs(now_ms - _RETENTION_MS)
    return len(started) + len(ended)
