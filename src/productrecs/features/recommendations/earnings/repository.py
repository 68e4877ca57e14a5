"""Earnings repository: SQL of prices and costs, of the earning index and of its replay."""

import base64
import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from productrecs.core.ids import StoreId
from productrecs.engines.array_types_and_sorting import Floats
from productrecs.records.catalog.repository import CatalogRepository, items_sql
from productrecs.storage.sql.dialects import RawConnection, RawReader
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.stored_insights import (
    StoredInsight,
    read_insight,
    store_insight,
)

_INDEX: Final = "earning-index"
_REPLAY: Final = "earnings-replay"
_ITEMS: Final = (
    "SELECT number, item_id, COALESCE(paid, price), cost "  # noqa: S608 - own names
    f"FROM {items_sql('item_id', 'price', 'cost', 'present')} AS item "
    "LEFT JOIN item_forecasts ON item_forecasts.store_id = ? "
    "AND item_forecasts.item = item.number WHERE present"
)
_TIME: Final = "SELECT computed_at FROM insights WHERE store_id = ? AND name = ?"
_RESULT: Final = "SELECT result FROM insights WHERE store_id = ? AND name = ?"


class PricesAndCosts(NamedTuple):
    """Prices and costs by item number, NaN where unknown, and the numbers of all ids."""

    prices: Floats
    costs: Floats
    numbers_by_id: Mapping[str, int]


def index_computed_at(reader: RawReader | RawConnection, store_id: StoreId) -> int:
    """Return when the store's earning index was computed; 0 without one."""
    rows = reader.all(_TIME, (store_id, _INDEX))
    return int(rows[0][0]) if rows else 0


def read_earning_index(reader: RawReader, store_id: StoreId) -> Floats:
    """Return the store's earning index by item number."""
    ((result,),) = reader.all(_RESULT, (store_id, _INDEX))
    packed = base64.b64decode(json.loads(result))
    return np.frombuffer(packed, "<f4").astype(np.float64)


class EarningsRepository(StoreScopedRepository):
    """One store's earnings, inside one transaction; never commits."""

    def prices_and_costs(self) -> PricesAndCosts:
        """Return the prices and costs of the catalog.

        A price is the mean paid in 90 days before the last forecast, else the usual one.
        """
        size = CatalogRepository(self._connection, self._store_id).next_number()
        prices, costs = np.full(size, np.nan), np.full(size, np.nan)
        numbers: dict[str, int] = {}
        for number, item_id, price, cost in self._raw.all(
            _ITEMS, (self._store_id, self._store_id)
        ):
            numbers[item_id] = number
            prices[number] = np.nan if price is None else price
            costs[number] = np.nan if cost is None else cost
        return PricesAndCosts(prices, costs, numbers)

    def index_computed_at(self) -> int:
        """Return when the earning index was computed; 0 without one."""
        return index_computed_at(self._raw, self._store_id)

    def store_index(self, index: Floats, now_ms: int) -> None:
        """Store the earning index, replacing the last one."""
        packed = base64.b64encode(index.astype("<f4").tobytes()).decode()
        self._store(_INDEX, packed, now_ms)

    def store_replay(self, result: Mapping[str, Any], now_ms: int) -> None:
        """Store the result of a replay, replacing the last one."""
        self._store(_REPLAY, result, now_ms)

    def stored_replay(self) -> StoredInsight | None:
        """Return the last replay; None before the first."""
        return read_insight(self._connection, self._store_id, _REPLAY)

    def _store(self, name: str, result: object, now_ms: int) -> None:
        insight = StoredInsight(now_ms, 0, result)
        store_insight(self._connection, self._store_id, name, insight)
