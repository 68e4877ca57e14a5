"""Metered calls: counted exactly by store and month, on both databases."""

import contextlib
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from productrecs.core.errors import StorageError
from productrecs.core.ids import StoreId
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.tables import metered_calls
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import (
    delete_store,
)
from productrecs.tenancy.billing.metered_calls.repository import (
    MeteredCallRepository,
    add_calls,
    read_calls,
)
from tests.support.stores import new_store


@pytest.fixture
def other(database: Database) -> Store:
    return new_store(database, "other.example")


def add(database: Database, store: Store, month: str, calls: int) -> int | None:
    with database.transaction(synced=False) as transaction:
        found = add_calls(transaction, {(store.store_id, month): calls})
    return found.get((store.store_id, month))


def calls_of(database: Database, store: Store, month: str) -> int:
    with database.reading() as connection:
        return MeteredCallRepository(connection, store.store_id).calls(month)


def test_calls_add_up_and_the_sum_is_returned(database: Database, store: Store) -> None:
    assert calls_of(database, store, "2026-11") == 0
    assert add(database, store, "2026-11", 3) == 3
    assert add(database, store, "2026-11", 10_000_000_000) == 10_000_000_003
    assert calls_of(database, store, "2026-11") == 10_000_000_003


def test_months_and_stores_are_counted_apart(
    database: Database, store: Store, other: Store
) -> None:
    add(database, store, "2026-11", 3)
    add(database, store, "2026-12", 5)
    add(database, other, "2026-11", 7)

    counts = [
        calls_of(database, one, month)
        for one in (store, other)
        for month in ("2026-11", "2026-12")
    ]
    assert counts == [3, 5, 7, 0]
    reader = database.raw_reader()
    ids = [store.store_id, other.store_id, StoreId("st_nobody")]
    assert read_calls(reader, "2026-11", ids) == dict(zip(ids, (3, 7, 0), strict=True))
    assert read_calls(reader, "2026-11", []) == {}
    reader.close()


def test_many_stores_are_read_at_once(database: Database, store: Store) -> None:
    add(database, store, "2026-11", 3)
    ids = [StoreId(f"st_{n}") for n in range(1_200)] + [store.store_id]

    reader = database.raw_reader()
    found = read_calls(reader, "2026-11", ids)
    reader.close()

    assert (len(found), sum(found.values()), found[store.store_id]) == (1_201, 3, 3)


def test_no_call_is_lost_between_writers(database: Database, store: Store) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: add(database, store, "2026-11", 1), range(80)))

    assert calls_of(database, store, "2026-11") == 80


def test_many_are_added_at_once_and_writers_in_any_order_do_not_block_each_other(
    database: Database, store: Store, other: Store
) -> None:
    keys = [
        (one.store_id, f"2026-{month:02d}") for one in (store, other) for month in (1, 2)
    ]

    def write(turned: int) -> None:
        counted = dict.fromkeys(keys[::-1] if turned % 2 else keys, 2)
        with database.transaction(synced=False) as transaction:
            assert add_calls(transaction, counted).keys() == counted.keys()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(40)))

    with database.transaction() as transaction:
        assert add_calls(transaction, dict.fromkeys(keys, 0)) == dict.fromkeys(keys, 80)
        assert add_calls(transaction, {}) == {}


def test_nothing_is_left_behind_by_a_deleted_store(
    database: Database, store: Store, other: Store
) -> None:
    add(database, store, "2026-11", 3)
    delete_store(database, store)

    with database.transaction() as transaction:
        counted = {(store.store_id, "2026-11"): 1, (other.store_id, "2026-11"): 1}
        assert add_calls(transaction, counted) == {(other.store_id, "2026-11"): 1}
    with database.reading() as connection:
        rows = connection.execute(sa.select(metered_calls.c.store_id)).scalars().all()
    assert rows == [other.store_id]


def test_a_count_that_comes_in_while_its_store_is_deleted_does_not_stay(
    database: Database, store: Store
) -> None:
    def count(_: int) -> None:
        with contextlib.suppress(sa.exc.IntegrityError, StorageError):
            add(database, store, "2026-11", 1)

    with ThreadPoolExecutor(8) as pool:
        counting = pool.map(count, range(200))
        delete_store(database, store)
        list(counting)

    with database.reading() as connection:
        assert connection.execute(sa.select(metered_calls)).all() == []
