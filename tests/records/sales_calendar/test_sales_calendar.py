"""Sales calendar: what an entry may be, and how it is stored."""

import pytest

from productrecs.records.sales_calendar.calendar_entry import (
    MAX_ENTRIES,
    CalendarEntryError,
    CalendarEntryKind,
    UnknownCalendarEntryError,
    parse_calendar_entry,
)
from productrecs.records.sales_calendar.repository import SalesCalendarRepository
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import StoreDeletedError
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import (
    delete_store,
)
from tests.support.stores import new_store

NOW = 1_772_000_000_000
SALE = parse_calendar_entry(
    *("campaign", " Sale ", "2026-03-01", "2026-03-07", "Tents", "30", "-20")
)


def test_an_entry_is_stored_and_removed(database: Database, store: Store) -> None:
    closed = parse_calendar_entry("closure", "Inventory", "2026-04-02")
    with database.transaction() as transaction:
        calendar = SalesCalendarRepository(transaction, store.store_id)
        numbers = [calendar.add(one, NOW) for one in (SALE, closed)]
    with database.reading() as connection:
        entries = SalesCalendarRepository(connection, store.store_id).entries()
    with database.transaction() as transaction:
        calendar = SalesCalendarRepository(transaction, store.store_id)
        calendar.remove(numbers[0])
        left = calendar.entries()
        with pytest.raises(UnknownCalendarEntryError):
            calendar.remove(numbers[0])

    assert entries == {2: closed, 1: SALE}
    assert left == {2: closed}


def test_stores_have_calendars_of_their_own(database: Database, store: Store) -> None:
    other = new_store(database, "b.example")
    with database.transaction() as transaction:
        number = SalesCalendarRepository(transaction, store.store_id).add(SALE, NOW)
    with database.transaction() as transaction:
        calendar = SalesCalendarRepository(transaction, other.store_id)
        assert not calendar.entries()
        with pytest.raises(UnknownCalendarEntryError):
            calendar.remove(number)


def test_a_deleted_store_takes_no_entry(database: Database, store: Store) -> None:
    delete_store(database, store)
    with (
        pytest.raises(StoreDeletedError),
        database.transaction() as transaction,
    ):
        SalesCalendarRepository(transaction, store.store_id).add(SALE, NOW)


def test_a_store_has_a_limit_of_entries(database: Database, store: Store) -> None:
    with database.transaction() as transaction:
        calendar = SalesCalendarRepository(transaction, store.store_id)
        for _ in range(MAX_ENTRIES):
            calendar.add(SALE, NOW)
        with pytest.raises(CalendarEntryError, match="at most 500"):
            calendar.add(SALE, NOW)


def test_an_entry_without_a_last_day_is_one_day() -> None:
    entry = parse_calendar_entry("closure", "Inventory", "2026-04-02", expected_change="5")

    assert (entry.first_day, entry.last_day) == ("2026-04-02", "2026-04-02")
    assert entry.kind is CalendarEntryKind.CLOSURE
    assert entry.expected_change is None  # closed is closed


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"kind": "party"}, "the kind is one of campaign, closure"),
        ({"price_change": "-95"}, "the price change is -90 to 100 per cent"),
        ({"price_change": "half"}, "the price change is -90 to 100 per cent"),
        ({"name": "  "}, "the name has 1 to 100 characters"),
        ({"name": "x" * 101}, "the name has 1 to 100 characters"),
        ({"first_day": "soon"}, "'soon' is not a day"),
        ({"last_day": "2026-02-28"}, "the last day, 2026-02-28, is before the first day"),
        ({"last_day": "2026-06-01"}, "an entry has at most 92 days"),
        ({"category": "x" * 1001}, "a category has up to 1000 characters"),
        ({"expected_change": "much"}, "-100 to 900 per cent"),
        ({"expected_change": "-101"}, "-100 to 900 per cent"),
        ({"expected_change": "nan"}, "-100 to 900 per cent"),
    ],
)
def test_an_invalid_entry_is_refused_with_what_is_valid(
    changed: dict[str, str], message: str
) -> None:
    texts = {"kind": "campaign", "name": "Sale", "first_day": "2026-03-01"} | changed

    with pytest.raises(CalendarEntryError, match=message):
        parse_calendar_entry(**texts)
