"""Data sizes: what each kind of data takes, and how fast it grows."""

from pathlib import Path

import pytest

from productrecs.core.clock import DAY_MS
from productrecs.core.ids import INSTALLATION, StoreId
from productrecs.records.events.event import EventKind, NewEvent
from productrecs.records.orders.ingest_events_and_orders import ingest_events
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.storage.sql.storage_usage import (
    KEPT_DAYS,
    DataKind,
    StoredDataSize,
    growth_per_day,
    installation_bytes_by_day,
    measure_stored_data,
    newest_sizes,
    store_sizes_of_today_and_purge_older,
)
from tests.support.stores import new_store

NOW = 1_772_366_400_000  # 2026-03-01 12:00 UTC
SHOWN = int(EventKind.REC_IMPRESSION)


def send(
    database: Database, store: StoreId, kind: EventKind, at_ms: int, count: int
) -> None:
    sent = [NewEvent(kind, f"item-{number}", session_id="s_1") for number in range(count)]
    with database.transaction() as transaction:
        ingest_events(
            StoreLogTransaction(database, transaction, store),
            [[one] for one in sent],
            at_ms,
        )


def test_each_store_has_its_share_by_rows_and_the_installation_the_sum(
    database: Database, tmp_path: Path
) -> None:
    small, large = (
        new_store(database, f"{name}.example").store_id for name in ("small", "large")
    )
    send(database, small, EventKind.DETAIL_PAGE_VIEW, NOW - 400 * DAY_MS, 10)
    send(database, small, EventKind.DETAIL_PAGE_VIEW, NOW - 5 * DAY_MS, 30)
    send(database, large, EventKind.REC_IMPRESSION, NOW, 360)
    models = tmp_path / "models"
    (models / small).mkdir(parents=True)
    (models / small / "model").write_bytes(bytes(5_000))

    sizes = measure_stored_data(database, {DataKind.MODELS: [models]}, SHOWN, NOW)

    viewed = sizes[small][DataKind.EVENTS]
    shown = sizes[large][DataKind.IMPRESSIONS]
    assert viewed[1:4] == (40, 30, 10)
    assert shown[1:4] == (360, 360, 0)
    assert 0 < viewed.bytes * 9 - 9 <= shown.bytes <= viewed.bytes * 9 + 9
    assert viewed.old_bytes == viewed.bytes // 4
    assert sizes[small][DataKind.MODELS].bytes == 5_000
    assert sizes[small][DataKind.PRODUCTS].rows == 30
    total = sizes[INSTALLATION]
    assert total[DataKind.EVENTS] == viewed
    assert total[DataKind.PRODUCTS].rows == 390
    in_tables = sum(one.bytes for one in total.values()) - 5_000
    with database.reading() as connection:
        assert abs(in_tables - sum(database.dialect.table_bytes(connection).values())) < 10


def test_the_installations_days_stay_for_weeks_and_a_stores_last(
    database: Database,
) -> None:
    store = new_store(database, "a.example").store_id
    send(database, store, EventKind.DETAIL_PAGE_VIEW, NOW, 3)
    for day in (-KEPT_DAYS - 1, 0, 1, 1):
        now = NOW + day * DAY_MS
        sizes = measure_stored_data(database, {}, SHOWN, now)
        with database.transaction() as transaction:
            store_sizes_of_today_and_purge_older(transaction, sizes, now)

    with database.reading() as connection:
        assert newest_sizes(connection, store)[0] == sizes[store][DataKind.EVENTS]
        assert list(installation_bytes_by_day(connection, list(DataKind))) == [
            "2026-03-01",
            "2026-03-02",
        ]


@pytest.mark.parametrize(
    ("totals", "growth"),
    [
        ({}, None),
        ({"2026-03-01": 5}, None),
        ({"2026-03-01": 5, "2026-03-03": 9}, None),  # too few days
        ({"2026-03-01": 5, "2026-03-04": 11}, 2),
        ({"2026-03-01": 9, "2026-03-11": 4}, -0.5),
        ({"2026-02-01": 0, "2026-03-01": 700, "2026-03-11": 800}, 10),  # the last 14 days
    ],
)
def test_growth_is_that_of_the_last_two_weeks(
    totals: dict[str, int], growth: float | None
) -> None:
    assert growth_per_day(totals) == growth


def test_what_a_day_adds_is_a_thirtieth_of_the_month() -> None:
    assert StoredDataSize(DataKind.EVENTS, 600, 300, 0, 60_000).daily_bytes == 1_000
    assert StoredDataSize(DataKind.MODELS, bytes=60_000).daily_bytes == 0
