"""Background writes: records that no reply waits for, stored in batches by one loop.

A failed background write never fails a reply. Records that cannot be stored stay in a
bounded buffer; records over the limit are dropped, and the log says how many.
"""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from productrecs.core.errors import StorageError, operator_text
from productrecs.core.outage_log_limiter import OutageLogLimiter
from productrecs.features.assistants.attributed_assistant_searches import (
    AttributedAssistantSearch,
)
from productrecs.features.assistants.repository import (
    AssistantCall,
    add_assistant_call_counts,
    add_attribution_parameter_counts,
)
from productrecs.features.mail_slots.mail_slot import MailEngagement, MailProductSelection
from productrecs.features.mail_slots.opened_mails.repository import (
    count_mail_engagements_and_delete_old,
    store_mail_products_and_delete_old,
)
from productrecs.features.reports.tracking_health.repository import (
    RefusedIdentityCall,
    count_refused_identities_and_delete_old,
)
from productrecs.records.experiments.arm_assignment import Exposure
from productrecs.records.experiments.exposures.repository import store_exposures
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.api_keys import KeyUse
from productrecs.tenancy.accounts.key_misuse.repository import KeyMisuse, store_key_misuse
from productrecs.tenancy.accounts.key_uses.repository import store_key_uses
from productrecs.tenancy.accounts.refused_keys.repository import (
    RefusedKeyCall,
    store_and_purge_refused_keys,
)

_log = logging.getLogger(__name__)

FLUSH_INTERVAL_SECONDS: Final = 0.5
LAST_FLUSH_SECONDS: Final = 3.0  # how long a stop waits for the last flush
_BATCH: Final = 1_000


class BackgroundRecord(Protocol):
    """A record that is stored in the background."""

    @property
    def key(self) -> Hashable:
        """The deduplication key: the first record counts. None: every record counts."""


@dataclass(frozen=True, slots=True)
class BackgroundRecordKind:
    """How records of one class are stored."""

    name: str
    store: Callable[[Database, Sequence[Any]], None]
    every: int = 1  # loop iterations between two flushes
    limit: int = 20_000  # the most weight in the buffer
    weight: Callable[[Any], int] = lambda _: 1
    is_loss_logged: bool = True


class RecordBuffer:
    """Bounded buffer of the unsaved records of one class; adding never blocks.

    Records are deduplicated by key as far as keys are remembered; a duplicate is harmless.
    """

    def __init__(
        self,
        limit: int = 20_000,
        max_keys: int = 100_000,
        weight: Callable[[Any], int] = lambda _: 1,
    ) -> None:
        """Buffer a total weight of `limit`; remember about `max_keys` keys."""
        self._limit = limit
        self._weight = weight
        self._generation = max(max_keys // 2, 1)
        self._recent: set[Hashable] = set()
        self._older: set[Hashable] = set()
        self._waiting: list[BackgroundRecord] = []
        self._total_weight = 0
        self._changing = threading.Lock()  # held only to append or to swap
        self.lost = 0  # dropped because the buffer was full

    @property
    def depth(self) -> int:
        """The number of buffered records."""
        return len(self._waiting)

    def add(self, record: BackgroundRecord) -> None:
        """Add a record; a dropped record may be added again later."""
        key = record.key
        if key is not None and (key in self._recent or key in self._older):
            return
        with self._changing:
            if not self._append(record):
                return
        if len(self._recent) >= self._generation:
            self._older, self._recent = self._recent, set()
        if key is not None:
            self._recent.add(key)

    def pop(self, limit: int) -> list[BackgroundRecord]:
        """Remove and return up to `limit` records, the oldest first."""
        with self._changing:
            records, self._waiting = self._waiting[:limit], self._waiting[limit:]
            self._total_weight -= sum(map(self._weight, records))
        return records

    def put_back(self, records: Iterable[BackgroundRecord]) -> None:
        """Put back records that could not be stored, as far as there is room."""
        with self._changing:
            merged, self._waiting, self._total_weight = [*records, *self._waiting], [], 0
            for record in merged:
                if not self._append(record):
                    self._recent.discard(record.key)
                    self._older.discard(record.key)

    def _append(self, record: BackgroundRecord) -> bool:
        """Append a record; return whether there was room."""
        weight = self._weight(record)
        if self._total_weight + weight > self._limit:
            self.lost += 1
            return False
        self._total_weight += weight
        self._waiting.append(record)
        return True


@dataclass(slots=True)
class _RecordQueue:
    kind: BackgroundRecordKind
    buffer: RecordBuffer
    logged_lost: int = 0
    outage: OutageLogLimiter = field(default_factory=OutageLogLimiter)


class BackgroundWriter:
    """The buffers of one process, one per record class, and the loop that flushes them."""

    def __init__(self, database: Database) -> None:
        """Start empty."""
        self._database = database
        self._queues: dict[type[BackgroundRecord], _RecordQueue] = {}
        self._sources: list[Callable[[bool], None]] = []
        self._loop: asyncio.Task[None] | None = None
        for record, kind in _KINDS.items():
            self.register(record, kind)

    def register(
        self,
        record: type[BackgroundRecord],
        kind: BackgroundRecordKind,
        add_counts_before_flush: Callable[[bool], None] | None = None,
    ) -> None:
        """Store records of a class as `kind` says.

        `add_counts_before_flush` is called on the event loop before each flush; its
        argument says whether it is the last time.
        """
        buffer = RecordBuffer(kind.limit, weight=kind.weight)
        self._queues[record] = _RecordQueue(kind, buffer)
        if add_counts_before_flush is not None:
            self._sources.append(add_counts_before_flush)

    def add(self, record: BackgroundRecord) -> None:
        """Store a record soon; never blocks and never fails."""
        self._queues[type(record)].buffer.add(record)

    def buffer(self, record_type: type[BackgroundRecord]) -> RecordBuffer:
        """Return the buffer of a class of records."""
        return self._queues[record_type].buffer

    def start(self) -> None:
        """Start the loop."""
        self._loop = asyncio.create_task(self._flush_forever())

    async def close(self) -> None:
        """Stop the loop, and store all buffered records."""
        if self._loop is not None:
            self._loop.cancel()
        for source in self._sources:
            source(True)  # noqa: FBT003 - the last time
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.to_thread(self.flush), LAST_FLUSH_SECONDS)

    def flush(self, iteration: int = 0) -> None:
        """Flush the buffers that are due; failed records are put back or dropped."""
        for queue in self._queues.values():
            if queue.buffer.depth and iteration % queue.kind.every == 0:
                self._store_queued_records(queue)
            lost = queue.buffer.lost
            if lost > queue.logged_lost and queue.kind.is_loss_logged:
                facts = {"what": queue.kind.name, "lost": lost}
                _log.error("write-behind records lost", extra=facts)
            queue.logged_lost = lost

    def _store_queued_records(self, queue: _RecordQueue) -> None:
        while batch := queue.buffer.pop(_BATCH):
            try:
                queue.kind.store(self._database, batch)
            except Exception as error:
                queue.buffer.put_back(batch)
                if queue.outage.should_log_failure():
                    _log_flush_failure(queue.kind.name, error)
                return
            if queue.outage.should_log_recovery():
                facts = {"what": queue.kind.name}
                _log.info("write-behind flushed again", extra=facts)

    async def _flush_forever(self) -> None:
        iteration = 0
        while True:
            await asyncio.sleep(FLUSH_INTERVAL_SECONDS)
            iteration += 1
            for source in self._sources:
                source(False)  # noqa: FBT003 - not the last time
            if any(queue.buffer.depth for queue in self._queues.values()):
                await asyncio.to_thread(self.flush, iteration)


def _in_unsynced_transaction(
    store: Callable[[Any, Sequence[Any]], None],
) -> Callable[[Database, Sequence[Any]], None]:
    def stored(database: Database, batch: Sequence[Any]) -> None:
        with database.transaction(synced=False) as transaction:
            store(transaction, batch)

    return stored


_KINDS: Final[dict[type[BackgroundRecord], BackgroundRecordKind]] = {
    Exposure: BackgroundRecordKind(
        "exposures of a holdout test", _in_unsynced_transaction(store_exposures)
    ),
    KeyMisuse: BackgroundRecordKind(
        "key misuse", _in_unsynced_transaction(store_key_misuse), 4
    ),
    RefusedKeyCall: BackgroundRecordKind(
        "refused keys",
        _in_unsynced_transaction(store_and_purge_refused_keys),
        4,
        limit=2_000,
        is_loss_logged=False,  # doctor only counts fewer
    ),
    MailEngagement: BackgroundRecordKind(
        "mail counts",
        _in_unsynced_transaction(count_mail_engagements_and_delete_old),
        4,
        is_loss_logged=False,  # the page only counts fewer
    ),
    MailProductSelection: BackgroundRecordKind(
        "products of mails", _in_unsynced_transaction(store_mail_products_and_delete_old)
    ),
    KeyUse: BackgroundRecordKind("key uses", _in_unsynced_transaction(store_key_uses), 10),
    AssistantCall: BackgroundRecordKind(
        "calls of assistants",
        _in_unsynced_transaction(add_assistant_call_counts),
        4,
        is_loss_logged=False,  # the dashboard only counts fewer
    ),
    AttributedAssistantSearch: BackgroundRecordKind(
        "attribution of assistants",
        _in_unsynced_transaction(add_attribution_parameter_counts),
        4,
        is_loss_logged=False,  # the dashboard only counts fewer
    ),
    RefusedIdentityCall: BackgroundRecordKind(
        "refused identities",
        _in_unsynced_transaction(count_refused_identities_and_delete_old),
        4,
        is_loss_logged=False,  # the report only counts fewer
    ),
}


def _log_flush_failure(record_kind: str, error: Exception) -> None:
    is_expected = isinstance(error, StorageError)
    level = logging.WARNING if is_expected else logging.ERROR
    facts = {"what": record_kind, "error": operator_text(error)}
    logged_error = None if is_expected else error
    _log.log(level, "write-behind flush failed", extra=facts, exc_info=logged_error)
