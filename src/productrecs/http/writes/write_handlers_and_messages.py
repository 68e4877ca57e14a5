"""Write handlers and messages: events and orders of several requests in one batch.

Messages between the API processes and the writer process:

They are frames (`processes.process_messages`) over a Unix socket in a private folder. The
writer sends the first message: `Ready` says that it accepts requests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec.msgpack import Decoder

from productrecs.core.ids import StoreId
from productrecs.processes.process_messages import Ready, encode_frame
from productrecs.records.events.event import NewEvent
from productrecs.records.events.network_share import NetworkCounts
from productrecs.records.orders.ingest_events_and_orders import (
    OrderReceipt,
    ingest_events,
    ingest_order,
)
from productrecs.records.orders.order_and_purchase_ledger import NewOrder
from productrecs.storage.group_commit import WriteTransaction
from productrecs.storage.sequence_and_item_numbers import StoreLog

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from productrecs.services import Services
    from productrecs.storage.group_commit import BatchHandler


Groups = list[list[NewEvent]]


_EVENT_BYTES = 250


def memory_weight(groups: Groups) -> int:
    """Return the approximate memory of events until they are written, in bytes.

    All events of a group repeat the text fields of its object.
    """
    return sum(len(group) * (_EVENT_BYTES + _text_length(group[0])) for group in groups)


def _text_length(event: NewEvent) -> int:
    texts = (
        event.item_id,
        event.user_id,
        event.session_id,
        event.term,
        event.order_id,
        event.source,
        event.widget,
        event.event_id,
    )
    return sum([len(text) for text in texts if text is not None])


class WriteKind(IntEnum):
    """The kind of a write, by its payload."""

    EVENTS = 1  # `Groups`
    ORDER = 2  # a `NewOrder`
    CHANGE = 3  # a function that changes the store in its own transaction


Change = Callable[[WriteTransaction], Any]


def write_handlers(services: Services) -> Mapping[WriteKind, BatchHandler]:
    """Return the handler of each kind of write, with this process's clock and numbers."""
    counts = NetworkCounts()

    def log_of(work: WriteTransaction, key: Hashable) -> StoreLog:
        store_id = StoreId(str(key))
        log = StoreLog(work.database, work.connection, store_id, services.numbers)
        work.after_commit.append(log.committed)
        return log

    def write_events(
        work: WriteTransaction, key: Hashable, payloads: Sequence[Groups]
    ) -> Sequence[None]:
        groups = [group for payload in payloads for group in payload]
        ingest_events(log_of(work, key), groups, services.clock(), counts=counts)
        return [None] * len(payloads)

    def write_orders(
        work: WriteTransaction, key: Hashable, payloads: Sequence[NewOrder]
    ) -> Sequence[OrderReceipt]:
        log, now_ms = log_of(work, key), services.clock()
        return [ingest_order(log, order, now_ms, counts) for order in payloads]

    def write_changes(
        work: WriteTransaction, _key: Hashable, payloads: Sequence[Change]
    ) -> Sequence[Any]:
        return [change(work) for change in payloads]

    return {
        WriteKind.EVENTS: write_events,
        WriteKind.ORDER: write_orders,
        WriteKind.CHANGE: write_changes,
    }


class WriteRequest(msgspec.Struct, array_like=True):
    """A write; its payload stays encoded until memory is available."""

    number: int
    kind: WriteKind
    store_id: str
    payload: msgspec.Raw


class Done(msgspec.Struct, array_like=True, tag="done"):
    """The numbers of written requests without a result."""

    numbers: list[int]


class Result(msgspec.Struct, array_like=True, tag="result"):
    """The result of a request."""

    number: int
    receipt: OrderReceipt


class Failed(msgspec.Struct, array_like=True, tag="failed"):
    """A request failed; `error` names the error's class."""

    number: int
    error: str
    reason: str


decode_request: Final = Decoder(WriteRequest).decode
decode_reply: Final = Decoder(Ready | Done | Result | Failed).decode
_payloads: Final[Mapping[WriteKind, Decoder[Any]]] = {
    WriteKind.EVENTS: Decoder(Groups),
    WriteKind.ORDER: Decoder(NewOrder),
}


def encode_request(number: int, kind: WriteKind, store_id: str, payload: object) -> bytes:
    """Return the frame of a `WriteRequest` with an encoded payload."""
    return encode_frame((number, kind, store_id, payload))


def decode_payload(request: WriteRequest) -> Any:
    """Return the decoded payload of a request."""
    return _payloads[request.kind].decode(request.payload)
