"""How are metered calls counted, and who carries the counts to the database?

A call costs a look at its store's meter in memory. One thread a process, the keeper, brings
the counts to the database and learns there what other processes counted: twice a second,
and sooner when a store's count grows fast or is near its limit. It rests for a multiple of
the time it took. Nobody waits for it, and no call fails with it: while the database is
away, counts gather in memory.
"""

import logging
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Final, NamedTuple

from productrecs.core.errors import StorageError
from productrecs.core.ids import StoreId
from productrecs.entrypoints.services import Services
from productrecs.storage.dialects import HotReader
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.billing.meter import Meter, Tally
from productrecs.tenancy.billing.notice import Notice, month_at
from productrecs.tenancy.billing.repository import add_calls, read_calls

_log = logging.getLogger(__name__)

Header = tuple[bytes, bytes]
Calls = dict[StoreId, int]
Read = Callable[[Callable[[HotReader], Calls]], Awaitable[Calls]]

KEEP_SECONDS: Final = 0.5
LEAST_REST_SECONDS: Final = 0.005
REST_FACTOR: Final = 10
TOGETHER: Final = 500  # stores in one transaction
QUIET_ROUNDS: Final = 1_200  # after ten minutes without a call a meter is forgotten


class _Due(NamedTuple):
    """Calls of one store and month that the database does not have yet."""

    store_id: StoreId
    meter: Meter
    tally: Tally
    calls: int


class Metering:
    """The meters of one process."""

    def __init__(self, services: Services) -> None:
        """Begin with none; `start` begins to keep what is counted."""
        self._services = services
        self._meters: dict[StoreId, Meter] = {}
        self._quiet: dict[StoreId, int] = {}  # rounds without a call
        self._called = threading.Event()
        self._stopping = threading.Event()
        self._looks_at = 0.0
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
        """Return the store's meter, with the month's count as the database has it.

        Where that cannot be read, the meter begins at 0 and learns it from the keeper.
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
            self._called.set,
        )
        # Another request may have been quicker: all count on one meter.
        return self._meters.setdefault(store_id, meter)

    def _keep(self) -> None:
        reader: HotReader | None = None
        while not self._stopping.is_set():
            self._called.wait(max(0.0, self._looks_at - time.monotonic()))
            self._called.clear()
            began = time.thread_time()
            try:
                self._bring()
                if time.monotonic() >= self._looks_at:
                    reader = reader or self._services.database.hot_reader()
                    self._look(reader)
                self._is_failing = False
            except Exception:
                self._tell()
                reader = None
            took = time.thread_time() - began
            rest = min(KEEP_SECONDS, max(LEAST_REST_SECONDS, REST_FACTOR * took))
            self._stopping.wait(rest)
        self._last()
        if reader is not None:
            reader.close()

    def _last(self) -> None:
        try:
            self._bring()
        except Exception:
            _log.exception("the last metered calls could not be stored")

    def _tell(self) -> None:
        if not self._is_failing:
            self._is_failing = True
            _log.exception("metered calls cannot be stored; they are counted in memory")

    def _bring(self) -> None:
        """Bring to the database what it does not have."""
        due = list(self._due())
        for start in range(0, len(due), TOGETHER):
            self._add(due[start : start + TOGETHER])

    def _due(self) -> Iterator[_Due]:
        for store_id, meter in list(self._meters.items()):
            for tally in meter.tallies():
                if calls := tally.unkept:
                    yield _Due(store_id, meter, tally, calls)

    def _add(self, due: Sequence[_Due]) -> None:
        counted = {(one.store_id, one.tally.month): one.calls for one in due}
        with self._services.database.transaction(synced=False) as transaction:
            totals = add_calls(transaction, counted)
        for one in due:
            total = totals.get((one.store_id, one.tally.month))
            if total is None:  # the store was deleted
                self._forget(one.store_id)
            else:
                one.tally.kept(one.calls, total, one.meter.limit)
                one.meter.settle()

    def _look(self, reader: HotReader) -> None:
        """Learn what other processes counted, and forget meters that nobody asks."""
        self._looks_at = time.monotonic() + KEEP_SECONDS
        month = month_at(self._services.clock()).name
        tallies = {
            store_id: (meter, tally)
            for store_id, meter in list(self._meters.items())
            if (tally := meter.tallies()[-1]).month == month
        }
        for store_id, total in read_calls(reader, month, list(tallies)).items():
            meter, tally = tallies[store_id]
            tally.learn(total, meter.limit)
        for store_id, meter in list(self._meters.items()):
            self._quiet[store_id] = (
                0 if meter.is_asked else self._quiet.get(store_id, 0) + 1
            )
            meter.is_asked = False
            if self._quiet[store_id] > QUIET_ROUNDS and not meter.tallies()[-1].unkept:
                self._forget(store_id)

    def _forget(self, store_id: StoreId) -> None:
        self._meters.pop(store_id, None)
        self._quiet.pop(store_id, None)


def billing_headers(told: Notice) -> tuple[Header, ...]:
    """Return the headers of a metered reply that has something to tell."""
    status = (b"x-billing-status", told.status.encode())
    if told.used is None or told.limit is None:
        return (status,)
    return (
        status,
        (b"x-quota-used", b"%d" % told.used),
        (b"x-quota-limit", b"%d" % told.limit),
    )
