"""Write messages between the API processes and the writer process.

They are frames (`processes.process_messages`) over a Unix socket in a private folder. The
writer sends the first message: `ReadyMessage` says that it accepts requests.
"""

from collections.abc import Mapping
from dataclasses import fields
from enum import IntEnum
from operator import attrgetter
from typing import Any, Final

import msgspec
from msgspec.msgpack import Decoder

from productrecs.processes.process_messages import ReadyMessage, encode_frame
from productrecs.records.events.event import NewEvent
from productrecs.records.orders.ingest_events_and_orders import (
    OrderReceipt,
)
from productrecs.records.orders.order_and_purchase_ledger import NewOrder

Groups = list[list[NewEvent]]


_EVENT_BYTES = 250


def estimated_memory_bytes(groups: Groups) -> int:
    """Return the approximate memory of events until they are written, in bytes.

    All events of a group repeat the text fields of its object.
    """
    return sum(len(group) * (_EVENT_BYTES + _text_length(group[0])) for group in groups)


_texts = attrgetter(
    *(field.name for field in fields(NewEvent) if field.type == "str | None")
)


def _text_length(event: NewEvent) -> int:
    return sum([len(text) for text in _texts(event) if text is not None])


class WriteKind(IntEnum):
    """The kind of a write, by its payload."""

    EVENTS = 1  # `Groups`
    ORDER = 2  # a `NewOrder`
    CHANGE = 3  # a function that changes the store in its own transaction


class WriteRequest(msgspec.Struct, array_like=True):
    """A write; its payload stays encoded until memory is available."""

    number: int
    kind: WriteKind
    store_id: str
    payload: msgspec.Raw


class WritesDone(msgspec.Struct, array_like=True, tag="done"):
    """The numbers of written requests without a result."""

    numbers: list[int]


class WriteResult(msgspec.Struct, array_like=True, tag="result"):
    """The result of a request."""

    number: int
    receipt: OrderReceipt


class WriteFailed(msgspec.Struct, array_like=True, tag="failed"):
    """A request failed; `error` names the error's class."""

    number: int
    error: str
    reason: str


decode_request: Final = Decoder(WriteRequest).decode
decode_reply: Final = Decoder(ReadyMessage | WritesDone | WriteResult | WriteFailed).decode
_payloads: Final[Mapping[WriteKind, Decoder[Any]]] = {
    WriteKind.EVENTS: Decoder(Groups),
    WriteKind.ORDER: Decoder(NewOrder),
}


def encode_request(
    write_number: int, kind: WriteKind, store_id: str, payload: object
) -> bytes:
    """Return the frame of a `WriteRequest` with an encoded payload."""
    return encode_frame((write_number, kind, store_id, payload))


def decode_payload(request: WriteRequest) -> Any:
    """Return the decoded payload of a request."""
    return _payloads[request.kind].decode(request.payload)
