"""Write protocol: the messages between the API processes and the writer process.

They are frames (`processes.messages`) over a Unix socket in a private folder. The writer
sends the first message: `Ready` says that it accepts requests.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec.msgpack import Decoder

from productrecs.entrypoints.http.writes.write_handlers import Groups, WriteKind
from productrecs.processes.messages import Ready, encode_frame
from productrecs.records.orders.ingest_events_and_orders import OrderReceipt
from productrecs.records.orders.order import NewOrder


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
