"""Storage usage: the bytes and rows of each kind of data, measured once a day.

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
    question_counts,
    search_counts,
    shopper_links,
)

MONTH_DAYS: Final = 30
YEAR_DAYS: Final = 365
KEPT_DAYS: Final = 60
GROWTH_DAYS: Final = 14
_MIN_GROWTH_DAYS: Final = 3  # fewer show no trend: the first import fills the database


class DataKind(StrEnum):
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
_TABLES: Final[Mapping[DataKind, tuple[sa.Table, ...]]] = {
    DataKind.SEARCHES: (search_counts, question_counts),
    DataKind.ORDERS: (purchase_lines,),
    DataKind.PRODUCTS: (items,),
    DataKind.PHOTOS: (pictures, look_pictures),
}


class StoredDataSize(NamedTuple):
    """What one part of a store, or of the installation, takes."""

    part: DataKind
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


Sizes = dict[StoreId, dict[DataKind, StoredDataSize]]


def measure_stored_data(
    database: Database,
    folders: Mapping[DataKind, Sequence[Path]],
    impression_kind: int,
    now_ms: int,
) -> Sizes:
    """Measure every store and the installation; reads everything that is stored.

    `folders` are those of parts outside the database, with a folder for each store.
    `impression_kind` is the kind of the events that are impressions.
    """
    with database.reading() as connection:
        table_bytes = database.dialect.table_bytes(connection)
        found = _take_log_sizes(connection, table_bytes, impression_kind, now_ms)
        for part, own in _TABLES.items():
            found += _take_table_sizes(connection, table_bytes, part, own)
    for part, part_folders in folders.items():
        found += _store_folder_sizes(part, part_folders)
    found.append(
        (INSTALLATION, StoredDataSize(DataKind.OTHER, bytes=sum(table_bytes.values())))
    )
    sizes: Sizes = {}
    for store, size in found:
        for owner in {store, INSTALLATION}:
            parts = sizes.setdefault(owner, {})
            parts[size.part] = _add_sizes(
                parts.get(size.part, StoredDataSize(size.part)), size
            )
    return sizes


def store_sizes_of_today_and_purge_older(
    transaction: sa.Connection, sizes: Sizes, now_ms: int
) -> None:
    """Store today's measurement; delete earlier ones, but the installation's of 60 days."""
    today = _day(now_ms)
    oldest = (date.fromisoformat(today) - timedelta(days=KEPT_DAYS)).isoformat()
    is_installation = data_sizes.c.store_id == INSTALLATION
    gone = sa.or_(~is_installation, data_sizes.c.day == today, data_sizes.c.day < oldest)
    transaction.execute(data_sizes.delete().where(gone))
    rows = [
        {"store_id": store, "day": today, **size._asdict()}
        for store, parts in sizes.items()
        for size in parts.values()
    ]
    if rows:
        transaction.execute(data_sizes.insert(), rows)


def newest_sizes(connection: sa.Connection, store_id: StoreId) -> list[StoredDataSize]:
    """Return the newest measurement of a store; empty before the first."""
    by_day = _sizes_by_day(connection, store_id)
    return by_day[max(by_day)] if by_day else []


def installation_bytes_by_day(
    connection: sa.Connection, parts: Sequence[DataKind]
) -> dict[str, int]:
    """Return the installation's bytes by day."""
    return {
        day: sum(size.bytes for size in sizes if size.part in parts)
        for day, sizes in _sizes_by_day(connection, INSTALLATION).items()
    }


def growth_per_day(bytes_by_day: Mapping[str, int]) -> float | None:
    """Return by how many bytes a day data grew lately; None if too few days are known."""
    if not bytes_by_day:
        return None
    last = date.fromisoformat(max(bytes_by_day))
    first = min(
        day for day in bytes_by_day if (last - date.fromisoformat(day)).days <= GROWTH_DAYS
    )
    days = (last - date.fromisoformat(first)).days
    if days < _MIN_GROWTH_DAYS:
        return None
    return (bytes_by_day[last.isoformat()] - bytes_by_day[first]) / days


def oldest_event_ms(connection: sa.Connection) -> int | None:
    """Return the time of the oldest event; imported ones are in no order."""
    found: int | None = connection.execute(sa.select(sa.func.min(events.c.ts))).scalar()
    return found


def to_readable_unit(size_bytes: float) -> tuple[float, str]:
    """Return bytes in the unit that suits them, and its name."""
    for unit, name in ((1e9, "GB"), (1e6, "MB")):
        if size_bytes >= unit:
            return size_bytes / unit, name
    return size_bytes / 1e3, "kB"


def _sizes_by_day(
    connection: sa.Connection, store_id: StoreId
) -> dict[str, list[StoredDataSize]]:
    columns = [data_sizes.c[name] for name in StoredDataSize._fields]
    query = (
        sa.select(data_sizes.c.day, *columns)
        .where(data_sizes.c.store_id == store_id)
        .order_by(data_sizes.c.day)
    )
    order = list(DataKind)
    return {
        day: sorted(
            (StoredDataSize(DataKind(part), *map(int, rest)) for _, part, *rest in rows),
            key=lambda size: order.index(size.part),
        )
        for day, rows in groupby(connection.execute(query), lambda row: row[0])
    }


def _take_bytes(table_bytes: dict[str, int], own: Sequence[sa.Table], rows: int) -> int:
    """Take tables out of `table_bytes`, unless nobody has rows in them."""
    return sum(table_bytes.pop(table.name, 0) for table in own) if rows else 0


def _take_table_sizes(
    connection: sa.Connection,
    table_bytes: dict[str, int],
    part: DataKind,
    own: Sequence[sa.Table],
) -> list[tuple[StoreId, StoredDataSize]]:
    """Return each store's share of a part's tables; take these out of `table_bytes`."""
    first = own[0].c.store_id
    query = sa.select(first, sa.func.count()).group_by(first)
    rows = {StoreId(store): int(count) for store, count in connection.execute(query)}
    total = sum(rows.values())
    part_bytes = _take_bytes(table_bytes, own, total)
    return [
        (store, StoredDataSize(part, count, bytes=part_bytes * count // total))
        for store, count in rows.items()
    ]


def _take_log_sizes(
    connection: sa.Connection,
    table_bytes: dict[str, int],
    impression_kind: int,
    now_ms: int,
) -> list[tuple[StoreId, StoredDataSize]]:
    """Return each store's share of the log, by the number of its rows."""
    is_impression = (events.c.kind == impression_kind).label("is_impression")
    query = sa.select(
        events.c.store_id,
        is_impression,
        sa.func.count(),
        sa.func.count().filter(events.c.ts >= now_ms - MONTH_DAYS * DAY_MS),
        sa.func.count().filter(events.c.ts < now_ms - YEAR_DAYS * DAY_MS),
    ).group_by(events.c.store_id, "is_impression")
    rows = connection.execute(query).all()
    total = sum(int(row[2]) for row in rows)
    part_bytes = _take_bytes(table_bytes, _LOG, total)
    return [
        (
            StoreId(store),
            StoredDataSize(
                DataKind.IMPRESSIONS if is_impression else DataKind.EVENTS,
                *(int(count), int(month), int(old)),
                bytes=part_bytes * int(count) // total,
            ),
        )
        for store, is_impression, count, month, old in rows
    ]


def _store_folder_sizes(
    part: DataKind, part_folders: Sequence[Path]
) -> list[tuple[StoreId, StoredDataSize]]:
    return [
        (StoreId(folder.name), StoredDataSize(part, bytes=_folder_bytes(folder)))
        for part_folder in part_folders
        if part_folder.is_dir()
        for folder in part_folder.iterdir()
    ]


def _folder_bytes(folder: Path) -> int:
    size = 0
    for file in folder.rglob("*"):
        try:
            size += file.stat().st_size if file.is_file() else 0
        except FileNotFoundError:  # replaced meanwhile
            continue
    return size


def _add_sizes(size: StoredDataSize, other: StoredDataSize) -> StoredDataSize:
    counts = (left + right for left, right in zip(size[1:], other[1:], strict=True))
    return StoredDataSize(size.part, *counts)


def _day(now_ms: int) -> str:
    return datetime.fromtimestamp(now_ms / SECOND_MS, UTC).date().isoformat()
