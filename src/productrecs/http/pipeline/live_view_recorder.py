"""Live view recorder: records the event requests of stores whose live view is open.

The event loop only appends; a background write parses, judges and stores them.
"""

import asyncio
import contextlib
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final

from productrecs.core.clock import MINUTE_MS, Clock
from productrecs.core.errors import ProductRecsError, StorageError, operator_text
from productrecs.core.ids import StoreId
from productrecs.core.outage_log_limiter import OutageLogLimiter
from productrecs.features.live_events.live_event import (
    VERDICTS_OF_PURCHASES,
    LiveEvent,
    LiveEventVerdict,
    ReceivedEventRequest,
    catalog_verdict,
    client_hash,
    live_events_of_request,
    order_id_of,
)
from productrecs.features.live_events.repository import (
    LiveEventRepository,
    watched_stores,
)
from productrecs.http.limits.bot_detection import BotDetector, crawler_name
from productrecs.http.limits.client_address import address_of_client, public_network_of
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.records.events.event import EventKind
from productrecs.schemas.validation_errors import InvalidInputError
from productrecs.serving.writes.background_writes import (
    BackgroundRecordKind,
    BackgroundWriter,
)
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.api_keys import SecretKeyHashes
from productrecs.tenancy.accounts.shopper_identity import check_identity

_log = logging.getLogger(__name__)

WATCH_MS: Final = 2 * MINUTE_MS
"""How long a store is watched after the last request for its live view."""

_RENEW_MS: Final = MINUTE_MS // 2
_SECONDS: Final = 1.0
_MAX_BYTES: Final = 4 << 20  # of buffered requests in one process
_MIN_WEIGHT: Final = 2 << 10


@dataclass(frozen=True, slots=True)
class EventRequestContext:
    """The store, the time and the sender of a request with events."""

    store_id: StoreId
    at_ms: int
    peer: str
    headers: Mapping[bytes, bytes]
    is_foreign: bool = False
    has_key: bool = True  # the key is known
    is_order: bool = False
    is_repeated: bool = False  # the order is a duplicate
    bots: BotDetector | None = None  # recognises a page's visitors
    secrets: SecretKeyHashes | None = None  # check the signed identities; None skips them


class LiveViewRecorder:
    """Records the requests of stores whose live view is open."""

    def __init__(
        self, database: Database, background: BackgroundWriter, clock: Clock
    ) -> None:
        """Start without watched stores."""
        self.watched_stores: frozenset[StoreId] = frozenset()
        self._database = database
        self._clock = clock
        self._renewed_at: dict[
            StoreId, int
        ] = {}  # when this process last renewed the watch
        self._reader = database.raw_reader()
        self._background = background
        background.register(ReceivedEventRequest, _LIVE_EVENTS)
        self._read_lock = threading.Lock()
        self._outage = OutageLogLimiter()

    def watch_store(self, store_id: StoreId) -> None:
        """Watch a store for two minutes, in every process within a second."""
        now = self._clock()
        until = now + WATCH_MS
        if now - self._renewed_at.get(store_id, 0) < _RENEW_MS:
            return
        self._renewed_at[store_id] = now
        with self._database.transaction(synced=False) as transaction:
            LiveEventRepository(transaction, store_id).watch(until)
        self.watched_stores |= {store_id}

    def record_request(
        self,
        sender: EventRequestContext,
        body: bytes,
        error: ProductRecsError | None = None,
    ) -> None:
        """Record a request with `body`; `error` is the reason why it was refused."""
        agent = sender.headers.get(b"user-agent", b"").decode("latin-1")
        address = address_of_client(sender.peer, sender.headers)
        problems = (
            _first_problem_by_event_index(error)
            if isinstance(error, InvalidInputError)
            else {}
        )
        bots, store_id = sender.bots, sender.store_id
        received = ReceivedEventRequest(
            store_id=sender.store_id,
            at_ms=sender.at_ms,
            client=client_hash(sender.store_id, address, agent),
            data=body,
            is_foreign=sender.is_foreign,
            problems=problems,
            refusal="" if error is None or problems else str(error),
            is_key_refused=not sender.has_key,
            is_order=sender.is_order,
            is_repeated=sender.is_repeated,
            crawler=None if bots is None else crawler_name(agent.encode("latin-1")),
            is_flagged=None
            if bots is None or not bots.has_flagged
            else lambda body: bots.is_flagged(store_id, body, public_network_of(address)),
            identity_refusal=_identity_checker(sender),
        )
        self._background.add(received)

    @contextlib.asynccontextmanager
    async def polling_watched_stores(self) -> AsyncIterator[None]:
        """Refresh the watched stores periodically while the block runs."""
        following = asyncio.create_task(self._poll_watched_stores())
        try:
            yield
        finally:
            following.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await following
            await asyncio.to_thread(self._close_reader)

    async def _poll_watched_stores(self) -> None:
        while True:
            await asyncio.sleep(_SECONDS)
            try:
                await asyncio.to_thread(self._refresh_watched_stores)
            except StorageError as error:
                if self._outage.should_log_failure():
                    reason = {"error": operator_text(error)}
                    _log.warning("live view lookup failed", extra=reason)
            except Exception:
                _log.exception("live view lookup failed")
            else:
                if self._outage.should_log_recovery():
                    _log.info("live views read again")

    def _refresh_watched_stores(self) -> None:
        with self._read_lock:
            self.watched_stores = watched_stores(self._reader, self._clock())

    def _close_reader(self) -> None:
        with self._read_lock:  # a cancelled task leaves its thread running
            self._reader.close()


def _identity_checker(
    sender: EventRequestContext,
) -> Callable[[Mapping[str, Any]], str] | None:
    """Return what says why the identity of an event or order is refused, or ""."""
    secrets = sender.secrets
    if secrets is None:
        return None

    def identity_refusal(body: Mapping[str, Any]) -> str:
        identity, customer = body.get("identity"), body.get("user_id")
        sent = None if identity is None else str(identity)
        check = check_identity(secrets, sent, str(customer or ""), sender.at_ms)
        return check if check.is_refused else ""

    return identity_refusal


def _store_live_events(database: Database, batch: Sequence[ReceivedEventRequest]) -> None:
    batch_by_store = sorted(batch, key=lambda request: request.store_id)
    for store_id, group in groupby(batch_by_store, key=lambda request: request.store_id):
        events = [event for request in group for event in live_events_of_request(request)]
        with database.transaction(synced=False) as transaction:
            repository = LiveEventRepository(transaction, store_id)
            known_ids = CatalogRepository(transaction, store_id).find(
                {item for event in events for item in event.items}
            )
            present = {item for item, row in known_ids.items() if row.present}
            first_receipts = repository.first_receipt_times(
                [event.event_id for event in events if event.event_id]
            )
            judged = [
                _with_final_verdict(event, present, first_receipts) for event in events
            ]
            repository.add_and_delete_old(list(_mark_repeated_buys(judged, repository)))


_LIVE_EVENTS: Final = BackgroundRecordKind(
    "live events",
    _store_live_events,
    every=2,
    limit=_MAX_BYTES,
    weight=lambda request: max(_MIN_WEIGHT, len(request.data)),
    is_loss_logged=False,  # the view only shows fewer events
)


def _with_final_verdict(
    event: LiveEvent, present: set[str], first_receipts: Mapping[str, int]
) -> LiveEvent:
    """Return an event with its verdict; one that was received before is a duplicate."""
    first_received_ms = first_receipts.get(event.event_id)
    is_stored = event.verdict in {
        LiveEventVerdict.ACCEPTED,
        LiveEventVerdict.NO_ORDER_ID,
        LiveEventVerdict.FOREIGN_ORIGIN,
        LiveEventVerdict.CLOCK,
        LiveEventVerdict.BOT,
        LiveEventVerdict.IDENTITY,
    }
    if is_stored and first_received_ms is not None and first_received_ms < event.at_ms:
        return replace(event, verdict=LiveEventVerdict.DUPLICATE)
    return replace(event, verdict=catalog_verdict(event, present))


def _mark_repeated_buys(
    events: Sequence[LiveEvent], repository: LiveEventRepository
) -> Iterator[LiveEvent]:
    """Yield the events; a further purchase of an order's product gets its own verdict."""
    seen: set[tuple[str, str, str]] = set()
    for event in events:
        is_buy = event.kind == EventKind.BUY.wire_name
        if not is_buy or event.verdict not in VERDICTS_OF_PURCHASES:
            yield event
            continue
        purchase = (event.session, event.item, order_id_of(event.body))
        is_again = purchase in seen or repository.has_recorded_purchase_of(event)
        seen.add(purchase)
        yield replace(event, verdict=LiveEventVerdict.BUY_AGAIN) if is_again else event


def _first_problem_by_event_index(error: InvalidInputError) -> dict[int, str]:
    """Return the problems by the index of the event; 0 for a single event."""
    found: dict[int, str] = {}
    for problem in error.problems:
        place = next((part for part in problem.loc[1:2] if isinstance(part, int)), 0)
        name = next(
            (str(part) for part in reversed(problem.loc) if isinstance(part, str)), ""
        )
        if problem.type == "json_invalid":
            place = -1
        text = f"{name}: {problem.msg}" if name not in {"", "body"} else problem.msg
        found.setdefault(place, text)
    return found
