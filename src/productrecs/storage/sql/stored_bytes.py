"""Data sizes: the bytes and rows of each kind of data, measured once a day.

A measurement reads the whole database, so a worker makes it and stores the result. The
rows of the installation stay for weeks: they tell how fast its data grow. Of a store only
the newest stay.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

import sqlalchemy as sa

from productrecs.core.clock import DAY_MS, SECOND_MS
from productrecs.core.ids import INSTALLATION, StoreId
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.tables import (
    bot_events,
    data_sizes,
    event_receipts,
    events,
    items,
    look_pictures,
    pictures,
    purchase_lines,
    search_counts,
    shopper_links,
)

MONTH_DAYS: Final = 30
YEAR_DAYS: Final = 365
KEPT_DAYS: Final = 60
GROWTH_DAYS: Final = 14
_MIN_GROWTH_DAYS: Final = 3  # fewer show no trend: the first import fills the database


class DataPart(StrEnum):
    """A kind of data that a merchant or an operator knows."""

    EVENTS = "events"
    IMPRESSIONS = "impressions"
    SEARCHES = "searches"
    ORDERS = "orders"
    PRODUCTS = "products"
    PHOTOS = "photos"
    MODELS = "models"
    OTHER = "other"


_LOG: Final = (events, event_receipts, shopper_links, bot_events)
# The first table of a part has its rows; the others take space beside them.
_TABLES: Final[Mapping[DataPart, tuple[sa.Table, ...]]] = {
    DataPart.SEARCHES: (search_counts,),
    DataPart.ORDERS: (purchase_lines,),
    DataPart.PRODUCTS: (items,),
    DataPart.PHOTOS: (pictures, look_pictures),
}


class DataSize(NamedTuple):
    """What one part of a store, or of the installation, takes."""

    part: DataPart
    rows: int = 0
    month_rows: int = 0  # of the last 30 days; of events and impressions
    old_rows: int = 0  # older than a year; of events and impressions
    bytes: int = 0

    @property
    def old_bytes(self) -> int:
        """What a retention of a year would save."""
        return self.bytes * self.old_rows // max(1, self.rows)

    @property
    def daily_bytes(self) -> int:
        """By how much it grew each day of the last month."""
        return self.bytes * self.month_rows // max(1, self.rows) // MONTH_DAYS


Sizes = dict[StoreId, dict[DataPart, DataSize]]


def measure(
    database: Database,
    folders: Mapping[DataPart, Sequence[Path]],
    impression: int,
    now_ms: int,
) -> Sizes:
    """Measure every store and the installation; reads everything that is stored.

    `folders` are those of parts outside the database, with a folder for each store.
    `impression` is the kind of the events that are impressions.
    """
    with database.reading() as connection:
        tables = database.dialect.table_bytes(connection)
        found = _log_sizes(connection, tables, impression, now_ms)
        for part, own in _TABLES.items():
            found += _table_sizes(connection, tables, part, own)
    for part, places in folders.items():
        found += _folder_sizes(part, places)
    found.append((INSTALLATION, DataSize(DataPart.OTHER, bytes=sum(tables.values()))))
    sizes: Sizes = {}
    for store, one in found:
        for owner in {store, INSTALLATION}:
            parts = sizes.setdefault(owner, {})
            parts[one.part] = _sum(parts.get(one.part, DataSize(one.part)), one)
    return sizes


def record(transaction: sa.Connection, sizes: Sizes, now_ms: int) -> None:
    """Store a day's measurement in place of an earlier one of the day."""
    today = _day(now_ms)
    oldest = (date.fromisoformat(today) - timedelta(days=KEPT_DAYS)).isoformat()
    is_installation = data_sizes.c.store_id == INSTALLATION
    gone = sa.or_(~is_installation, data_sizes.c.day == today, data_sizes.c.day < oldest)
    transaction.execute(data_sizes.delete().where(gone))
    rows = [
        {"store_id": store, "day": today, **one._asdict()}
        for store, found in sizes.items()
        for one in found.values()
    ]
    if rows:
        transaction.execute(data_sizes.insert(), rows)


def newest_sizes(connection: sa.Connection, store_id: StoreId) -> list[DataSize]:
    """Return the newest measurement of a store; empty before the first."""
    by_day = _history(connection, store_id)
    return by_day[max(by_day)] if by_day else []


def daily_totals(connection: sa.Connection, parts: Sequence[DataPart]) -> dict[str, int]:
    """Return the installation's bytes by day."""
    return {
        day: sum(one.bytes for one in found if one.part in parts)
        for day, found in _history(connection, INSTALLATION).items()
    }


def growth_per_day(totals: Mapping[str, int]) -> float | None:
    """Return by how many bytes a day data grew lately; None if too few days are known."""
    if not totals:
        return None
    last = date.fromisoformat(max(totals))
    first = min(
        day for day in totals if (last - date.fromisoformat(day)).days <= GROWTH_DAYS
    )
    days = (last - date.fromisoformat(first)).days
    if days < _MIN_GROWTH_DAYS:
        return None
    return (totals[last.isoformat()] - totals[first]) / days


def in_units(size: float) -> tuple[float, str]:
    """Return bytes in the unit that suits them, and its name."""
    for unit, name in ((1e9, "GB"), (1e6, "MB")):
        if size >= unit:
            return size / unit, name
    return size / 1e3, "kB"


def _history(connection: sa.Connection, store_id: StoreId) -> dict[str, list[DataSize]]:
    columns = [data_sizes.c[name] for name in DataSize._fields]
    query = (
        sa.select(data_sizes.c.day, *columns)
        .where(data_sizes.c.store_id == store_id)
        .order_by(data_sizes.c.day)
    )
    order = list(DataPart)
    return {
        day: sorted(
            (DataSize(DataPart(part), *map(int, rest)) for _, part, *rest in rows),
            key=lambda one: order.index(one.part),
        )
        for day, rows in groupby(connection.execute(query), lambda row: row[0])
    }


def _take_bytes(tables: dict[str, int], own: Sequence[sa.Table], rows: int) -> int:
    """Take tables out of `tables`, unless nobody has rows in them."""
    return sum(tables.pop(one.name, 0) for one in own) if rows else 0


def _table_sizes(
    connection: sa.Connection,
    tables: dict[str, int],
    part: DataPart,
    own: Sequence[sa.Table],
) -> list[tuple[StoreId, DataSize]]:
    """Return each store's share of a part's tables, which are taken out of `tables`."""
    first = own[0].c.store_id
    query = sa.select(first, sa.func.count()).group_by(first)
    rows = {StoreId(store): int(count) for store, count in connection.execute(query)}
    total = sum(rows.values())
    taken = _take_bytes(tables, own, total)
    return [
        (store, DataSize(part, count, bytes=taken * count // total))
        for store, count in rows.items()
    ]


def _log_sizes(
    connection: sa.Connection, tables: dict[str, int], impression: int, now_ms: int
) -> list[tuple[StoreId, DataSize]]:
    """Return each store's share of the log, by the number of its rows."""
    is_shown = (events.c.kind == impression).label("is_shown")
    query = sa.select(
        events.c.store_id,
        is_shown,
        sa.func.count(),
        sa.func.count().filter(events.c.ts >= now_ms - MONTH_DAYS * DAY_MS),
        sa.func.count().filter(events.c.ts < now_ms - YEAR_DAYS * DAY_MS),
    ).group_by(events.c.store_id, "is_shown")
    rows = connection.execute(query).all()
    total = sum(int(row[2]) for row in rows)
    taken = _take_bytes(tables, _LOG, total)
    return [
        (
            StoreId(store),
            DataSize(
                DataPart.IMPRESSIONS if shown else DataPart.EVENTS,
                *(int(count), int(month), int(old)),
                bytes=taken * int(count) // total,
            ),
        )
        for store, shown, count, month, old in rows
    ]


def _folder_sizes(part: DataPart, places: Sequence[Path]) -> list[tuple[StoreId, DataSize]]:
    return [
        (StoreId(folder.name), DataSize(part, bytes=_size_of(folder)))
        for place in places
        if place.is_dir()
        for folder in place.iterdir()
    ]


def _size_of(folder: Path) -> int:
    size = 0
    for file in folder.rglob("*"):
        try:
            size += file.stat().st_size if file.is_file() else 0
        except FileNotFoundError:  # replaced meanwhile
            continue
    return size


def _sum(one: DataSize, other: DataSize) -> DataSize:
    counts = (left + right for left, right in zip(one[1:], other[1:], strict=True))
    return DataSize(one.part, *counts)


def _day(now_ms: int) -> str:
    return datetime.fromtimestamp(now_ms / SECOND_MS, UTC).date().isoformat()
