"""Partitions: every partition of the shoppers gives the same model, to the last bit."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from productrecs.engines.array_types_and_sorting import run_ranges
from productrecs.records.events.event_log import repository as event_log
from productrecs.records.purchases.sold_lines import repository as sold_lines
from productrecs.storage.sql.database import Database
from productrecs.training import training_inputs
from productrecs.training.partitioned_shopper_events import (
    ShopperEventArrays,
    ShopperEvents,
)
from productrecs.training.repository import TrainingRepository
from productrecs.training.training_inputs import TrainingInputs, read_log_without_searches
from tests.records.orders.import_support import new_store_id
from tests.training.test_incremental import Life, read_on, trained

N_ITEMS, EVENTS, SEED = 64, 60, 5


def test_any_partition_gives_the_model_of_the_whole(
    sqlite_database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = new_store_id(sqlite_database)
    life = Life(sqlite_database, store, SEED, N_ITEMS)
    for _ in range(4):
        life.go_on(EVENTS)
    whole = TrainingInputs()
    numbers = read_on(sqlite_database, store, whole)
    expected = trained(whole, numbers, life.now)
    assert len(expected["browse.owners"]) > 10
    assert len(expected["indicators.items"])
    assert expected["trending"].any()

    # Parts and pages of the log are as small as they are for a large store.
    monkeypatch.setattr(training_inputs, "_RANGE_ROWS", 97)
    monkeypatch.setattr(event_log, "_SMALL_PAGE", 11)
    monkeypatch.setattr(sold_lines, "_TRAINING_PAGE", 7)
    for partitions in (1, 2, 7):
        parted = TrainingInputs()
        parted.events = ShopperEvents(tmp_path / "events", 50, partitions)
        read_on(sqlite_database, store, parted)
        assert parted.events.is_in_file
        assert len(parted.events) == len(whole.events)
        assert len(parted.purchases.items) == len(whole.purchases.items) > 97
        found = trained(parted, numbers, life.now)
        assert found.keys() == expected.keys()
        for name, array in expected.items():
            np.testing.assert_array_equal(found[name], array, err_msg=name)
    assert not list((tmp_path / "events").iterdir())  # files without a name


def test_control_events_of_one_shopper_in_two_partitions_are_found(
    sqlite_database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def by_place(visitors: Any, partitions: int) -> Any:
        return (np.arange(len(visitors)) % partitions).astype(np.uint8)

    monkeypatch.setattr(
        "productrecs.training.partitioned_shopper_events.partition_numbers", by_place
    )
    with pytest.raises(AssertionError):
        test_any_partition_gives_the_model_of_the_whole(
            sqlite_database, tmp_path, monkeypatch
        )


def test_events_are_read_back_in_log_order_from_file_and_memory(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    events = ShopperEvents(tmp_path, 90, 7)
    pages = [
        ShopperEventArrays(
            np.arange(100 * page, 100 * page + size),
            rng.integers(1, 4, size).astype(np.int8),
            rng.integers(9, size=size).astype(np.int32),
            rng.integers(-5, 5, size) * 1_000_003,
        )
        for page, size in enumerate((60, 60, 0, 100, 17))
    ]
    for page in pages:
        events.add(page)

    assert (len(events), events.count_in_memory) == (237, 17)
    parts = [events.partition(number) for number in range(7)]
    assert all((np.diff(part.times) > 0).all() for part in parts)
    assert len({int(v) for part in parts for v in np.unique(part.visitors)}) == 10
    assert sum(len(np.unique(part.visitors)) for part in parts) == 10
    whole = events.load_all()
    in_order = np.argsort(whole.times)
    for name in ShopperEventArrays.__dataclass_fields__:
        expected = np.concatenate([getattr(page, name) for page in pages])
        np.testing.assert_array_equal(getattr(whole, name)[in_order], expected)


def test_tuning_reads_the_newest_events_of_a_long_log_and_all_orders(
    sqlite_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = new_store_id(sqlite_database)
    life = Life(sqlite_database, store, SEED, N_ITEMS)
    life.go_on(EVENTS)
    with sqlite_database.reading() as connection:
        repository = TrainingRepository(connection, store)
        whole, head = read_log_without_searches(repository)
        monkeypatch.setattr(training_inputs, "MAX_LOG_ROWS", head.seq - 20)
        newest, _ = read_log_without_searches(repository)

    left_out = len(whole.events) - len(newest.events)
    assert 0 < left_out <= 20
    assert newest.behaviour.times.tolist() == whole.behaviour.times[left_out:].tolist()
    assert newest.purchases.items.tolist() == whole.purchases.items.tolist()


def test_a_full_disk_is_an_error_before_any_page_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = ShopperEvents(tmp_path, 0, 2)
    events.add(ShopperEventArrays(*(np.ones(1, kind) for kind in ("i8", "i1", "i4", "i8"))))

    def full(_descriptor: int, _offset: int, size: int) -> None:
        raise OSError(28, f"no space for {size}")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match="no space for 8000"):
        events.allocate(1_000, np.int64)


@pytest.mark.parametrize(
    ("lengths", "most", "ranges"),
    [
        ([], 5, []),
        ([0, 0], 5, [(0, 2)]),
        ([3, 2, 1], 5, [(0, 2), (2, 3)]),
        ([9, 1, 9], 5, [(0, 1), (1, 2), (2, 3)]),
    ],
)
def test_ranges_hold_as_many_entries_as_fit(
    lengths: list[int], most: int, ranges: list[tuple[int, int]]
) -> None:
    offsets = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))

    assert list(run_ranges(offsets, most)) == ranges
