"""Usage metering: counts metered calls, and adds them to the database.

Calls are counted in memory. Twice a second, and sooner near a quota, one thread of each
process adds its new counts to the database and reads the counts of other processes. So a
killed process loses the calls of its last half second, and processes see each other's calls
within a second. No call waits for the database. While it is down, counts stay in memory.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple

from productrecs.core.errors import StorageError, operator_text
from productrecs.core.ids import StoreId
from productrecs.core.outage_log_limiter import OutageLogLimiter
from productrecs.services import Services
from productrecs.storage.sql.dialects import RawReader
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.billing.call_meter import (
    CallMeter,
    MonthlyCallCount,
    QuotaNotice,
    month_at,
)
from productrecs.tenancy.billing.metered_calls.repository import add_calls, read_calls

_log = logging.getLogger(__name__)

Header = tuple[bytes, bytes]
Calls = dict[StoreId, int]
Read = Callable[[Callable[[RawReader], Calls]], Awaitable[Calls]]

FLUSH_SECONDS: Final = 0.5
MIN_PAUSE_SECONDS: Final = 0.005
PAUSE_FACTOR: Final = 10
BATCH_STORES: Final = 500  # stores in one transaction
MAX_IDLE_ROUNDS: Final = 1_200  # a meter expires after ten minutes without a call


class _UnsavedCalls(NamedTuple):
    """Calls of one store and month that the database does not have yet."""

    store_id: StoreId
    meter: CallMeter
    month: MonthlyCallCount
    calls: int


class UsageMetering:
    """The meters of one process."""

    def __init__(self, services: Services) -> None:
        """Start without meters; `start` begins to flush counts."""
        self._services = services
        self.meters: dict[StoreId, CallMeter] = {}
        self._idle_rounds: dict[StoreId, int] = {}  # rounds without a call
        self._requested = threading.Event()
        self._stopping = threading.Event()
        self._due_at = 0.0
        self._outage = OutageLogLimiter()
        self._thread = threading.Thread(
            target=self._flush_until_stopped, name="metering", daemon=True
        )

    def start(self) -> None:
        """Start to flush counts."""
        self._thread.start()

    def close(self) -> None:
        """Flush all counts, and stop."""
        self._stopping.set()
        self._requested.set()
        if self._thread.is_alive():
            self._thread.join(timeout=10)

    async def open_meter(self, store: Store, read: Read) -> CallMeter:
        """Return the store's meter, with the month's count from the database.

        If that cannot be read, the meter starts at 0 and reads the count later.
        """
        now_ms, store_id = self._services.clock(), store.store_id
        month = month_at(now_ms).name
        try:
            stored_counts = await read(lambda reader: read_calls(reader, month, [store_id]))
        except StorageError:
            stored_counts = {store_id: 0}
        plans, request_flush = self._services.settings.plans, self._requested.set
        meter = CallMeter(
            plans, store.subscription, now_ms, stored_counts[store_id], request_flush
        )
        # Another request may have created the meter meanwhile: use one.
        return self.meters.setdefault(store_id, meter)

    async def get_or_open_meter(self, store: Store, read: Read) -> CallMeter:
        """Return the store's meter, opened if it is not: for routes that meter themselves.

        The dispatcher meters calls with a key.
        """
        return self.meters.get(store.store_id) or await self.open_meter(store, read)

    def _flush_until_stopped(self) -> None:
        reader: RawReader | None = None
        while not self._stopping.is_set():
            self._requested.wait(max(0.0, self._due_at - time.monotonic()))
            self._requested.clear()
            began = time.thread_time()
            try:
                self._flush()
                if time.monotonic() >= self._due_at:
                    self._due_at = time.monotonic() + FLUSH_SECONDS
                    reader = reader or self._services.database.raw_reader()
                    self._refresh_meter_totals(reader)
                    self._drop_idle_meters()
                if self._outage.should_log_recovery():
                    _log.info("usage written again")
            except Exception as error:
                self._due_at = time.monotonic() + FLUSH_SECONDS
                if self._outage.should_log_failure():
                    _log_write_failure(error)
                _close_reader(reader)
                reader = None
            cpu_seconds = time.thread_time() - began
            pause = min(FLUSH_SECONDS, max(MIN_PAUSE_SECONDS, PAUSE_FACTOR * cpu_seconds))
            self._stopping.wait(pause)
        try:
            self._flush()
        except Exception as error:
            _log_write_failure(error)
        _close_reader(reader)

    def _flush(self) -> None:
        """Store counts that the database does not have yet."""
        unsaved = [
            _UnsavedCalls(store_id, meter, month, calls)
            for store_id, meter in list(self.meters.items())
            for month in meter.months_to_flush()
            if (calls := month.unsaved)
        ]
        for start in range(0, len(unsaved), BATCH_STORES):
            self._add_to_database(unsaved[start : start + BATCH_STORES])

    def _add_to_database(self, unsaved: Sequence[_UnsavedCalls]) -> None:
        calls = {(count.store_id, count.month.month): count.calls for count in unsaved}
        with self._services.database.transaction(synced=False) as transaction:
            totals = add_calls(transaction, calls)
        for count in unsaved:
            total = totals.get((count.store_id, count.month.month))
            if total is None:  # the store was deleted
                self._drop_meter(count.store_id)
            else:
                count.month.record_flush(count.calls, total, count.meter.limit)
                count.meter.drop_stored_months()

    def _refresh_meter_totals(self, reader: RawReader) -> None:
        """Read the counts of other processes."""
        month = month_at(self._services.clock()).name
        months = {
            store_id: (meter, present)
            for store_id, meter in list(self.meters.items())
            if (present := meter.months_to_flush()[-1]).month == month
        }
        for store_id, total in read_calls(reader, month, list(months)).items():
            meter, present = months[store_id]
            present.set_stored_total(total, meter.limit)

    def _drop_idle_meters(self) -> None:
        for store_id, meter in list(self.meters.items()):
            self._idle_rounds[store_id] = (
                0 if meter.is_used else self._idle_rounds.get(store_id, 0) + 1
            )
            meter.is_used = False
            if (
                self._idle_rounds[store_id] > MAX_IDLE_ROUNDS
                and not meter.months_to_flush()[-1].unsaved
            ):
                self._drop_meter(store_id)

    def _drop_meter(self, store_id: StoreId) -> None:
        self.meters.pop(store_id, None)
        self._idle_rounds.pop(store_id, None)


def _log_write_failure(error: Exception) -> None:
    is_expected = isinstance(error, StorageError)
    level = logging.WARNING if is_expected else logging.ERROR
    reason = {"error": operator_text(error)}
    _log.log(level, "usage write failed", extra=reason, exc_info=not is_expected)


def _close_reader(reader: RawReader | None) -> None:
    if reader is not None:
        with contextlib.suppress(Exception):  # the reader may be broken
            reader.close()


def billing_headers(notice: QuotaNotice) -> tuple[Header, ...]:
    """Return the billing headers of a metered reply."""
    status = (b"x-billing-status", notice.status.encode())
    if notice.used is None or notice.limit is None:
        return (status,)
    return (
        status,
        (b"x-quota-used", b"%d" % notice.used),
        (b"x-quota-limit", b"%d" % notice.limit),
    )
