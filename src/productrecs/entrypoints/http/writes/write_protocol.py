"""Writer messages: what the API processes and the writer process say to each other.

They are frames (`processes.messages`) over a socket in a folder that only its user can
enter. The writer speaks first: `Ready` says that it takes requests.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec.msgpack import Decoder

from productrecs.entrypoints.http.writes.batched_writes import Groups, WriteKind
from productrecs.processes.messages import Ready, encode_frame
from productrecs.records.orders.ingest_events_and_orders import OrderReceipt
from productrecs.records.orders.order import NewOrder


class WriteRequest(msgspec.Struct, array_like=True):
    """A write; its payload stays encoded until there is memory for it."""

    number: int
    kind: WriteKind
    store_id: str
    payload: msgspec.Raw


class Done(msgspec.Struct, array_like=True, tag="done"):
    """The numbers of requests that are written and have no result."""

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
    """Return the frame of a request; `WriteRequest` with its payload as it is."""
    return encode_frame((number, kind, store_id, payload))


def decode_payload(request: WriteRequest) -> Any:
    """Return the decoded payload of a request."""
    return _payloads[request.kind].decode(request.payload)
