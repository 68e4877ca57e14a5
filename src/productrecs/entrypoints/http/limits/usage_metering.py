"""Usage metering: counts metered calls, and adds them to the database.

A call is counted in memory and in the usage file of its process, which survives a kill.
One thread for each process adds the counts to the database every two seconds, and sooner
when a quota is near. Twice a second it reads what other machines counted. It also adds the
counts that killed processes left behind. No call waits for it or fails with it: without
the database, counts stay in the usage file.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Final, NamedTuple

from productrecs.core.errors import StorageError
from productrecs.core.ids import StoreId
from productrecs.entrypoints.services import Services
from productrecs.storage.dialects import RawReader
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.billing.call_meter import Meter, MonthlyCalls
from productrecs.tenancy.billing.quota_notice import QuotaNotice, month_at
from productrecs.tenancy.billing.repository import (
    add_calls,
    delete_flush_rounds,
    last_flush_round,
    read_calls,
    store_flush_round,
)
from productrecs.tenancy.billing.usage_journal import (
    CLOSED_ROUND,
    PeerUsageFiles,
    UsageCounter,
    UsageFile,
)

_log = logging.getLogger(__name__)

Header = tuple[bytes, bytes]
Calls = dict[StoreId, int]
Read = Callable[[Callable[[RawReader], Calls]], Awaitable[Calls]]

FLUSH_SECONDS: Final = 2.0
POLL_SECONDS: Final = 0.5
MIN_PAUSE_SECONDS: Final = 0.005
PAUSE_FACTOR: Final = 10
BATCH_STORES: Final = 500  # stores in one transaction
MAX_IDLE_ROUNDS: Final = 1_200  # after ten minutes without a call a meter is forgotten
_TRIES: Final = 3


def _close(reader: RawReader | None) -> None:
    if reader is not None:
        with contextlib.suppress(Exception):  # it may be what broke
            reader.close()


class _Due(NamedTuple):
    """Calls of one store and month that the database does not have yet."""

    store_id: StoreId
    meter: Meter
    tally: MonthlyCalls
    calls: int


class UsageMetering:
    """The meters of one process."""

    def __init__(self, services: Services) -> None:
        """Begin with none; `start` begins to keep what is counted."""
        self._services = services
        self._meters: dict[StoreId, Meter] = {}
        self._quiet: dict[StoreId, int] = {}  # rounds without a call
        self._sheet = _sheet_in(services)
        own = "" if self._sheet is None else self._sheet.name
        self._neighbours = PeerUsageFiles(services.metering, own)
        self._round = 0
        self._called = threading.Event()
        self._stopping = threading.Event()
        self._looks_at = self._brings_at = 0.0
        self._is_failing = False
        self._thread = threading.Thread(target=self._keep, name="metering", daemon=True)

    def start(self) -> None:
        """Begin to keep."""
        self._thread.start()

    def close(self) -> None:
        """Keep what is counted up to now, and stop."""
        self._stopping.set()
        self._called.set()
        if self._thread.is_alive():
            self._thread.join(timeout=10)

    def get(self, store_id: StoreId) -> Meter | None:
        """Return the store's meter, once `open` has made it."""
        return self._meters.get(store_id)

    async def open(self, store: Store, read: Read) -> Meter:
        """Return the store's meter, with the month's count from the database.

        If that cannot be read, the meter starts at 0 and the keeper corrects it later.
        """
        now_ms, store_id = self._services.clock(), store.store_id
        month = month_at(now_ms).name
        try:
            stored = await read(lambda reader: read_calls(reader, month, [store_id]))
        except StorageError:
            stored = {store_id: 0}
        meter = Meter(
            self._services.settings.plans,
            store.subscription,
            now_ms,
            stored[store_id],
            lambda month: self._line(store_id, month),
            self._called.set,
        )
        # Another request may have been quicker: all count on one meter.
        return self._meters.setdefault(store_id, meter)

    def _line(self, store_id: StoreId, month: str) -> UsageCounter:
        if self._sheet is None:
            return UsageCounter.unlisted()
        return self._sheet.line((store_id, month))

    def _keep(self) -> None:
        reader: RawReader | None = None
        while not self._stopping.is_set():
            is_called = self._called.wait(max(0.0, self._looks_at - time.monotonic()))
            self._called.clear()
            began = time.thread_time()
            try:
                if is_called or time.monotonic() >= self._brings_at:
                    self._bring()
                    self._brings_at = time.monotonic() + FLUSH_SECONDS
                if time.monotonic() >= self._looks_at:
                    reader = reader or self._services.database.raw_reader()
                    self._look(reader)
                self._is_failing = False
            except Exception:
                self._tell()
                _close(reader)
                reader = None
            took = time.thread_time() - began
            rest = min(POLL_SECONDS, max(MIN_PAUSE_SECONDS, PAUSE_FACTOR * took))
            self._stopping.wait(rest)
        self._last()
        _close(reader)

    def _last(self) -> None:
        try:
            self._bring()
            if self._sheet is not None:
                self._take_over(self._sheet)
                self._sheet = None
        except Exception:
            _log.exception("usage write failed")
        self._neighbours.close()

    def _tell(self) -> None:
        if not self._is_failing:
            self._is_failing = True
            _log.exception("usage write failed")

    def _bring(self) -> None:
        """Store counts that the database does not have yet."""
        if self._is_failing:
            self._find_out()
        due = list(self._due())
        for start in range(0, len(due), BATCH_STORES):
            self._add(due[start : start + BATCH_STORES])

    def _find_out(self) -> None:
        """Find out whether the round that failed is stored nevertheless."""
        if self._sheet is not None:
            with self._services.database.transaction(synced=False) as transaction:
                self._sheet.settle(last_flush_round(transaction, self._sheet.name))

    def _due(self) -> Iterator[_Due]:
        for store_id, meter in list(self._meters.items()):
            for tally in meter.tallies():
                if calls := tally.unsaved:
                    yield _Due(store_id, meter, tally, calls)

    def _add(self, due: Sequence[_Due]) -> None:
        self._round += 1
        for one in due:
            one.tally.line.prepare(self._round, one.calls)
        counted = {(one.store_id, one.tally.month): one.calls for one in due}
        with self._services.database.transaction(synced=False) as transaction:
            totals = add_calls(transaction, counted)
            if self._sheet is not None:
                store_flush_round(transaction, self._sheet.name, self._round)
        for one in due:
            one.tally.confirm(one.meter.limit)
            one.meter.settle()
            if (one.store_id, one.tally.month) not in totals:  # the store was deleted
                self._forget(one.store_id)

    def _take_over(self, sheet: UsageFile) -> None:
        """Store the counts of a file that no process uses any more, and delete it."""
        database = self._services.database
        with database.transaction(synced=False) as transaction:
            add_calls(
                transaction, sheet.prepare_rest(last_flush_round(transaction, sheet.name))
            )
            store_flush_round(transaction, sheet.name, CLOSED_ROUND)
        sheet.settle(CLOSED_ROUND)
        sheet.remove()
        with database.transaction(synced=False) as transaction:
            delete_flush_rounds(transaction, sheet.name)

    def _look(self, reader: RawReader) -> None:
        """Read what other processes counted, and drop unused meters."""
        self._looks_at = time.monotonic() + POLL_SECONDS
        self._neighbours.look()
        for sheet in self._neighbours.abandoned():
            self._take_over(sheet)
            self._neighbours.look()
        self._learn(reader)
        for store_id, meter in list(self._meters.items()):
            self._quiet[store_id] = 0 if meter.is_used else self._quiet.get(store_id, 0) + 1
            meter.is_used = False
            if self._quiet[store_id] > MAX_IDLE_ROUNDS and not meter.tallies()[-1].unsaved:
                self._forget(store_id)

    def _learn(self, reader: RawReader) -> None:
        month = month_at(self._services.clock()).name
        wanted = {
            store_id: (meter, tally, self._neighbours.lines((store_id, month)))
            for store_id, meter in list(self._meters.items())
            if (tally := meter.tallies()[-1]).month == month
        }
        for last in range(_TRIES):
            before = {store_id: _kept(lines) for store_id, (_, _, lines) in wanted.items()}
            for store_id, total in read_calls(reader, month, list(wanted)).items():
                meter, tally, lines = wanted[store_id]
                # What a neighbour brings just now may or may not be in the total.
                is_steady = before[store_id] is not None and before[store_id] == _kept(
                    lines
                )
                if is_steady or last == _TRIES - 1:
                    tally.learn(total, lines, meter.limit)
                    del wanted[store_id]

    def _forget(self, store_id: StoreId) -> None:
        self._meters.pop(store_id, None)
        self._quiet.pop(store_id, None)


def _sheet_in(services: Services) -> UsageFile | None:
    try:
        return UsageFile.begin(services.metering)
    except OSError as error:
        _log.warning("usage file unavailable", extra={"error": error.strerror})
        return None


def _kept(lines: Sequence[UsageCounter]) -> list[int] | None:
    """Return how much of each counter the database has; None while a write is pending."""
    if any(line.is_in_flight for line in lines):
        return None
    return [line.stored for line in lines]


def billing_headers(notice: QuotaNotice) -> tuple[Header, ...]:
    """Return the headers of a metered reply that has something to tell."""
    status = (b"x-billing-status", notice.status.encode())
    if notice.used is None or notice.limit is None:
        return (status,)
    return (
        status,
        (b"x-quota-used", b"%d" % notice.used),
        (b"x-quota-limit", b"%d" % notice.limit),
    )
