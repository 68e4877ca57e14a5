"""Sales calendar repository: SQL of the merchant's calendar entries."""

import sqlalchemy as sa

from productrecs.records.sales_calendar.calendar_entry import (
    MAX_ENTRIES,
    CalendarEntry,
    CalendarEntryError,
    CalendarEntryKind,
    UnknownCalendarEntryError,
)
from productrecs.storage.sql.sequence_and_item_numbers import lock_existing_head
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import calendar_entries

_entry = calendar_entries.c


class SalesCalendarRepository(StoreScopedRepository):
    """One store's calendar, inside one transaction; never commits."""

    def entries(self) -> dict[int, CalendarEntry]:
        """Return the entries by number, the last days first."""
        query = (
            sa.select(calendar_entries)
            .where(_entry.store_id == self._store_id)
            .order_by(_entry.first_day.desc(), _entry.number.desc())
        )
        return {
            row["number"]: CalendarEntry(
                CalendarEntryKind(row["kind"]),
                row["name"],
                row["first_day"],
                row["last_day"],
                row["category"],
                row["expected_change"],
                row["price_change"],
            )
            for row in self._connection.execute(query).mappings()
        }

    def add(self, entry: CalendarEntry, now_ms: int) -> int:
        """Store an entry; return its number.

        Raises:
            CalendarEntryError: when the store has too many.
            StoreDeletedError: when the store was deleted.
        """
        lock_existing_head(self._connection, self._store_id)
        count, highest = self._connection.execute(
            sa.select(sa.func.count(), sa.func.max(_entry.number)).where(
                _entry.store_id == self._store_id
            )
        ).one()
        if count >= MAX_ENTRIES:
            message = f"a store has at most {MAX_ENTRIES} entries; remove old ones first"
            raise CalendarEntryError(message)
        number = int(highest or 0) + 1
        self._insert_row(
            calendar_entries,
            number=number,
            kind=entry.kind.value,
            name=entry.name,
            first_day=entry.first_day,
            last_day=entry.last_day,
            category=entry.category,
            expected_change=entry.expected_change,
            price_change=entry.price_change,
            created_at=now_ms,
        )
        return number

    def remove(self, number: int) -> None:
        """Delete an entry.

        Raises:
            UnknownCalendarEntryError: when there is none with this number.
        """
        if not self._delete_rows(calendar_entries, number=number):
            message = f"the calendar has no entry {number}; `calendar list` shows all"
            raise UnknownCalendarEntryError(message)
